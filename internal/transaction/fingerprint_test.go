package transaction

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

const (
	testOperation = "PUT /api/v1/sperr-orders/{id}/fail"
	testReference = "0b1e9a52-7c1d-4a2e-9f00-000000000001"
)

func fingerprint(t interface {
	Helper()
	Fatalf(string, ...any)
}, body string,
) Fingerprint {
	t.Helper()
	f, err := NewFingerprint(testOperation, []byte(body), testReference)
	if err != nil {
		t.Fatalf("NewFingerprint(%q): %v", body, err)
	}
	return f
}

func TestNewFingerprint_is_the_same_for_spellings_of_one_body(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][]string{
		"empty":            {"", "{}", " { } ", "\r\n{\t}\n"},
		"order":            {`{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"d":3,"c":2},"a":1}`},
		"white space":      {`{"a":[1,2]}`, "\n{ \"a\" :\t[ 1 ,\r2 ] } "},
		"escapes":          {`{"a":"ä/\n"}`, `{"\u0061":"\u00e4\/\u000A"}`, `{"a":"\u00E4/\n"}`},
		"surrogates":       {`{"a":"😀"}`, `{"a":"\ud83d\ude00"}`},
		"null members":     {`{"a":1}`, `{"a":1,"b":null}`, `{"c":null,"a":1}`},
		"null below":       {`{"a":{},"z":[{}]}`, `{"a":{"b":null},"z":[{"c":null}]}`},
		"only null":        {`{}`, `{"a":null}`, `{"a":null,"b":null}`},
		"numbers":          {`{"a":1}`, `{"a":1.0}`, `{"a":1e0}`, `{"a":10E-1}`, `{"a":0.1e+1}`, `{"a":1.000e00}`},
		"zero":             {`{"a":0}`, `{"a":-0}`, `{"a":0.00}`, `{"a":0e99999999999}`},
		"fractions":        {`{"a":-0.015}`, `{"a":-15e-3}`, `{"a":-1.50E-2}`},
		"beyond a float64": {`{"a":9007199254740993}`, `{"a":9007199254740993.0}`, `{"a":900719925474099.3e1}`},
		"beyond its range": {`{"a":1e400}`, `{"a":10e399}`, `{"a":0.1e401}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := fingerprint(t, texts[0])
			for _, text := range texts[1:] {
				if fingerprint(t, text) != want {
					t.Errorf("%q and %q differ", texts[0], text)
				}
			}
		})
	}
}

func TestNewFingerprint_differs_for_all_else(t *testing.T) {
	t.Parallel()
	seen := map[Fingerprint]string{}
	for _, text := range []string{
		`{}`, `{"a":{}}`, `{"a":[]}`, `{"a":[null]}`, `{"a":[null,null]}`, `{"a":""}`, `{"a":"null"}`, `{"a":false}`, `{"a":true}`,
		`{"a":0}`, `{"a":"0"}`, `{"a":1}`, `{"a":-1}`, `{"a":10}`, `{"a":0.1}`, `{"a":"1"}`, `{"a":1e400}`, `{"a":-1e400}`, `{"a":2e400}`,
		`{"a":1.7976931348623157e308}`, `{"a":1e-400}`, `{"a":1e99999999999}`, `{"a":1e-99999999999}`,
		`{"a":9007199254740992}`, `{"a":9007199254740993}`, `{"a":0.30000000000000001}`, `{"a":0.3}`,
		`{"a":[1,2]}`, `{"a":[2,1]}`, `{"a":[[1],2]}`, `{"a":[1,[2]]}`, `{"A":1}`, `{"a ":1}`, `{"a":"x"}`, `{"a":"X"}`, `{"a":"x "}`,
		`{"a":"\u00e4"}`, `{"a":"a\u0308"}`, `{"a":{"b":1}}`, `{"a":{},"b":1}`, `{"":1}`,
	} {
		f := fingerprint(t, text)
		if twin, is := seen[f]; is {
			t.Errorf("%q and %q are the same", twin, text)
		}
		seen[f] = text
	}
}

func TestNewFingerprint_keeps_operation_body_and_reference_apart(t *testing.T) {
	t.Parallel()
	seen := map[Fingerprint]bool{}
	calls := []struct{ operation, body, reference string }{
		{"", "", ""},
		{"a", "", ""},
		{"", "", "a"},
		{"a{}", "", ""},
		{"", "", "{}"},
		{"a", `{"a":1}`, "b"},
		{`a{"a":1}`, "", "b"},
		{"a", `{"a":1}`, "c"},
		{"b", `{"a":1}`, "b"},
		{"a", `{"a":2}`, "b"},
	}
	for _, c := range calls {
		f, err := NewFingerprint(c.operation, []byte(c.body), c.reference)
		if err != nil {
			t.Fatal(err)
		}
		seen[f] = true
	}
	if len(seen) != len(calls) {
		t.Errorf("%d calls have %d fingerprints", len(calls), len(seen))
	}
}

// What is stored under a version must be found again under it.
func TestNewFingerprint_of_version_1_never_changes(t *testing.T) {
	t.Parallel()
	const want = "ddc6078aaaa3ffaa2948994e7073513e4291a53249b36f8c4b5802bfbfeed765"
	f := fingerprint(t, `{"\ud83d\ude00":1.50,"\ufb33":2,"reason":"niemand da","n":null,"big":9007199254740993}`)
	if got := hex.EncodeToString(f[:]); got != want || FingerprintVersion != 1 {
		t.Errorf("fingerprint of version %d = %s, want %s of version 1", FingerprintVersion, got, want)
	}
}

// RFC 8785 sorts by UTF-16 code units, in which an emoji comes before U+FB33.
func TestCanonical_is_RFC_8785_without_null_members(t *testing.T) {
	t.Parallel()
	const text = `{ "\ufb33":1E30, "\ud83d\ude00":4.50, "n":null, "\u20ac":"\u20AC$\u000F\u000aA'\u0042\u0022\u005c\\\"\/", "l":[333333333.3333333, null, -0.0, 1e-27] }`
	const want = `{"l":[333333333.3333333,null,0,1e-27],"€":"€$\u000f\nA'B\"\\\\\"/","😀":4.5,"` + "\ufb33" + `":1e+30}`
	got, err := canonical([]byte(text))
	if err != nil || string(got) != want {
		t.Errorf("canonical = %s, %v; want %s", got, err, want)
	}
}

func TestNewFingerprint_refuses_what_is_not_one_object(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"\ufeff{}", " ", "null", "1", `"a"`, "[]", "[{}]", "{", `{"a"}`, `{"a":}`, "{}{}", "{} {}", "{}1", "{}}", "{},", `{"a":01}`, `{"a":1,}`,
		`{"a":1,"a":1}`, `{"a":null,"a":1}`, `{"a":1,"\u0061":null}`, `{"a":null,"a":null}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`,
	} {
		if f, err := NewFingerprint(testOperation, []byte(text), ""); err == nil || f != (Fingerprint{}) {
			t.Errorf("NewFingerprint(%q) = %x, %v; want an error alone", text, f, err)
		}
	}
}

func TestNewFingerprint_leaves_the_body_as_it_is(t *testing.T) {
	t.Parallel()
	const text = ` {"b":null, "a":1.0} `
	body := []byte(text)
	if _, err := NewFingerprint("", body, ""); err != nil || string(body) != text {
		t.Errorf("body is %q after it, error %v", body, err)
	}
}

// object is any JSON object, spelled in two ways: the other has its members shuffled,
// with blanks and with members that are null.
func object(t *rapid.T, depth int) (one, other string) {
	names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-cäß"]{0,3}`), 0, 4, rapid.ID[string]).Draw(t, "names")
	spelled := map[string][2]string{}
	for _, name := range names {
		a, b := value(t, depth)
		spelled[name] = [2]string{a, b}
	}
	var left, right []string
	for _, name := range names {
		left = append(left, quoted(name)+":"+spelled[name][0])
	}
	for _, name := range rapid.Permutation(append(names, "null 1", "null 2")).Draw(t, "order") {
		member := "null"
		if v, is := spelled[name]; is {
			member = v[1]
		}
		right = append(right, quoted(name)+" :\n"+member)
	}
	return "{" + strings.Join(left, ",") + "}", "{ " + strings.Join(right, "\t,") + " }"
}

func value(t *rapid.T, depth int) (one, other string) {
	switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case kind == 0 && depth > 0:
		return object(t, depth-1)
	case kind == 1 && depth > 0:
		a, b := value(t, depth-1)
		return "[null," + a + "]", "[ null , " + b + "]"
	case kind == 2:
		digits := rapid.StringMatching(`-?[1-9][0-9]{0,20}`).Draw(t, "digits")
		return digits, digits + "00E-2"
	default:
		text := quoted(rapid.String().Draw(t, "text"))
		return text, text
	}
}

func quoted(s string) string {
	text, _ := jsontext.AppendQuote(nil, s) // broken UTF-8 becomes U+FFFD
	return string(text)
}

func TestNewFingerprint_knows_no_order_blanks_and_nulls_in_any_object(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one, other := object(t, 3)
		if fingerprint(t, one) != fingerprint(t, other) {
			t.Fatalf("%s and %s differ", one, other)
		}
	})
}

// FuzzNewFingerprint: what is accepted is an object, its canonical form is accepted
// too, stands for itself, and has the same fingerprint.
func FuzzNewFingerprint(f *testing.F) {
	for _, text := range []string{
		"", "{}", `{"b":[1.50,null,{"c":null}],"a":"\u00e4"}`, `{"a":123456789012345678901234567890e-12}`, `{"a":1e-99999999999}`, "\ufeff{}",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		want, err := NewFingerprint(testOperation, body, testReference)
		if err != nil {
			return
		}
		var members map[string]jsontext.Value
		if err := json.Unmarshal(body, &members); len(body) > 0 && err != nil {
			t.Fatalf("%q is accepted: %v", body, err)
		}
		form, err := canonical(body)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := canonical(form); err != nil || string(again) != string(form) {
			t.Errorf("canonical(%s) = %s, %v", form, again, err)
		}
		if fingerprint(t, string(form)) != want {
			t.Errorf("%q and %s differ", body, form)
		}
	})
}
