package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// marketHinweis delivers a 17115 with the Hinweis, as JSON has it.
func (b *bench) marketHinweis(t *testing.T, process, hinweis string) order {
	t.Helper()
	a := b.deliver(t, marketEvent(process, "data.hinweis", hinweis))
	return b.order(t, decode[map[string]string](t, a, http.StatusCreated)["id"])
}

// A character is a code point, however many bytes it has: an umlaut of one, an emoji, a
// letter and its combining mark.
func TestText_limits_count_characters_on_both_surfaces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, c := range []string{"x", "ü", "€", "😀", "u\u0308"} {
		size := utf8.RuneCountInString(c)
		fits := strings.Repeat(c, 2560/size)
		one := `{"malo_id":"51238696012","lf_mp_id":"9900012345678","order_type":"sperrung","hinweis":"`
		if o := b.create(t, one+fits+`"}`); *o.Hinweis != fits {
			t.Errorf("%q: the operator's Hinweis is not the one given", c)
		}
		p := wantProblem(t, b.call(t, http.MethodPost, orders, one+fits+`!"}`), http.StatusUnprocessableEntity, "invalid_order", "hinweis")
		if !strings.Contains(p.Detail, "2561 characters, at most 2560") {
			t.Errorf("%q: %q", c, p.Detail)
		}
		id := b.create(t, minimal("sperrung")).ID
		for verb, member := range map[string]string{"execute": "note", "fail": "reason"} {
			wantProblem(t, b.report(t, id, verb, `{"`+member+`":"`+fits+`!"}`), http.StatusUnprocessableEntity, "invalid_report", member)
		}
		wantProblem(t, b.report(t, id, "cancel", `{"reason":"`+fits+`!"}`), http.StatusUnprocessableEntity, "invalid_report", "reason")
		wantStatus(t, b.report(t, id, "fail", `{"reason":"`+fits+`"}`), http.StatusAccepted)
		wantStatus(t, b.report(t, id, "execute", `{"note":"`+fits+`"}`), http.StatusNoContent)

		whole := b.marketHinweis(t, fmt.Sprintf("p-%d", i), fits)
		cut := b.marketHinweis(t, fmt.Sprintf("p-%d-long", i), fits+"!")
		if *whole.Hinweis != fits || *cut.Hinweis != fits {
			t.Errorf("%q: the market's Hinweis has %d and %d characters", c, utf8.RuneCountInString(*whole.Hinweis), utf8.RuneCountInString(*cut.Hinweis))
		}
		if warned := slices.Contains(cut.Warnungen, "hinweis had 2561 characters and was cut to 2560"); !warned || strings.Contains(fmt.Sprint(whole.Warnungen), "cut") {
			t.Errorf("%q: warnings %q and %q", c, whole.Warnungen, cut.Warnungen)
		}
	}
}

// A warning about invisible text must be seen, and must not turn the text around it.
func TestText_that_EDIFACT_does_not_carry_is_named_on_both_surfaces_by_code_points(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const text = `50 € für \u202eeis\u202c, a\u200bb\ufeff, \u0007\u001b\u007f\u0085, e\u0301, \u05d0, 1.\tZeile\r\n2. Zeile\u00a0ÄÖÜß`
	want := []string{
		`hinweis has characters outside ISO 8859-1, which EDIFACT does not carry: "€" (U+20AC), U+202E, U+202C, U+200B, U+FEFF, U+0301, U+05D0`,
		`hinweis has control characters, which EDIFACT does not carry: U+0007, U+001B, U+007F, U+0085`,
	}
	operator := b.create(t, `{"malo_id":"51238696012","lf_mp_id":"9900357000003","order_type":"entsperrung","hinweis":"`+text+`"}`)
	market := b.marketHinweis(t, "p-1", text)
	if *operator.Hinweis != *market.Hinweis || !strings.Contains(*market.Hinweis, "\u202eeis") {
		t.Errorf("stored %q and %q, want the text as it came", *operator.Hinweis, *market.Hinweis)
	}
	for surface, o := range map[string]order{"operator": operator, "market": market} {
		for _, w := range want {
			if !slices.Contains(o.Warnungen, w) {
				t.Errorf("%s: warnings %q, want %q", surface, o.Warnungen, w)
			}
		}
		if all := strings.Join(o.Warnungen, ""); strings.ContainsFunc(all, func(r rune) bool { return !unicode.IsPrint(r) || unicode.In(r, unicode.M) }) {
			t.Errorf("%s: the warnings carry the characters themselves: %+q", surface, all)
		}
	}
	id := b.create(t, minimal("sperrung")).ID
	wantStatus(t, b.report(t, id, "execute", `{"note":"a\u200bb\u0001"}`), http.StatusNoContent)
	for _, w := range []string{
		"note has characters outside ISO 8859-1, which EDIFACT does not carry: U+200B", "note has control characters, which EDIFACT does not carry: U+0001",
	} {
		if got := b.order(t, id).Warnungen; !slices.Contains(got, w) {
			t.Errorf("warnings %q, want %q", got, w)
		}
	}
}

func TestText_that_is_not_UTF8_is_refused_in_path_and_query_too(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	for _, path := range []string{orders + "/%ff", orders + "/" + id[:35] + "%c3", orders + "/" + id + "%00", rejects + "/%ed%a0%80"} {
		wantProblem(t, b.get(t, path), http.StatusNotFound, "not_found")
	}
	for _, query := range []string{"malo_id=%ff", "status=%ed%a0%80", "cursor=%c3%28", "due=%00"} {
		field, _, _ := strings.Cut(query, "=")
		wantProblem(t, b.get(t, orders+"?"+query), http.StatusBadRequest, "invalid_parameter", field)
	}
	wantProblem(t, b.get(t, orders+"?%ff=1"), http.StatusBadRequest, "invalid_parameter", "\uFFFD")
}
