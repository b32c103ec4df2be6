package makodtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCommand_accepted_answer(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	w := post(s, "k1", strings.Replace(execute, "gpke.sperrung", "GPKE.Sperrung", 1))
	want(t, w, 202, `{"idempotency_key":"k1","command":"gpke.sperrung.bestaetigen","marktrolle":"NB",`+
		`"status":"accepted","process_id":"`+id1+`"}`)
}

func TestCommand_is_evaluated_in_makods_order(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	// Every step repairs one fault of a request that has them all; the answer is
	// that of the next check each time.
	body := "{"
	header := http.Header{}
	header.Set("Content-Type", "text/plain")
	for _, step := range []struct {
		repair func()
		status int
		answer string
	}{
		{func() {}, 415, "expected request with `Content-Type: application/json`"},
		{func() { header.Set("Content-Type", "application/json; charset=utf-8") }, 400, "failed to parse the request body as JSON"},
		{func() { body = `{"Command":"x"}` }, 422, "failed to deserialize the JSON body: missing field `command`"},
		{func() { body = `{"command":"x"}` }, 401, `{"error":"Unauthorized","detail":"missing or unknown bearer token"}`},
		{func() { header.Set("Authorization", "Bearer "+apiKey) }, 422, `{"error":"command_rejected","detail":"unknown command"}`},
		{func() { body = `{"command":"gpke.sperrung.stornieren"}` }, 422, `{"error":"command_rejected","detail":"role LF is not configured on this instance"}`},
		{func() { body = `{"command":"gpke.sperrung.bestaetigen"}` }, 422, `{"error":"missing_idempotency_key","detail":"exactly one Idempotency-Key is required"}`},
		{func() { header.Set("Idempotency-Key", "k1") }, 422, `{"error":"invalid_payload","detail":"missing malo_id"}`},
		{func() { body = `{"command":"gpke.sperrung.bestaetigen","payload":{"malo_id":"51238696782"}}` }, 422, `{"error":"invalid_payload","detail":"malo_id is not a valid MaLo-ID"}`},
		{func() { body = `{"command":"gpke.sperrung.bestaetigen","payload":{"malo_id":"` + malo2 + `"}}` }, 404, `{"error":"process_not_found","detail":"no active process for this business key","business_key":"` + malo2 + `","workflow_name":"gpke-sperrung"}`},
		{func() {
			for _, id := range []string{id2, ""} {
				if _, err := s.SpawnBeside(Process{ID: id, MaloID: malo2, PID: 17117}); err != nil {
					t.Fatal(err)
				}
			}
		}, 409, `{"error":"ambiguous_process","detail":"more than one process matches","business_key":"` + malo2 + `","count":2}`},
		{func() { body = execute }, 202, `{"idempotency_key":"k1","command":"gpke.sperrung.bestaetigen","marktrolle":"NB","status":"accepted","process_id":"` + id1 + `"}`},
		{func() { body = fail }, 409, `{"error":"invalid_state","detail":"workflow error: invalid state: expected ValidationPassed, found Ausgefuehrt"}`},
	} {
		step.repair()
		w := post(s, "", body, func(r *http.Request) { r.Header = header.Clone() })
		want(t, w, step.status, step.answer)
	}
}

func TestCommand_wrong_shapes(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	for _, body := range []string{`[]`, `"x"`, `{"command":7}`, `{"command":null}`, `{"command":"x","marktrolle":7}`} {
		if w := post(s, "k1", body); w.Code != 422 || !strings.Contains(w.Body.String(), "deserialize") {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	for _, body := range []string{``, `{}{}`, `{"command":`, "\xff"} {
		if w := post(s, "k1", body); w.Code != 400 {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	}
	if w := post(s, "k1", strings.Repeat(" ", maxBody+1)); w.Code != 413 {
		t.Errorf("a large body: %d", w.Code)
	}
}

func TestCommand_newer_makod_answers_framework_errors_in_JSON(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	s.SetIdempotency(IdempotencyCompare24h)
	want(t, post(s, "k1", "{"), 400, `{"error":"Bad Request","detail":"failed to parse the request body as JSON"}`)
}

func TestCommand_asserted_role_is_ignored(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	if w := post(s, "k1", strings.Replace(execute, `"NB"`, `"XYZ"`, 1)); w.Code != 202 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestCommand_without_configured_key_admits_everybody(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	mustSpawn(t, s, Process{MaloID: malo1, PID: 17115})
	w := post(s, "k1", execute, func(r *http.Request) { r.Header.Del("Authorization") })
	if w.Code != 202 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestOtherPathsAndMethods(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	for target, status := range map[string]int{
		"GET /api/v1/commands":  405,
		"POST /api/v1/command":  404,
		"GET /health":           200,
		"GET /health/live":      200,
		"GET /health/ready":     200,
		"POST /health/ready":    405,
		"GET /api/v1/processes": 404,
	} {
		method, path, _ := strings.Cut(target, " ")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		if w.Code != status {
			t.Errorf("%s: %d, want %d", target, w.Code, status)
		}
	}
}

func TestHealth_degraded_is_alive_but_not_ready(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	s.SetDegraded("slow")
	for path, status := range map[string]int{"/health": 503, "/health/ready": 503, "/health/live": 200} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != status || strings.Contains(w.Body.String(), `"reason":"slow"`) != (status == 503) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
