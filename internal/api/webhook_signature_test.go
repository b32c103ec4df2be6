package api_test

import (
	"bytes"
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

// wantUnsigned delivers body under header and wants a refusal that helps no forger
// and leaves nothing behind.
func (b *bench) wantUnsigned(t *testing.T, name string, body []byte, header http.Header) {
	t.Helper()
	header.Set("Content-Type", "application/cloudevents+json")
	a := b.send(t, http.MethodPost, "/webhook", bytes.NewReader(body), header)
	if a.status == http.StatusRequestHeaderFieldsTooLarge { // refused before anything is looked at
		return
	}
	p := wantProblem(t, a, http.StatusUnauthorized, "invalid_signature")
	if p.Detail != "The request carries no valid Standard Webhooks signature." {
		t.Errorf("%s: the answer says which check failed: %s", name, p.Detail)
	}
}

func (b *bench) wantNothingStored(t *testing.T) {
	t.Helper()
	if n := b.orderCount(t) + b.count(t, `SELECT count(*) FROM event_outbox`) + len(b.kept(t)); n != 0 {
		t.Errorf("%d rows of deliveries that nobody signed", n)
	}
}

func TestSignature_headers_must_each_be_there_once(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17117.json")
	for _, name := range []string{webhook.HeaderID, webhook.HeaderTimestamp, webhook.HeaderSignature} {
		h := signed(t, body)
		h.Del(name)
		b.wantUnsigned(t, name+" missing", body, h)
		h = signed(t, body)
		h.Add(name, h.Get(name))
		b.wantUnsigned(t, name+" twice", body, h)
		h = signed(t, body)
		h.Set(name, "")
		b.wantUnsigned(t, name+" empty", body, h)
	}
	b.wantNothingStored(t)
}

func TestSignature_holds_for_five_minutes_in_both_directions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17117.json")
	signer, err := webhook.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	for _, offset := range []time.Duration{-301 * time.Second, 301 * time.Second, 10 * 365 * 24 * time.Hour} {
		b.wantUnsigned(t, offset.String(), body, signer.Sign(uuid.NewString(), now.Add(offset), body))
	}
	for _, text := range []string{
		"0", "-1", "9999999999999999999999", strconv.FormatInt(now.UnixMilli(), 10), fmt.Sprintf("%d.0", now.Unix()),
		fmt.Sprintf("+%d", now.Unix()), "0" + strconv.FormatInt(now.Unix(), 10), "1e9", "now",
	} {
		h := signed(t, body)
		h.Set(webhook.HeaderTimestamp, text)
		b.wantUnsigned(t, text, body, h)
	}
	b.wantNothingStored(t)

	for i, offset := range []time.Duration{-299 * time.Second, 299 * time.Second} {
		event := bytes.ReplaceAll(body, []byte("4000-8000-000000000003"), fmt.Appendf(nil, "4000-8000-00000000010%d", i))
		h := signer.Sign(uuid.NewString(), now.Add(offset), event)
		h.Set("Content-Type", "application/cloudevents+json")
		wantStatus(t, b.send(t, http.MethodPost, "/webhook", bytes.NewReader(event), h), http.StatusCreated)
	}
}

func TestSignature_entries_that_are_hostile_are_refused_and_foreign_ones_skipped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17117.json")
	for name, entry := range map[string]string{
		"version alone": "v1", "nothing": "v1,", "no base64": "v1,%%%", "not ASCII": "v1,\xff\xfe", "another version": "v2,AAAA",
		"long": "v1," + base64.StdEncoding.EncodeToString(make([]byte, 15<<10)), "huge": "v1," + strings.Repeat("A", 1<<20),
		"another body's": signed(t, []byte("{}")).Get(webhook.HeaderSignature),
		"many":           strings.TrimSpace(strings.Repeat("v1,AA== ", 3500)),
	} {
		h := signed(t, body)
		h.Set(webhook.HeaderSignature, entry)
		b.wantUnsigned(t, name, body, h)
	}
	b.wantNothingStored(t)

	h := signed(t, body)
	h.Set(webhook.HeaderSignature, "v1a,AAAA "+strings.Repeat("v1,AA== ", 1000)+h.Get(webhook.HeaderSignature))
	h.Set("Content-Type", "application/cloudevents+json")
	wantStatus(t, b.send(t, http.MethodPost, "/webhook", bytes.NewReader(body), h), http.StatusCreated)
}

func TestSignature_of_either_secret_holds_while_both_are_configured(t *testing.T) {
	t.Parallel()
	verifier, err := webhook.NewVerifier([]string{"new-secret", secret}, func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(s *settings) { s.options.Verifier = verifier })
	wantStatus(t, b.deliver(t, sample(t, "17117.json")), http.StatusCreated)
	signer, err := webhook.NewSigner("new-secret")
	if err != nil {
		t.Fatal(err)
	}
	body := sample(t, "17115-fixed-date.json")
	h := signer.Sign("w-1", now, body)
	h.Set("Content-Type", "application/cloudevents+json")
	wantStatus(t, b.send(t, http.MethodPost, "/webhook", bytes.NewReader(body), h), http.StatusCreated)
}

func TestSignature_is_over_the_bytes_as_received(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const members = `"specversion" : "1.0",  "id":"e-%[1]d","source":"urn:x","type":"de.mako.process.initiated",` +
		`"subject":"0b7c1e2a-1111-4000-8000-0000000002%02[1]d","makopid":17117,"data":`
	for i, body := range []string{
		`{` + members + `{"malo_id":"51238696012","lf_mp_id":"9900012345678","hinweis":"M\u00fcller"}}`,
		`{` + members + `{"malo_id":"51238696012","lf_mp_id":"9900012345678","hinweis":"Müller"}}`,
		`{` + members + `{"hinweis":"\u004d","lf_mp_id":"9900012345678","malo_id":"51238696012"}}` + "\n",
		`{` + members + `{"malo_id":"51238696012","lf_mp_id":"9900012345678","menge":1e3}}`,
		"\r\n\t{" + members + `{ "malo_id" : "\u00351238696012" , "lf_mp_id":"9900012345678"} } `,
		`{"data":{"malo_id":"51238696012","lf_mp_id":"9900012345678"},"makopid":17117,"subject":"0b7c1e2a-1111-4000-8000-0000000002%02[1]d",` +
			`"type":"de.mako.process.initiated","source":"urn:x","id":"e-%[1]d","specversion":"1.0"}`,
	} {
		raw := fmt.Appendf(nil, body, i)
		wantStatus(t, b.deliver(t, raw), http.StatusCreated)
		a := b.send(t, http.MethodPost, "/webhook", bytes.NewReader(append(raw, ' ')), signed(t, raw))
		wantProblem(t, a, http.StatusUnauthorized, "invalid_signature")
	}
	if n := b.count(t, `SELECT count(*) FROM sperr_orders WHERE hinweis = 'Müller'`); n != 2 {
		t.Errorf("%d orders say Müller, want 2", n)
	}
}
