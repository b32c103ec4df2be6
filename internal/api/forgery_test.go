package api_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/webhook"
)

// handSigned are headers whose signature is right for the timestamp as it is written,
// whatever that is: only the look at the timestamp itself can refuse them.
func handSigned(id, timestamp string, body []byte) http.Header {
	m := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(m, "%s.%s.", id, timestamp)
	m.Write(body)
	h := http.Header{}
	h.Set(webhook.HeaderID, id)
	h.Set(webhook.HeaderTimestamp, timestamp)
	h.Set(webhook.HeaderSignature, "v1,"+base64.StdEncoding.EncodeToString(m.Sum(nil)))
	return h
}

// wantForged is wantUnsigned without a way out: the answer is 401.
func (b *bench) wantForged(t *testing.T, name string, body []byte, header http.Header) answer {
	t.Helper()
	header.Set("Content-Type", "application/cloudevents+json")
	a := b.send(t, http.MethodPost, "/webhook", bytes.NewReader(body), header)
	if a.status != http.StatusUnauthorized {
		t.Errorf("%s: %d %s, want 401", name, a.status, a.body)
	}
	return a
}

// process is body, a 17117, as an event of its own process.
func process(body []byte, n int) []byte {
	return bytes.ReplaceAll(body, []byte("4000-8000-000000000003"), fmt.Appendf(nil, "4000-8000-%012d", 1000+n))
}

func TestForgery_a_timestamp_outside_the_window_is_refused_though_rightly_signed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17117.json")
	at := func(seconds int64) string { return strconv.FormatInt(now.Unix()+seconds, 10) }
	for _, text := range []string{
		at(-301), at(301), at(10 * 366 * 86400), "0", "-1", "9999999999999999999999", "9223372036854775807", "-9223372036854775808",
		strconv.FormatInt(now.UnixMilli(), 10), strconv.FormatInt(now.UnixNano(), 10), at(0) + ".0", at(0) + ",0", "+" + at(0), "0" + at(0),
		at(0)[:5] + " " + at(0)[5:], at(0) + "\t0", "1e9", "0x6A969580", now.Format(time.RFC3339), "NaN",
	} {
		b.wantForged(t, text, body, handSigned("w-1", text, body))
	}
	b.wantNothingStored(t)

	for i, text := range []string{at(-300), at(-299), at(0), at(299), at(300)} {
		event := process(body, i)
		h := handSigned(uuid.NewString(), text, event)
		h.Set("Content-Type", "application/cloudevents+json")
		wantStatus(t, b.send(t, http.MethodPost, "/webhook", bytes.NewReader(event), h), http.StatusCreated)
	}
}

func TestForgery_answers_are_all_the_same_and_the_log_says_which_check_failed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17117.json")
	type forged struct {
		header http.Header
		reason string
	}
	var cases []forged
	for _, name := range []string{webhook.HeaderID, webhook.HeaderTimestamp, webhook.HeaderSignature} {
		missing, twice, empty := signed(t, body), signed(t, body), signed(t, body)
		missing.Del(name)
		twice.Add(name, "x")
		empty.Set(name, "")
		cases = append(cases, forged{missing, name + " is missing"}, forged{twice, name + " is there 2 times"}, forged{empty, name + " is empty"})
	}
	old, ahead, odd, wrong := "1", strconv.FormatInt(now.Unix()+301, 10), "soon", signed(t, []byte("{}"))
	cases = append(cases,
		forged{handSigned("w", old, body), webhook.HeaderTimestamp + " is older than"},
		forged{handSigned("w", ahead, body), "ahead"},
		forged{handSigned("w", odd, body), webhook.HeaderTimestamp + " is not unix seconds"},
		forged{wrong, "no entry of " + webhook.HeaderSignature + " matches"},
	)
	var first answer
	for i, c := range cases {
		a := b.wantForged(t, c.reason, body, c.header)
		if i == 0 {
			first = a
		}
		for _, h := range []http.Header{a.header, first.header} {
			h.Del("X-Request-Id")
			h.Del("Date")
		}
		if !bytes.Equal(a.body, first.body) || fmt.Sprint(a.header) != fmt.Sprint(first.header) {
			t.Errorf("%s is answered with %v %s, the first with %v %s", c.reason, a.header, a.body, first.header, first.body)
		}
	}
	for i, line := range b.log.requests(t) {
		if reason, _ := line["reason"].(string); line["level"] != "WARN" || !strings.Contains(reason, cases[i].reason) {
			t.Errorf("line %v, want a warning that says %q", line, cases[i].reason)
		}
	}
	b.wantNothingStored(t)
}

func TestForgery_a_bearer_token_is_no_signature(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17117.json")
	for _, token := range []string{"Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "Bearer " + secret, "Basic ZGV2OmRldg==", secret} {
		a := b.wantForged(t, token, body, http.Header{"Authorization": {token}})
		wantProblem(t, a, http.StatusUnauthorized, "invalid_signature")
		wrong := signed(t, []byte("{}"))
		wrong.Set("Authorization", token)
		b.wantForged(t, token+" beside a signature of something else", body, wrong)
	}
	b.wantNothingStored(t)
	if strings.Contains(b.log.String(), "eyJ") || strings.Contains(b.log.String(), secret) {
		t.Errorf("the log holds a token:\n%s", b.log)
	}
	good := signed(t, body)
	good.Set("Content-Type", "application/cloudevents+json")
	good.Set("Authorization", "Bearer eyJhbGciOiJSUzI1NiJ9.e30.c2ln")
	wantStatus(t, b.send(t, http.MethodPost, "/webhook", bytes.NewReader(body), good), http.StatusCreated)
}

// Ten thousand entries fit the header of a request when each is as short as one can
// be; what is larger ends at the limit of the header, unread.
func TestForgery_signatures_of_any_number_and_size_are_refused_and_a_good_one_behind_them_counts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17117.json")
	filler := map[string]string{
		"ten thousand": strings.Repeat("v1 ", 10_000), "empty ones": strings.Repeat("v1, ", 8_000), "unknown versions": strings.Repeat("v9,AA== ", 3_500),
		"blanks": strings.Repeat(" ", 30_000) + "x ", "no base64": "v1,%%% v1,= v1,A v1a, ,v1 ", "not ASCII": "v1,\xff\x80 \xc3\xbc,\xbc ", "commas": strings.Repeat(",", 30_000) + " ",
	}
	for name, entries := range filler {
		h := signed(t, body)
		h.Set(webhook.HeaderSignature, strings.TrimSpace(entries))
		b.wantForged(t, name, body, h)
	}
	for name, entries := range map[string]string{
		"a mebibyte of base64": "v1," + strings.Repeat("QUFB", 1<<18), "ten thousand whole ones": strings.Repeat(signed(t, nil).Get(webhook.HeaderSignature)+" ", 10_000),
	} {
		h := signed(t, body)
		h.Set(webhook.HeaderSignature, entries+" "+h.Get(webhook.HeaderSignature))
		h.Set("Content-Type", "application/cloudevents+json")
		if a := b.send(t, http.MethodPost, "/webhook", bytes.NewReader(body), h); a.status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("%s: %d %s, want 431", name, a.status, a.body)
		}
	}
	b.wantNothingStored(t)

	n := 0
	for name, entries := range filler {
		n++
		event := process(body, n)
		h := signed(t, event)
		h.Set(webhook.HeaderSignature, strings.TrimLeft(entries, " ")+h.Get(webhook.HeaderSignature))
		h.Set("Content-Type", "application/cloudevents+json")
		if a := b.send(t, http.MethodPost, "/webhook", bytes.NewReader(event), h); a.status != http.StatusCreated {
			t.Errorf("a good entry behind %s: %d %s, want 201", name, a.status, a.body)
		}
	}
}
