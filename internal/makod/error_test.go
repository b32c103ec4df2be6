package makod

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

var quiet = log.New(io.Discard, "", 0)

func TestText_is_safe_to_store_whatever_makod_answers(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"JSON":           `{"error":"in\u0000valid\nstate","detail":"a\u0000b\r\n\tc \u202e d ` + strings.Repeat("ä", 600) + `"}`,
		"plain text":     "a\x00b\x1b[31m" + strings.Repeat("€", 600),
		"broken UTF-8":   "Z\xe4hler \xff\xfe" + strings.Repeat("\xe4", 600),
		"long word":      `{"error":"` + strings.Repeat("w", 5000) + `","detail":"d"}`,
		"types mixed up": `{"error":{"a":1},"detail":["b"]}`,
		"list":           `["` + strings.Repeat("x", 600) + `"]`,
	} {
		for _, status := range []int{202, 409, 500} {
			c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				fmt.Fprint(w, body)
			})
			_, err := c.Submit(t.Context(), bestaetigen())
			e := mustFail(t, err)
			for _, text := range []string{e.Text(), e.Code, e.Detail, err.Error()} {
				if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) ||
					strings.ContainsRune(text, '\u202e') || utf8.RuneCountInString(text) > 500 {
					t.Errorf("%s, %d: unsafe text %q", name, status, text)
				}
			}
			if !strings.HasPrefix(e.Text(), fmt.Sprint(status, " ")) {
				t.Errorf("%s: text %q does not begin with the status", name, e.Text())
			}
		}
	}
}

func TestText_never_contains_the_key(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"error":"` + apiKey + `","detail":"unknown token ` + apiKey + `"}`,
		"unknown token " + apiKey,
		strings.Repeat("x", 489) + apiKey, // cut in the middle it would no longer be recognised
	} {
		for _, status := range []int{200, 401} {
			c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(status)
				fmt.Fprint(w, body)
			})
			_, err := c.Submit(t.Context(), bestaetigen())
			e := mustFail(t, err)
			if all := e.Text() + e.Code + e.Detail; strings.Contains(all, apiKey[:8]) || !strings.Contains(all, "[redacted") {
				t.Errorf("%d: %s", status, all)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"0": 0, "1": time.Second, " 90 ": 90 * time.Second,
		"999999999":                     24 * time.Hour,
		"Tue, 01 Sep 2026 08:02:00 GMT": 2 * time.Minute,
		"Tue, 01 Sep 2026 07:00:00 GMT": 0,
		"Fri, 01 Jan 2100 00:00:00 GMT": 24 * time.Hour,
	} {
		if got, ok := retryAfter(value, now); got != want || !ok {
			t.Errorf("%q: %v, %v; want %v", value, got, ok, want)
		}
	}
	for _, value := range []string{"", "soon", "-1", "1.5", "99999999999999999999", "2026-09-01T08:02:00Z"} {
		if got, ok := retryAfter(value, now); got != 0 || ok {
			t.Errorf("%q: %v, %v; want no wish", value, got, ok)
		}
	}
}

func TestSubmit_reads_Retry_After_as_a_date_on_its_own_clock(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)
	c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", now.Add(time.Minute).Format(http.TimeFormat))
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	c.now = func() time.Time { return now }
	_, err := c.Submit(t.Context(), bestaetigen())
	if e := mustFail(t, err); e.RetryAfter != time.Minute || !e.Postponed() {
		t.Errorf("%v, postponed %v", e.RetryAfter, e.Postponed())
	}
}

func TestFoundState(t *testing.T) {
	t.Parallel()
	for detail, want := range map[string]string{
		"workflow error: invalid state: expected ValidationPassed, found Ausgefuehrt": "Ausgefuehrt",
		"expected ValidationPassed, found Rejected { reason: \"x\" }":                 "Rejected",
		"other prose: expected A,  found Storniert; sorry":                            "Storniert",
		"found Ausgefuehrt":                  "",
		"expected ValidationPassed":          "",
		"expected X, found ":                 "",
		"unexpected X, found Ausgefuehrt":    "",
		"expected two words, found Rejected": "",
		"":                                   "",
	} {
		if got := foundState(detail); got != want {
			t.Errorf("%q: %q, want %q", detail, got, want)
		}
	}
}
