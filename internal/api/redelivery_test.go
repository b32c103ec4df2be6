package api_test

import (
	"bytes"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/webhook"
)

// again is the 17115 with a fixed date as its sender may build it anew for the n-th
// attempt: another event id and time, another order of members, other blanks, and
// optional members that are there or not.
func again(n int, strasse string) []byte {
	optional := []string{"", `"message_ref":"MSG-17115-0001",`, `"neu":{"x":[1,2]},`, `"pid":17115,`}[n%4]
	shape := []string{
		`{"specversion":"1.0","id":"%[1]s","source":"urn:x","type":"de.mako.process.initiated","time":"%[2]s","subject":"%[3]s","makopid":17115,"data":%[4]s}`,
		`{"data":%[4]s, "makopid":"17115","subject":"%[3]s",  "time":"%[2]s","type":"de.mako.process.initiated","source":"urn:y","id":"%[1]s","specversion":"1.0"}` + "\n",
	}[n%2]
	data := fmt.Sprintf(`{%s"treffpunkt":{"ort":"Berlin","plz":"10115","land":"DE","strasse":"%s"},"lf_mp_id":"9900012345678",
		"malo_id":"\u0035%s","ausfuehrung_am":"20260907"}`, optional, strasse, malo[1:])
	at := now.Add(-time.Duration(n) * time.Second).Format(time.RFC3339)
	return fmt.Appendf(nil, shape, uuid.NewString(), at, "0b7c1e2a-1111-4000-8000-00000000000a", data)
}

// parallel delivers the bodies at the same time, each under an id and a timestamp of
// its own, and counts the answers.
func (b *bench) parallel(t *testing.T, bodies [][]byte) map[int]int {
	t.Helper()
	signer, err := webhook.NewSigner(secret)
	if err != nil {
		t.Fatal(err)
	}
	statuses := make([]int, len(bodies))
	var deliveries sync.WaitGroup
	for i, body := range bodies {
		deliveries.Go(func() {
			h := signer.Sign(uuid.NewString(), now.Add(time.Duration(i-25)*time.Second), body)
			h.Set("Content-Type", "application/cloudevents+json")
			statuses[i] = b.send(t, http.MethodPost, "/webhook", bytes.NewReader(body), h).status
		})
	}
	deliveries.Wait()
	tally := map[int]int{}
	for _, status := range statuses {
		tally[status]++
	}
	return tally
}

// wantOneOrder checks that there is one order, announced and noted once.
func (b *bench) wantOneOrder(t *testing.T) {
	t.Helper()
	for _, table := range []string{"sperr_orders", "event_outbox WHERE ce_type = 'de.sperr.auftrag.eingegangen'", "event_outbox", "sperr_order_history"} {
		if n := b.count(t, "SELECT count(*) FROM "+table); n != 1 {
			t.Errorf("%d rows of %s, want 1", n, table)
		}
	}
}

func TestRedelivery_of_fifty_in_parallel_that_no_byte_comparison_would_match_is_one_order(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var bodies [][]byte
	for i := range 50 {
		bodies = append(bodies, again(i, "Lindenallee 7"))
	}
	want := map[int]int{http.StatusCreated: 1, http.StatusNoContent: 49}
	if diff := cmp.Diff(want, b.parallel(t, bodies)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	b.wantOneOrder(t)
	if codes := b.kept(t); len(codes) != 0 {
		t.Errorf("kept %v", codes)
	}
}

func TestRedelivery_of_two_contradicting_halves_in_parallel_leaves_the_first_and_keeps_the_other(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	streets := []string{"Lindenallee 7", "Lindenallee 9"}
	var bodies [][]byte
	for i := range 50 {
		bodies = append(bodies, again(i, streets[i/25]))
	}
	want := map[int]int{http.StatusCreated: 1, http.StatusNoContent: 24, http.StatusConflict: 25}
	if diff := cmp.Diff(want, b.parallel(t, bodies)); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
	b.wantOneOrder(t)
	if n := b.count(t, `SELECT count(*) FROM webhook_rejects r, sperr_orders o
		WHERE r.code = 'process_conflict' AND position(convert_to(o.treffpunkt_strasse, 'UTF8') IN r.body) = 0`); n != 25 {
		t.Errorf("%d deliveries of the other half kept, want 25", n)
	}
	warnings := 0
	for _, line := range b.log.requests(t) {
		if line["code"] == "process_conflict" && line["level"] == "WARN" && line["order_id"] != nil {
			warnings++
		}
	}
	if warnings != 25 {
		t.Errorf("%d warnings name the order that stands, want 25", warnings)
	}
}

func TestRedelivery_never_takes_the_tenant_from_the_body(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := again(0, "Lindenallee 7")
	wantStatus(t, b.deliver(t, body), http.StatusCreated)
	foreign := func(members string) []byte {
		return bytes.Replace(body, []byte(`"treffpunkt"`), []byte(members+`"treffpunkt"`), 1)
	}
	wantStatus(t, b.deliver(t, foreign(`"tenant":"9900000000001",`)), http.StatusNoContent) // a member nobody knows
	wantProblem(t, b.deliver(t, foreign(`"receiver":"9900000000001",`)), http.StatusUnprocessableEntity, "unusable_event", "receiver")
	top := bytes.Replace(body, []byte(`{"specversion"`), []byte(`{"tenant":"9900000000001","makotenant":"9900000000001","specversion"`), 1)
	wantStatus(t, b.deliver(t, top), http.StatusNoContent)
	b.wantOneOrder(t)
	if n := b.count(t, `SELECT count(*) FROM sperr_orders WHERE tenant = '`+tenant+`'`); n != 1 {
		t.Errorf("%d orders of our tenant, want 1", n)
	}
}

func TestRedelivery_under_the_same_webhook_id_with_another_process_is_a_new_order(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	wantStatus(t, b.deliverAs(t, "w-1", again(0, "Lindenallee 7")), http.StatusCreated)
	other := bytes.Replace(again(0, "Lindenallee 7"), []byte("00000000000a"), []byte("00000000000b"), 1)
	wantStatus(t, b.deliverAs(t, "w-1", other), http.StatusCreated)
	if n := b.orderCount(t); n != 2 {
		t.Errorf("%d orders of two processes, want 2", n)
	}
}
