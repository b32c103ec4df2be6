package makod

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/makod/makodtest"
)

// seen is all that a caller can tell about a failure.
type seen struct {
	Status             int
	Code, Found        string
	Text               string
	RetryAfter         time.Duration
	Unclear, Postponed bool
}

func see(e *Error) seen {
	return seen{e.Status, e.Code, e.Found, e.Text(), e.RetryAfter, e.Unclear(), e.Postponed()}
}

func TestSubmit_maps_every_refusal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault makodtest.Fault
		want  seen
	}{
		"400": {makodtest.BadRequest(), seen{Status: 400, Code: "http_400", Text: "400 Bad Request: failed to parse the request body as JSON"}},
		"401": {makodtest.Unauthorized(), seen{Status: 401, Code: "Unauthorized", Text: "401 Unauthorized: missing or unknown bearer token"}},
		"403": {makodtest.Forbidden(), seen{Status: 403, Code: "Forbidden", Text: "403 Forbidden: the policy denies SubmitCommand"}},
		"404": {makodtest.ProcessNotFound(), seen{Status: 404, Code: CodeProcessNotFound, Text: "404 process_not_found: no active process for this business key"}},
		"408": {makodtest.Answer(408, "text/plain", ""), seen{Status: 408, Code: "http_408", Text: "408 Request Timeout", Unclear: true}},
		"409 ambiguous": {makodtest.AmbiguousProcess(2), seen{
			Status: 409, Code: CodeAmbiguousProcess, Text: "409 ambiguous_process: more than one process matches",
		}},
		"409 duplicate without id": {makodtest.DuplicateProcess(""), seen{Status: 409, Code: "duplicate_process", Text: "409 duplicate_process: an active process exists"}},
		"409 duplicate with odd id": {makodtest.DuplicateProcess("4711"), seen{
			Status: 409, Code: "duplicate_process", Text: "409 duplicate_process: an active process exists",
		}},
		"409 duplicate with nil id": {makodtest.DuplicateProcess("00000000-0000-0000-0000-000000000000"), seen{
			Status: 409, Code: "duplicate_process", Text: "409 duplicate_process: an active process exists",
		}},
		"409 other word with id": {makodtest.Answer(409, "application/json", `{"error":"conflict","process_id":"`+processID+`"}`), seen{
			Status: 409, Code: "conflict", Text: "409 conflict",
		}},
		"409 invalid_state": {makodtest.InvalidState(makodtest.StateStorniert), seen{
			Status: 409, Code: CodeInvalidState, Found: StateStorniert,
			Text: "409 invalid_state: workflow error: invalid state: expected ValidationPassed, found Storniert",
		}},
		"413": {makodtest.BodyTooLarge(), seen{Status: 413, Code: "http_413", Text: "413 Request Entity Too Large: length limit exceeded"}},
		"415": {makodtest.UnsupportedMediaType(), seen{
			Status: 415, Code: "http_415", Text: "415 Unsupported Media Type: expected request with `Content-Type: application/json`",
		}},
		"422 shape": {makodtest.WrongShape(), seen{
			Status: 422, Code: "http_422", Text: "422 Unprocessable Entity: failed to deserialize the JSON body: missing field `command`",
		}},
		"422 command": {makodtest.CommandRejected(), seen{Status: 422, Code: "command_rejected", Text: "422 command_rejected: role NB is not configured on this instance"}},
		"422 key":     {makodtest.MissingIdempotencyKey(), seen{Status: 422, Code: "missing_idempotency_key", Text: "422 missing_idempotency_key: Idempotency-Key is required"}},
		"422 payload": {makodtest.InvalidPayload(), seen{Status: 422, Code: "invalid_payload", Text: "422 invalid_payload: malo_id is not a valid MaLo-ID"}},
		"422 MaLo":    {makodtest.MaloNotFound(), seen{Status: 422, Code: "malo_not_found", Text: "422 malo_not_found: unknown MaLo"}},
		"422 reuse": {makodtest.IdempotencyKeyReuse(), seen{
			Status: 422, Code: "idempotency_key_reuse", Text: "422 idempotency_key_reuse: the key was used with another command or payload",
		}},
		"429": {makodtest.RateLimited(), seen{
			Status: 429, Code: "http_429", Text: "429 Too Many Requests: Too Many Requests! Wait for 1s",
			RetryAfter: time.Second, Postponed: true,
		}},
		"500": {makodtest.EngineError(), seen{Status: 500, Code: "engine_error", Text: "500 engine_error: version conflict after 3 attempts", Unclear: true}},
		"501": {makodtest.NotImplemented(), seen{Status: 501, Code: "not_implemented", Text: "501 not_implemented: the command is not available", Unclear: true}},
		"502": {makodtest.BadGateway(), seen{
			Status: 502, Code: "http_502", Unclear: true,
			Text: "502 Bad Gateway: <html> <head><title>Bad Gateway</title></head> <body> <h1>Bad Gateway</h1> </body> </html>",
		}},
		"503": {makodtest.IdempotencyUnavailable(""), seen{
			Status: 503, Code: "idempotency_unavailable", Unclear: true,
			Text: "503 idempotency_unavailable: the idempotency store cannot be read",
		}},
		"503 with unreadable Retry-After": {makodtest.IdempotencyUnavailable("soon"), seen{
			Status: 503, Code: "idempotency_unavailable", Unclear: true,
			Text: "503 idempotency_unavailable: the idempotency store cannot be read",
		}},
		"503 with Retry-After": {makodtest.IdempotencyUnavailable("0"), seen{
			Status: 503, Code: "idempotency_unavailable", Unclear: true, Postponed: true,
			Text: "503 idempotency_unavailable: the idempotency store cannot be read",
		}},
		"504": {makodtest.GatewayTimeout(), seen{
			Status: 504, Code: "http_504", Unclear: true,
			Text: "504 Gateway Timeout: <html> <head><title>Gateway Timeout</title></head> <body> <h1>Gateway Timeout</h1> </body> </html>",
		}},
		"307":       {makodtest.Redirect(307, "/elsewhere"), seen{Status: 307, Code: "http_307", Text: "307 Temporary Redirect"}},
		"202 empty": {makodtest.AcceptGarbled(""), seen{Status: 202, Code: CodeUndecodableAnswer, Text: "202 undecodable_answer", Unclear: true}},
		"202 garbled": {makodtest.AcceptGarbled(`{"process_id":17}`), seen{
			Status: 202, Code: CodeUndecodableAnswer, Text: `202 undecodable_answer: {"process_id":17}`, Unclear: true,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, c := newMakod(t)
			srv.FailNext(1, tc.fault)
			_, err := c.Submit(t.Context(), bestaetigen())
			if diff := cmp.Diff(tc.want, see(mustFail(t, err))); diff != "" {
				t.Error(diff)
			}
			if n := len(srv.Requests()); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestSubmit_takes_makods_word_from_newer_framework_errors(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	srv.SetIdempotency(makodtest.IdempotencyCompare24h)
	srv.FailNext(1, makodtest.BadRequest())
	_, err := c.Submit(t.Context(), bestaetigen())
	if e := mustFail(t, err); e.Code != "Bad Request" || e.Text() != "400 Bad Request: failed to parse the request body as JSON" {
		t.Errorf("%q, %q", e.Code, e.Text())
	}
}

func TestSubmit_hands_over_another_process_as_makod_names_it(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	other := "0b7c1e2a-1111-4000-8000-00000000000b"
	srv.FailNext(1, makodtest.AcceptOther(other))
	got, err := c.Submit(t.Context(), bestaetigen())
	if err != nil || got.ProcessID != other {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestPing_asks_the_live_probe_without_the_key(t *testing.T) {
	t.Parallel()
	srv, c := newMakod(t)
	srv.SetDegraded("database is slow") // degraded is still alive
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("a live makod: %v", err)
	}
	c = clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/health/live" || r.Header["Authorization"] != nil {
			t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	if e := mustFail(t, c.Ping(t.Context())); e.Status != 503 || e.Text() != "503 Service Unavailable" {
		t.Errorf("a dead makod: %v", e)
	}
}
