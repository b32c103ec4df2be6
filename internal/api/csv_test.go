package api_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/api"
)

const csvHeader = "id,order_type,malo_id,lf_mp_id,ausfuehrung_am,uhrzeit,fruehestens_am,arbeitszeit," +
	"treffpunkt_plz,treffpunkt_ort,treffpunkt_strasse,treffpunkt_land,treffpunkt_hinweis,hinweis," +
	"ausfuehrung_faellig_am,sperrversuche,letzter_versuch_am,letzter_versuch_grund,warnungen"

// csv asks for the due list as CSV; query has more than due=true.
func (b *bench) csv(t *testing.T, query string) answer {
	t.Helper()
	return b.call(t, http.MethodGet, orders+"?due=true"+query, "", "Accept", "text/csv")
}

// route reads the rows of a CSV below its header, by the names of the columns.
func route(t *testing.T, a answer) []map[string]string {
	t.Helper()
	wantStatus(t, a, http.StatusOK)
	lines, err := csv.NewReader(bytes.NewReader(a.body)).ReadAll()
	if err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	if got := strings.Join(lines[0], ","); got != csvHeader {
		t.Fatalf("header row %s", got)
	}
	rows := []map[string]string{}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		rows = append(rows, row)
	}
	if n := bytes.Count(a.body, []byte("\r\n")); n != len(lines) || bytes.Count(a.body, []byte("\n")) != n {
		t.Errorf("%d lines for %d orders and the header row", n, len(rows))
	}
	return rows
}

// at is a create body for a place.
func at(maloID, plz, strasse, more string) string {
	return fmt.Sprintf(`{"malo_id":"%s","lf_mp_id":"%s","order_type":"sperrung","treffpunkt":{"plz":"%s","ort":"Dresden","strasse":"%s","land":"DE"}%s}`,
		maloID, lf, plz, strasse, more)
}

func TestCSV_is_the_due_list_for_a_route(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	event := bytes.ReplaceAll(sample(t, "17115-fixed-date.json"), []byte("20260901"), []byte("202609010730+00"))
	fixed := decode[map[string]string](t, b.deliver(t, event), http.StatusCreated)["id"]
	b.create(t, at(maloOf(5), "10115", "Ahornweg 1", `,"fruehestens_am":"2026-09-04"`)) // tomorrow
	second := b.create(t, at(maloOf(2), "01067", "Ahornweg 10", `,"hinweis":"Tor, Code \"12\"\nHund"`)).ID
	first := b.create(t, at(maloOf(2), "01067", "Ahornweg 2", "")).ID
	nowhere := b.create(t, strings.Replace(minimal("entsperrung"), `}`, `,"arbeitszeit":"innerhalb"}`, 1)).ID
	wantStatus(t, b.report(t, first, "fail", `{"reason":"+++ zu","versuch_am":"2026-09-02T22:30:00Z"}`), http.StatusAccepted)
	a := b.csv(t, "")
	w := func(id string) string { return `"` + strings.Join(b.order(t, id).Warnungen, " | ") + `"` } // each has a comma
	want := csvHeader + "\r\n" +
		nowhere + ",entsperrung," + malo + "," + lf + ",,,,innerhalb,,,,,,,,0,,," + w(nowhere) + "\r\n" +
		first + ",sperrung," + maloOf(2) + "," + lf + ",,,,,01067,Dresden,Ahornweg 2,DE,,,,1,2026-09-03T00:30:00+02:00,'+++ zu," + w(first) + "\r\n" +
		second + ",sperrung," + maloOf(2) + "," + lf + `,,,,,01067,Dresden,Ahornweg 10,DE,,"Tor, Code ""12"" Hund",,0,,,` + w(second) + "\r\n" +
		fixed + ",sperrung," + malo + "," + lf + ",2026-09-01,09:30,,,10115,Berlin,Lindenallee 7,DE,Zaehlerraum UG,Gerichtsvollzieher ist 9 Uhr vor Ort,2026-09-09,0,,," + w(fixed) + "\r\n"
	if diff := cmp.Diff(want, string(a.body)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Whom the one order sends there must know of the other.
	if !strings.Contains(w(nowhere), fixed) || !strings.Contains(w(fixed), nowhere) {
		t.Errorf("no conflict warnings: %q, %q", w(nowhere), w(fixed))
	}
	for name, want := range map[string]string{
		"Content-Type": textCSV, "Content-Disposition": `attachment; filename="sperr-orders-due-2026-09-03.csv"`,
		"Content-Length": strconv.Itoa(len(a.body)), "Vary": "Accept", "Cache-Control": "no-store", "Link": "",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
}

func TestCSV_for_Excel_opens_in_German(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, at(malo, "01067", "Ahornweg 1; Hof", `,"hinweis":"a,b"`))
	a := b.csv(t, "&csv=excel_de")
	body, marked := strings.CutPrefix(string(a.body), "\uFEFF")
	if !marked || !strings.HasPrefix(body, strings.ReplaceAll(csvHeader, ",", ";")+"\r\n") ||
		!strings.Contains(body, `;01067;Dresden;"Ahornweg 1; Hof";DE;;a,b;`) || strings.Contains(body, "\uFEFF") {
		t.Errorf("%q", a.body)
	}
	if plain := b.csv(t, "&csv=rfc4180"); !bytes.Equal(plain.body, b.csv(t, "").body) || bytes.Contains(plain.body, []byte("\uFEFF")) {
		t.Errorf("%q", plain.body)
	}
}

func TestCSV_refuses_what_does_not_go_with_it(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for query, field := range map[string]string{
		"&limit=5": "limit", "&cursor=x": "cursor", "&csv=excel": "csv", "&csv=": "csv", "&csv=rfc4180&csv=rfc4180": "csv",
		"&status=executed": "due", "&x=1": "x",
	} {
		wantProblem(t, b.csv(t, query), http.StatusBadRequest, "invalid_parameter", field)
	}
	wantProblem(t, b.get(t, orders+"?due=true&csv=excel_de"), http.StatusBadRequest, "invalid_parameter", "csv")
}

func TestCSV_takes_the_filters_of_the_list(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	mine, other := b.create(t, at(maloOf(1), "01067", "Ahornweg 1", "")).ID, b.create(t, at(maloOf(2), "01067", "Ahornweg 2", "")).ID
	b.tenanted(t, "9900000000002").create(t, at(maloOf(1), "01067", "Ahornweg 3", ""))
	for query, want := range map[string][]string{
		"": {mine, other}, "&status=pending": {mine, other}, "&malo_id=" + maloOf(1): {mine}, "&malo_id=" + maloOf(3): nil,
	} {
		var got []string
		for _, row := range route(t, b.csv(t, query)) {
			got = append(got, row["id"])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
	if got := string(b.csv(t, "&malo_id="+maloOf(3)).body); got != csvHeader+"\r\n" {
		t.Errorf("nothing due: %q", got)
	}
}

// What SQL alone can make is shown as JSON shows it, with its warning.
func TestCSV_shows_odd_orders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var ids []string
	for n, set := range []string{
		"fruehestens_am = 'infinity'", "ausfuehrung_am = '-infinity'", "ausfuehrung_faellig_am = '12000-01-01'", "letzter_versuch_am = '0044-03-15 BC'",
		"ausfuehrung_am = '2026-09-01', ausfuehrung_zeitpunkt = '2026-09-01T22:00:59Z'", "ausfuehrung_zeitpunkt = 'infinity'",
		"letzter_versuch_am = '9999-12-31T22:59:59.999999Z'", "warnungen = ARRAY[NULL, '=1', E'a\\nb', '-2']", "treffpunkt_plz = '   '",
	} {
		ids = append(ids, b.create(t, at(maloOf(n), "01067", fmt.Sprint("Ahornweg ", n), "")).ID)
		b.exec(t, `UPDATE sperr_orders SET `+set+` WHERE id = $1`, ids[n])
	}
	got := map[string]map[string]string{}
	for _, row := range route(t, b.csv(t, "")) {
		got[row["id"]] = row
	}
	for n, want := range []map[string]string{
		{"fruehestens_am": ""},
		{"ausfuehrung_am": ""},
		{"ausfuehrung_faellig_am": ""},
		{"letzter_versuch_am": ""},
		{"ausfuehrung_am": "2026-09-01", "uhrzeit": "2026-09-02 00:00"},
		{"uhrzeit": ""},
		{"letzter_versuch_am": "9999-12-31T23:59:59+01:00"},
		{"warnungen": "'=1 | a b | '-2"},
		{"treffpunkt_plz": "   "},
	} {
		for column, value := range want {
			if row, there := got[ids[n]]; !there || row[column] != value {
				t.Errorf("%d: %s %q, want %q", n, column, row[column], value)
			}
		}
		if n < 4 && !strings.Contains(got[ids[n]]["warnungen"], "is no day of the years 1 to 9999") {
			t.Errorf("%d: warnungen %q", n, got[ids[n]]["warnungen"])
		}
	}
}

// Whoever can send an event, or type an order in, must not run a program on the desk of
// the dispatcher.
func TestCSV_has_no_formula_in_any_column(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := b.create(t, at(malo, "01067", "Ahornweg 1", "")).ID
	const attack = `=cmd|' /C calc'!A0;=1,@x | +y "=z`
	b.exec(t, `UPDATE sperr_orders SET malo_id = $2, lf_mp_id = $2, treffpunkt_plz = $2, treffpunkt_ort = $2, treffpunkt_strasse = $2,
		treffpunkt_hinweis = $2, hinweis = $2, letzter_versuch_grund = $2, warnungen = ARRAY[$2, $2] WHERE id = $1`, id, attack)
	for _, form := range []string{"", "&csv=excel_de"} {
		a := b.csv(t, form)
		if n := bytes.Count(a.body, []byte("'=cmd")); n != 10 {
			t.Errorf("%d cells of the attack in %s", n, a.body)
		}
		for line := range strings.SplitSeq(string(a.body), "\r\n") {
			wantNoFormula(t, line)
		}
	}
	if got := route(t, b.csv(t, ""))[0]["hinweis"]; got != api.Cell(attack) {
		t.Errorf("hinweis %q, want %q", got, api.Cell(attack))
	}
}

func TestCSV_answers_HEAD_and_says_its_format_in_the_log(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(t, minimal("entsperrung"))
	whole := b.csv(t, "")
	a := b.call(t, http.MethodHead, orders+"?due=true", "", "Accept", "text/csv")
	if a.status != http.StatusOK || len(a.body) != 0 || a.header.Get("Content-Type") != textCSV ||
		a.header.Get("Content-Length") != strconv.Itoa(len(whole.body)) {
		t.Errorf("HEAD: %d %v %q", a.status, a.header, a.body)
	}
	b.get(t, orders)
	lines := b.log.requests(t)
	if n := len(lines); lines[n-1]["format"] != "json" || lines[n-2]["format"] != "csv" {
		t.Errorf("%v, then %v", lines[n-2], lines[n-1])
	}
}

func TestCSV_is_whole_or_refused(t *testing.T) {
	t.Parallel()
	const most = 1500 // more than a page of the list
	b := newBench(t, func(s *settings) {
		s.handler = func(o api.Options) http.Handler { return api.NewShortRouteHandler(o, most) }
	})
	b.exec(t, `INSERT INTO sperr_orders (id, tenant, malo_id, lf_mp_id, order_type, treffpunkt_plz, treffpunkt_strasse, hinweis)
		SELECT gen_random_uuid(), $1, '51238696012', '9900012345678', 'sperrung', lpad((n % 99999)::text, 5, '0'), 'Weg ' || n, repeat('x', 200)
		FROM generate_series(1, $2::int) AS n`, tenant, most)
	rows := route(t, b.csv(t, ""))
	seen := map[string]bool{}
	for i, row := range rows {
		seen[row["id"]] = true
		if i > 0 && rows[i-1]["treffpunkt_plz"] > row["treffpunkt_plz"] {
			t.Fatalf("row %d: %s after %s", i, row["treffpunkt_plz"], rows[i-1]["treffpunkt_plz"])
		}
	}
	if len(seen) != most || len(rows) != most {
		t.Errorf("%d rows, %d orders, want %d", len(rows), len(seen), most)
	}
	b.create(t, minimal("entsperrung"))
	p := wantProblem(t, b.csv(t, ""), http.StatusBadRequest, "invalid_parameter", "due")
	if !strings.Contains(p.Detail, strconv.Itoa(most)) {
		t.Errorf("detail %q", p.Detail)
	}
}

func TestCSV_needs_the_permission_of_the_list(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	a := g.call(t, http.MethodGet, orders+"?due=true", "", "Accept", "text/csv")
	wantProblem(t, a, http.StatusUnauthorized, "unauthenticated")
	token := g.issuer.Token(t, claims{"mako_roles": []string{"LF"}})
	a = g.call(t, http.MethodGet, orders+"?due=true", "", "Accept", "text/csv", "Authorization", "Bearer "+token)
	wantProblem(t, a, http.StatusForbidden, "forbidden")
}
