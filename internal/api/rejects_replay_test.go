package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// aged moves the first receipt of a delivery into the past.
func (b *bench) aged(t *testing.T, id, at string) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), `UPDATE webhook_rejects SET first_seen_at = $2 WHERE id = $1`, id, at); err != nil {
		t.Fatal(err)
	}
}

func TestReplay_makes_the_order_that_the_delivery_should_have_made(t *testing.T) {
	t.Parallel()
	taken, g := newBench(t), newGuarded(t)
	wantStatus(t, taken.deliver(t, sample(t, "17115-fixed-date.json")), http.StatusCreated)
	kept := g.refused(t, sample(t, "17115-fixed-date.json"))
	a := g.asCalled(t, sub(somebody), http.MethodPost, rejects+"/"+kept+"/replay", `{"reason":"URL von makod berichtigt"}`, called(callB, callA))
	wantFirst(t, a, http.StatusCreated, callB, callA)
	id := wantQueued(t, a)
	if got := a.header.Get(contentLocation); got != orders+"/"+id {
		t.Errorf("%s %q", contentLocation, got)
	}

	list := decode[[]map[string]any](t, g.as(t, nil, http.MethodGet, orders, ""), http.StatusOK)
	for _, row := range list {
		delete(row, "id")
		delete(row, "iftsta_next_attempt_at") // of the database's clock
	}
	if diff := cmp.Diff(taken.columns(t), list); diff != "" {
		t.Errorf("order (-taken at once +replayed):\n%s", diff)
	}
	settled := decode[reject](t, g.as(t, nil, http.MethodGet, rejects+"/"+kept, ""), http.StatusOK)
	got := [5]string{*settled.Settlement, *settled.SettledAt, *settled.SettledBy, *settled.SettlementReason, *settled.OrderID}
	if want := [5]string{"replayed", "2026-09-03T08:00:00Z", somebody, "URL von makod berichtigt", id}; got != want {
		t.Errorf("settled as %q, want %q", got, want)
	}
	type line struct {
		Actor         string            `json:"actor"`
		Action        string            `json:"action"`
		TransactionID string            `json:"transaction_id"`
		Detail        map[string]string `json:"detail"`
	}
	history := decode[[]line](t, g.as(t, nil, http.MethodGet, orders+"/"+id+"/history", ""), http.StatusOK)
	want := []line{{somebody, "created", callB, map[string]string{
		"reject_id": kept, "webhook_id": settled.WebhookID, "event_id": "5f0c0f64-6a0e-4f0e-9c39-0f6a3f1d7a01", "initial_transaction_id": callA,
	}}}
	if diff := cmp.Diff(want, history); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if n := g.count(t, `SELECT count(*) FROM webhook_rejects WHERE settlement_transaction = '`+callB+`'`); n != 1 {
		t.Errorf("the delivery does not name the call")
	}
	if n := g.count(t, `SELECT count(*) FROM event_outbox WHERE ce_type = 'de.sperr.auftrag.eingegangen'`); n != 1 {
		t.Errorf("%d events of the arrival, want 1", n)
	}
}

// The Lieferant kept its Vorlauffrist three weeks ago; that nobody could read the event
// then is not its fault.
func TestReplay_leaves_the_Uebertragungstag_where_it_was(t *testing.T) {
	t.Parallel()
	type judged struct {
		Uebertragungstag string `json:"uebertragungstag"`
		Eingehalten      bool   `json:"vorlauffrist_eingehalten"`
		CreatedAt        string `json:"created_at"`
	}
	const seen = "2026-08-13T22:30:00Z" // the 14th in Berlin
	for name, c := range map[string]struct{ replace, day string }{
		"the time of the event":                {`"time": "2026-08-12T09:12:31Z"`, "2026-08-12"},
		"no time: the first receipt":           {`"time": null`, "2026-08-14"},
		"a time after it: the receipt as well": {`"time": "2026-08-20T09:12:31Z"`, "2026-08-14"},
	} {
		b := newBench(t)
		kept := b.refused(t, edited(t, `"time": "2026-08-13T09:12:31Z"`, c.replace))
		b.aged(t, kept, seen)
		id := wantQueued(t, b.replay(t, kept, ""))
		want := judged{c.day, true, "2026-09-03T08:00:00Z"}
		if diff := cmp.Diff(want, decode[judged](t, b.get(t, orders+"/"+id), http.StatusOK)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := b.reject(t, kept).FirstSeenAt; got != seen {
			t.Errorf("%s: first seen at %s now", name, got)
		}
	}
}

func TestReplay_of_what_brings_no_order_says_so_and_settles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	redelivery := b.refused(t, sample(t, "17115-fixed-date.json"))
	// The market was faster: makod has delivered the process once more.
	id := decode[map[string]string](t, b.deliver(t, sample(t, "17115-fixed-date.json")), http.StatusCreated)["id"]
	storno := b.refused(t, bytes.ReplaceAll(sample(t, "17115-fixed-date.json"), []byte("17115,"), []byte("39000,")))
	unknown := b.refused(t, bytes.ReplaceAll(sample(t, "17117.json"), []byte("17117"), []byte("39000")))
	foreign := b.refused(t, sample(t, "unrelated-55001.json"))
	before := b.order(t, id)

	wantReceipt(t, b.replay(t, redelivery, ""), "redelivery", id)
	if diff := cmp.Diff(before, b.order(t, id)); diff != "" {
		t.Errorf("a redelivery has changed the order:\n%s", diff)
	}
	wantReceipt(t, b.replay(t, storno, "{}"), "noted", id)
	wantReceipt(t, b.replay(t, unknown, ""), "not_ours", "")
	wantReceipt(t, b.replay(t, foreign, `{"reason":"Lieferbeginn"}`), "not_ours", "")

	if o := b.order(t, id); o.Status != "pending" || !strings.Contains(strings.Join(o.Warnungen, " "), "39000") {
		t.Errorf("order %s with warnings %q", o.Status, o.Warnungen)
	}
	for kept, order := range map[string]string{redelivery: id, storno: id, unknown: "", foreign: ""} {
		r := b.reject(t, kept)
		if r.Settlement == nil || *r.Settlement != "replayed" || (r.OrderID == nil) != (order == "") || order != "" && *r.OrderID != order {
			t.Errorf("settled as %+v, want it replayed, of order %q", r, order)
		}
	}
	if n := b.orderCount(t); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
	detail := b.count(t, `SELECT count(*) FROM sperr_order_history WHERE action = 'stornierung_received' AND actor = 'dev-admin'
		AND detail ->> 'reject_id' = '`+storno+`' AND detail ? 'webhook_id'`)
	if detail != 1 {
		t.Error("the history does not say who noted the Stornierung, and from which delivery")
	}
}

// stillRefused are deliveries that the webhook refuses for themselves: how, and what is
// said of it then and at a replay.
func stillRefused(t *testing.T) map[string]struct {
	body          []byte
	header        []string
	status        int
	fields, words string
} {
	t.Helper()
	return map[string]struct {
		body          []byte
		header        []string
		status        int
		fields, words string
	}{
		"no JSON":         {[]byte(`{"specversion"`), nil, 400, "", "not valid JSON"},
		"a member twice":  {edited(t, `"hinweis": "Ger`, `"treffpunkt": "Ger`), nil, 400, "data.treffpunkt", "comes twice"},
		"no event":        {[]byte(`{"specversion":"1.0","id":"e","source":"urn:x"}`), nil, 400, "type", "type"},
		"a text":          {[]byte("x"), []string{"Content-Type", "text/plain"}, 415, "", "A CloudEvent is needed"},
		"a batch":         {[]byte("[]"), []string{"Content-Type", "application/cloudevents-batch+json"}, 415, "", "send each by itself"},
		"compressed":      {[]byte("x"), []string{"Content-Encoding", "gzip"}, 415, "", "without a Content-Encoding"},
		"no percent":      {[]byte(binaryBody), binaryHeader("Ce-Subject", "50%"), 400, "ce-subject", "escapes nothing"},
		"latin-1":         {[]byte(binaryBody), binaryHeader("Ce-Subject", "m\xfcller"), 400, "ce-subject", "is not UTF-8"},
		"control":         {[]byte(binaryBody), binaryHeader("Ce-Type", "de.mako%00.process.initiated"), 422, "type", "control character"},
		"no MaLo":         {edited(t, `"malo_id": "51238696012"`, `"malo_id": null`), nil, 422, "malo_id", "is missing"},
		"another NB":      {edited(t, `"receiver": "9900357000004"`, `"receiver": "9900000000001"`), nil, 422, "receiver", "not this Netzbetreiber"},
		"after the years": {edited(t, "20260901", "20360901"), nil, 422, "ausfuehrung_am", "calendar"},
	}
}

func TestReplay_of_what_is_still_refused_changes_nothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, c := range stillRefused(t) {
		kept := b.refusedWith(t, c.status, c.body, c.header...)
		before, left := b.reject(t, kept), b.traces(t)
		a := b.replay(t, kept, "")
		p := wantProblem(t, a, http.StatusUnprocessableEntity, "unusable_event", strings.Fields(c.fields)...)
		if !strings.Contains(p.Detail, c.words) {
			t.Errorf("%s: detail %q, want it to say %q", name, p.Detail, c.words)
		}
		if c.status != http.StatusUnprocessableEntity && !strings.Contains(p.Detail, before.Reason) {
			t.Errorf("%s: detail %q says another thing than the webhook: %q", name, p.Detail, before.Reason)
		}
		b.wantOpen(t, before)
		b.wantTraces(t, left)
		one := uuid.NewString()
		first := b.replay(t, kept, "", called(one)...)
		wantFirst(t, first, http.StatusUnprocessableEntity, one, one)
		wantReplay(t, b.replay(t, kept, "", called(callA, one)...), first, callA, one)
		b.wantOpen(t, before)
		if _, err := b.pool.Exec(t.Context(), `DELETE FROM api_transactions`); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReplay_of_a_contradiction_names_the_order_and_stays_open(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := decode[map[string]string](t, b.deliver(t, sample(t, "17115-fixed-date.json")), http.StatusCreated)["id"]
	kept := b.refusedWith(t, http.StatusConflict, edited(t, "Lindenallee 7", "Lindenallee 9"))
	before, order := b.reject(t, kept), b.order(t, id)
	p := wantProblem(t, b.replay(t, kept, ""), http.StatusConflict, "process_conflict", "treffpunkt.strasse")
	if !strings.Contains(p.Detail, id) {
		t.Errorf("detail %q does not name the order", p.Detail)
	}
	if line := b.log.requests(t); line[len(line)-1]["order_id"] != id {
		t.Errorf("line %v, want the order in it", line[len(line)-1])
	}
	first := b.replay(t, kept, "", called(callA)...)
	wantFirst(t, first, http.StatusConflict, callA, callA)
	if got := first.header.Get(contentLocation); got != orders+"/"+id {
		t.Errorf("%s %q, want the order", contentLocation, got)
	}
	wantReplay(t, b.replay(t, kept, "", called(callB, callA)...), first, callB, callA)
	b.wantOpen(t, before)
	if diff := cmp.Diff(order, b.order(t, id)); diff != "" {
		t.Errorf("the order has changed:\n%s", diff)
	}
}

func TestReplay_reads_a_binary_event_with_the_headers_it_had(t *testing.T) {
	t.Parallel()
	structured, b := newBench(t), newBench(t)
	event := sample(t, "17115-fixed-date.json")
	wantStatus(t, structured.deliver(t, event), http.StatusCreated)
	body, header := inBinaryMode(t, event, everyByte)
	kept := b.refused(t, body, header...)
	if got := b.reject(t, kept).Headers["ce-type"]; len(got) != 1 || got[0] != everyByte("de.mako.process.initiated") {
		t.Errorf("ce-type is kept as %q", got)
	}
	wantQueued(t, b.replay(t, kept, ""))
	if diff := cmp.Diff(structured.columns(t), b.columns(t)); diff != "" {
		t.Errorf("order (-structured +replayed):\n%s", diff)
	}
}

// Joined, the two would be one process id with a comma in it.
func TestReplay_refuses_a_header_that_was_given_twice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	h := signedAs(t, "w-1", []byte(binaryBody))
	for i, lines := 0, binaryHeader(); i < len(lines); i += 2 {
		h.Set(lines[i], lines[i+1])
	}
	h["Ce-Subject"] = []string{"p-1", "p-2"}
	wantProblem(t, b.send(t, http.MethodPost, "/webhook", strings.NewReader(binaryBody), h), http.StatusBadRequest, "invalid_body", "ce-subject")
	kept := b.rejectOf(t, "w-1")
	if diff := cmp.Diff([]string{"p-1", "p-2"}, b.reject(t, kept).Headers["ce-subject"]); diff != "" {
		t.Errorf("ce-subject (-sent +kept):\n%s", diff)
	}
	wantProblem(t, b.replay(t, kept, ""), http.StatusUnprocessableEntity, "unusable_event", "ce-subject")
	// One value with a comma is another delivery, also under the same webhook id.
	h["Ce-Subject"] = []string{"p-1, p-2"}
	wantProblem(t, b.send(t, http.MethodPost, "/webhook?x=1", strings.NewReader(binaryBody), h), http.StatusBadRequest, "invalid_parameter")
	if n := len(b.rejects(t, "")); n != 2 {
		t.Errorf("%d deliveries are kept, want 2", n)
	}
}

func TestReplay_takes_the_rows_of_earlier_versions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kept := b.refused(t, []byte(binaryBody), binaryHeader()...)
	before := b.reject(t, kept)
	// As it was kept before headers could have several values.
	if _, err := b.pool.Exec(t.Context(), `UPDATE webhook_rejects SET headers =
		(SELECT jsonb_object_agg(key, value -> 0) FROM jsonb_each(headers))`); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, b.reject(t, kept)); diff != "" {
		t.Errorf("a row of an earlier version (-new +old):\n%s", diff)
	}
	wantQueued(t, b.replay(t, kept, ""))
}

// tenanted is a service of another tenant on the same database.
func (b *bench) tenanted(t *testing.T, tenant string) *bench {
	t.Helper()
	return newBench(t, func(s *settings) { s.pool, s.options.Tenant = b.pool, tenant })
}

func TestReplay_knows_the_deliveries_of_its_tenant_alone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.tenanted(t, "9900000000001")
	kept := b.refused(t, sample(t, "17117.json"))
	for _, a := range []answer{
		other.replay(t, kept, ""), other.dismiss(t, kept, `{"reason":"x"}`), other.get(t, rejects+"/"+kept),
		b.replay(t, uuid.NewString(), ""), b.dismiss(t, "x", `{"reason":"x"}`), b.replay(t, "urn:uuid:"+kept, ""),
	} {
		wantProblem(t, a, http.StatusNotFound, "not_found")
	}
	if n, own := len(other.rejects(t, "?status=all")), other.statOf(t, "webhook_rejects_offen"); n != 0 || own != 0 {
		t.Errorf("the other tenant sees %d, counts %d", n, own)
	}
	if b.reject(t, kept).Settlement != nil {
		t.Error("another tenant has settled it")
	}
	wantQueued(t, b.replay(t, kept, ""))
	if n := len(decode[[]order](t, other.get(t, orders), http.StatusOK)); n != 0 {
		t.Errorf("the other tenant has %d orders", n)
	}
}

// A deployment that was set up with a wrong tenant refuses everything as not for it, and
// keeps it under that name.
func TestReplay_works_after_the_tenant_is_corrected(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	wrong := b.tenanted(t, "9900000000001")
	kept := wrong.refusedWith(t, http.StatusUnprocessableEntity, sample(t, "17115-fixed-date.json"))
	wantProblem(t, wrong.replay(t, kept, ""), http.StatusUnprocessableEntity, "unusable_event", "receiver")
	// As docs/operations.md has it.
	if _, err := b.pool.Exec(t.Context(), `UPDATE webhook_rejects SET tenant = $1 WHERE tenant = $2 AND settlement IS NULL`, tenant, "9900000000001"); err != nil {
		t.Fatal(err)
	}
	if o := b.order(t, wantQueued(t, b.replay(t, kept, ""))); o.Tenant != tenant {
		t.Errorf("order of tenant %s", o.Tenant)
	}
}

func TestReplay_is_in_the_log_without_the_delivery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	kept := b.refused(t, sample(t, "17115-fixed-date.json"))
	junk := b.refusedWith(t, http.StatusUnprocessableEntity, edited(t, "51238696012", "51238696782"))
	id := wantQueued(t, b.replay(t, kept, "", called(callA)...))
	wantStatus(t, b.replay(t, junk, ""), http.StatusUnprocessableEntity)
	wantStatus(t, b.dismiss(t, junk, `{"reason":"Bauer, Lindenallee 7"}`), http.StatusNoContent)
	wantStatus(t, b.replay(t, kept, "", "transactionId", "42"), http.StatusBadRequest)

	lines := b.log.requests(t)
	for i, want := range []map[string]any{
		{"reject_id": kept, "receipt": "queued", "order_id": id, "subject": "dev-admin", "transaction_id": callA, "status": 201.0},
		{"reject_id": junk, "code": "unusable_event", "subject": "dev-admin", "status": 422.0},
		{"reject_id": junk, "subject": "dev-admin", "status": 204.0},
		{"reject_id": kept, "code": "invalid_transaction_header", "status": 400.0},
	} {
		got := lines[2+i]
		for name, value := range want {
			if got[name] != value {
				t.Errorf("line %d: %s is %v, want %v", i, name, got[name], value)
			}
		}
		if _, named := got["order_id"]; named && want["order_id"] == nil {
			t.Errorf("line %d names an order: %v", i, got)
		}
	}
	settled := b.log.lines(t, "refused delivery settled")
	for i, want := range []struct{ id, how string }{{kept, "replayed"}, {junk, "dismissed"}} {
		got := settled[i]
		if got["reject_id"] != want.id || got["settlement"] != want.how || got["actor"] != "dev-admin" || got["webhook_id"] != b.reject(t, want.id).WebhookID {
			t.Errorf("line %v, want %s of %s", got, want.how, want.id)
		}
	}
	for _, secret := range []string{"Lindenallee", "51238696012", "Gerichtsvollzieher", "9900012345678"} {
		if strings.Contains(b.log.String(), secret) {
			t.Errorf("the log tells %s", secret)
		}
	}
}

// lines are those of the log that say msg, oldest first.
func (l *logBuffer) lines(t *testing.T, msg string) (found []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		if fields["msg"] == msg {
			found = append(found, fields)
		}
	}
	return found
}
