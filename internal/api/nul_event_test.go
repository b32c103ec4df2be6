package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// marketEvent is a structured 17115 of the process with every text there is; name has
// the text as JSON has it.
func marketEvent(process, name, text string) []byte {
	members := []struct{ name, value string }{
		{"id", "e-1"},
		{"source", "urn:x"},
		{"type", "de.mako.process.initiated"},
		{"makoworkflow", "gpke-sperrung"},
		{"makopid", "17115"},
		{"time", "2026-09-01T08:00:00Z"},
		{"makoconvid", "c-1"},
		{"makoerc", "x"},
	}
	data := []struct{ name, value string }{
		{"malo_id", malo}, {"lf_mp_id", lf}, {"sender", lf}, {"receiver", tenant}, {"message_ref", "M-1"}, {"ausfuehrung_am", "20260907"}, {"hinweis", "Hof"},
	}
	place := []struct{ name, value string }{
		{"hinweis", "Keller"}, {"strasse", "Lindenallee 7"}, {"plz", "10115"}, {"ort", "Berlin"}, {"land", "DE"},
	}
	write := func(prefix string, members []struct{ name, value string }) string {
		var parts []string
		for _, m := range members {
			if prefix+m.name == name {
				m.value = text
			}
			parts = append(parts, fmt.Sprintf(`"%s":"%s"`, m.name, m.value))
		}
		return strings.Join(parts, ",")
	}
	return []byte(`{"specversion":"1.0","subject":"` + process + `",` + write("", members) +
		`,"data":{` + write("data.", data) + `,"treffpunkt":{` + write("data.treffpunkt.", place) + `}}}`)
}

// What decides about the order is refused for good, so that its sender does not come
// again for ever, and kept; mere text loses its NUL.
func TestNUL_in_a_market_event_is_refused_for_good_or_removed_and_never_passed_over(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	wantStatus(t, b.deliver(t, marketEvent("p-0", "", "")), http.StatusCreated)
	unusable, unreadable := http.StatusUnprocessableEntity, http.StatusBadRequest
	codes := map[int]string{unusable: "unusable_event", unreadable: "invalid_body"}
	sent := 0
	for _, c := range []struct {
		name, value string
		status      int
		field       string
	}{
		{"type", "de.mako.process.initiated", unusable, "type"},
		{"makoworkflow", "gpke-sperrung", unusable, "makoworkflow"},
		{"makopid", "17115", unusable, "makopid"},
		{"source", "urn:x", unreadable, ""},
		{"time", "2026-09-01T08:00:00Z", unreadable, ""},
		{"data.malo_id", malo, unusable, "malo_id"},
		{"data.lf_mp_id", lf, unusable, "lf_mp_id"},
		{"data.receiver", tenant, unusable, "receiver"},
		{"data.ausfuehrung_am", "20260907", unusable, "ausfuehrung_am"},
	} {
		for _, text := range []string{c.value + nul, nul + c.value} {
			sent++
			a := b.deliver(t, marketEvent("p-refused", c.name, text))
			wantProblem(t, a, c.status, codes[c.status], strings.Fields(c.field)...)
			wantNoInside(t, a)
		}
	}
	if n, kept := b.orderCount(t), len(b.kept(t)); n != 1 || kept != sent {
		t.Errorf("%d orders and %d kept deliveries, want 1 and %d", n, kept, sent)
	}
	warnings := 0
	for _, line := range b.log.requests(t) {
		if line["level"] == "WARN" && line["code"] != nil {
			warnings++
		}
	}
	if warnings != sent {
		t.Errorf("%d warnings in the log, want %d", warnings, sent)
	}
}

func TestNUL_in_mere_text_of_a_market_event_is_removed_with_a_warning(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stored := map[string]string{} // the warnings
	for i, name := range []string{
		"id", "makoconvid", "makoerc", "data.message_ref", "data.sender", "data.hinweis",
		"data.treffpunkt.hinweis", "data.treffpunkt.strasse", "data.treffpunkt.plz", "data.treffpunkt.ort", "data.treffpunkt.land",
	} {
		a := b.deliver(t, marketEvent(fmt.Sprintf("p-%d", i), name, "A"+nul+"B"))
		id := decode[map[string]string](t, a, http.StatusCreated)["id"]
		wantNoInside(t, b.get(t, orders+"/"+id))
		stored[name] = strings.Join(b.order(t, id).Warnungen, "\n")
	}
	for _, name := range []string{"hinweis", "treffpunkt.hinweis", "treffpunkt.strasse", "treffpunkt.plz", "treffpunkt.ort"} {
		if want := "NUL characters were removed from " + name; !strings.Contains(stored["data."+name], want) {
			t.Errorf("%s: warnings %q, want %q", name, stored["data."+name], want)
		}
	}
	if codes := b.kept(t); len(codes) != 0 {
		t.Errorf("kept %v", codes)
	}
}

func TestNUL_percent_encoded_in_what_makes_an_event_ours_is_refused_and_kept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, escape := range []string{"%00", "%0A", "%09", "%7F", "%C2%85"} {
		a := b.deliver(t, []byte(binaryBody), binaryHeader("Ce-Type", "de.mako"+escape+".process.initiated")...)
		wantProblem(t, a, http.StatusUnprocessableEntity, "unusable_event", "type")
		a = b.deliver(t, []byte(binaryBody), binaryHeader("Ce-Makoworkflow", "gpke"+escape+"-sperrung")...)
		wantProblem(t, a, http.StatusUnprocessableEntity, "unusable_event", "makoworkflow")
	}
	if n, kept := b.orderCount(t), len(b.kept(t)); n != 0 || kept != 10 {
		t.Errorf("%d orders and %d kept deliveries, want 0 and 10", n, kept)
	}
}
