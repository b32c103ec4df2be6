package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// problems provokes every code once. The order of the calls is that of the sections.
func problems(t *testing.T) map[string]answer {
	t.Helper()
	b := newBench(t)
	executed := b.market(t, 17115, malo).ID
	wantStatus(t, b.report(t, executed, "execute", `{"executed_at":"2026-09-03T07:45:00Z"}`), http.StatusNoContent)
	pending := b.create(t, minimal("sperrung")).ID
	wantStatus(t, b.deliver(t, sample(t, "17115-fixed-date.json")), http.StatusCreated)

	settled := b.refused(t, sample(t, "17115-fixed-date.json"))
	wantStatus(t, b.replay(t, settled, ""), http.StatusOK)

	g := newGuarded(t)

	wantStatus(t, b.change(t, pending, "fail", `{"reason":"zu"}`, called(callA)), http.StatusAccepted)
	waiting := newBench(t, func(s *settings) { s.twinWait = time.Millisecond })
	held := waiting.create(t, minimal("sperrung")).ID
	release := waiting.lockOrder(t, held)
	inProgress := inBackground(func() answer { return waiting.change(t, held, "cancel", "", called(callA)) })
	waiting.awaitLocked(t)

	all := map[string]answer{
		"unauthenticated":        g.get(t, orders),
		"forbidden":              g.as(t, claims{"mako_roles": []string{"LF"}}, http.MethodGet, orders, ""),
		"invalid_json":           b.call(t, http.MethodPost, orders, `{"malo_id":}`),
		"invalid_body":           b.call(t, http.MethodPost, orders, `{"MALO_ID":"51238696012"}`),
		"invalid_parameter":      b.get(t, orders+"?limit=0"),
		"invalid_signature":      b.call(t, http.MethodPost, "/webhook", "{}"),
		"not_found":              b.get(t, orders+"/x"),
		"method_not_allowed":     b.call(t, http.MethodDelete, orders, ""),
		"not_acceptable":         b.call(t, http.MethodGet, orders, "", "Accept", "text/csv"),
		"order_not_pending":      b.report(t, executed, "cancel", ""),
		"nothing_to_reset":       b.reset(t, executed, ""),
		"reject_settled":         b.dismiss(t, settled, `{"reason":"doppelt"}`),
		"process_conflict":       b.deliver(t, edited(t, "20260901", "20260902")),
		"body_too_large":         b.call(t, http.MethodPost, orders, strings.Repeat(" ", 1<<20+1)),
		"unsupported_media_type": b.call(t, http.MethodPost, orders, "{}", "Content-Type", "text/plain"),
		"invalid_order":          b.call(t, http.MethodPost, orders, `{"malo_id":"51238696782","order_type":"sperrung"}`),
		"invalid_report":         b.report(t, pending, "fail", `{"reason":" "}`),
		"unusable_event":         b.deliver(t, edited(t, "51238696012", "51238696782")),

		"invalid_transaction_header": b.change(t, pending, "cancel", "", []string{"transactionId", "42"}),
		"transaction_conflict":       b.change(t, pending, "fail", `{"reason":"weg"}`, called(callB, callA)),
		"transaction_in_progress":    waiting.change(t, held, "cancel", "", called(callB, callA)),
	}
	release()
	wantStatus(t, inProgress(), http.StatusNoContent)
	if _, err := b.pool.Exec(t.Context(), `ALTER TABLE sperr_orders RENAME TO away`); err != nil {
		t.Fatal(err)
	}
	all["internal"] = b.get(t, orders)
	b.pool.Close()
	all["unavailable"] = b.get(t, orders)
	return all
}

var drawnID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func TestProblems_read_as_their_golden_files(t *testing.T) {
	t.Parallel()
	var codes []string
	for code, a := range problems(t) {
		codes = append(codes, code+".json")
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, drawnID.ReplaceAll(a.body, []byte("ID")), "", "  "); err != nil {
			t.Fatalf("%s: %v in %s", code, err, a.body)
		}
		pretty.WriteByte('\n')
		path := filepath.Join("testdata", "problems", code+".json")
		if *update {
			if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		golden, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(golden), pretty.String()); diff != "" {
			t.Errorf("%s (-golden +got):\n%s", code, diff)
		}
	}
	files, err := os.ReadDir(filepath.Join("testdata", "problems"))
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, file := range files {
		known = append(known, file.Name())
	}
	slices.Sort(codes)
	if diff := cmp.Diff(codes, known); diff != "" {
		t.Errorf("golden files (-provoked +there):\n%s", diff)
	}
}
