package sperr

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/postgres/postgrestest"
)

func TestTheColumnListIsTheStruct(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var fields []string
	for field := range reflect.TypeFor[Order]().Fields() {
		if name := field.Tag.Get("db"); name != "-" {
			fields = append(fields, name)
		}
	}
	columns := b.selected(t, orderColumns)
	if diff := cmp.Diff(fields, columns); diff != "" {
		t.Errorf("orderColumns (-struct +list):\n%s", diff)
	}
	table := column[string](t, b.pool, `SELECT column_name::text FROM information_schema.columns WHERE table_name = 'sperr_orders'`)
	known := map[string]bool{}
	for _, name := range columns {
		known[name] = true
	}
	for _, name := range table {
		if !known[name] {
			t.Errorf("column %s of sperr_orders is not in Order", name)
		}
	}
}

// selected are the names of what columns selects.
func (b *bench) selected(t *testing.T, columns string) (names []string) {
	t.Helper()
	rows, err := b.pool.Query(t.Context(), `SELECT `+columns+` FROM sperr_orders`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for _, field := range rows.FieldDescriptions() {
		names = append(names, field.Name)
	}
	return names
}

func TestAnInsertWithTheGuidesColumnsAloneWorks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, pruefidentifikator, process_id)
		VALUES ($1, $2, $3, 'sperrung', 17115, 'p')`, testTenant, testMalo, testLF)
	page, err := b.repo.List(t.Context(), Filter{Limit: 10})
	if err != nil || len(page.Orders) != 1 || page.Orders[0].Status != StatusPending || page.Orders[0].Warnungen == nil {
		t.Fatalf("List = %+v, %v", page, err)
	}
	if history, err := b.repo.History(t.Context(), page.Orders[0].ID); err != nil || len(history) != 1 || history[0].Actor != "sql:sperrd" || history[0].From != nil {
		t.Errorf("History = %v, %v; want that SQL put it in", history, err)
	}
}

// ids is the order of a list by MaLo, walked page by page.
func (b *bench) walk(t *testing.T, f Filter) []string {
	t.Helper()
	malos := []string{}
	for range 1000 {
		page, err := b.repo.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Orders {
			malos = append(malos, o.MaloID)
		}
		if page.Next == "" {
			return malos
		}
		f.Cursor = page.Next
	}
	t.Fatal("the walk does not end")
	return nil
}

func TestDueListPutsUndatedEntsperrungenFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := testNow
	insert := func(malo, orderType, requested, status string) {
		at = at.Add(time.Second)
		b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, fruehestens_am, status, executed_at, created_at)
			VALUES ($1, $2, 'l', $3, NULLIF($4, '')::date, $5, $6, $6)`, testTenant, malo, orderType, requested, status, at)
	}
	insert("future", "sperrung", "2026-09-04", "pending")
	insert("undated sperrung", "sperrung", "", "pending")
	insert("today", "sperrung", "2026-09-03", "pending")
	insert("early", "sperrung", "2026-08-01", "pending")
	insert("undated entsperrung", "entsperrung", "", "pending")
	insert("early too", "sperrung", "2026-08-01", "pending")
	insert("second entsperrung", "entsperrung", "", "pending")
	insert("done", "sperrung", "2026-08-01", "executed")
	want := []string{"undated entsperrung", "second entsperrung", "early", "early too", "today", "undated sperrung"}
	for _, limit := range []int{1, 2, 4, 6, 100} {
		if diff := cmp.Diff(want, b.walk(t, Filter{Due: true, Today: day("2026-09-03"), Limit: limit})); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
	want = []string{"done", "early too", "early", "today", "future", "second entsperrung", "undated entsperrung", "undated sperrung"}
	for _, limit := range []int{1, 3, 100} {
		if diff := cmp.Diff(want, b.walk(t, Filter{Limit: limit})); diff != "" {
			t.Errorf("list, limit %d (-want +got):\n%s", limit, diff)
		}
	}
	if diff := cmp.Diff([]string{"done"}, b.walk(t, Filter{Status: StatusExecuted, Limit: 1})); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"today"}, b.walk(t, Filter{MaloID: "today", Limit: 1})); diff != "" {
		t.Errorf("malo_id (-want +got):\n%s", diff)
	}
}

func TestAWalkOverAllPagesSeesEachOrderOnceWhileOthersArrive(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, fruehestens_am, created_at)
		SELECT $1, 'old ' || i, 'l', 'sperrung', '2026-09-01', '2026-09-01' FROM generate_series(1, 300) i`, testTenant)
	f := Filter{Limit: 7}
	seen := map[string]int{}
	for i := 0; ; i++ {
		page, err := b.repo.List(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Orders {
			seen[o.MaloID]++
		}
		if page.Next == "" {
			break
		}
		f.Cursor = page.Next
		b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, fruehestens_am, created_at)
			VALUES ($1, $2, 'l', 'sperrung', '2026-09-01', '2026-09-01')`, testTenant, fmt.Sprint("new ", i))
	}
	for i := range 300 {
		if n := seen[fmt.Sprint("old ", i+1)]; n != 1 {
			t.Errorf("order %d was seen %d times", i+1, n)
		}
	}
}

func TestACursorOfAnotherListIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 2 {
		b.create(t, NewOrder{MaloID: maloWith(i), LieferantID: testLF, OrderType: "entsperrung"})
	}
	page, err := b.repo.List(t.Context(), Filter{Due: true, Today: day("2026-09-03"), Limit: 1})
	if err != nil || page.Next == "" {
		t.Fatalf("List = %+v, %v", page, err)
	}
	for name, f := range map[string]Filter{
		"not due":     {Cursor: page.Next, Limit: 1},
		"status":      {Cursor: page.Next, Limit: 1, Due: true, Status: StatusPending},
		"malo":        {Cursor: page.Next, Limit: 1, Due: true, MaloID: testMalo},
		"broken":      {Cursor: page.Next[1:], Limit: 1, Due: true},
		"no base64":   {Cursor: "%%%", Limit: 1},
		"empty JSON":  {Cursor: "e30", Limit: 1, Due: true},
		"null":        {Cursor: "bnVsbA", Limit: 1},
		"no id":       {Cursor: "e30", Limit: 1},
		"other JSON":  {Cursor: "eyJ4IjoxfQ", Limit: 1},
		"half cursor": {Cursor: page.Next[:len(page.Next)/2], Limit: 1, Due: true},
	} {
		if _, err := b.repo.List(t.Context(), f); !errors.Is(err, ErrCursor) {
			t.Errorf("%s: %v, want ErrCursor", name, err)
		}
	}
	// A walk that crosses midnight stays on the day it began with.
	next, err := b.repo.List(t.Context(), Filter{Due: true, Today: day("2020-01-01"), Limit: 1, Cursor: page.Next})
	if err != nil || len(next.Orders) != 1 {
		t.Errorf("next page = %+v, %v", next, err)
	}
}

func TestTenantIsolation(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	a, b := newBenchOn(t, pool, testTenant), newBenchOn(t, pool, "9900000000002")
	e := marketEvent(t, pidSperrauftrag, testMalo, map[string]any{"receiver": nil})
	receipts := map[*bench]Receipt{}
	for _, side := range []*bench{a, b} {
		r, err := side.service.Receive(t.Context(), "", e)
		if err != nil || r.Kind != ReceiptQueued {
			t.Fatalf("Receive = %+v, %v: one process may exist once for each tenant", r, err)
		}
		receipts[side] = r
	}
	foreign := receipts[b].OrderID
	if err := a.service.KeepReject(t.Context(), WebhookReject{WebhookID: "w", Body: []byte("x"), Status: 422, Code: "unusable_event"}); err != nil {
		t.Fatal(err)
	}
	rejects, err := a.repo.WebhookRejects(t.Context(), RejectsFilter{Status: RejectsOpen, Limit: 10})
	if err != nil || len(rejects.Rejects) != 1 {
		t.Fatalf("rejects = %+v, %v", rejects, err)
	}
	for name, err := range map[string]error{
		"get":     second(a.repo.Get(t.Context(), foreign)),
		"history": second(a.repo.History(t.Context(), foreign)),
		"execute": second(a.service.Execute(t.Context(), Call{Actor: "x"}, foreign, ExecuteReport{})),
		"fail":    second(a.service.Fail(t.Context(), Call{Actor: "x"}, foreign, FailReport{Reason: "x", Endgueltig: true})),
		"cancel":  second(a.service.Cancel(t.Context(), Call{Actor: "x"}, foreign, "")),
		"reject":  second(b.repo.WebhookReject(t.Context(), rejects.Rejects[0].ID)),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s of a foreign order = %v, want ErrNotFound", name, err)
		}
	}
	if page, err := a.repo.List(t.Context(), Filter{Limit: 10}); err != nil || len(page.Orders) != 1 || page.Orders[0].ID != receipts[a].OrderID {
		t.Errorf("List = %+v, %v", page, err)
	}
	stats, err := b.repo.Stats(t.Context(), day("2026-09-03"))
	if err != nil || stats.Total != 1 || stats.WebhookRejectsOffen != 0 {
		t.Errorf("stats = %+v, %v", stats, err)
	}
	if others, err := b.repo.WebhookRejects(t.Context(), RejectsFilter{Status: RejectsOpen, Limit: 10}); err != nil || len(others.Rejects) != 0 {
		t.Errorf("rejects of the other tenant = %+v, %v", others, err)
	}
}

func TestStatsCountTheClocksApart(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, process_id, status, ausfuehrung_am, fruehestens_am,
			ausfuehrung_faellig_am, executed_at, fail_reason, iftsta_attempts, iftsta_faellig_am, iftsta_dispatched_at, vorlauffrist_eingehalten)
		SELECT $1, 'm', 'l', 'sperrung', p, s, a::date, f::date, d::date, now(), 'r', n, i::date, t::timestamptz, v FROM (VALUES
			('1', 'pending', '2026-09-02', NULL, '2026-09-10', 0, NULL, NULL, true),
			('2', 'pending', '2026-09-03', NULL, '2026-09-11', 0, NULL, NULL, false),
			('3', 'pending', NULL, '2026-08-20', '2026-08-28', 0, NULL, NULL, false),
			('4', 'pending', NULL, NULL, NULL, 0, NULL, NULL, NULL),
			('5', 'executed', NULL, '2026-08-20', '2026-08-28', 1, '2026-09-03', NULL, NULL),
			('6', 'failed', NULL, '2026-08-20', '2026-08-28', 8, '2026-09-02', NULL, NULL),
			('7', 'failed', NULL, '2026-08-20', '2026-08-28', 2, '2026-08-28', '2026-08-28', false),
			('8', 'cancelled', '2026-08-20', NULL, '2026-08-28', 0, NULL, NULL, NULL),
			(NULL, 'executed', NULL, NULL, NULL, 9, NULL, NULL, NULL)) AS x(p, s, a, f, d, n, i, t, v)`, testTenant)
	got, err := b.repo.Stats(t.Context(), day("2026-09-03"))
	if err != nil {
		t.Fatal(err)
	}
	want := Stats{
		Total: 9, Pending: 4, Executed: 2, Failed: 2, Cancelled: 1, OverduePending: 2, FixterminVerpasst: 1, FristUeberschritten: 1,
		IFTSTAOutstanding: 2, IFTSTAUeberfaellig: 1, IFTSTAStuck: 1, VorlauffristVerletzt: 3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}
}

func TestARefusedDeliveryIsKeptOnceAndCounted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	reject := WebhookReject{
		WebhookID: "w-1", Status: 422, Code: "unusable_event", Reason: "malo_id is missing",
		Headers: EventHeaders{"Content-Type": {"application/cloudevents+json"}}, Body: []byte("{\"a\":\"\\u0000\"}\xff"),
	}
	other := reject
	other.Headers = EventHeaders{"Content-Type": {"application/json"}, "Ce-Id": {"1"}}
	for _, r := range []WebhookReject{reject, reject, other} {
		if err := b.service.KeepReject(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	first, err := b.repo.WebhookRejects(t.Context(), RejectsFilter{Status: RejectsOpen, Limit: 1})
	if err != nil || len(first.Rejects) != 1 || first.Next == "" {
		t.Fatalf("first page = %+v, %v", first, err)
	}
	rest, err := b.repo.WebhookRejects(t.Context(), RejectsFilter{Status: RejectsOpen, Limit: 1, Cursor: first.Next})
	if err != nil || len(rest.Rejects) != 1 || rest.Next != "" {
		t.Fatalf("second page = %+v, %v", rest, err)
	}
	counts := map[int]bool{first.Rejects[0].Count: true, rest.Rejects[0].Count: true}
	if !counts[1] || !counts[2] {
		t.Errorf("counts = %v, want 1 and 2", counts)
	}
	twice := first.Rejects[0]
	if twice.Count != 2 {
		twice = rest.Rejects[0]
	}
	got, err := b.repo.WebhookReject(t.Context(), twice.ID)
	if err != nil || string(got.Body) != string(reject.Body) || !slices.Equal(got.Headers["Content-Type"], []string{"application/cloudevents+json"}) {
		t.Errorf("reject = %+v, %v", got, err)
	}
	if _, err := b.repo.WebhookReject(t.Context(), uuid.New()); !errors.Is(err, ErrNotFound) {
		t.Errorf("unknown reject = %v, want ErrNotFound", err)
	}
	for _, cursor := range []string{"x", "bnVsbA", "e30"} {
		if _, err := b.repo.WebhookRejects(t.Context(), RejectsFilter{Status: RejectsOpen, Limit: 1, Cursor: cursor}); !errors.Is(err, ErrCursor) {
			t.Errorf("broken cursor %s = %v, want ErrCursor", cursor, err)
		}
	}
}

func TestAReadEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.repo.List(ctx, Filter{Limit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("List = %v, want the context's error", err)
	}
}
