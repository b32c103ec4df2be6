package api

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/transaction"
)

const (
	callA  = "a1b2c3d4-0000-1000-8000-00000000000a" // version 1
	callB  = "b1b2c3d4-0000-4000-8000-00000000000b"
	callC  = "c1b2c3d4-ffff-f000-0000-00000000000c" // no version and variant that exists
	nobody = "00000000-0000-0000-0000-000000000000"

	created   = "2026-09-03T07:59:30.123Z"
	retention = 90 * 24 * time.Hour
)

var headerNow = time.Date(2026, 9, 3, 8, 0, 0, 0, time.UTC)

// requestHeader is a header of names and values in turn, as net/http would read it.
func requestHeader(lines ...string) http.Header {
	h := http.Header{}
	for i := 0; i+1 < len(lines); i += 2 {
		h.Add(lines[i], lines[i+1])
	}
	return h
}

func TestReadIdentifiers_accepts(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 9, 3, 7, 59, 30, 123e6, time.UTC)
	key := func(s string) identifiers {
		return identifiers{id: transaction.KeyPrefix + s, initial: transaction.KeyPrefix + s}
	}
	for name, c := range map[string]struct {
		header http.Header
		want   identifiers
	}{
		"nothing":          {requestHeader("Content-Type", "application/json", "Referenceid2", "x"), identifiers{}},
		"a name alone":     {http.Header{"Transactionid": nil}, identifiers{}},
		"first call":       {requestHeader("transactionId", callA, "creationDateTime", created), identifiers{callA, callA, at, ""}},
		"literal spelling": {http.Header{"transactionId": {callA}, "CREATIONDATETIME": {created}}, identifiers{callA, callA, at, ""}},
		"retry":            {requestHeader("transactionId", callB, "creationDateTime", created, "initialTransactionId", callA), identifiers{callB, callA, at, ""}},
		"initial is own": {
			requestHeader("transactionId", callA, "creationDateTime", created, "initialTransactionId", strings.ToUpper(callA)),
			identifiers{callA, callA, at, ""},
		},
		"reference": {requestHeader("transactionId", callA, "creationDateTime", created, "referenceId", callC), identifiers{callA, callA, at, callC}},
		"upper case": {
			requestHeader("transactionId", strings.ToUpper(callB), "creationDateTime", created,
				"initialTransactionId", strings.ToUpper(callA), "referenceId", strings.ToUpper(callC)),
			identifiers{callB, callA, at, callC},
		},
		"bare key":            {requestHeader("Idempotency-Key", "k-1"), key("k-1")},
		"quoted key":          {requestHeader("Idempotency-Key", `"k-1"`), key("k-1")},
		"bare backslash":      {requestHeader("Idempotency-Key", `a\b`), key(`a\b`)},
		"escapes":             {requestHeader("Idempotency-Key", `"a\\b\"c"`), key(`a\b"c`)},
		"quoted comma":        {requestHeader("Idempotency-Key", `"a,b;c=1"`), key("a,b;c=1")},
		"bare semicolon":      {requestHeader("Idempotency-Key", "a;b=1"), key("a;b=1")},
		"keys keep case":      {requestHeader("Idempotency-Key", "Key"), key("Key")},
		"prefix in a key":     {requestHeader("Idempotency-Key", "ik:k"), key("ik:k")},
		"ends of visible":     {requestHeader("Idempotency-Key", "!~"), key("!~")},
		"one character":       {requestHeader("Idempotency-Key", "k"), key("k")},
		"255 characters":      {requestHeader("Idempotency-Key", strings.Repeat("k", 255)), key(strings.Repeat("k", 255))},
		"255 escaped":         {requestHeader("Idempotency-Key", `"`+strings.Repeat(`\\`, 255)+`"`), key(strings.Repeat(`\`, 255))},
		"key is a UUID":       {requestHeader("Idempotency-Key", strings.ToUpper(callA)), identifiers{id: callA, initial: callA}},
		"key is quoted UUID":  {requestHeader("Idempotency-Key", `"`+callA+`"`), identifiers{id: callA, initial: callA}},
		"32 digits are a key": {requestHeader("Idempotency-Key", strings.ReplaceAll(callA, "-", "")), key(strings.ReplaceAll(callA, "-", ""))},
		"key names the first call": {
			requestHeader("transactionId", callA, "creationDateTime", created, "Idempotency-Key", `"`+strings.ToUpper(callA)+`"`),
			identifiers{callA, callA, at, ""},
		},
		"key names the operation": {
			requestHeader("transactionId", callB, "creationDateTime", created, "initialTransactionId", callA, "Idempotency-Key", callA),
			identifiers{callB, callA, at, ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readIdentifiers(c.header, headerNow, retention)
			if err != nil || got != c.want || got.given() != (c.want.id != "") {
				t.Errorf("readIdentifiers = %+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}

// wantRefused fails unless h is refused for exactly the headers named by fields, in
// words that repeat nothing of it; it returns the words.
func wantRefused(t *testing.T, h http.Header, fields ...string) string {
	t.Helper()
	got, err := readIdentifiers(h, headerNow, retention)
	f, ok := errors.AsType[*fault](err)
	if !ok || !errors.Is(err, errInvalidTransactionHeader) || got != (identifiers{}) {
		t.Fatalf("readIdentifiers(%v) = %+v, %v; want an invalid transaction header alone", h, got, err)
	}
	var named []string
	for _, field := range f.fields {
		named = append(named, field.Field)
		if field.Reason == "" || !strings.Contains(f.detail, field.Field+" "+field.Reason) {
			t.Errorf("detail %q does not give the reason for %s", f.detail, field.Field)
		}
	}
	if diff := cmp.Diff(fields, named); diff != "" {
		t.Errorf("headers at fault of %v (-want +got):\n%s", h, diff)
	}
	for _, values := range h {
		for _, value := range values {
			if len(value) > 3 && strings.Contains(f.detail, value) {
				t.Errorf("detail %q repeats %q", f.detail, value)
			}
		}
	}
	return f.detail
}

func TestReadIdentifiers_refuses_what_is_not_one_UUID(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"empty": "", "blank": " \t", "nil": nobody, "word": "A", "short": callB[1:], "long": callB + "0", "braces": "{" + callB + "}",
		"urn": "urn:uuid:" + callB, "32 digits": strings.ReplaceAll(callB, "-", ""), "quoted": `"` + callB + `"`, "list": callB + "," + callB,
		"list of one": callB + ",", "blank before": " " + callB, "blank behind": callB + " ", "no hex digit": "g" + callB[1:],
		"hyphens elsewhere": "b1b2c3d-40000-4000-8000-00000000000b", "other hyphen": strings.Replace(callB, "-", "_", 1),
		"full-width digit": "\uff10" + callB[1:], "full-width of 36 bytes": "\uff10" + callB[3:], "NUL": callB[:35] + "\x00", "35 and a blank": callB[:35] + " ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, requestHeader("transactionId", value, "creationDateTime", created), "transactionId")
			wantRefused(t, requestHeader("transactionId", callA, "creationDateTime", created, "initialTransactionId", value), "initialTransactionId")
			wantRefused(t, requestHeader("transactionId", callA, "creationDateTime", created, "referenceId", value), "referenceId")
		})
	}
}

// Every one of these is taken by some parser of instants.
func TestReadIdentifiers_refuses_what_is_not_one_instant(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"empty": "", "blank": " ", "comma": "2026-09-03T07:59:30,123Z", "no zone": "2026-09-03T07:59:30", "offset": "2026-09-03T09:59:30+02:00",
		"offset of zero": "2026-09-03T07:59:30+00:00", "small t": "2026-09-03t07:59:30Z", "small z": "2026-09-03T07:59:30z",
		"blank for T": "2026-09-03 07:59:30Z", "no seconds": "2026-09-03T07:59Z", "no digit": "2026-09-03T07:59:30.Z",
		"ten digits": "2026-09-03T07:59:30.1234567890Z", "leap second": "2026-09-02T23:59:60Z", "hour 24": "2026-09-02T24:00:00Z",
		"minute 60": "2026-09-03T07:60:00Z", "one digit of the hour": "2026-09-03T7:59:30Z", "one digit of the day": "2026-09-3T07:59:30Z",
		"31 June": "2026-06-31T00:00:00Z", "29 February": "2026-02-29T00:00:00Z", "month 13": "2026-13-01T00:00:00Z", "day 0": "2026-09-00T00:00:00Z",
		"month 0": "2026-00-01T00:00:00Z", "year of five digits": "12026-09-03T07:59:30Z", "sign": "+2026-09-03T07:59:30Z", "behind": created + "x",
		"line behind": created + "\n", "before": "x" + created, "list": created + "," + created, "quoted": `"` + created + `"`,
		"unix": "1788422370", "HTTP date": "Thu, 03 Sep 2026 07:59:30 GMT", "full-width digit": "202\uff16-09-03T07:59:30Z",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			detail := wantRefused(t, requestHeader("transactionId", callA, "creationDateTime", value), "creationDateTime")
			if blank := strings.TrimSpace(value) == ""; !blank && !strings.Contains(detail, "must be an instant") {
				t.Errorf("detail %q does not say what it must be", detail)
			}
		})
	}
}

func TestReadIdentifiers_takes_one_to_nine_digits_of_the_second(t *testing.T) {
	t.Parallel()
	for _, digits := range []string{"", ".1", ".12", ".0123", ".123456", ".123456789"} {
		text := "2026-09-03T07:59:30" + digits + "Z"
		got, err := readIdentifiers(requestHeader("transactionId", callA, "creationDateTime", text), headerNow, retention)
		if err != nil || got.createdAt.Format(time.RFC3339Nano) != text || got.createdAt.Location() != time.UTC {
			t.Errorf("%s is read as %v, %v", text, got.createdAt, err)
		}
	}
}

func TestReadIdentifiers_bounds_the_age_of_a_call(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at   time.Time
		says string // empty: accepted
	}{
		"five minutes ahead":  {headerNow.Add(5 * time.Minute), ""},
		"more":                {headerNow.Add(5*time.Minute + 1), "ahead of the clock"},
		"a leap day ahead":    {time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC), "ahead of the clock"},
		"as old as retention": {headerNow.Add(-retention), ""},
		"older":               {headerNow.Add(-retention - 1), "older than the 90 days"},
		"year 0":              {time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), "older than the 90 days"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := requestHeader("transactionId", callA, "creationDateTime", c.at.Format(time.RFC3339Nano))
			if c.says == "" {
				if got, err := readIdentifiers(h, headerNow, retention); err != nil || !got.createdAt.Equal(c.at) {
					t.Errorf("readIdentifiers = %+v, %v; want it accepted", got, err)
				}
				return
			}
			if detail := wantRefused(t, h, "creationDateTime"); !strings.Contains(detail, c.says) {
				t.Errorf("detail %q does not say %q", detail, c.says)
			}
		})
	}
}

func TestReadIdentifiers_says_of_an_empty_header_that_it_is_empty(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"transactionId", "initialTransactionId", "referenceId", "creationDateTime", "Idempotency-Key"} {
		h := requestHeader("transactionId", callA, "creationDateTime", created)
		h.Set(name, " ")
		if detail := wantRefused(t, h, name); detail != name+" is empty." {
			t.Errorf("detail %q, want that %s is empty", detail, name)
		}
	}
}

func TestReadIdentifiers_takes_retention_for_the_bound(t *testing.T) {
	t.Parallel()
	h := requestHeader("transactionId", callA, "creationDateTime", "2026-08-27T08:00:00Z")
	if _, err := readIdentifiers(h, headerNow, 168*time.Hour); err != nil {
		t.Errorf("a call as old as retention: %v", err)
	}
	if _, err := readIdentifiers(h, headerNow.Add(1), 168*time.Hour); !errors.Is(err, errInvalidTransactionHeader) {
		t.Errorf("an older call: error %v, want an invalid header", err)
	}
}

func TestReadIdentifiers_refuses_keys(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"empty": "", "blank": " ", "empty quotes": `""`, "256 characters": strings.Repeat("k", 256), "256 in quotes": `"` + strings.Repeat("k", 256) + `"`,
		"blank inside": "a b", "quoted blank": `"a b"`, "tab": "a\tb", "DEL": "a\x7f", "NUL": "a\x00", "umlaut": "schlüssel", "latin-1": "schl\xfcssel",
		"bare list": "abcd,efgh", "bare comma": "abcd,", "list of strings": `"abcd", "efgh"`, "parameter": `"abcd";p=1`, "blank behind": `"abcd" `,
		"never closed": `"abcd`, "only opened": `"`, "closed alone": `abcd"`, "quote inside": `ab"cd`, "escape of a letter": `"ab\c"`,
		"escape of the end": `"abcd\`, "escaped end": `"abcd\"`, "text behind": `"abcd"efgh`, "nil UUID": nobody, "quoted nil UUID": `"` + nobody + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, requestHeader("Idempotency-Key", value), "Idempotency-Key")
		})
	}
}

func TestReadIdentifiers_refuses_headers_that_do_not_go_together(t *testing.T) {
	t.Parallel()
	const tx, at, initial, reference, key = "transactionId", "creationDateTime", "initialTransactionId", "referenceId", "Idempotency-Key"
	for name, c := range map[string]struct{ header, fields []string }{
		"no creationDateTime":    {[]string{tx, callA}, []string{at}},
		"retry without one":      {[]string{tx, callB, initial, callA}, []string{at}},
		"key instead of it":      {[]string{tx, callA, key, callA}, []string{at}},
		"initial alone":          {[]string{initial, callA}, []string{initial}},
		"instant alone":          {[]string{at, created}, []string{at}},
		"reference alone":        {[]string{reference, callC}, []string{reference}},
		"all but the id":         {[]string{initial, callA, at, created, reference, callC}, []string{initial, at, reference}},
		"key and initial":        {[]string{key, callA, initial, callA}, []string{initial}},
		"key and instant":        {[]string{key, "k-1", at, created}, []string{at}},
		"key and reference":      {[]string{key, "k-1", reference, callC}, []string{reference}},
		"key of another call":    {[]string{tx, callA, at, created, key, callB}, []string{key}},
		"key is the attempt":     {[]string{tx, callB, at, created, initial, callA, key, callB}, []string{key}},
		"key is no UUID":         {[]string{tx, callA, at, created, key, "k-1"}, []string{key}},
		"two lines":              {[]string{tx, callA, tx, callA, at, created}, []string{tx}},
		"two lines, one empty":   {[]string{tx, callA, tx, "", at, created}, []string{tx}},
		"two instants":           {[]string{tx, callA, at, created, at, created}, []string{at}},
		"two initials":           {[]string{tx, callB, at, created, initial, callA, initial, callA}, []string{initial}},
		"two references":         {[]string{tx, callA, at, created, reference, callC, reference, callC}, []string{reference}},
		"two keys":               {[]string{key, "k-1", key, "k-1"}, []string{key}},
		"key beside a faulty id": {[]string{tx, "A", at, created, key, callA}, []string{tx}},
		"everything is wrong":    {[]string{tx, "A", initial, "", reference, "C", at, "now", key, `"`}, []string{tx, initial, reference, at, key}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, requestHeader(c.header...), c.fields...)
		})
	}
	t.Run("two spellings", func(t *testing.T) {
		t.Parallel()
		h := requestHeader(tx, callA, at, created)
		h["transactionId"] = []string{callA}
		wantRefused(t, h, tx)
	})
}

func TestEchoed_gives_the_ids_of_a_refused_header_that_can_be_read(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header http.Header
		want   identifiers
	}{
		"nothing":       {http.Header{}, identifiers{}},
		"first call":    {requestHeader("transactionId", strings.ToUpper(callA)), identifiers{id: callA, initial: callA}},
		"retry":         {requestHeader("transactionId", callB, "initialTransactionId", callA, "referenceId", "x"), identifiers{id: callB, initial: callA}},
		"bad initial":   {requestHeader("transactionId", callB, "initialTransactionId", "A"), identifiers{id: callB}},
		"empty initial": {requestHeader("transactionId", callB, "initialTransactionId", ""), identifiers{id: callB}},
		"initial alone": {requestHeader("initialTransactionId", callA), identifiers{initial: callA}},
		"two lines":     {requestHeader("transactionId", callA, "transactionId", callA), identifiers{}},
		"a list":        {requestHeader("transactionId", callA+", "+callB), identifiers{}},
		"nil UUID":      {requestHeader("transactionId", nobody), identifiers{}},
		"line break":    {http.Header{"Transactionid": {callA[:34] + "\r\n"}}, identifiers{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := echoed(c.header); got != c.want {
				t.Errorf("echoed = %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestEcho_is_spelled_as_the_market_does_and_replaces(t *testing.T) {
	t.Parallel()
	h := requestHeader("transactionId", "old", "referenceId", "old", "Content-Type", "application/json")
	identifiers{id: callB, initial: callA, reference: callC}.echo(h)
	want := http.Header{"transactionId": {callB}, "referenceId": {callA}, "Content-Type": {"application/json"}}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	identifiers{id: transaction.KeyPrefix + "k-1", initial: transaction.KeyPrefix + "k-1"}.echo(h)
	want["transactionId"], want["referenceId"] = []string{"k-1"}, []string{"k-1"}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("header after a second echo (-want +got):\n%s", diff)
	}
	setEcho(h, callA, "")
	want = http.Header{"transactionId": {callA}, "Content-Type": {"application/json"}}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Errorf("header without a reference (-want +got):\n%s", diff)
	}
}

// FuzzReadIdentifiers: what is accepted has ids of the one form, and the answer to it
// names them so that the caller can send them again.
func FuzzReadIdentifiers(f *testing.F) {
	f.Add("", "", "", "", "", uint8(0))
	f.Add(callA, created, "", "", "", uint8(0b00011))
	f.Add(strings.ToUpper(callB), created, callA, callC, callA, uint8(0b11111))
	f.Add("", "", "", "", `"a\\b\"c,d"`, uint8(0b10000))
	f.Add("", "", "", "", strings.ToUpper(callA), uint8(0b10000))
	f.Add("", "", "", "", "ik:k", uint8(0b10000))
	f.Add(nobody, "2026-09-03T07:59:30,1Z", " ", callA+",", `"`, uint8(0b11111))
	names := []string{"transactionId", "creationDateTime", "initialTransactionId", "referenceId", "Idempotency-Key"}
	f.Fuzz(func(t *testing.T, id, at, initial, reference, key string, which uint8) {
		h := http.Header{}
		for n, value := range []string{id, at, initial, reference, key} {
			if which&(1<<n) != 0 {
				h.Add(names[n], value)
			}
		}
		got, err := readIdentifiers(h, headerNow, retention)
		if (err != nil || len(h) == 0) == got.given() {
			t.Fatalf("readIdentifiers(%q) = %+v, %v", h, got, err)
		}
		if said := echoed(h); err == nil && len(h[http.CanonicalHeaderKey(names[0])]) > 0 && (said.id != got.id || said.initial != got.initial) {
			t.Errorf("echoed(%q) = %+v, read were %+v", h, said, got)
		}
		if got.given() {
			wantCanonical(t, got)
			wantSameAgain(t, got)
		}
	})
}

func wantCanonical(t *testing.T, i identifiers) {
	t.Helper()
	isUUID := func(id string) bool {
		u, err := uuid.Parse(id)
		return err == nil && u.String() == id && u != uuid.Nil
	}
	key, isKey := strings.CutPrefix(i.id, transaction.KeyPrefix)
	switch {
	case isKey && (i != identifiers{id: i.id, initial: i.id}):
		t.Errorf("more than a key: %+v", i)
	case isKey && (key == "" || len(key) > 255 || strings.ContainsFunc(key, invisible) || isUUID(strings.ToLower(key))):
		t.Errorf("key %q", key)
	case !isKey && (!isUUID(i.id) || !isUUID(i.initial) || i.reference != "" && !isUUID(i.reference)):
		t.Errorf("not UUIDs in lower case: %+v", i)
	}
}

// wantSameAgain sends what the answer to i echoes.
func wantSameAgain(t *testing.T, i identifiers) {
	t.Helper()
	answer := http.Header{}
	i.echo(answer)
	literal := map[string][]string(answer)
	id, initial := literal["transactionId"], literal["referenceId"]
	if len(id) != 1 || len(initial) != 1 {
		t.Fatalf("%+v is echoed as %v", i, answer)
	}
	again := requestHeader("transactionId", id[0], "initialTransactionId", initial[0], "creationDateTime", i.createdAt.Format(time.RFC3339Nano))
	if i.createdAt.IsZero() {
		again = requestHeader("Idempotency-Key", `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(id[0])+`"`)
	}
	if i.reference != "" {
		again.Set("referenceId", i.reference)
	}
	if got, err := readIdentifiers(again, headerNow, retention); err != nil || got != i {
		t.Errorf("%v is read as %+v, %v; want %+v", again, got, err, i)
	}
}
