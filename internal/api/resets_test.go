package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
)

type resetAnswer struct {
	DryRun bool `json:"dry_run"`
	Count  int
	Orders []struct {
		ID string
	}
	Next *string
}

func (b *bench) resets(t *testing.T, query, body string, header ...string) answer {
	t.Helper()
	return b.call(t, http.MethodPost, orders+"/iftsta/reset"+query, body, header...)
}

func TestResets_do_what_a_filter_chooses_and_a_dry_run_shows_it(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stuck, other := b.outstanding(t, malo), b.outstanding(t, "51238696781")
	b.bySQL(t, `UPDATE sperr_orders SET iftsta_last_code = 'invalid_state:Storniert' WHERE id = '`+other+`'`)
	foreign := b.tenanted(t, "9900000000001")
	for _, c := range []struct {
		body  string
		count int
	}{
		{`{"stuck":true}`, 2},
		{`{"code":"process_not_found"}`, 1},
		{`{"code":"invalid_state"}`, 1},
		{`{"code":"invalid_state:Storniert"}`, 1},
		{`{"malo_id":"` + malo + `"}`, 1},
		{`{"stuck":true,"order_type":"entsperrung"}`, 0},
		{`{"lf_mp_id":"` + lf + `","faellig_bis":"2026-09-04"}`, 2},
		{`{"stuck":true,"faellig_bis":"2026-09-03"}`, 0},
		{`{"stuck":true,"limit":1}`, 1},
	} {
		got := decode[resetAnswer](t, b.resets(t, "?dry_run=true", c.body), http.StatusOK)
		if !got.DryRun || got.Count != c.count || len(got.Orders) != c.count {
			t.Errorf("%s: %+v, want %d", c.body, got, c.count)
		}
		if got := decode[resetAnswer](t, foreign.resets(t, "", c.body), http.StatusOK); got.Count != 0 {
			t.Errorf("%s: another tenant resets %+v", c.body, got)
		}
	}
	if b.cycle(t, stuck).Attempts != 8 || b.cycle(t, other).Attempts != 8 {
		t.Error("a dry run has reset something")
	}
	first := decode[resetAnswer](t, b.resets(t, "", `{"stuck":true,"limit":1,"reason":"makod lebt"}`), http.StatusOK)
	if first.Count != 1 || first.Next == nil || *first.Next != first.Orders[0].ID {
		t.Fatalf("first %+v", first)
	}
	rest := decode[resetAnswer](t, b.resets(t, "", `{"stuck":true,"after":"`+*first.Next+`"}`), http.StatusOK)
	if rest.Count != 1 || rest.Next != nil || rest.Orders[0].ID == first.Orders[0].ID {
		t.Errorf("rest %+v", rest)
	}
	if b.cycle(t, stuck).Attempts != 0 || b.cycle(t, other).Attempts != 0 {
		t.Error("not both are reset")
	}
	if n := b.count(t, `SELECT count(*) FROM sperr_order_history WHERE action = 'iftsta_reset' AND detail ->> 'reason' = 'makod lebt'`); n != 1 {
		t.Errorf("%d lines with the reason", n)
	}
}

func TestResets_are_done_once_for_a_transaction_and_a_dry_run_uses_none_up(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.outstanding(t, malo)
	ids := []string{"transactionId", uuid.NewString(), "creationDateTime", now.Format("2006-01-02T15:04:05Z")}
	if got := decode[resetAnswer](t, b.resets(t, "?dry_run=true", `{"stuck":true}`, ids...), http.StatusOK); got.Count != 1 {
		t.Errorf("dry run %+v", got)
	}
	first := b.resets(t, "", `{"stuck":true}`, ids...)
	wantStatus(t, first, http.StatusOK)
	b.bySQL(t, `UPDATE sperr_orders SET iftsta_attempts = 8`)
	again := b.resets(t, "", `{"stuck":true}`, ids...)
	if string(again.body) != string(first.body) || again.header.Get("Idempotent-Replayed") != "true" || b.cycle(t, id).Attempts != 8 {
		t.Errorf("again: %d %s, %d attempts", again.status, again.body, b.cycle(t, id).Attempts)
	}
	wantProblem(t, b.resets(t, "", `{"malo_id":"`+malo+`"}`, ids...), http.StatusConflict, "transaction_conflict")
}

func TestResets_refuse_what_chooses_everything_or_nothing_by_mistake(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.outstanding(t, malo)
	for body, status := range map[string]int{
		`{}`:                                 422,
		`{"stuck":false}`:                    422,
		`{"reason":"x"}`:                     422,
		`{"limit":5}`:                        422,
		`{"stuck":true,"limit":0}`:           422,
		`{"stuck":true,"limit":501}`:         422,
		`{"malo_id":"123"}`:                  422,
		`{"lf_mp_id":"123"}`:                 422,
		`{"order_type":"x"}`:                 422,
		`{"faellig_bis":"2026-02-30"}`:       422,
		`{"stuck":true,"after":"x"}`:         422,
		`{"stuck":true,"reason":"a\u0000b"}`: 422,
		`{"stuck":true,"code":"a\u0000"}`:    422,
		`{"stuck":true,"reason":"` + strings.Repeat("x", 2561) + `"}`: 422,
		`{"stuk":true}`:   400,
		`{"stuck":"yes"}`: 400,
		`[]`:              400,
		``:                400,
	} {
		for _, query := range []string{"", "?dry_run=true"} {
			if a := b.resets(t, query, body); a.status != status {
				t.Errorf("%.60s%s: %d %s, want %d", body, query, a.status, a.body, status)
			}
		}
	}
	for _, limit := range []string{`"5"`, "1.5", "1e1", "99999999999999999999", "[]"} {
		p := wantProblem(t, b.resets(t, "", `{"stuck":true,"limit":`+limit+`}`), http.StatusBadRequest, "invalid_body", "limit")
		if !strings.Contains(p.Detail, "a whole number, written in digits alone") {
			t.Errorf("limit %s: %s", limit, p.Detail)
		}
	}
	wantProblem(t, b.resets(t, "?dry_run=1", `{"stuck":true}`), http.StatusBadRequest, "invalid_parameter", "dry_run")
	if b.cycle(t, id).Attempts != 8 {
		t.Error("something was reset")
	}
}

func TestOrder_says_in_words_why_its_outcome_is_not_with_makod(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.outstanding(t, malo)
	type diagnosed struct {
		Diagnose *string `json:"iftsta_diagnose"`
	}
	got := decode[diagnosed](t, b.get(t, orders+"/"+id), http.StatusOK).Diagnose
	if got == nil {
		t.Fatal("no diagnosis")
	}
	for _, want := range []string{"Stuck: 8 of 8 attempts", "makod's last answer: 404", "To do: makod has no gpke-sperrung process", "brought by makod's event e-"} {
		if !strings.Contains(*got, want) {
			t.Errorf("no %q in %s", want, *got)
		}
	}
	b.bySQL(t, `UPDATE sperr_orders SET iftsta_dispatched_at = now()`)
	if got := decode[diagnosed](t, b.get(t, orders+"/"+id), http.StatusOK).Diagnose; got != nil {
		t.Errorf("dispatched: %s", *got)
	}
}
