package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/werktag"
)

func TestIdentifiers_of_a_report_change_with_each_call_but_for_the_first(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.August, 13, 11, 12, 31, 4_500_000, werktag.Berlin())
	first := newIdentifiers()
	second := first.again()
	third := second.again()
	if diff := cmp.Diff(http.Header{
		"transactionId": {third.id}, "initialTransactionId": {first.id}, "creationDateTime": {"2026-08-13T09:12:31.004Z"},
	}, third.header(at)); diff != "" {
		t.Errorf("third call (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(http.Header{"transactionId": {first.id}, "creationDateTime": {"2026-08-13T09:12:31.004Z"}}, first.header(at)); diff != "" {
		t.Errorf("first call (-want +got):\n%s", diff)
	}
	if first.id == second.id || second.id == third.id || first.id == third.id {
		t.Errorf("two calls have one transactionId: %s, %s, %s", first.id, second.id, third.id)
	}
	generic := identifiers{id: "order-7", generic: true}
	if diff := cmp.Diff(http.Header{"Idempotency-Key": {`"order-7"`}}, generic.again().header(at)); diff != "" {
		t.Errorf("Idempotency-Key (-want +got):\n%s", diff)
	}
	if got := (identifiers{}).header(at); len(got) != 0 {
		t.Errorf("a call without ids has %v", got)
	}
}

// A service that gets repeated reports wrong ends the story, in whichever way it does.
func TestStory_stops_when_a_repeated_report_is_not_recognised(t *testing.T) {
	t.Parallel()
	const order = "/api/v1/sperr-orders/00000000-0000-4000-8000-000000000001"
	replayed := func(h http.Header) {
		h.Set("Idempotent-Replayed", "true")
		h.Set("Content-Location", order)
	}
	for name, c := range map[string]struct {
		answer func(h http.Header, calls int) (body string)
		says   string // empty: all is well
	}{
		"right": {func(h http.Header, calls int) string {
			if calls > 1 {
				replayed(h)
			}
			return `{}`
		}, ""},
		"done again": {func(http.Header, int) string { return `{}` }, "not answered like the first"},
		"every answer a replay": {func(h http.Header, _ int) string {
			replayed(h)
			return `{}`
		}, "not answered like the first"},
		"another answer": {func(h http.Header, calls int) string {
			if calls > 1 {
				replayed(h)
			}
			return fmt.Sprintf(`{"sperrversuche":%d}`, calls)
		}, "not answered like the first"},
		"the ids of another call": {func(h http.Header, calls int) string {
			if calls > 1 {
				replayed(h)
				h.Set("transactionId", "another")
			}
			return `{}`
		}, `names "another"`},
		"another order's place": {func(h http.Header, calls int) string {
			if calls > 1 {
				replayed(h)
				h.Set("Content-Location", "/nowhere")
			}
			return `{}`
		}, "expected 200 for GET /nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := repeatAgainst(t, c.answer); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("the story ends with %v, want %q", err, c.says)
			}
		})
	}
}

// repeatAgainst reports twice to a service that answers PUT so, and any GET of an order.
func repeatAgainst(t *testing.T, answer func(h http.Header, calls int) string) error {
	t.Helper()
	calls, initial := 0, ""
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if !strings.HasPrefix(r.URL.Path, ordersPath) {
				w.WriteHeader(http.StatusNotFound)
			}
			fmt.Fprint(w, "{}")
			return
		}
		calls++
		if calls == 1 {
			initial = r.Header.Get("transactionId")
		}
		w.Header().Set("transactionId", r.Header.Get("transactionId"))
		w.Header().Set("referenceId", initial)
		body := answer(w.Header(), calls)
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, body)
	}))
	defer service.Close()
	s := newStory(beside(t, service.URL), werktag.BerlinDay(time.Now()))
	r := request{http.MethodPut, ordersPath + "/7/fail", nil, newIdentifiers()}
	s.repeat(t.Context(), r, s.ask(t.Context(), http.StatusAccepted, r))
	return s.err
}
