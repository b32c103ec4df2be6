package api_test

import (
	"encoding/base64"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

type reject struct {
	ID          string              `json:"id"`
	WebhookID   string              `json:"webhook_id"`
	Status      int                 `json:"status"`
	Code        string              `json:"code"`
	Reason      string              `json:"reason"`
	Count       int                 `json:"count"`
	FirstSeenAt string              `json:"first_seen_at"`
	Headers     map[string][]string `json:"headers"`
	Body        string              `json:"body"`
	BodyText    *string             `json:"body_text"`

	Settlement       *string `json:"settlement"`
	SettledAt        *string `json:"settled_at"`
	SettledBy        *string `json:"settled_by"`
	SettlementReason *string `json:"settlement_reason"`
	OrderID          *string `json:"order_id"`
}

func (b *bench) rejects(t *testing.T, query string) []reject {
	t.Helper()
	return decode[[]reject](t, b.get(t, rejects+query), http.StatusOK)
}

func TestRejects_hold_the_whole_delivery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if got := string(b.get(t, rejects).body); got != "[]" {
		t.Errorf("nothing kept is %s, want []", got)
	}
	body := []byte("{\"hinweis\":\"M\xfcller\"}")
	a := b.deliver(t, body, binaryHeader("Ce-Subject", "m\xfcller", "Webhook-Test", "x")...)
	wantProblem(t, a, http.StatusBadRequest, "invalid_body", "ce-subject")

	list := b.rejects(t, "")
	if len(list) != 1 || list[0].Code != "invalid_body" || list[0].Status != 400 || list[0].Count != 1 || list[0].Headers != nil || list[0].Body != "" {
		t.Fatalf("list %+v, want the one reject without headers and body", list)
	}
	one := decode[reject](t, b.get(t, rejects+"/"+list[0].ID), http.StatusOK)
	if one.Body != base64.StdEncoding.EncodeToString(body) || one.BodyText != nil {
		t.Errorf("body %q, text %v: want base64 alone of what is no UTF-8", one.Body, one.BodyText)
	}
	if diff := cmp.Diff([]string{"m%FCller"}, one.Headers["ce-subject"]); diff != "" || one.Headers["content-type"][0] != "application/json" || one.Headers["webhook-test"] != nil {
		t.Errorf("headers %v", one.Headers)
	}
	if one.Reason == "" || one.WebhookID == "" {
		t.Errorf("reject %+v", one)
	}
}

func TestRejects_show_the_body_as_text_where_it_is_text(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, body := range []string{"", "{\x00 Müller"} {
		wantStatus(t, b.deliver(t, []byte(body)), http.StatusBadRequest)
		one := decode[reject](t, b.get(t, rejects+"/"+b.rejects(t, "?limit=1")[0].ID), http.StatusOK)
		if one.BodyText == nil || one.Body != base64.StdEncoding.EncodeToString([]byte(*one.BodyText)) {
			t.Errorf("body %q, text %v", one.Body, one.BodyText)
		}
	}
}

func TestRejects_count_the_same_delivery_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 3 {
		h := []string{"Content-Type", "text/plain"}
		wantStatus(t, b.deliverAs(t, "w-1", []byte("x"), h...), http.StatusUnsupportedMediaType)
	}
	wantStatus(t, b.deliverAs(t, "w-2", []byte("x"), "Content-Type", "text/plain"), http.StatusUnsupportedMediaType)
	counts := map[string]int{}
	for _, r := range b.rejects(t, "") {
		counts[r.WebhookID] = r.Count
	}
	if len(counts) != 2 || counts["w-1"] != 3 || counts["w-2"] != 1 {
		t.Errorf("counts %v, want w-1 three times and w-2 once", counts)
	}
}

func TestRejects_are_walked_page_by_page(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 7 {
		wantStatus(t, b.deliver(t, []byte("{")), http.StatusBadRequest)
	}
	var seen []string
	pages := 0
	for path := rejects + "?limit=3"; path != ""; pages++ {
		a := b.get(t, path)
		for _, r := range decode[[]reject](t, a, http.StatusOK) {
			seen = append(seen, r.ID)
		}
		path = nextPage(t, a)
	}
	slices.Sort(seen)
	if len(slices.Compact(seen)) != 7 || pages != 3 {
		t.Errorf("%d rejects on %d pages, want 7 on 3", len(seen), pages)
	}
	for query, field := range map[string]string{"limit=0": "limit", "limit=x": "limit", "cursor=x": "cursor", "status=400": "status", "limit=1&limit=2": "limit"} {
		wantProblem(t, b.get(t, rejects+"?"+query), http.StatusBadRequest, "invalid_parameter", field)
	}
}

func TestRejects_unknown_are_404(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, id := range []string{"x", uuid.NewString(), "urn:uuid:" + uuid.NewString()} {
		wantProblem(t, b.get(t, rejects+"/"+id), http.StatusNotFound, "not_found")
	}
}

func TestRejects_that_cannot_be_kept_make_the_sender_come_again(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.pool.Exec(t.Context(), `ALTER TABLE webhook_rejects RENAME TO away`); err != nil {
		t.Fatal(err)
	}
	a := b.deliver(t, []byte("{"))
	wantProblem(t, a, http.StatusServiceUnavailable, "unavailable")
	if a.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	lines := b.log.requests(t)
	if cause, _ := lines[len(lines)-1]["error"].(string); cause == "" {
		t.Errorf("the log does not say why: %v", lines[len(lines)-1])
	}
}
