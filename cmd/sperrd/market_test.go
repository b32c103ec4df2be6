package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/webhook"
)

// market is the simulated makod and what it sends.
type market struct {
	*makodtest.Server
	url string
}

func newMarket(t *testing.T) market {
	t.Helper()
	s := makodtest.New(makodtest.Options{APIKey: makodSecret})
	return market{Server: s, url: s.Start(t)}
}

// maloID is the n-th of the MaLo-IDs that tests use, with its check digit.
func maloID(n int) string {
	number := fmt.Sprintf("512386%04d", n)
	sum := 0
	for i, c := range number {
		sum += int(c-'0') * (1 + i%2)
	}
	return fmt.Sprintf("%s%d", number, (10-sum%10)%10)
}

// sperrauftrag is the event of an ORDERS 17115 for a new process of makod.
func (m market) sperrauftrag(t *testing.T, malo string, data map[string]any) []byte {
	t.Helper()
	p, err := m.Spawn(makodtest.Process{MaloID: malo, PID: 17115})
	if err != nil {
		t.Fatal(err)
	}
	data["malo_id"], data["lf_mp_id"] = malo, "9900012345678"
	event, err := json.Marshal(map[string]any{
		"specversion": "1.0", "id": uuid.NewString(), "source": "urn:makod:test", "type": "de.mako.process.initiated",
		"subject": p.ID, "time": "2026-08-13T22:30:00Z", "datacontenttype": "application/json",
		"makopid": 17115, "makoworkflow": "gpke-sperrung", "data": data,
	})
	if err != nil {
		t.Fatal(err)
	}
	return event
}

// deliver posts the event, signed with a secret or, with an empty one, not at all.
func (m market) deliver(t *testing.T, i *instance, event []byte, secret string) (status int, body string) {
	t.Helper()
	var header http.Header
	if secret != "" {
		signer, err := webhook.NewSigner(secret)
		if err != nil {
			t.Fatal(err)
		}
		header = signer.Sign(uuid.NewString(), time.Now(), event)
	}
	status, answer, err := m.Deliver(t.Context(), i.base+"/webhook", event, header)
	if err != nil {
		t.Fatal(err)
	}
	return status, string(answer)
}

// order brings a Sperrauftrag into the queue and returns its id.
func (m market) order(t *testing.T, i *instance, malo string) (id string) {
	t.Helper()
	event := m.sperrauftrag(t, malo, map[string]any{"fruehestens_am": "20260831"})
	return m.queued(t, i, event)
}

func (m market) queued(t *testing.T, i *instance, event []byte) (id string) {
	t.Helper()
	status, body := m.deliver(t, i, event, hmacSecret)
	var created struct{ ID string }
	if err := json.Unmarshal([]byte(body), &created); err != nil || status != http.StatusCreated {
		t.Fatalf("POST /webhook: %d %s; want 201 and an id\n%s", status, body, i.log.String())
	}
	return created.ID
}

func executePath(id string) string { return "/api/v1/sperr-orders/" + id + "/execute" }

// execution is the answer to a report that was sent in the background.
type execution struct {
	status int
	err    error
}

// execute reports every order as carried out, all at the same time.
func execute(t *testing.T, i *instance, ids []string) <-chan execution {
	t.Helper()
	answers := make(chan execution, len(ids))
	for _, id := range ids {
		go func() {
			status, _, err := i.call(t.Context(), http.MethodPut, executePath(id), "")
			answers <- execution{status, err}
		}()
	}
	return answers
}
