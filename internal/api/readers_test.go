package api_test

import (
	"encoding/binary"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// encoding is a body in another encoding, and what its refusal says.
type encoding struct {
	body   []byte
	detail string
}

// encodings are text in every encoding that is refused.
func encodings(text string) map[string]encoding {
	const wideText, notUTF8 = "UTF-16 or UTF-32", "not UTF-8"
	return map[string]encoding{
		"two marks":        {[]byte(mark + mark + text), "second byte order mark"},
		"UTF-16, big":      {wide(text, binary.BigEndian), wideText},
		"UTF-16, little":   {wide(text, binary.LittleEndian), wideText},
		"UTF-16 with mark": {wide(mark+text, binary.LittleEndian), wideText},
		"big with mark":    {wide(mark+text, binary.BigEndian), wideText},
		"Latin-1":          {[]byte(strings.Replace(text, `":"`, "\":\"\xfc", 1)), notUTF8},
		"a surrogate":      {[]byte(strings.Replace(text, `":"`, "\":\"\xed\xa0\x80", 1)), notUTF8},
	}
}

var firstMember = regexp.MustCompile(`^\{"([a-z_]+)":"`)

// One body that two readers read differently is two reports, of which nobody knows which
// one was meant.
func TestEvery_changing_route_refuses_a_body_that_reads_two_ways(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	eachOnceRoute(t, b, func(t *testing.T, r onceRoute, send func(path, body string, header []string) answer, fresh func() string) {
		path := fresh()
		before := b.traces(t)
		inner := r.good[1:]
		sep := ","
		if inner == "}" {
			sep = ""
		}
		bodies := map[string]string{
			"unknown":          `{"zusatz":"x"` + sep + inner,
			"unknown below":    `{"zusatz":{"a":[{"b":1,"b":2}]}` + sep + inner,
			"a second value":   r.good + "{}",
			"a trailing value": r.good + " null",
			"trailing text":    r.good + "x",
		}
		if m := firstMember.FindStringSubmatch(r.good); m != nil {
			name := m[1]
			bodies["twice"] = `{"` + name + `":"x",` + inner
			bodies["upper case beside"] = `{"` + strings.ToUpper(name) + `":"x",` + inner
			bodies["upper case behind"] = strings.TrimSuffix(r.good, "}") + `,"` + strings.ToUpper(name) + `":"x"}`
			bodies["upper case alone"] = strings.Replace(r.good, name, strings.ToUpper(name), 1)
			bodies["escaped twice"] = `{"\u00` + hex(name[0]) + name[1:] + `":"x",` + inner
			bodies["look-alike"] = `{"` + strings.NewReplacer("s", "\u017F", "e", "\u0435", "o", "\u043E").Replace(name) + `":"x",` + inner
			bodies["lone surrogate"] = strings.Replace(r.good, `":"`, `":"\ud800`, 1)
			bodies["low surrogate"] = strings.Replace(r.good, `":"`, `":"\udc00`, 1)
			bodies["surrogates reversed"] = strings.Replace(r.good, `":"`, `":"\udc00\ud800`, 1)
			bodies["raw control character"] = strings.Replace(r.good, `":"`, "\":\"\x01", 1)
		}
		for name, body := range bodies {
			a := send(path, body, nil)
			if code := codeOf(a); a.status != http.StatusBadRequest || code != "invalid_body" && code != "invalid_json" {
				t.Errorf("%s: %s: %d %s, want 400", name, body, a.status, a.body)
			}
			wantNoInside(t, a)
		}
		b.wantTraces(t, before)
	})
}

func hex(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}

func TestEvery_changing_route_refuses_NUL_by_name(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	eachOnceRoute(t, b, func(t *testing.T, r onceRoute, send func(path, body string, header []string) answer, fresh func() string) {
		m := firstMember.FindStringSubmatch(r.good)
		if m == nil {
			return // it takes no text
		}
		path := fresh()
		before := b.traces(t)
		for _, place := range []string{`":"` + nul, `":"x` + nul} {
			a := send(path, strings.Replace(r.good, `":"`, place, 1), nil)
			if p := wantProblem(t, a, http.StatusUnprocessableEntity, r.code, m[1]); !strings.Contains(p.Detail, m[1]) {
				t.Errorf("detail %q does not name %s", p.Detail, m[1])
			}
			wantNoInside(t, a)
		}
		b.wantTraces(t, before)
	})
}
