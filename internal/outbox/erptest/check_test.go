package erptest

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestDelivery_that_is_right_is_taken(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*delivery){
		"as it is":                func(*delivery) {},
		"content type with utf-8": func(d *delivery) { d.contentType += "; charset=UTF-8" },
		"signed 5 min ago":        func(d *delivery) { d.at = tuesday.Add(-5 * time.Minute) },
		"signed 5 min ahead":      func(d *delivery) { d.at = tuesday.Add(5 * time.Minute) },
		"no order":                func(d *delivery) { d.body = strings.Replace(d.body, `"order_id"`, `"other"`, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer()
			d := deliver(order1, "e1", "de.sperr.a")
			change(&d)
			wantStatus(t, post(s, d), 204)
			if got := s.Deliveries()[0]; got.Problem != "" || len(s.Accepted()) != 1 {
				t.Errorf("%d accepted, problem %q", len(s.Accepted()), got.Problem)
			}
		})
	}
}

func TestDelivery_that_is_wrong_is_refused_and_kept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*delivery)
		status int
	}{
		"plain JSON":               {func(d *delivery) { d.contentType = "application/json" }, 415},
		"batch":                    {func(d *delivery) { d.contentType = "application/cloudevents-batch+json" }, 415},
		"no content type":          {func(d *delivery) { d.contentType = "" }, 415},
		"too large":                {func(d *delivery) { d.body += strings.Repeat(" ", maxBody) }, 413},
		"another key":              {func(d *delivery) { d.key = []byte("x") }, 401},
		"signed too long ago":      {func(d *delivery) { d.at = tuesday.Add(-301 * time.Second) }, 401},
		"signed too far ahead":     {func(d *delivery) { d.at = tuesday.Add(301 * time.Second) }, 401},
		"no JSON":                  {func(d *delivery) { d.body = "{" }, 400},
		"something after the JSON": {func(d *delivery) { d.body += "{}" }, 400},
		"event without type":       {func(d *delivery) { d.body = strings.Replace(d.body, `"type"`, `"typ"`, 1) }, 400},
		"event without version":    {func(d *delivery) { d.body = strings.Replace(d.body, `"specversion"`, `"v"`, 1) }, 400},
		"webhook-id of another":    {func(d *delivery) { d.id = "e2" }, 400},
		"no transactionId":         {func(d *delivery) { d.transaction = "" }, 400},
		"transactionId no UUID":    {func(d *delivery) { d.transaction = strings.Repeat("x", 36) }, 400},
		"transactionId in braces":  {func(d *delivery) { d.transaction = "{" + d.transaction + "}" }, 400},
		"no creationDateTime":      {func(d *delivery) { d.creation = "" }, 400},
		"no milliseconds":          {func(d *delivery) { d.creation = "2026-09-01T08:00:00Z" }, 400},
		"microseconds":             {func(d *delivery) { d.creation = "2026-09-01T08:00:00.000000Z" }, 400},
		"comma":                    {func(d *delivery) { d.creation = "2026-09-01T08:00:00,000Z" }, 400},
		"hour of one digit":        {func(d *delivery) { d.creation = "2026-09-01T8:00:00.000Z" }, 400},
		"local time":               {func(d *delivery) { d.creation = "2026-09-01T10:00:00.000+02:00" }, 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer()
			d := deliver(order1, "e1", "de.sperr.a")
			c.change(&d)
			wantStatus(t, post(s, d), c.status)
			all := s.Deliveries()
			if len(all) != 1 || all[0].Status != c.status || all[0].Problem == "" || len(s.Accepted()) != 0 {
				t.Errorf("deliveries %+v, %d accepted", all, len(s.Accepted()))
			}
		})
	}
}

func TestOther_methods_are_refused(t *testing.T) {
	t.Parallel()
	s := newServer()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	wantStatus(t, w, 405)
	if w.Header().Get("Allow") != "POST" || len(s.Deliveries()) != 1 {
		t.Errorf("%v, %d deliveries", w.Header(), len(s.Deliveries()))
	}
}

func TestTransactionId_differs_even_after_a_failed_delivery(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.FailNext(1, Answer(503))
	d := deliver(order1, "e1", "de.sperr.a")
	wantStatus(t, post(s, d), 503)
	d.transaction = strings.ToUpper(d.transaction)
	wantStatus(t, post(s, d), 400)
	wantStatus(t, post(s, deliver(order1, "e1", "de.sperr.a")), 204)
}

func TestSecret_with_prefix_is_base64(t *testing.T) {
	t.Parallel()
	key := []byte("0123456789abcdef01234567")
	s := New(Options{
		Secret: "whsec_" + base64.StdEncoding.EncodeToString(key),
		Now:    func() time.Time { return tuesday },
	})
	d := deliver(order1, "e1", "de.sperr.a")
	wantStatus(t, post(s, d), 401)
	d = deliver(order1, "e1", "de.sperr.a")
	d.key = key
	wantStatus(t, post(s, d), 204)
}

func TestWithout_a_usable_secret_nobody_is_believed(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"", " ", "whsec_", "whsec_%%%"} {
		d := deliver(order1, "e1", "de.sperr.a")
		d.key = nil
		wantStatus(t, post(New(Options{Secret: secret}), d), 401)
	}
}

func TestWithout_a_clock_real_time_counts(t *testing.T) {
	t.Parallel()
	s := New(Options{Secret: secret})
	d := deliver(order1, "e1", "de.sperr.a")
	d.at = time.Now()
	wantStatus(t, post(s, d), 204)
	d = deliver(order1, "e1", "de.sperr.a")
	d.at = time.Now().Add(-time.Hour)
	wantStatus(t, post(s, d), 401)
}
