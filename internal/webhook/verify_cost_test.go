package webhook

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// One MAC over a mebibyte for each entry would be ten gigabytes to hash: half a
// minute on a fast machine. One for each key is a few milliseconds.
func TestVerify_ten_thousand_entries_cost_no_more_than_one_MAC_each_key(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, "the-new-secret", testSecret)
	body := []byte(strings.Repeat("x", 1<<20))
	good := mac([]byte(testSecret), testID, "1788249600", body)
	wrong := mac([]byte("another secret"), testID, "1788249600", body)
	many := strings.Repeat(wrong+" ", 10_000)
	started := time.Now()
	mustRefuse(t, v, headers(testID, "1788249600", many), body)
	mustPass(t, v, headers(testID, "1788249600", many+good), body)
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("two lists of 10,000 entries took %v", took)
	}
}

// A proxy may read the first and this service the last, or the other way round.
func TestVerify_two_values_of_a_header_are_refused_whichever_is_good(t *testing.T) {
	t.Parallel()
	v := newVerifier(t, testSecret)
	good := signed("1788249600", []byte(testBody))
	other := signed("1788249601", []byte(testBody))
	other.Set(HeaderID, "another")
	for _, name := range []string{HeaderID, HeaderTimestamp, HeaderSignature} {
		for _, values := range [][]string{
			{good.Get(name), other.Get(name)},
			{other.Get(name), good.Get(name)},
			{good.Get(name), ""},
			{"", good.Get(name)},
		} {
			h := good.Clone()
			h[http.CanonicalHeaderKey(name)] = values
			mustRefuseBecause(t, v, h, name+" is there 2 times")
		}
	}
}

// The window is judged by the receiver's clock alone, also where that clock or the
// number is at the end of what it can count.
func TestVerify_window_holds_at_the_ends_of_the_clock(t *testing.T) {
	t.Parallel()
	for _, at := range []int64{0, 1, 299, 1 << 40} {
		v, err := NewVerifier([]string{testSecret}, func() time.Time { return time.Unix(at, 0) })
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"9223372036854775807", "-9223372036854775808", "9223372036854775808", "9999999999999999999999", "-0", "+0", ""} {
			mustRefuse(t, v, signed(text, []byte(testBody)), []byte(testBody))
		}
	}
}
