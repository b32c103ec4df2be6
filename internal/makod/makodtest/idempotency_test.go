package makodtest

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestIdempotencyNone_lets_a_repetition_reach_the_workflow(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	post(s, "k1", execute)
	if w := post(s, "k1", execute); w.Code != 409 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	// Only the first of two header lines is looked at.
	w := post(s, "k1", execute, func(r *http.Request) { r.Header.Add("Idempotency-Key", "k2") })
	if w.Code != 409 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestIdempotencyCompare_repeats_the_accepted_answer(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	s.SetIdempotency(IdempotencyCompare24h)
	first := post(s, "k1", execute)
	// Neither the order of members nor blanks nor the role make a difference.
	again := `{ "payload": {"note":"n", "malo_id":"51238696012"}, "command":"GPKE.sperrung.bestaetigen" }`
	want(t, post(s, "k1", again), 202, first.Body.String())
	if n := len(s.IFTSTA()); n != 1 {
		t.Errorf("%d IFTSTA, want 1", n)
	}
}

func TestIdempotencyCompare_refuses_the_key_for_something_else(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	s.SetIdempotency(IdempotencyCompare24h)
	withNumber := func(n string) string { return strings.Replace(execute, `"n"`, n, 1) }
	post(s, "k1", withNumber("9007199254740993"))
	reuse := `{"error":"idempotency_key_reuse","detail":"the key was used with another command or payload"}`
	want(t, post(s, "k1", withNumber("9007199254740992")), 422, reuse)
	want(t, post(s, "k1", strings.Replace(withNumber("9007199254740993"), "bestaetigen", "fehlgeschlagen", 1)), 422, reuse)
	if w := post(s, "k2", execute); w.Code != 409 {
		t.Errorf("another key: %d %s", w.Code, w.Body)
	}
}

func TestIdempotencyCompare_never_stores_failures(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	s.SetIdempotency(IdempotencyCompare24h)
	if err := s.SetState(id1, StateNew); err != nil {
		t.Fatal(err)
	}
	if w := post(s, "k1", execute); w.Code != 409 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if err := s.SetState(id1, StateValidationPassed); err != nil {
		t.Fatal(err)
	}
	if w := post(s, "k1", strings.Replace(execute, `"n"`, `"m"`, 1)); w.Code != 202 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestIdempotencyCompare_forgets_after_24_hours(t *testing.T) {
	t.Parallel()
	s, c := newServer(t)
	s.SetIdempotency(IdempotencyCompare24h)
	post(s, "k1", execute)
	c.set(tuesday.Add(24*time.Hour - time.Second))
	if w := post(s, "k1", execute); w.Code != 202 {
		t.Errorf("within 24 h: %d %s", w.Code, w.Body)
	}
	c.set(tuesday.Add(24 * time.Hour))
	if w := post(s, "k1", execute); w.Code != 409 {
		t.Errorf("after 24 h: %d %s", w.Code, w.Body)
	}
}

func TestForgetKeys(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	s.SetIdempotency(IdempotencyCompare24h)
	post(s, "k1", execute)
	s.ForgetKeys()
	if w := post(s, "k1", execute); w.Code != 409 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestIdempotencyCompare_refuses_the_header_given_twice(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	s.SetIdempotency(IdempotencyCompare24h)
	w := post(s, "k1", execute, func(r *http.Request) { r.Header.Add("Idempotency-Key", "k1") })
	want(t, w, 422, `{"error":"missing_idempotency_key","detail":"exactly one Idempotency-Key is required"}`)
}
