package sperr

import (
	"encoding/base64"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

func TestEveryColumnWithADayOrAMomentMayBeOdd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var known []string
	for _, c := range datedColumns {
		kind, null := "date", "YES"
		if c.moment {
			kind = "timestamp with time zone"
		}
		if c.required {
			null = "NO"
		}
		known = append(known, strings.Join([]string{c.name, kind, null}, " "))
	}
	table := column[string](t, b.pool, `SELECT concat_ws(' ', column_name, data_type, is_nullable) FROM information_schema.columns
		WHERE table_name = 'sperr_orders' AND data_type ~ 'date|time'`)
	slices.Sort(known)
	slices.Sort(table)
	if diff := cmp.Diff(table, known); diff != "" {
		t.Errorf("datedColumns (-table +list):\n%s", diff)
	}
}

func TestTheLastMomentIsTheSameHereAndThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if last := column[time.Time](t, b.pool, `SELECT `+lastMoment)[0]; !last.Equal(lastShown) {
		t.Errorf("%s in SQL, %s in Go", last, lastShown)
	}
}

func TestWhatTheCalendarHasIsShownAsItIs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.backlog(t, 1)[0]
	for _, edge := range []struct{ day, moment string }{{"0001-01-01", "0001-01-01T00:00:00Z"}, {"9999-12-31", "9999-12-31T22:59:59.999999Z"}} {
		b.exec(t, `UPDATE sperr_orders SET ausfuehrung_am = $1::text::date, executed_at = $2::text::timestamptz, created_at = $2::text::timestamptz`, edge.day, edge.moment)
		o := b.get(t, id)
		if o.AusfuehrungAm.String() != edge.day || o.ExecutedAt.Format(time.RFC3339Nano) != edge.moment ||
			o.CreatedAt.Format(time.RFC3339Nano) != edge.moment || o.OddValues != nil || len(o.Warnungen) != 0 {
			t.Errorf("%s: shown as %v, %v, %v with %q", edge.day, o.AusfuehrungAm, o.ExecutedAt, o.CreatedAt, o.Warnungen)
		}
	}
}

// Nobody can say that what is due at no time is not due; what was due before all days is.
func TestAnOddRequestedDateIsDue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, o := range []struct{ malo, orderType, requested string }{
		{"never", "sperrung", "infinity"},
		{"typo", "sperrung", "20260-09-01"},
		{"never restored", "entsperrung", "infinity"},
		{"today", "sperrung", "2026-09-03"},
		{"Caesar", "sperrung", "0044-03-15 BC"},
		{"ever", "sperrung", "-infinity"},
		{"ever restored", "entsperrung", "-infinity"},
		{"tomorrow", "sperrung", "2026-09-04"},
		{"last day", "sperrung", "9999-12-31"},
		{"undated", "sperrung", ""},
	} {
		b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, fruehestens_am, created_at)
			VALUES ($1, $2, 'l', $3, NULLIF($4, '')::date, $5)`, testTenant, o.malo, o.orderType, o.requested, testNow.Add(time.Duration(i)*time.Second))
	}
	want := []string{"never restored", "ever", "ever restored", "Caesar", "today", "typo", "never", "undated"}
	for limit := range 4 {
		if diff := cmp.Diff(want, b.walk(t, Filter{Due: true, Today: day("2026-09-03"), Limit: limit + 1})); diff != "" {
			t.Errorf("due, limit %d (-want +got):\n%s", limit+1, diff)
		}
	}
	want = []string{"ever restored", "ever", "Caesar", "today", "tomorrow", "last day", "typo", "undated", "never restored", "never"}
	for limit := range 4 {
		if diff := cmp.Diff(want, b.walk(t, Filter{Limit: limit + 1})); diff != "" {
			t.Errorf("list, limit %d (-want +got):\n%s", limit+1, diff)
		}
	}
}

// What is counted as overdue is what is announced: a day that no calendar has is neither.
func TestAnOddWindowIsNotCountedAsOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, due := range []string{"-infinity", "0044-03-15 BC", "0001-01-01", "2026-09-02", "2026-09-03", "infinity"} {
		b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, ausfuehrung_am, ausfuehrung_faellig_am)
			VALUES ($1, 'm', 'l', 'sperrung', $2::date, $2::date)`, testTenant, due)
	}
	counted, err := b.repo.Stats(t.Context(), day("2026-09-03"))
	if err != nil {
		t.Fatal(err)
	}
	b.scanAll(t)
	announced := column[int64](t, b.pool, `SELECT count(*) FROM sperr_orders WHERE ausfuehrung_eskaliert_at IS NOT NULL`)[0]
	got := [4]int64{counted.FristUeberschritten, announced, counted.OverduePending, counted.FixterminVerpasst}
	if want := [4]int64{2, 2, 2, 2}; got != want {
		t.Errorf("%v are over, announced, overdue and missed, want %v", got, want)
	}
}

func TestAWarningThatIsNoneBreaksNoList(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.ordered(t, TypeSperrung)
	b.exec(t, `UPDATE sperr_orders SET warnungen = '{a,NULL,b}' WHERE id = $1`, id)
	if diff := cmp.Diff([]string{"a", "b"}, b.get(t, id).Warnungen); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if got := b.walk(t, Filter{Limit: 1}); len(got) != 1 {
		t.Errorf("list %q", got)
	}
}

func TestAWalkIsExactAmongOddMoments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	newestFirst := []string{
		"infinity", "294276-12-31 23:59:59.999999Z", "12000-01-01 00:00:00.000002Z", "12000-01-01 00:00:00.000001Z", "2026-09-03 08:00:00.5Z",
		"2000-01-01 00:00:00Z", "1999-12-31 23:59:59.999999Z", "0044-03-15 12:00:00.000001Z BC", "4714-11-24 00:00:00Z BC", "-infinity",
	}
	for _, at := range newestFirst {
		b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, created_at) VALUES ($1, $2, 'l', 'sperrung', $2::text::timestamptz)`, testTenant, at)
	}
	for limit := range 3 {
		if diff := cmp.Diff(newestFirst, b.walk(t, Filter{Limit: limit + 1})); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit+1, diff)
		}
		oldestFirst := slices.Clone(newestFirst)
		slices.Reverse(oldestFirst)
		if diff := cmp.Diff(oldestFirst, b.walk(t, Filter{Due: true, Today: statsDay, Limit: limit + 1})); diff != "" {
			t.Errorf("due, limit %d (-want +got):\n%s", limit+1, diff)
		}
	}
}

func TestACursorHoldsEveryDayAndMomentOfTheDatabase(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, k := range []dayKey{math.MinInt32, minDayKey, -1, 0, 1, lastDayKey, maxDayKey, math.MaxInt32} {
		if got := column[pgtype.Date](t, b.pool, `SELECT $1::date`, k.value())[0]; dayKeyOf(got) != k || !k.exists() {
			t.Errorf("day %d comes back as %d", k, dayKeyOf(got))
		}
	}
	for _, k := range []momentKey{math.MinInt64, minMomentKey, -1, 0, 1, maxMomentKey, math.MaxInt64} {
		if got := column[pgtype.Timestamptz](t, b.pool, `SELECT $1::timestamptz`, k.value())[0]; momentKeyOf(got) != k || !k.exists() {
			t.Errorf("moment %d comes back as %d", k, momentKeyOf(got))
		}
	}
	for _, k := range []dayKey{minDayKey - 1, maxDayKey + 1} {
		if _, err := b.pool.Exec(t.Context(), `SELECT $1::date`, k.value()); err == nil || k.exists() {
			t.Errorf("day %d: %v, exists %v; want none", k, err, k.exists())
		}
	}
	for _, k := range []momentKey{minMomentKey - 1, maxMomentKey + 1} {
		if _, err := b.pool.Exec(t.Context(), `SELECT $1::timestamptz`, k.value()); err == nil || k.exists() {
			t.Errorf("moment %d: %v, exists %v; want none", k, err, k.exists())
		}
	}
	if lastDayKey != dayKeyOf(pgtype.Date{Time: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}) {
		t.Error("lastDayKey is another day")
	}
}

func TestACursorMadeByHandIsRefusedOrReadButNeverAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := uuid.NewString()
	for _, made := range []string{
		`{"r":"infinity","c":0,"i":"ID"}`, `{"r":"44 BC","c":0,"i":"ID"}`, `{"r":"9999999-01-01","c":0,"i":"ID"}`, `{"r":"2026-09-01","c":0,"i":"ID"}`,
		`{"r":"\u0000","c":0,"i":"ID"}`, `{"r":0,"c":"2026-09-01T00:00:00Z","i":"ID"}`, `{"r":2147483648,"c":0,"i":"ID"}`,
		`{"r":-2451546,"c":0,"i":"ID"}`, `{"r":2145031949,"c":0,"i":"ID"}`, `{"r":0,"c":9223372036854775808,"i":"ID"}`,
		`{"r":0,"c":9223371331200000000,"i":"ID"}`, `{"r":0,"c":-211813488000000001,"i":"ID"}`, `{"r":1.5,"c":0,"i":"ID"}`, `{"r":1e400,"c":0,"i":"ID"}`,
		`{"r":0,"c":0,"i":"\u0000"}`, `{"r":0,"c":0,"i":"ID","d":true,"t":"infinity"}`, `{"r":0,"c":0,"i":"ID","s":"\u0000"}`,
	} {
		cursor := base64.RawURLEncoding.EncodeToString([]byte(strings.ReplaceAll(made, "ID", id)))
		for _, due := range []bool{false, true} {
			if _, err := b.repo.List(t.Context(), Filter{Cursor: cursor, Due: due, Today: statsDay, Limit: 1}); !errors.Is(err, ErrCursor) {
				t.Errorf("%s: %v, want ErrCursor", made, err)
			}
		}
	}
	for _, made := range []string{
		`{"r":2147483647,"c":9223372036854775807,"i":"ID"}`, `{"r":-2147483648,"c":-9223372036854775808,"i":"ID"}`,
		`{"r":2145031948,"c":9223371331199999999,"i":"ID"}`, `{"r":-2451545,"c":-211813488000000000,"i":"ID"}`,
	} {
		cursor := base64.RawURLEncoding.EncodeToString([]byte(strings.ReplaceAll(made, "ID", id)))
		if _, err := b.repo.List(t.Context(), Filter{Cursor: cursor, Limit: 1}); err != nil {
			t.Errorf("%s: %v", made, err)
		}
	}
}

// An index that no query uses any more is a list that reads every order.
func TestTheListsAreReadFromTheirIndexes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, fruehestens_am, created_at, status, executed_at)
		SELECT $1, 'm', 'l', 'sperrung', '2026-01-01'::date + i / 100, '2026-01-01'::timestamptz + i * interval '1 min',
			CASE WHEN i % 1000 = 0 THEN 'pending' ELSE 'executed' END, now()
		FROM generate_series(1, 50000) AS i`, testTenant)
	b.exec(t, `ANALYZE sperr_orders`)
	after := &cursor{Requested: dayKeyOf(pgtype.Date{Time: testNow}), ID: uuid.New()}
	for name, c := range map[string]struct {
		filter Filter
		after  *cursor
	}{
		"list": {}, "next page": {after: after},
		"due": {filter: Filter{Due: true, Today: statsDay}}, "due, next page": {filter: Filter{Due: true, Today: statsDay}, after: after},
	} {
		sql, args := listQuery(c.filter, c.after)
		args["tenant"], args["limit"] = testTenant, 101
		scans := b.scans(t, sql, args)
		if scans["Seq Scan"] || len(scans) != 1 {
			t.Errorf("%s: orders are read by %v", name, scans)
		}
		if !c.filter.Due && !scans["Index Scan"] {
			t.Errorf("%s: the rows are sorted for each page: %v", name, scans)
		}
	}
}

// scans are the kinds of scan by which a query is to read the orders.
func (b *bench) scans(t *testing.T, sql string, args pgx.NamedArgs) map[string]bool {
	t.Helper()
	read := map[string]map[string]float64{}
	b.explained(t, `EXPLAIN (FORMAT JSON) `+sql, args).addTo(read)
	kinds := map[string]bool{}
	for kind := range read["sperr_orders"] {
		kinds[kind] = true
	}
	return kinds
}
