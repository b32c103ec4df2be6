package webhook

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func TestSign_known_vectors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secret, id string
		at         int64
		body       string
		want       string
	}{
		"utf8_as_it_stands": {testSecret, testID, 1788249600, testBody, "v1,P8eV+7vg66HcsnFkH9hZSDOiJUt9Zdo6IKLswZ6W2p8="},
		"whsec_base64": {
			"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
			`{"test": 2432232314}`, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := NewSigner(c.secret)
			if err != nil {
				t.Fatal(err)
			}
			// Half a second later is still the same signed second.
			got := s.Sign(c.id, time.Unix(c.at, 500_000_000), []byte(c.body))
			want := http.Header{
				"Webhook-Id":        {c.id},
				"Webhook-Timestamp": {strconv.FormatInt(c.at, 10)},
				"Webhook-Signature": {c.want},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSign_is_verified_by_this_package_and_by_the_library(t *testing.T) {
	t.Parallel()
	body := []byte("{\"name\":\"Müller\"}\n")
	const whsec = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	for _, secret := range []string{testSecret, whsec} {
		s, err := NewSigner(secret)
		if err != nil {
			t.Fatal(err)
		}
		mustPass(t, newVerifier(t, secret), s.Sign(testID, testNow, body), body)
	}
	s, err := NewSigner(whsec)
	if err != nil {
		t.Fatal(err)
	}
	stock, err := standardwebhooks.NewWebhook(whsec)
	if err != nil {
		t.Fatal(err)
	}
	if err := stock.Verify(body, s.Sign("id-für-heute", time.Now(), body)); err != nil {
		t.Errorf("the stock library refuses what Sign made: %v", err)
	}
}

func TestNewSigner_refuses_what_is_no_secret(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"", "  ", "\n", "whsec_", "whsec_%%%"} {
		if s, err := NewSigner(secret); err == nil || s != nil {
			t.Errorf("NewSigner(%q) = %v, %v; want an error", secret, s, err)
		}
	}
}
