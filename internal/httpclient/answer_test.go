package httpclient

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestClean(t *testing.T) {
	t.Parallel()
	const limit = 20
	for name, c := range map[string]struct{ text, want string }{
		"empty":                    {"", ""},
		"nothing but blanks":       {" \t\r\n\u00a0", ""},
		"a text as it should be":   {"Zähler – 230 V, €", "Zähler – 230 V, €"},
		"NUL":                      {"a\x00b", "a b"},
		"lines":                    {"a\r\n\tb\u0085c\u2028d\u2029e", "a b c d e"},
		"terminal escape":          {"a\x1b[31mb\u009bc", "a [31mb c"},
		"direction of writing":     {"a\u202eb\u2066c", "a b c"},
		"invisible":                {"a\u200bb\ufeffc\u00add", "a b c d"},
		"blanks at both ends":      {"  a   b  ", "a b"},
		"Latin-1":                  {"Z\xe4hler", "Z\uFFFDhler"},
		"a run of broken bytes":    {"a\xff\xfe\xe2\x82b", "a\uFFFDb"},
		"as long as may be":        {strings.Repeat("ä", 20), strings.Repeat("ä", 20)},
		"too long":                 {strings.Repeat("ä", 21), strings.Repeat("ä", 19) + "…"},
		"too long before cleaning": {"a" + strings.Repeat("\n", 50) + "b", "a b"},
	} {
		if got := Clean(c.text, limit); got != c.want {
			t.Errorf("%s: %q becomes %q, want %q", name, c.text, got, c.want)
		}
	}
	if got := Clean("ab", 1); got != "…" {
		t.Errorf("two characters in one: %q", got)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 10, 0, 0, 0, time.FixedZone("CEST", 2*60*60))
	for value, want := range map[string]time.Duration{
		"0": 0, "1": time.Second, " 90 ": 90 * time.Second, "007": 7 * time.Second,
		"172800":                           48 * time.Hour, // no bound of its own
		"2147483647":                       math.MaxInt32 * time.Second,
		"Tue, 01 Sep 2026 08:02:00 GMT":    2 * time.Minute,
		"Tuesday, 01-Sep-26 08:02:00 GMT":  2 * time.Minute,
		"Tue Sep  1 08:02:00 2026":         2 * time.Minute,
		"Tue, 01 Sep 2026 08:00:00 GMT":    0,
		"Tue, 01 Sep 2026 07:00:00 GMT":    0,
		"Mon, 01 Jan 0001 00:00:00 GMT":    0,
		"Fri, 31 Dec 9999 23:59:59 GMT":    math.MaxInt64,
		" Tue, 01 Sep 2026 08:02:00 GMT\t": 2 * time.Minute,
	} {
		if got, ok := RetryAfter(value, now); got != want || !ok {
			t.Errorf("%q: %v, %v; want %v", value, got, ok, want)
		}
	}
}

func TestRetryAfter_unreadable_is_no_wish(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 1, 8, 0, 0, 0, time.UTC)
	for _, value := range []string{
		"", " ", "soon", "-1", "-0", "+5", "1.5", "5 s", "0x10", "1_000", "٣",
		"2147483648", "4294967296", "99999999999999999999",
		"2026-09-01T08:02:00Z", "Tue, 01 Sep 2026 08:02:00 CEST", "Tue, 32 Sep 2026 08:02:00 GMT",
	} {
		if got, ok := RetryAfter(value, now); got != 0 || ok {
			t.Errorf("%q: %v, %v; want no wish", value, got, ok)
		}
	}
}
