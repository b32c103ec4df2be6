package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// call sends one request; header lines are name and value in turn, and a body is
// application/json unless they say otherwise.
func (b *bench) call(t *testing.T, method, path, body string, header ...string) answer {
	t.Helper()
	h := http.Header{}
	if body != "" {
		h.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		h[http.CanonicalHeaderKey(header[i])] = []string{header[i+1]}
	}
	return b.send(t, method, path, strings.NewReader(body), h)
}

func (b *bench) send(t *testing.T, method, path string, body io.Reader, header http.Header) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, b.url+path, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	response, err := b.http.Do(r)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return answer{response.StatusCode, response.Header, raw}
}

func (b *bench) get(t *testing.T, path string) answer {
	t.Helper()
	return b.call(t, http.MethodGet, path, "")
}

// decode reads the body of an answer that must have the status.
func decode[T any](t *testing.T, a answer, status int) T {
	t.Helper()
	var v T
	wantStatus(t, a, status)
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Errorf("body %s: %v", a.body, err)
	}
	return v
}

func wantStatus(t *testing.T, a answer, status int) {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d; body %s", a.status, status, a.body)
	}
}

// problem is a problem document with the members all have in common.
type problem struct {
	Type, Title, Detail, Code string
	Status                    int
	Errors                    []struct{ Field, Reason string }
}

// wantProblem fails unless a is the problem, at fault with exactly the fields.
func wantProblem(t *testing.T, a answer, status int, code string, fields ...string) problem {
	t.Helper()
	p := decode[problem](t, a, status)
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q, want application/problem+json", got)
	}
	if p.Code != code || p.Status != status || p.Type != "urn:sperrd:problem:"+code || p.Title == "" || p.Detail == "" {
		t.Errorf("problem %s, want code %s and status %d with title and detail", a.body, code, status)
	}
	var named []string
	for _, e := range p.Errors {
		named = append(named, e.Field)
		if e.Reason == "" {
			t.Errorf("field %s has no reason", e.Field)
		}
	}
	if strings.Join(named, " ") != strings.Join(fields, " ") {
		t.Errorf("fields at fault %q, want %q; body %s", named, fields, a.body)
	}
	return p
}
