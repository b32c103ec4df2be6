package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sperrd/internal/webhook"
)

// raw sends header lines as they stand, which no client library would, and body.
func (b *bench) raw(t *testing.T, lines string, body []byte) answer {
	t.Helper()
	conn := b.dial(t)
	fmt.Fprintf(conn, "POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Type: application/cloudevents+json\r\nContent-Length: %d\r\n%s\r\n%s", len(body), lines, body)
	return readAnswer(t, conn)
}

// linesOf writes a header as it goes over the wire; replace changes its values.
func linesOf(h http.Header, replace ...string) string {
	var lines strings.Builder
	for _, name := range []string{webhook.HeaderID, webhook.HeaderTimestamp, webhook.HeaderSignature} {
		value := h.Get(name)
		for i := 0; i+1 < len(replace); i += 2 {
			if replace[i] == name {
				value = replace[i+1]
			}
		}
		fmt.Fprintf(&lines, "%s: %s\r\n", name, value)
	}
	return lines.String()
}

func TestRawHeader_bytes_beyond_ASCII_are_a_bad_signature_and_nothing_worse(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17117.json")
	good := signed(t, body)
	for _, name := range []string{webhook.HeaderID, webhook.HeaderTimestamp, webhook.HeaderSignature} {
		for _, text := range []string{"\x80", "\xff\xfe", good.Get(name) + "\xff", "\xa0" + good.Get(name), "v1,\x80\x81\x82=", "\xd9\xa1\xd9\xa2", "\xed\xa0\x80", strings.Repeat("\xff", 20_000)} {
			wantProblem(t, b.raw(t, linesOf(good, name, text), body), http.StatusUnauthorized, "invalid_signature")
		}
	}
	// An id that is signed as it stands is refused all the same: no column would take it.
	wantProblem(t, b.raw(t, linesOf(handSigned("w-\xff", good.Get(webhook.HeaderTimestamp), body)), body), http.StatusUnauthorized, "invalid_signature")
	b.wantNothingStored(t)
	for _, line := range b.log.requests(t) {
		if line["level"] != "WARN" || line["stack"] != nil {
			t.Errorf("line %v, want a warning without a stack", line)
		}
	}
	wantStatus(t, b.raw(t, linesOf(handSigned("w-für", good.Get(webhook.HeaderTimestamp), body)), body), http.StatusCreated)
}

func TestRawHeader_control_characters_and_broken_lines_never_reach_a_handler(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17117.json")
	good := signed(t, body)
	for _, lines := range []string{
		linesOf(good, webhook.HeaderID, "w\x00"), linesOf(good, webhook.HeaderTimestamp, good.Get(webhook.HeaderTimestamp)+"\x00"),
		linesOf(good, webhook.HeaderSignature, "\x01"+good.Get(webhook.HeaderSignature)), linesOf(good, webhook.HeaderSignature, good.Get(webhook.HeaderSignature)+"\x7f"),
		linesOf(good) + "webhook-\xfc: x\r\n", linesOf(good) + "no colon\r\n", linesOf(good) + "webhook-id : x\r\n",
	} {
		if a := b.raw(t, lines, body); a.status != http.StatusBadRequest {
			t.Errorf("%q: %d %s, want 400", lines, a.status, a.body)
		}
	}
	if lines := b.log.requests(t); len(lines) != 0 {
		t.Errorf("handlers have seen %v", lines)
	}
	b.wantNothingStored(t)
}

func TestRawHeader_is_there_once_whatever_its_spelling(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := sample(t, "17117.json")
	good := signed(t, body)
	for _, name := range []string{webhook.HeaderID, webhook.HeaderTimestamp, webhook.HeaderSignature} {
		again := good.Get(name)
		for _, lines := range []string{
			linesOf(good) + strings.ToUpper(name) + ": " + again + "\r\n",
			strings.ToUpper(name) + ": x\r\n" + linesOf(good),
			linesOf(good) + name + ":\r\n",
			strings.Replace(linesOf(good), name+":", strings.ReplaceAll(name, "-", "_")+":", 1),
		} {
			wantProblem(t, b.raw(t, lines, body), http.StatusUnauthorized, "invalid_signature")
		}
	}
	for _, name := range []string{webhook.HeaderID, webhook.HeaderTimestamp} { // joined, as a proxy does it
		joined := linesOf(good, name, good.Get(name)+", "+good.Get(name))
		wantProblem(t, b.raw(t, joined, body), http.StatusUnauthorized, "invalid_signature")
	}
	b.wantNothingStored(t)
	// Blanks around a value are not part of it (RFC 9110, section 5.5).
	wantStatus(t, b.raw(t, strings.ReplaceAll(strings.ReplaceAll(linesOf(good), ": ", ": \t  "), "\r\n", " \t\r\n"), body), http.StatusCreated)
}
