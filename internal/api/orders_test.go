package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// order are the members of a row that tests look at.
type order struct {
	ID                 string   `json:"id"`
	Tenant             string   `json:"tenant"`
	MaloID             string   `json:"malo_id"`
	OrderType          string   `json:"order_type"`
	ProcessID          *string  `json:"process_id"`
	AusfuehrungAm      *string  `json:"ausfuehrung_am"`
	FruehestensAm      *string  `json:"fruehestens_am"`
	TreffpunktOrt      *string  `json:"treffpunkt_ort"`
	Hinweis            *string  `json:"hinweis"`
	Status             string   `json:"status"`
	Sperrversuche      int      `json:"sperrversuche"`
	ExecutedAt         *string  `json:"executed_at"`
	PruefschrittCode   *string  `json:"pruefschritt_code"`
	IFTSTADispatchedAt *string  `json:"iftsta_dispatched_at"`
	Warnungen          []string `json:"warnungen"`
	CreatedAt          string   `json:"created_at"`
}

// fullOrder is a create body with every member.
const fullOrder = `{"malo_id":"51238696012","lf_mp_id":"9900012345678","order_type":"sperrung","process_id":null,
	"ausfuehrung_am":"2026-09-07","fruehestens_am":null,"arbeitszeit":null,
	"treffpunkt":{"hinweis":null,"strasse":"Lindenallee 7","plz":"10115","ort":"Berlin","land":"DE"},"hinweis":"Hof links"}`

// minimal is a create body with what is required only.
func minimal(orderType string) string {
	return fmt.Sprintf(`{"malo_id":"%s","lf_mp_id":"%s","order_type":"%s"}`, malo, lf, orderType)
}

func (b *bench) create(t *testing.T, body string) order {
	t.Helper()
	return decode[order](t, b.call(t, http.MethodPost, orders, body), http.StatusCreated)
}

func (b *bench) order(t *testing.T, id string) order {
	t.Helper()
	return decode[order](t, b.get(t, orders+"/"+id), http.StatusOK)
}

func TestCreate_answers_with_the_order_and_its_place(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.call(t, http.MethodPost, orders, fullOrder)
	created := decode[order](t, a, http.StatusCreated)

	if got, want := a.header.Get("Location"), orders+"/"+created.ID; got != want {
		t.Errorf("Location %q, want %q", got, want)
	}
	if created.Tenant != tenant || created.Status != "pending" || created.ProcessID != nil ||
		*created.AusfuehrungAm != "2026-09-07" || *created.TreffpunktOrt != "Berlin" || *created.Hinweis != "Hof links" {
		t.Errorf("created %s", a.body)
	}
	if diff := cmp.Diff(string(a.body), string(b.get(t, orders+"/"+created.ID).body)); diff != "" {
		t.Errorf("GET differs from the answer to POST (-POST +GET):\n%s", diff)
	}
}

func TestCreate_takes_null_for_absent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	created := b.create(t, `{"malo_id":"51238696012","lf_mp_id":"9900012345678","order_type":"entsperrung","process_id":null,
		"ausfuehrung_am":null,"fruehestens_am":null,"arbeitszeit":null,"treffpunkt":null,"hinweis":null}`)
	if created.FruehestensAm != nil || created.Hinweis != nil || created.TreffpunktOrt != nil {
		t.Errorf("created %+v", created)
	}
}

func TestCreate_refuses_what_is_against_the_rules(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	with := func(members string) string {
		return `{"malo_id":"51238696012","lf_mp_id":"9900012345678",` + members + `}`
	}
	for name, c := range map[string]struct{ body, field string }{
		"no MaLo":               {`{"lf_mp_id":"9900012345678","order_type":"sperrung"}`, "malo_id"},
		"check digit":           {`{"malo_id":"51238696782","lf_mp_id":"9900012345678","order_type":"sperrung"}`, "malo_id"},
		"no LF":                 {`{"malo_id":"51238696012","order_type":"sperrung"}`, "lf_mp_id"},
		"no type":               {`{"malo_id":"51238696012","lf_mp_id":"9900012345678"}`, "order_type"},
		"unknown type":          {with(`"order_type":"Sperrung"`), "order_type"},
		"impossible date":       {with(`"order_type":"sperrung","ausfuehrung_am":"2026-02-30"`), "ausfuehrung_am"},
		"date is a time":        {with(`"order_type":"sperrung","ausfuehrung_am":"2026-09-07T08:00:00Z"`), "ausfuehrung_am"},
		"empty date":            {with(`"order_type":"sperrung","fruehestens_am":""`), "fruehestens_am"},
		"both dates":            {with(`"order_type":"sperrung","ausfuehrung_am":"2026-09-07","fruehestens_am":"2026-09-07"`), "ausfuehrung_am"},
		"arbeitszeit":           {with(`"order_type":"entsperrung","arbeitszeit":"nachts"`), "arbeitszeit"},
		"process":               {with(`"order_type":"sperrung","process_id":"0b7c1e2a-1111-4000-8000-000000000001"`), "process_id"},
		"empty process":         {with(`"order_type":"sperrung","process_id":""`), "process_id"},
		"half a Treffpunkt":     {with(`"order_type":"sperrung","treffpunkt":{"ort":"Berlin"}`), "treffpunkt"},
		"NUL in hinweis":        {with(`"order_type":"sperrung","hinweis":"a\u0000b"`), "hinweis"},
		"NUL in the Treffpunkt": {with(`"order_type":"sperrung","treffpunkt":{"strasse":"a\u0000","plz":"1","ort":"B","land":"DE"}`), "treffpunkt.strasse"},
		"NUL in the MaLo":       {`{"malo_id":"51238696\u000012","lf_mp_id":"9900012345678","order_type":"sperrung"}`, "malo_id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantProblem(t, b.call(t, http.MethodPost, orders, c.body), http.StatusUnprocessableEntity, "invalid_order", c.field)
		})
	}
}

func TestGet_knows_only_ids_of_36_characters(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	for _, suffix := range []string{"", "/history"} {
		wantStatus(t, b.get(t, orders+"/"+id+suffix), http.StatusOK)
		for name, other := range map[string]string{
			"unknown": uuid.NewString(), "short": "x", "braces": "%7B" + id + "%7D", "no hyphens": id[:8] + id[9:13] + id[14:18] + id[19:23] + id[24:],
			"urn": "urn:uuid:" + id, "NUL": id[:35] + "%00", "escaped": id[:8] + "%2D" + id[9:], "not UTF-8": "%ff" + id[1:],
		} {
			wantProblem(t, b.get(t, orders+"/"+other+suffix), http.StatusNotFound, "not_found")
			_ = name
		}
	}
}

func TestGet_hides_the_orders_of_other_tenants(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := uuid.NewString()
	_, err := b.pool.Exec(t.Context(), `INSERT INTO sperr_orders (id, tenant, malo_id, lf_mp_id, order_type)
		VALUES ($1, '9900000000001', $2, $3, 'sperrung')`, id, malo, lf)
	if err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"", "/history"} {
		wantProblem(t, b.get(t, orders+"/"+id+suffix), http.StatusNotFound, "not_found")
	}
	for _, verb := range []string{"execute", "cancel"} {
		wantProblem(t, b.call(t, http.MethodPut, orders+"/"+id+"/"+verb, ""), http.StatusNotFound, "not_found")
	}
	wantProblem(t, b.call(t, http.MethodPut, orders+"/"+id+"/fail", `{"reason":"zu"}`), http.StatusNotFound, "not_found")
	if got := string(b.get(t, orders).body); got != "[]" {
		t.Errorf("list %s, want []", got)
	}
}

func TestStats_count_by_the_Berlin_day(t *testing.T) {
	t.Parallel()
	// 00:30 on the 8th in Berlin is still the 7th in UTC.
	b := newBench(t, func(s *settings) { s.options.Now = berlinHalfPastMidnight })
	b.create(t, fullOrder)
	stats := decode[map[string]int](t, b.get(t, orders+"/stats"), http.StatusOK)
	if stats["total"] != 1 || stats["pending"] != 1 || stats["overdue_pending"] != 1 || stats["fixtermin_verpasst"] != 1 {
		t.Errorf("stats %v: the order of the 7th is overdue on the 8th", stats)
	}
}

// A Frist is over with the first moment of the next Berlin day, an hour or two before that
// of the next day in UTC.
func TestStats_count_a_Frist_as_over_from_midnight_in_Berlin(t *testing.T) {
	t.Parallel()
	for day, midnight := range map[string]time.Time{
		"2026-09-08": time.Date(2026, 9, 8, 22, 0, 0, 0, time.UTC),
		"2027-01-04": time.Date(2027, 1, 4, 23, 0, 0, 0, time.UTC),
		"2026-10-25": time.Date(2026, 10, 25, 23, 0, 0, 0, time.UTC), // 25 hours long
		"2026-03-29": time.Date(2026, 3, 29, 22, 0, 0, 0, time.UTC),  // 23 hours long
	} {
		t.Run(day, func(t *testing.T) {
			t.Parallel()
			now := midnight.Add(-time.Microsecond)
			b := newBench(t, func(s *settings) { s.options.Now = func() time.Time { return now } })
			b.exec(t, `INSERT INTO sperr_orders (tenant, malo_id, lf_mp_id, order_type, process_id, status, executed_at,
					ausfuehrung_am, ausfuehrung_faellig_am, iftsta_faellig_am)
				VALUES ('`+tenant+`', 'm', 'l', 'sperrung', 'open', 'pending', NULL, '`+day+`', '`+day+`', NULL),
				       ('`+tenant+`', 'm', 'l', 'sperrung', 'owed', 'executed', '2026-01-01', NULL, NULL, '`+day+`')`)
			for want := range 2 {
				got := decode[map[string]int](t, b.get(t, orders+"/stats"), http.StatusOK)
				for _, counter := range []string{"frist_ueberschritten", "iftsta_ueberfaellig", "overdue_pending", "fixtermin_verpasst"} {
					if got[counter] != want {
						t.Errorf("%s at %s: %d, want %d", counter, now, got[counter], want)
					}
				}
				now = midnight
			}
		})
	}
}

func TestHistory_tells_who_did_what(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, minimal("sperrung")).ID
	wantStatus(t, b.call(t, http.MethodPut, orders+"/"+id+"/cancel", `{"reason":"bezahlt"}`), http.StatusNoContent)

	type line struct{ Actor, Action, To string }
	got := decode[[]line](t, b.get(t, orders+"/"+id+"/history"), http.StatusOK)
	want := []line{{"dev-admin", "created", "pending"}, {"dev-admin", "cancelled", "cancelled"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}
