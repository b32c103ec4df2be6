package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

const (
	vorlauffrist = "/api/v1/vorlauffrist"
	otherLF      = "9900012345699"
	thirdLF      = "4012345000023"
)

// monthly is a report, with the Marktlokation for each late order.
type monthly struct {
	Monat, Von, Bis string
	Lieferanten     []struct {
		LieferantID          string `json:"lf_mp_id"`
		Orders, Judged, Late int
		Share                *float64
		LateOrders           []lateOrder `json:"late_orders"`
	}
	Truncated bool
}

type lateOrder struct {
	ID             string  `json:"-"`
	MaloID         string  `json:"malo_id"`
	ProcessID      string  `json:"process_id"`
	Status         string  `json:"status"`
	Termingebunden bool    `json:"termingebunden"`
	RequestedDate  *string `json:"requested_date"`
	UT             string  `json:"uebertragungstag"`
	SpaetesterUT   *string `json:"vorlauffrist_spaetester_ut"`
	WerktageZuSpat *int    `json:"werktage_zu_spaet"`
}

// line is a report as text, a line for each Lieferant and each late order.
func (m monthly) lines() []string {
	lines := []string{m.Monat + " " + m.Von + " " + m.Bis}
	for _, l := range m.Lieferanten {
		share := "none"
		if l.Share != nil {
			share = fmt.Sprint(*l.Share)
		}
		lines = append(lines, fmt.Sprintf("%s %d orders %d judged %d late share %s", l.LieferantID, l.Orders, l.Judged, l.Late, share))
		for _, o := range l.LateOrders {
			fix := "from"
			if o.Termingebunden {
				fix = "on"
			}
			lines = append(lines, fmt.Sprintf("  %s %s %s %s, %s instead of %s: %v", o.MaloID, o.Status, fix, *o.RequestedDate, o.UT, *o.SpaetesterUT, *o.WerktageZuSpat))
		}
	}
	return lines
}

func (b *bench) monthly(t *testing.T, query string) monthly {
	t.Helper()
	a := b.get(t, vorlauffrist+"?"+query)
	m := decode[monthly](t, a, http.StatusOK)
	if strings.Contains(string(a.body), `"late_orders":null`) || strings.Contains(string(a.body), `"lieferanten":null`) {
		t.Errorf("a list is null: %s", a.body)
	}
	return m
}

// ordered queues a 17115 that its Lieferant sent at a time; members are more of its data.
func (b *bench) ordered(t *testing.T, maloID, lieferant, sent, members string) (id string) {
	t.Helper()
	process := uuid.NewString()
	body := fmt.Appendf(nil, `{"specversion":"1.0","id":"e-%[1]s","source":"urn:x","type":"de.mako.process.initiated","subject":"%[1]s","time":"%[2]s",
		"makopid":17115,"data":{"malo_id":"%[3]s","lf_mp_id":"%[4]s"%[5]s}}`, process, sent, maloID, lieferant, members)
	return decode[map[string]string](t, b.deliver(t, body), http.StatusCreated)["id"]
}

const (
	from7th = `,"fruehestens_am":"2026-09-07"` // in time until Friday 2026-08-28
	from30h = `,"fruehestens_am":"2026-09-30"`
	on10th  = `,"ausfuehrung_am":"2026-09-10"` // in time until 2026-08-25
)

func TestVorlauffrist_counts_the_month_of_the_Uebertragungstag_in_Berlin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ordered(t, maloOf(1), lf, "2026-08-31T21:59:59Z", from7th) // the last second of August
	b.ordered(t, maloOf(2), lf, "2026-08-31T22:30:00Z", from7th)
	b.ordered(t, maloOf(3), lf, "2026-08-31T22:00:00Z", on10th)
	b.ordered(t, maloOf(4), lf, "2026-09-01T12:00:00Z", from30h) // in time
	b.ordered(t, maloOf(5), otherLF, "2026-09-02T12:00:00Z", "") // undated: not judged
	b.ordered(t, maloOf(6), thirdLF, "2026-08-28T21:59:59Z", from7th)
	cancelled := b.ordered(t, maloOf(7), thirdLF, "2026-08-29T10:00:00Z", from7th) // a Saturday
	executed := b.ordered(t, maloOf(8), lf, "2026-08-31T23:00:00Z", from7th)
	wantStatus(t, b.report(t, cancelled, "cancel", ""), http.StatusNoContent)
	wantStatus(t, b.report(t, executed, "execute", ""), http.StatusAccepted)
	b.create(t, minimal("sperrung"))
	b.market(t, 17117, maloOf(9))
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, process_id, uebertragungstag, vorlauffrist_eingehalten)
		VALUES ('9900000000002', $1, $2, 'sperrung', 'p', '2026-09-01', false)`, malo, lf)
	before := b.count(t, `SELECT count(*) FROM sperr_order_history`)

	september := []string{
		"2026-09 2026-09-01 2026-09-30",
		lf + " 4 orders 4 judged 3 late share 0.75",
		"  " + maloOf(2) + " pending from 2026-09-07, 2026-09-01 instead of 2026-08-28: 2",
		"  " + maloOf(3) + " pending on 2026-09-10, 2026-09-01 instead of 2026-08-25: 5",
		"  " + maloOf(8) + " executed from 2026-09-07, 2026-09-01 instead of 2026-08-28: 2",
		otherLF + " 1 orders 0 judged 0 late share none",
	}
	august := []string{
		"2026-08 2026-08-01 2026-08-31",
		thirdLF + " 2 orders 2 judged 1 late share 0.5",
		"  " + maloOf(7) + " cancelled from 2026-09-07, 2026-08-29 instead of 2026-08-28: 1",
		lf + " 1 orders 1 judged 1 late share 1",
		"  " + maloOf(1) + " pending from 2026-09-07, 2026-08-31 instead of 2026-08-28: 1",
	}
	for query, want := range map[string][]string{
		"monat=2026-09": september, "monat=2026-08": august, "monat=2026-08&lf_mp_id=" + lf: {august[0], august[3], august[4]},
		"monat=2026-07": {"2026-07 2026-07-01 2026-07-31"}, "monat=2026-07&lf_mp_id=9900000000000": {"2026-07 2026-07-01 2026-07-31"},
		"monat=2035-12": {"2035-12 2035-12-01 2035-12-31"},
	} {
		got := b.monthly(t, query)
		lines := got.lines()
		if query == "monat=2026-09" { // three of one day come by their ids
			sortLines(lines[2:5])
		}
		if diff := cmp.Diff(want, lines); diff != "" || got.Truncated {
			t.Errorf("%s, truncated %v (-want +got):\n%s", query, got.Truncated, diff)
		}
	}
	if after := b.count(t, `SELECT count(*) FROM sperr_order_history`); after != before {
		t.Error("a report has changed something")
	}
}

// sortLines puts late orders in the order of their Marktlokation.
func sortLines(lines []string) {
	for i := range lines {
		for j := range i {
			if lines[i] < lines[j] {
				lines[i], lines[j] = lines[j], lines[i]
			}
		}
	}
}

func TestVorlauffrist_takes_the_arrival_where_no_Uebertragungstag_is_known(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i, row := range []struct{ ut, created string }{
		{"NULL", "2026-08-31T21:59:59.999999Z"},
		{"NULL", "2026-08-31T22:00:00Z"},
		{"NULL", "2026-09-30T21:59:59.999999Z"},
		{"NULL", "2026-09-30T22:00:00Z"},
		{"'infinity'", "2026-09-10T12:00:00Z"},
		{"'0044-03-15 BC'", "2026-09-10T12:00:00Z"},
		{"'2026-08-31'", "2026-09-10T12:00:00Z"},
		{"'2026-09-30'", "infinity"},
		{"'2026-09-30'", "-infinity"},
		{"NULL", "infinity"},
		{"'12000-01-01'", "0044-03-15 BC"},
	} {
		b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, process_id, fruehestens_am, uebertragungstag, created_at,
				vorlauffrist_eingehalten, vorlauffrist_spaetester_ut)
			VALUES ($1, $2, $3, 'sperrung', $4, '2026-09-07', `+row.ut+`, $5::text::timestamptz, false, '2026-08-28')`, tenant, maloOf(i), lf, fmt.Sprint("p", i), row.created)
	}
	got := b.monthly(t, "monat=2026-09").Lieferanten[0]
	days := map[string]string{}
	for _, o := range got.LateOrders {
		days[o.MaloID] = o.UT
	}
	want := map[string]string{
		maloOf(1): "2026-09-01", maloOf(2): "2026-09-30", maloOf(4): "2026-09-10", maloOf(5): "2026-09-10",
		maloOf(7): "2026-09-30", maloOf(8): "2026-09-30",
	}
	if diff := cmp.Diff(want, days); diff != "" || got.Late != len(want) {
		t.Errorf("%d late (-want +got):\n%s", got.Late, diff)
	}
	for i := range got.LateOrders[1:] {
		if got.LateOrders[i].UT > got.LateOrders[i+1].UT {
			t.Errorf("late orders do not go by their day: %v", got.LateOrders)
		}
	}
}

// An order whose own dates are odd is late all the same.
func TestVorlauffrist_shows_odd_dates_as_null(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, process_id, ausfuehrung_am, uebertragungstag, vorlauffrist_eingehalten, vorlauffrist_spaetester_ut)
		VALUES ($1, $2, $3, 'sperrung', 'p', 'infinity', '2026-09-01', false, '-infinity')`, tenant, malo, lf)
	a := b.get(t, vorlauffrist+"?monat=2026-09")
	wantStatus(t, a, http.StatusOK)
	if !strings.Contains(string(a.body), `"termingebunden":true,"requested_date":null,"uebertragungstag":"2026-09-01","vorlauffrist_spaetester_ut":null,"werktage_zu_spaet":null`) {
		t.Errorf("%s", a.body)
	}
}

func TestVorlauffrist_shares_have_four_decimals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, process_id, uebertragungstag, vorlauffrist_eingehalten)
		SELECT $1, $2, $3, 'sperrung', i, '2026-09-01', i = 1 FROM generate_series(1, 3) AS i`, tenant, malo, lf)
	if a := b.get(t, vorlauffrist+"?monat=2026-09"); !strings.Contains(string(a.body), `"judged":3,"late":2,"share":0.6667,`) {
		t.Errorf("%s", a.body)
	}
}

func TestVorlauffrist_refuses_what_is_no_month_and_no_Lieferant(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for query, field := range map[string]string{
		"": "monat", "monat=": "monat", "monat=2026": "monat", "monat=2026-13": "monat", "monat=2026-9": "monat", "monat=2018-12": "monat",
		"monat=2036-01": "monat", "monat=infinity": "monat", "monat=2026-09-01": "monat", "monat=2026-09%00": "monat", "monat=2026-09&monat=2026-08": "monat",
		"monat=%EF%BC%92026-09": "monat", "lf_mp_id=" + lf: "monat", "monat=2026-09&lf_mp_id=1": "lf_mp_id", "monat=2026-09&lf_mp_id=": "lf_mp_id",
		"monat=2026-09&lf_mp_id=990001234567a": "lf_mp_id", "monat=2026-09&limit=1": "limit",
	} {
		p := wantProblem(t, b.get(t, vorlauffrist+"?"+query), http.StatusBadRequest, "invalid_parameter", field)
		if field == "monat" && !strings.Contains(query, "%00") && strings.Count(query, "monat=") == 1 && query != "monat=" && !strings.Contains(p.Errors[0].Reason, "2019 to 2035") {
			t.Errorf("%s: %q does not name the years", query, p.Errors[0].Reason)
		}
	}
}

// A report may read for seconds: the next one waits for its turn, and nobody else for either.
func TestVorlauffrist_makes_one_report_at_a_time(t *testing.T) {
	t.Parallel()
	wantOneAtATime(t, func(b *bench) answer { return b.get(t, vorlauffrist+"?monat=2026-09") })
}
