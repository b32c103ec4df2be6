package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/webhook"
)

func sample(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "sperr", "testdata", "events", name))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// signed are the headers of a delivery of body under a fresh webhook id.
func signed(t *testing.T, body []byte) http.Header {
	t.Helper()
	return signedAs(t, uuid.NewString(), body)
}

func signedAs(t *testing.T, id string, body []byte) http.Header {
	t.Helper()
	signer, err := webhook.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	return signer.Sign(id, now, body)
}

// deliver posts a signed event in structured mode; header lines replace or add.
func (b *bench) deliver(t *testing.T, body []byte, header ...string) answer {
	t.Helper()
	return b.deliverAs(t, uuid.NewString(), body, header...)
}

func (b *bench) deliverAs(t *testing.T, id string, body []byte, header ...string) answer {
	t.Helper()
	h := signedAs(t, id, body)
	h.Set("Content-Type", "application/cloudevents+json")
	for i := 0; i+1 < len(header); i += 2 {
		h[http.CanonicalHeaderKey(header[i])] = []string{header[i+1]}
	}
	return b.send(t, http.MethodPost, "/webhook", bytes.NewReader(body), h)
}

// edited is the 17115 with a fixed date and one piece of its text replaced.
func edited(t *testing.T, old, replacement string) []byte {
	t.Helper()
	raw := string(sample(t, "17115-fixed-date.json"))
	if !strings.Contains(raw, old) {
		t.Fatalf("the sample has no %s", old)
	}
	return []byte(strings.Replace(raw, old, replacement, 1))
}

func (b *bench) orderCount(t *testing.T) int {
	t.Helper()
	return b.count(t, `SELECT count(*) FROM sperr_orders`)
}

// kept are the codes of the rejects that are kept, oldest first.
func (b *bench) kept(t *testing.T) []string {
	t.Helper()
	var codes []string
	err := b.pool.QueryRow(t.Context(), `SELECT COALESCE(array_agg(code ORDER BY first_seen_at, code), '{}') FROM webhook_rejects`).Scan(&codes)
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

func TestWebhook_queues_orders_once_and_passes_over_the_rest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first := decode[map[string]string](t, b.deliver(t, sample(t, "17115-fixed-date.json")), http.StatusCreated)
	stored := b.order(t, first["id"])
	if stored.MaloID != malo || stored.OrderType != "sperrung" || *stored.AusfuehrungAm != "2026-09-01" ||
		*stored.ProcessID != "0b7c1e2a-1111-4000-8000-000000000001" {
		t.Errorf("stored %+v", stored)
	}
	decode[map[string]string](t, b.deliver(t, sample(t, "17115-earliest-date.json")), http.StatusCreated)
	decode[map[string]string](t, b.deliver(t, sample(t, "17117.json")), http.StatusCreated)

	for _, name := range []string{"17115-fixed-date.json", "17115-redelivered-by-marktd.json", "17116.json", "unrelated-55001.json"} {
		a := b.deliver(t, sample(t, name))
		if a.status != http.StatusNoContent || len(a.body) != 0 {
			t.Errorf("%s: %d %s, want 204", name, a.status, a.body)
		}
	}
	if n := b.orderCount(t); n != 3 {
		t.Errorf("%d orders, want 3", n)
	}
	if n := b.count(t, `SELECT count(*) FROM event_outbox`); n != 3 {
		t.Errorf("%d events, want 3", n)
	}
	if codes := b.kept(t); len(codes) != 0 {
		t.Errorf("kept %v of events that were taken", codes)
	}
}

func TestWebhook_notes_a_Stornierung_on_its_order(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := decode[map[string]string](t, b.deliver(t, sample(t, "17117.json")), http.StatusCreated)["id"]
	storno := bytes.ReplaceAll(sample(t, "17117.json"), []byte("17117"), []byte("39000"))
	wantStatus(t, b.deliver(t, storno), http.StatusNoContent)
	if o := b.order(t, id); o.Status != "pending" || !strings.Contains(strings.Join(o.Warnungen, " "), "39000") {
		t.Errorf("order %s with warnings %q", o.Status, o.Warnungen)
	}
}

func TestWebhook_makes_one_order_of_fifty_parallel_deliveries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17115-fixed-date.json")
	answers := make([]int, 50)
	var deliveries sync.WaitGroup
	for i := range answers {
		deliveries.Go(func() { answers[i] = b.deliver(t, body).status })
	}
	deliveries.Wait()
	tally := map[int]int{}
	for _, status := range answers {
		tally[status]++
	}
	if diff := cmp.Diff(map[int]int{http.StatusCreated: 1, http.StatusNoContent: 49}, tally); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	if n := b.orderCount(t); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
	if n := b.count(t, `SELECT count(*) FROM event_outbox WHERE ce_type = 'de.sperr.auftrag.eingegangen'`); n != 1 {
		t.Errorf("%d events, want 1", n)
	}
}

func TestWebhook_refuses_and_keeps_an_event_that_contradicts_its_order(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := decode[map[string]string](t, b.deliver(t, sample(t, "17115-fixed-date.json")), http.StatusCreated)["id"]
	other := edited(t, "Lindenallee 7", "Lindenallee 9")
	wantProblem(t, b.deliver(t, other), http.StatusConflict, "process_conflict", "treffpunkt.strasse")
	// The tenant is ours, whatever the body says of a receiver.
	foreign := edited(t, `"receiver": "9900357000004"`, `"receiver": "9900000000001"`)
	wantProblem(t, b.deliver(t, foreign), http.StatusUnprocessableEntity, "unusable_event", "receiver")

	if got := b.get(t, orders+"/"+id); strings.Contains(string(got.body), "Lindenallee 9") {
		t.Errorf("the order has changed: %s", got.body)
	}
	if n := b.orderCount(t); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
	if diff := cmp.Diff([]string{"process_conflict", "unusable_event"}, b.kept(t)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestWebhook_without_a_verifier_takes_bodies_as_they_come(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *settings) { s.options.Verifier = nil })
	header := http.Header{"Content-Type": {"application/cloudevents+json"}}
	wantStatus(t, b.send(t, http.MethodPost, "/webhook", bytes.NewReader(sample(t, "17117.json")), header), http.StatusCreated)

	wantStatus(t, b.send(t, http.MethodPost, "/webhook", strings.NewReader("{"), header), http.StatusBadRequest)
	header.Set("Webhook-Id", "m\xfcll")
	wantStatus(t, b.send(t, http.MethodPost, "/webhook", strings.NewReader("{"), header), http.StatusBadRequest)
	var ids []string
	for _, r := range decode[[]map[string]any](t, b.get(t, rejects), http.StatusOK) {
		ids = append(ids, r["webhook_id"].(string))
	}
	slices.Sort(ids)
	if !slices.Equal(ids, []string{"", "m\uFFFDll"}) {
		t.Errorf("webhook ids %q, want none and that of the header", ids)
	}
}

func TestWebhook_log_names_the_event_and_nothing_of_its_data(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.deliver(t, sample(t, "17115-fixed-date.json"), "Webhook-Id", "w-forged") // the signature is for another id
	b.deliver(t, sample(t, "17115-fixed-date.json"))
	b.deliver(t, edited(t, "51238696012", "51238696782"))
	b.deliver(t, edited(t, `"hinweis": "Ger`, `"treffpunkt": "Ger`)) // twice
	b.deliver(t, edited(t, "Lindenallee 7", "Lindenallee 9"))

	lines := b.log.requests(t)
	if len(lines) != 5 {
		t.Fatalf("%d lines, want 5", len(lines))
	}
	for i, want := range []struct{ level, code, receipt, event string }{
		{"WARN", "invalid_signature", "", ""},
		{"INFO", "", "queued", "5f0c0f64-6a0e-4f0e-9c39-0f6a3f1d7a01"},
		{"WARN", "unusable_event", "", "5f0c0f64-6a0e-4f0e-9c39-0f6a3f1d7a01"},
		{"WARN", "invalid_body", "", ""},
		{"WARN", "process_conflict", "", "5f0c0f64-6a0e-4f0e-9c39-0f6a3f1d7a01"},
	} {
		got := struct{ level, code, receipt, event string }{}
		got.level, _ = lines[i]["level"].(string)
		got.code, _ = lines[i]["code"].(string)
		got.receipt, _ = lines[i]["receipt"].(string)
		got.event, _ = lines[i]["event_id"].(string)
		if got != want || lines[i]["webhook_id"] == "" {
			t.Errorf("line %d: %v, want %+v", i, lines[i], want)
		}
	}
	if reason, _ := lines[0]["reason"].(string); !strings.Contains(reason, "Webhook-Signature") {
		t.Errorf("the log does not say which check failed: %v", lines[0])
	}
	var event struct{ Data map[string]any }
	if err := json.Unmarshal(sample(t, "17115-fixed-date.json"), &event); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Lindenallee", "10115", "Zaehlerraum", "Gerichtsvollzieher", malo, "treffpunkt"} {
		if strings.Contains(b.log.String(), text) {
			t.Errorf("the log holds %q:\n%s", text, b.log)
		}
	}
}
