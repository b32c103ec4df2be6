package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// oddDeliveries puts an odd value into each column of a delivery with a moment. Each is of
// a process of its own, and settled where its column wants it.
func (b *bench) oddDeliveries(t *testing.T) (open, settled map[string][2]string) {
	t.Helper()
	b.exec(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET datestyle = ''German, DMY''', current_database()); END $$`)
	b.pool.Reset()
	open, settled = map[string][2]string{}, map[string][2]string{}
	n := 0
	for _, column := range []string{"first_seen_at", "last_seen_at", "settled_at"} {
		for value := range oddValues {
			n++
			kept := b.refused(t, process(sample(t, "17117.json"), n))
			if column == "settled_at" {
				wantStatus(t, b.dismiss(t, kept, `{"reason":"Probe"}`), http.StatusNoContent)
				settled[kept] = [2]string{column, value}
			} else {
				open[kept] = [2]string{column, value}
			}
			b.exec(t, `UPDATE webhook_rejects SET `+column+` = '`+value+`' WHERE id = $1`, kept)
		}
	}
	return open, settled
}

// wantNearest fails unless a row shows its odd value as the nearest moment.
func wantNearest(t *testing.T, row map[string]any, odd [2]string) {
	t.Helper()
	want := "0001-01-01T00:00:00Z"
	if oddValues[odd[1]] {
		want = "9999-12-31T22:59:59.999999Z"
	}
	if got := row[odd[0]]; got != want {
		t.Errorf("%s of %s is shown as %v, want %s", odd[1], odd[0], got, want)
	}
}

// One row that nobody can read must not hide all the others that wait for a human.
func TestOdd_moments_break_nothing_that_reads_or_settles_a_delivery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	open, settled := b.oddDeliveries(t)
	for query, want := range map[string]map[string][2]string{"?limit=1": open, "?limit=3": open, "?limit=1000": open, "?limit=1&status=dismissed": settled} {
		var seen []string
		for path := rejects + query; path != ""; {
			a := b.get(t, path)
			for _, row := range decode[[]map[string]any](t, a, http.StatusOK) {
				id := row["id"].(string)
				seen = append(seen, id)
				wantNearest(t, row, want[id])
			}
			path = nextPage(t, a)
		}
		if slices.Sort(seen); len(slices.Compact(seen)) != len(want) {
			t.Errorf("walk %s has seen %d, want %d", query, len(seen), len(want))
		}
	}
	decode[map[string]any](t, b.get(t, orders+"/stats"), http.StatusOK)
	if n := b.metrics(t)[rejectsOpen]; n != float64(len(open)) {
		t.Errorf("%v are open in the metrics, want %d", n, len(open))
	}
	for id, odd := range settled {
		wantNearest(t, decode[map[string]any](t, b.get(t, rejects+"/"+id), http.StatusOK), odd)
		wantProblem(t, b.replay(t, id, ""), http.StatusConflict, "reject_settled")
		wantProblem(t, b.dismiss(t, id, `{"reason":"x"}`), http.StatusConflict, "reject_settled")
	}
	for id, odd := range open {
		wantNearest(t, decode[map[string]any](t, b.get(t, rejects+"/"+id), http.StatusOK), odd)
		if odd[1] == "infinity" {
			wantStatus(t, b.dismiss(t, id, `{"reason":"x"}`), http.StatusNoContent)
		} else {
			wantQueued(t, b.replay(t, id, ""))
		}
		wantNearest(t, decode[map[string]any](t, b.get(t, rejects+"/"+id), http.StatusOK), odd)
	}
}

// No order can have come in on a day that no calendar has.
func TestReplay_of_an_odd_first_receipt_invents_no_Uebertragungstag(t *testing.T) {
	t.Parallel()
	type told struct {
		Uebertragungstag string   `json:"uebertragungstag"`
		Warnungen        []string `json:"warnungen"`
	}
	for time, day := range map[string]string{`"2026-08-12T09:12:31Z"`: "2026-08-12", `null`: "2026-09-03", `"2026-09-20T09:12:31Z"`: "2026-09-03"} {
		for value := range oddValues {
			b := newBench(t)
			kept := b.refused(t, edited(t, `"time": "2026-08-13T09:12:31Z"`, `"time": `+time))
			b.aged(t, kept, value)
			got := decode[told](t, b.get(t, orders+"/"+wantQueued(t, b.replay(t, kept, ""))), http.StatusOK)
			said := slices.ContainsFunc(got.Warnungen, func(w string) bool {
				return strings.HasPrefix(w, "first_seen_at of the refused delivery holds "+strings.TrimSuffix(value, " BC"))
			})
			if got.Uebertragungstag != day || !said {
				t.Errorf("event of %s, first seen at %s: %s, warnings %q; want %s", time, value, got.Uebertragungstag, got.Warnungen, day)
			}
		}
	}
	b := newBench(t)
	id := wantQueued(t, b.replay(t, b.refused(t, sample(t, "17115-fixed-date.json")), ""))
	if got := decode[told](t, b.get(t, orders+"/"+id), http.StatusOK).Warnungen; strings.Contains(strings.Join(got, " "), "first_seen_at") {
		t.Errorf("warnings of a delivery like any other: %q", got)
	}
}
