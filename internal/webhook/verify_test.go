package webhook

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	testSecret = "dev-inbound-secret-0001"
	testID     = "5f0c0f64-6a0e-4f0e-9c39-0f6a3f1d7a01"
	testBody   = `{"specversion":"1.0","id":"5f0c0f64-6a0e-4f0e-9c39-0f6a3f1d7a01","type":"de.mako.process.initiated"}`
)

var testNow = time.Unix(1788249600, 0)

// mac computes the signature text with nothing but the standard library, so
// that these tests do not ask the code under test what is right.
func mac(key []byte, id, timestamp string, body []byte) string {
	m := hmac.New(sha256.New, key)
	fmt.Fprintf(m, "%s.%s.", id, timestamp)
	m.Write(body)

	return "v1," + base64.StdEncoding.EncodeToString(m.Sum(nil))
}

func headers(id, timestamp, signature string) http.Header {
	h := make(http.Header)
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", timestamp)
	h.Set("webhook-signature", signature)

	return h
}

// signed returns the headers of a rightly signed message with that timestamp.
func signed(timestamp string, body []byte) http.Header {
	return headers(testID, timestamp, mac([]byte(testSecret), testID, timestamp, body))
}

func newVerifier(t *testing.T, secrets ...string) *Verifier {
	t.Helper()
	v, err := NewVerifier(secrets, func() time.Time { return testNow })
	if err != nil {
		t.Fatal(err)
	}

	return v
}

func mustPass(t *testing.T, v *Verifier, h http.Header, body []byte) {
	t.Helper()
	id, err := v.Verify(h, body)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	if want := h.Get("webhook-id"); id != want {
		t.Fatalf("id = %q, want %q", id, want)
	}
}

func mustRefuse(t *testing.T, v *Verifier, h http.Header, body []byte) {
	t.Helper()
	id, err := v.Verify(h, body)
	if !errors.Is(err, ErrSignature) {
		t.Fatalf("id %q, error %v; want ErrSignature", id, err)
	}
	if id != "" {
		t.Fatalf("a refused message has the id %q; want none", id)
	}
}

// mustRefuseBecause is for the log: whoever mends a sender needs the reason.
func mustRefuseBecause(t *testing.T, v *Verifier, h http.Header, reason string) {
	t.Helper()
	mustRefuse(t, v, h, []byte(testBody))
	if _, err := v.Verify(h, []byte(testBody)); !strings.Contains(err.Error(), reason) {
		t.Fatalf("error %q does not say %q", err, reason)
	}
}

func TestVerify_known_vectors_pass(t *testing.T) {
	t.Parallel()
	key, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	published := headers("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	own := headers(testID, "1788249600", "v1,P8eV+7vg66HcsnFkH9hZSDOiJUt9Zdo6IKLswZ6W2p8=")
	for name, c := range map[string]struct {
		secret string
		h      http.Header
		body   string
	}{
		"raw_bytes":         {string(key), published, `{"test": 2432232314}`},
		"whsec_base64":      {"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", published, `{"test": 2432232314}`},
		"utf8_as_it_stands": {testSecret, own, testBody},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seconds, err := strconv.ParseInt(c.h.Get("webhook-timestamp"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			v, err := NewVerifier([]string{c.secret}, func() time.Time { return time.Unix(seconds, 0) })
			if err != nil {
				t.Fatal(err)
			}
			mustPass(t, v, c.h, []byte(c.body))
			mustRefuse(t, v, c.h, []byte(c.body+" "))
		})
	}
}

func TestVerify_each_header_exactly_once(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, testSecret)
	for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := signed("1788249600", []byte(testBody))
			mustPass(t, v, good, []byte(testBody))

			missing := good.Clone()
			missing.Del(name)
			mustRefuseBecause(t, v, missing, "is missing")

			twice := good.Clone()
			twice.Add(name, good.Get(name))
			mustRefuseBecause(t, v, twice, "is there 2 times")

			empty := good.Clone()
			empty.Set(name, "")
			mustRefuseBecause(t, v, empty, "is empty")
		})
	}
	mustRefuse(t, v, http.Header{}, []byte(testBody))
}

// An empty id or timestamp could be signed, too: the header checks must not
// depend on the signature failing.
func TestVerify_empty_id_is_refused_even_when_signed(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, testSecret)
	mustRefuse(t, v, headers("", "1788249600", mac([]byte(testSecret), "", "1788249600", nil)), nil)
}

func TestVerify_id_must_be_storable(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, testSecret)
	for name, id := range map[string]string{"not_utf8": "id-\xff", "over_long": strings.Repeat("i", 513)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, v, headers(id, "1788249600", mac([]byte(testSecret), id, "1788249600", nil)), nil)
		})
	}
	const umlaut = "Auftrag-für-München"
	mustPass(t, v, headers(umlaut, "1788249600", mac([]byte(testSecret), umlaut, "1788249600", nil)), nil)
}

func TestVerify_window_is_two_sided(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, testSecret)
	at := func(d time.Duration) string { return strconv.FormatInt(testNow.Add(d).Unix(), 10) }
	for _, inside := range []string{at(-300 * time.Second), at(-299 * time.Second), at(0), at(299 * time.Second), at(300 * time.Second)} {
		mustPass(t, v, signed(inside, []byte(testBody)), []byte(testBody))
	}
	for _, outside := range []string{
		at(-301 * time.Second), at(301 * time.Second), at(10 * 365 * 24 * time.Hour),
		"0", "-1", "9223372036854775807", "-9223372036854775808", "9999999999999999999999",
	} {
		mustRefuse(t, v, signed(outside, []byte(testBody)), []byte(testBody))
	}
}

// Each text is signed as it stands and as the number it might be read as.
func TestVerify_timestamp_is_plain_unix_seconds(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, testSecret)
	for _, text := range []string{
		"1788249600000", "1788249600.0", "+1788249600", " 1788249600", "1788249600 ", "01788249600",
		"1_788_249_600", "0x6A969580", "1.7882496e9", "１７８８２４９６００", "2026-09-01T08:00:00Z", "\xb2\xb3",
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, v, signed(text, []byte(testBody)), []byte(testBody))
			asNumber := signed("1788249600", []byte(testBody))
			asNumber.Set("webhook-timestamp", text)
			mustRefuse(t, v, asNumber, []byte(testBody))
		})
	}
}

func TestVerify_hostile_signature_text_is_refused(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, testSecret)
	good := mac([]byte(testSecret), testID, "1788249600", []byte(testBody))
	for name, text := range map[string]string{
		"version_only":      "v1",
		"no_value":          "v1,",
		"no_base64":         "v1,%%%",
		"one_mebibyte":      "v1," + strings.Repeat("QUFB", 1<<18),
		"high_bytes":        "v1,\xff\xfe\x80 \x80,\xff",
		"blanks_only":       "   ",
		"ten_thousand_bad":  strings.Repeat("v1,AAAA ", 10_000),
		"version_unknown":   "v2," + strings.TrimPrefix(good, "v1,"),
		"version_asym":      "v1a," + strings.TrimPrefix(good, "v1,"),
		"no_version":        strings.TrimPrefix(good, "v1,"),
		"cut_short":         good[:len(good)-1],
		"hex_not_base64":    "v1," + fmt.Sprintf("%x", good),
		"joined_by_commas":  "v1,AAAA," + good,
		"upper_case_prefix": "V1" + strings.TrimPrefix(good, "v1"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustRefuse(t, v, headers(testID, "1788249600", text), []byte(testBody))
		})
	}
}

func TestVerify_one_good_entry_wins_wherever_it_stands(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, testSecret)
	good := mac([]byte(testSecret), testID, "1788249600", []byte(testBody))
	for name, text := range map[string]string{
		"first":                     good + " v1,AAAA",
		"last_of_ten_thousand":      strings.Repeat("v1,AAAA ", 10_000) + good,
		"after_unknown_versions":    "v1a,AAAA v9,BBBB nonsense " + good,
		"after_high_bytes":          "v1,\xff\xfe \x80 " + good,
		"after_a_mebibyte":          "v1," + strings.Repeat("QUFB", 1<<18) + " " + good,
		"between_blanks":            "  " + good + "  ",
		"after_another_good_secret": mac([]byte("other"), testID, "1788249600", []byte(testBody)) + " " + good,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustPass(t, v, headers(testID, "1788249600", text), []byte(testBody))
		})
	}
}

func TestVerify_body_is_taken_as_received(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, testSecret)
	for _, body := range []string{
		"{ \"b\" :1,\t\"a\":\n2 }", `{"n":"\u00fc"}`, `{"n":"ü"}`, `{"z":1,"a":2}`, "{\"a\":1}\n", `{"n":1e3}`,
		"", "\x00\xff", "{\"a\":1}\r\n",
	} {
		t.Run(fmt.Sprintf("%q", body), func(t *testing.T) {
			t.Parallel()
			mustPass(t, v, signed("1788249600", []byte(body)), []byte(body))
		})
	}
	mustRefuse(t, v, signed("1788249600", []byte(`{"n":"\u00fc"}`)), []byte(`{"n":"ü"}`))
	mustRefuse(t, v, signed("1788249600", []byte(`{"a":1}`)), []byte("{\"a\":1}\n"))
}

func TestVerify_signature_covers_id_and_timestamp(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, testSecret)
	otherID := signed("1788249600", []byte(testBody))
	otherID.Set("webhook-id", "another")
	mustRefuse(t, v, otherID, []byte(testBody))
	otherTime := signed("1788249600", []byte(testBody))
	otherTime.Set("webhook-timestamp", "1788249601")
	mustRefuse(t, v, otherTime, []byte(testBody))
}

func TestVerify_old_and_new_secret_both_count(t *testing.T) {
	t.Parallel()
	both := newVerifier(t, "the-new-secret", testSecret)
	mustPass(t, both, signed("1788249600", []byte(testBody)), []byte(testBody))
	withNew := headers(testID, "1788249600", mac([]byte("the-new-secret"), testID, "1788249600", []byte(testBody)))
	mustPass(t, both, withNew, []byte(testBody))
	mustRefuse(t, newVerifier(t, "the-new-secret"), signed("1788249600", []byte(testBody)), []byte(testBody))
}

func TestVerify_whsec_secret_counts_under_both_readings(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	v := newVerifier(t, secret)
	decoded, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string][]byte{"raw": []byte(secret), "base64": decoded} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustPass(t, v, headers(testID, "1788249600", mac(key, testID, "1788249600", []byte(testBody))), []byte(testBody))
		})
	}
	// The text after the prefix, as it stands, is nobody's reading.
	undecoded := mac([]byte("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), testID, "1788249600", []byte(testBody))
	mustRefuse(t, v, headers(testID, "1788249600", undecoded), []byte(testBody))
}

func TestNewVerifier_refuses_what_is_no_secret(t *testing.T) {
	t.Parallel()
	for name, secrets := range map[string][]string{
		"none":             {},
		"empty":            {""},
		"blank":            {" \t\n"},
		"blank_beside_one": {testSecret, "  "},
		"whsec_nothing":    {"whsec_"},
		"whsec_newline":    {"whsec_\n"},
		"whsec_no_base64":  {"whsec_%%%"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := NewVerifier(secrets, time.Now)
			if err == nil || v != nil {
				t.Fatalf("got %v, %v; want an error", v, err)
			}
			if strings.Contains(err.Error(), testSecret) || strings.Contains(err.Error(), "%%%") {
				t.Fatalf("error holds a secret: %v", err)
			}
		})
	}
}

// The reason goes to the log, and a log is no place for what an attacker sends.
func TestVerify_error_never_repeats_what_was_sent(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, testSecret)
	for _, h := range []http.Header{
		headers("forged-id", "forged-time", "v1,forged"), headers("forged-id", "1788249600", "v1,forged"), headers("forged-id\xff", "1", "v1,forged"),
	} {
		if _, err := v.Verify(h, []byte("forged-body")); err == nil || strings.Contains(err.Error(), "forged") {
			t.Errorf("error = %v; want one without the sender's text", err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add("id", "1788249600", "v1,AAAA v2,BBBB", []byte("{}"))
	f.Add("\xff", "-0", "v1,,,, ,", []byte{0})
	v, err := NewVerifier([]string{testSecret, "whsec_AAAA"}, func() time.Time { return testNow })
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, id, timestamp, signature string, body []byte) {
		sent := bytes.Clone(body)
		if _, err := v.Verify(headers(id, timestamp, signature), body); !errors.Is(err, ErrSignature) {
			t.Errorf("error = %v; nobody without the key can sign", err)
		}
		if !bytes.Equal(sent, body) {
			t.Error("the body was changed")
		}
	})
}
