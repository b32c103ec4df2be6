package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"sperrd/internal/makod/makodtest"
	"sperrd/internal/postgres/postgrestest"
	"sperrd/internal/sperr"
)

// row is an order as REST answers it.
func row(t *testing.T, order sperr.Order) map[string]any {
	t.Helper()
	raw, err := jsonv2.Marshal(order, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(raw, &members); err != nil {
		t.Fatal(err)
	}
	return members
}

func ids(list any) []string {
	got := []string{}
	for _, order := range list.([]any) {
		got = append(got, order.(map[string]any)["id"].(string))
	}
	return got
}

func idsOf(orders ...sperr.Order) []string {
	got := []string{}
	for _, order := range orders {
		got = append(got, order.ID.String())
	}
	return got
}

func TestGetSperrOrder_is_the_row_of_REST_in_every_state(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := connect(t, b.url)
	pending := b.market(t, 17115, malo, map[string]any{
		"fruehestens_am": nil, "ausfuehrung_am": "202609010600+00",
		"treffpunkt": map[string]any{"strasse": "Lindenallee 7", "plz": "10115", "ort": "Berlin", "land": "DE", "hinweis": "Zaehlerraum <UG>"},
	})
	executed := b.market(t, 17117, otherMalo, nil)
	b.execute(t, executed.ID)
	visited := b.create(t, sperr.NewOrder{OrderType: "sperrung"})
	if _, err := b.service.Fail(t.Context(), sperr.Call{Actor: "team"}, visited.ID, sperr.FailReport{Reason: "niemand da"}); err != nil {
		t.Fatal(err)
	}
	for _, order := range []sperr.Order{pending, executed, visited} {
		want := row(t, b.get(t, order.ID))
		if diff := cmp.Diff(want, call(t, session, "get_sperr_order", map[string]any{"id": order.ID})); diff != "" {
			t.Errorf("order (-REST +MCP):\n%s", diff)
		}
	}
}

func TestListSperrOrders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := connect(t, b.url)
	due := b.market(t, 17115, malo, nil)
	later := b.market(t, 17115, otherMalo, map[string]any{"fruehestens_am": "2026-09-10"})
	done := b.market(t, 17117, otherMalo, nil)
	b.execute(t, done.ID)

	for name, c := range map[string]struct {
		arguments map[string]any
		want      []sperr.Order
		pending   float64
	}{
		"all":              {nil, []sperr.Order{due, later, done}, 2},
		"status":           {map[string]any{"status": "executed"}, []sperr.Order{done}, 0},
		"malo_id":          {map[string]any{"malo_id": otherMalo}, []sperr.Order{later, done}, 1},
		"both":             {map[string]any{"malo_id": otherMalo, "status": "pending"}, []sperr.Order{later}, 1},
		"due":              {map[string]any{"due": true}, []sperr.Order{due}, 1},
		"due and pending":  {map[string]any{"due": true, "status": "pending"}, []sperr.Order{due}, 1},
		"not due":          {map[string]any{"due": false, "status": "executed"}, []sperr.Order{done}, 0},
		"limit":            {map[string]any{"limit": 2}, []sperr.Order{due, later}, 2},
		"limit below 1":    {map[string]any{"limit": -3}, []sperr.Order{due}, 1},
		"limit beyond all": {map[string]any{"limit": 1e300}, []sperr.Order{due, later, done}, 2},
		"null is absent":   {map[string]any{"status": nil, "malo_id": nil, "due": nil, "limit": nil}, []sperr.Order{due, later, done}, 2},
		"none":             {map[string]any{"status": "failed"}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := call(t, session, "list_sperr_orders", c.arguments)
			if diff := cmp.Diff(idsOf(c.want...), ids(got["orders"])); diff != "" {
				t.Errorf("orders (-want +got):\n%s", diff)
			}
			if got["count"] != float64(len(c.want)) || got["pending_count"] != c.pending {
				t.Errorf("count %v, pending_count %v, want %d and %v", got["count"], got["pending_count"], len(c.want), c.pending)
			}
			for _, order := range got["orders"].([]any) {
				id := uuid.MustParse(order.(map[string]any)["id"].(string))
				if diff := cmp.Diff(row(t, b.get(t, id)), order); diff != "" {
					t.Errorf("order (-REST +MCP):\n%s", diff)
				}
			}
		})
	}
}

// fill inserts n pending Sperrungen of a tenant that are due.
func (b *bench) fill(t *testing.T, tenant string, n int) {
	t.Helper()
	b.exec(t, `INSERT INTO sperr_orders (id, tenant, malo_id, lf_mp_id, order_type, fruehestens_am)
		SELECT gen_random_uuid(), $1, $2, $3, 'sperrung', '2026-09-02' FROM generate_series(1, $4)`, tenant, malo, lf, n)
}

func TestListSperrOrders_gives_50_unless_asked_and_1000_at_most(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := connect(t, b.url)
	b.fill(t, tenant, 1001)
	for limit, want := range map[any]float64{nil: 50, 51.0: 51, 1000: 1000, 5000: 1000} {
		arguments := map[string]any{}
		if limit != nil {
			arguments["limit"] = limit
		}
		if got := call(t, session, "list_sperr_orders", arguments)["count"]; got != want {
			t.Errorf("limit %v: count %v, want %v", limit, got, want)
		}
	}
}

func TestGetSperrStats_has_the_counters_of_REST_and_what_they_say(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := connect(t, b.url)
	check := func(t *testing.T, ok bool, note string) {
		t.Helper()
		got := call(t, session, "get_sperr_stats", nil)
		health := got["health"].(map[string]any)
		if health["iftsta_ok"] != ok || health["note"] != note {
			t.Errorf("health %v, want %t with note %q", health, ok, note)
		}
		stats, err := b.options.Repository.Stats(t.Context(), today)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(stats)
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		delete(got, "health")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("counters (-REST +MCP):\n%s", diff)
		}
	}
	check(t, true, "makod has every outcome that is owed.")

	b.makod.FailNext(makodtest.UntilCleared, makodtest.Drop())
	order := b.market(t, 17117, malo, nil)
	b.execute(t, order.ID)
	inFlight := "Dispatches in flight: makod does not have every outcome yet; they are sent again by themselves until their attempts are spent."
	check(t, true, inFlight)

	overdue := " Some are past their Frist, the 1st Werktag after the Abschluss."
	b.exec(t, `UPDATE sperr_orders SET iftsta_faellig_am = '2026-09-02'`)
	check(t, true, inFlight+overdue)

	b.exec(t, `UPDATE sperr_orders SET iftsta_attempts = 8, iftsta_in_flight = false`)
	check(t, false, "IFTSTA are stuck: their attempts are spent, nothing goes on by itself, and the Lieferanten do not know the outcome. "+
		"A human has to mend the cause and reset them; the prompt iftsta-sweep says how."+overdue)
}

func TestListDueOrders_begins_with_undated_Entsperrungen_and_tells_a_fixed_date(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := connect(t, b.url)
	fixed := b.market(t, 17115, malo, map[string]any{
		"fruehestens_am": nil, "ausfuehrung_am": "202608312200+00", "hinweis": "Hund",
		"treffpunkt": map[string]any{"strasse": "Lindenallee 7", "plz": "10115", "ort": "Berlin", "hinweis": "Zaehlerraum UG"},
	})
	arrived := b.market(t, 17115, otherMalo, map[string]any{"fruehestens_am": "2026-09-03"})
	tomorrow := b.market(t, 17115, otherMalo, map[string]any{"fruehestens_am": "2026-09-04"})
	undated := b.create(t, sperr.NewOrder{OrderType: "sperrung"})
	restore := b.market(t, 17117, malo, nil)
	closed := b.market(t, 17117, otherMalo, nil)
	b.execute(t, closed.ID)

	got := call(t, session, "list_due_orders", nil)
	nowhere := map[string]any{"strasse": nil, "plz": nil, "ort": nil, "hinweis": nil}
	member := func(o sperr.Order, more map[string]any) map[string]any {
		m := map[string]any{
			"id": o.ID.String(), "malo_id": o.MaloID, "lf_mp_id": lf, "order_type": string(o.OrderType), "arbeitszeit": nil,
			"soll_am": nil, "ist_fixtermin": false, "tage_offen": nil, "treffpunkt": nowhere, "hinweis": nil,
		}
		for name, value := range more {
			m[name] = value
		}
		return m
	}
	want := []any{
		member(restore, map[string]any{"arbeitszeit": "innerhalb"}),
		member(fixed, map[string]any{
			"soll_am": "2026-09-01", "ist_fixtermin": true, "tage_offen": 2.0, "hinweis": "Hund",
			"treffpunkt": map[string]any{"strasse": "Lindenallee 7", "plz": "10115", "ort": "Berlin", "hinweis": "Zaehlerraum UG"},
		}),
		member(arrived, map[string]any{"soll_am": "2026-09-03", "tage_offen": 0.0}),
		member(undated, nil),
	}
	if diff := cmp.Diff(want, got["due_orders"]); diff != "" {
		t.Errorf("due orders without %s and %s (-want +got):\n%s", tomorrow.ID, closed.ID, diff)
	}
	if got["count"] != 4.0 || got["truncated"] != false || got["note"] == "" {
		t.Errorf("count %v, truncated %v, note %v", got["count"], got["truncated"], got["note"])
	}
}

func TestListDueOrders_says_when_it_is_cut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := connect(t, b.url)
	b.fill(t, tenant, 999)
	restore := b.market(t, 17117, malo, nil)
	whole := call(t, session, "list_due_orders", nil)
	if whole["count"] != 1000.0 || whole["truncated"] != false {
		t.Errorf("count %v, truncated %v, want all 1000", whole["count"], whole["truncated"])
	}
	b.fill(t, tenant, 1)
	cut := call(t, session, "list_due_orders", nil)
	if cut["count"] != 1000.0 || cut["truncated"] != true || cut["note"] == whole["note"] {
		t.Errorf("count %v, truncated %v, note %v, want 1000 that say that there are more", cut["count"], cut["truncated"], cut["note"])
	}
	if got := ids(cut["due_orders"]); got[0] != restore.ID.String() || len(got) != 1000 {
		t.Errorf("%d orders, the first %s, want 1000 and %s", len(got), got[0], restore.ID)
	}
}

func TestTools_see_nothing_of_another_tenant(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	b, stranger := newBenchOn(t, pool, tenant), newBenchOn(t, pool, other)
	mine, foreign := b.market(t, 17117, malo, nil), stranger.market(t, 17117, malo, nil)
	session := connect(t, b.url)

	wantFault(t, session, "get_sperr_order", map[string]any{"id": foreign.ID}, "id names no order of this Netzbetreiber.")
	for tool, list := range map[string]string{"list_sperr_orders": "orders", "list_due_orders": "due_orders"} {
		if got := ids(call(t, session, tool, nil)[list]); !slices.Equal(got, idsOf(mine)) {
			t.Errorf("%s: orders %v, want only %s", tool, got, mine.ID)
		}
	}
	if got := call(t, session, "get_sperr_stats", nil); got["total"] != 1.0 || got["pending"] != 1.0 {
		t.Errorf("counters %v, want one order", fmt.Sprint(got))
	}
}

// A day of long ago, which only SQL can put in, is farther away than a time.Duration goes.
func TestListDueOrders_counts_the_days_since_any_day(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, fruehestens_am)
		SELECT $1, '51238696012', '9900012345678', 'sperrung', d::date FROM unnest($2::text[]) AS d`,
		tenant, []string{"0001-01-01", "1700-01-01", "2026-03-28"})
	var got []any
	for _, order := range call(t, connect(t, b.url), "list_due_orders", nil)["due_orders"].([]any) {
		got = append(got, order.(map[string]any)["tage_offen"])
	}
	if diff := cmp.Diff([]any{739861.0, 119314.0, 159.0}, got); diff != "" {
		t.Errorf("tage_offen (-want +got):\n%s", diff)
	}
}
