package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"sperrd/internal/outbox/erptest"
)

func TestERP_fails_in_the_way_that_is_named(t *testing.T) {
	t.Parallel()
	e := erp{erptest.New(erptest.Options{Secret: drawERPSecret()})}
	url := e.Start(t)
	for _, c := range []struct {
		kind   string
		status int
	}{
		{"down", http.StatusBadGateway},
		{"busy", http.StatusServiceUnavailable},
		{"refuse", http.StatusUnprocessableEntity},
		{"none", http.StatusUnsupportedMediaType}, // judged by the ERP itself: what is sent here is no event
	} {
		if err := e.setFault(c.kind); err != nil {
			t.Fatal(err)
		}
		if status, body := send(t, http.MethodPost, url, "{}"); status != c.status {
			t.Errorf("%s: answered with %d %s, want %d", c.kind, status, body, c.status)
		}
	}
	if err := e.setFault("fire"); !errors.Is(err, errUnknownFault) {
		t.Errorf("fire: %v", err)
	}
}

func TestERP_that_hangs_answers_nobody(t *testing.T) {
	t.Parallel()
	e := erp{erptest.New(erptest.Options{})}
	url := e.Start(t)
	if err := e.setFault("hang"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err == nil {
		response.Body.Close()
		t.Errorf("answered with %d", response.StatusCode)
	}
}

// The secret is one that the public library of Standard Webhooks reads, and no other
// run has it.
func TestERPSecret_is_drawn_anew_in_the_form_of_the_library(t *testing.T) {
	t.Parallel()
	secret := drawERPSecret()
	if _, err := standardwebhooks.NewWebhook(secret); err != nil || !strings.HasPrefix(secret, "whsec_") {
		t.Errorf("the library does not read the secret: %v", err)
	}
	if secret == drawERPSecret() {
		t.Error("two runs have one secret")
	}
}
