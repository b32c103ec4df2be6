package sperr

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/werktag"
)

func monat(t *testing.T, text string) Monat {
	t.Helper()
	m, ok := ParseMonat(text)
	if !ok {
		t.Fatalf("%q is no month", text)
	}
	return m
}

func TestAMonatHasItsDays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2019-01": "2019-01-01 2019-01-31", "2024-02": "2024-02-01 2024-02-29", "2026-02": "2026-02-01 2026-02-28",
		"2026-09": "2026-09-01 2026-09-30", "2035-12": "2035-12-01 2035-12-31",
	} {
		m := monat(t, text)
		if got := m.Von().String() + " " + m.Bis().String(); got != want || m.String() != text {
			t.Errorf("%s is %s, from %s; want %s", text, m, got, want)
		}
	}
	for _, text := range []string{"", "2026", "2026-9", "2026-13", "2026-00", "2018-12", "2036-01", "2026-09-01", "26-09", "2026/09", "２０２６-09", "infinity", "0001-01", "9999-12", "2026-09\x00", " 2026-09"} {
		if m, ok := ParseMonat(text); ok {
			t.Errorf("%q is read as %s", text, m)
		}
	}
}

// A Saturday is as late as the Monday after it, and a day on which nothing could be in
// time any more is late by one at least.
func TestADelayIsCountedInWerktagen(t *testing.T) {
	t.Parallel()
	spaetester := day("2026-08-28") // a Friday
	for ut, want := range map[string]int{"2026-08-29": 1, "2026-08-30": 1, "2026-08-31": 1, "2026-09-01": 2, "2026-12-24": 83} {
		if got := werktageZuSpaet(werktag.BDEW(), &spaetester, day(ut)); got == nil || *got != want {
			t.Errorf("%s: %v, want %d", ut, got, want)
		}
	}
	outside := day("2050-01-01")
	if werktageZuSpaet(werktag.BDEW(), nil, spaetester) != nil || werktageZuSpaet(werktag.BDEW(), &spaetester, outside) != nil ||
		werktageZuSpaet(werktag.BDEW(), &outside, spaetester) != nil {
		t.Error("a delay is guessed where the calendar cannot tell")
	}
}

// insertLate is n orders that came too late, of Lieferanten in turn.
const insertLate = `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, process_id, fruehestens_am, uebertragungstag, created_at, vorlauffrist_eingehalten)
	SELECT $1, 'm', lpad((i % 40)::text, 13, '9'), 'sperrung', 'p' || i, '2026-09-10', d, d + interval '12 hours', i % 3 = 0
	FROM (SELECT i, '2024-01-01'::date + i / $3 AS d FROM generate_series(1, $2) AS i) AS orders`

func TestTheReportOfAMonatReadsNoOtherOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, insertLate, testTenant, 50_000, 50)
	b.exec(t, `UPDATE sperr_orders SET uebertragungstag = NULL WHERE right(process_id, 1) = '7'`)
	args := b.repo.vorlauffristArgs(monat(t, "2026-03"), "")
	want := map[string]bool{"Index Scan": true}
	if diff := cmp.Diff(want, b.scans(t, vorlauffristOfMonat, args)); diff != "" {
		t.Errorf("with statistics of an empty table (-want +got):\n%s", diff)
	}
	b.exec(t, `ANALYZE sperr_orders`)
	if scans := b.scans(t, vorlauffristOfMonat, args); scans["Seq Scan"] || len(scans) == 0 {
		t.Errorf("orders are read by %v", scans)
	}
	read := map[string]map[string]float64{}
	b.explained(t, `EXPLAIN (ANALYZE, FORMAT JSON) `+vorlauffristOfMonat, args).addTo(read)
	for scan, n := range read["sperr_orders"] {
		if n > 2*31*50 { // once for the counts, once for those that were late
			t.Errorf("%v rows are read by %s, more than the month has", n, scan)
		}
	}
}

func TestTheListOfLateOrdersIsBoundedAndTheCountsAreNot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, insertLate, testTenant, 15_003, 1_000_000)
	report, err := b.repo.Vorlauffrist(t.Context(), werktag.BDEW(), monat(t, "2024-01"), "")
	if err != nil || !report.Truncated || len(report.Lieferanten) != 40 {
		t.Fatalf("truncated %v, %d Lieferanten, %v", report.Truncated, len(report.Lieferanten), err)
	}
	var orders, late int64
	listed, whole := 0, true
	for _, l := range report.Lieferanten {
		orders, late, listed = orders+l.Orders, late+l.Late, listed+len(l.LateOrders)
		if full := int64(len(l.LateOrders)) == l.Late; full && !whole {
			t.Errorf("%s has its orders, one before it has not", l.LieferantID)
		} else {
			whole = full
		}
	}
	if orders != 15_003 || late != 10_002 || listed != maxLateOrders {
		t.Errorf("%d orders, %d late, %d listed", orders, late, listed)
	}
	one := report.Lieferanten[39]
	report, err = b.repo.Vorlauffrist(t.Context(), werktag.BDEW(), monat(t, "2024-01"), one.LieferantID)
	if err != nil || report.Truncated || len(report.Lieferanten) != 1 || int64(len(report.Lieferanten[0].LateOrders)) != one.Late {
		t.Errorf("of one: %d Lieferanten, truncated %v, %v", len(report.Lieferanten), report.Truncated, err)
	}
}
