package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

// oddColumns are the columns of an order with a day or a moment, and what is shown of one
// that cannot be shown: null, or for a column that has no NULL the nearest moment.
var oddColumns = map[string]bool{ // whether it is shown as null
	"ausfuehrung_am": true, "ausfuehrung_zeitpunkt": true, "fruehestens_am": true, "ausfuehrung_faellig_am": true,
	"ausfuehrung_eskaliert_at": true, "vorlauffrist_spaetester_ut": true, "uebertragungstag": true, "letzter_versuch_am": true,
	"executed_at": true, "iftsta_faellig_am": true, "iftsta_dispatched_at": true, "iftsta_escalated_at": true,
	"iftsta_next_attempt_at": false, "created_at": false, "updated_at": false,
}

// oddValues are values that SQL takes, and whether they lie after every day of the calendar.
var oddValues = map[string]bool{"infinity": true, "-infinity": false, "0044-03-15 BC": false, "12000-01-01": true}

// oddRow is a column with an odd value on orders of a Marktlokation of its own.
type oddRow struct {
	column, value, malo string
	orders              map[string]string // ids by what the test does to them
}

// owned are the columns that each change of an order sets; it leaves all others alone.
var owned = map[string][]string{
	"execute": {"executed_at", "iftsta_faellig_am", "iftsta_next_attempt_at", "updated_at"},
	"fail":    {"executed_at", "iftsta_faellig_am", "iftsta_next_attempt_at", "updated_at", "letzter_versuch_am"},
	"visit":   {"updated_at", "letzter_versuch_am"},
	"cancel":  {"updated_at"},
	"storno":  {"updated_at"},
	"reset":   {"iftsta_next_attempt_at", "iftsta_escalated_at", "updated_at"},
	"again":   {},
}

// oddRows puts in an order for each column, value and change, under the date style and zone
// of a server in other hands.
func (b *bench) oddRows(t *testing.T) []oddRow {
	t.Helper()
	b.exec(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET datestyle = ''German, DMY''', current_database()); END $$`)
	b.pool.Reset()
	var rows []oddRow
	for column := range oddColumns {
		for value := range oddValues {
			row := oddRow{column, value, maloOf(len(rows)), map[string]string{}}
			for change := range owned {
				id, status, executed := uuid.NewString(), "pending", "NULL"
				if change == "reset" {
					status, executed = "executed", "'2026-09-02T08:00:00Z'"
				}
				b.exec(t, `INSERT INTO sperr_orders (id, tenant, malo_id, lf_mp_id, order_type, pruefidentifikator, process_id, status, executed_at)
					VALUES ($1, $2, $3, $4, 'sperrung', 17115, $5, $6, `+executed+`)`, id, tenant, row.malo, lf, id, status)
				b.exec(t, `UPDATE sperr_orders SET `+column+` = '`+value+`' WHERE id = $1`, id)
				row.orders[change] = id
			}
			rows = append(rows, row)
		}
	}
	return rows
}

func (b *bench) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// A day that no calendar has must break nothing and nobody, may be lost by nothing, and
// must be told.
func TestOdd_rows_break_nothing_that_reads_or_changes_an_order(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	future := b.create(t, fullOrder).ID // not due
	rows := b.oddRows(t)
	all, due := []string{future}, []string{}
	for _, row := range rows {
		for change, id := range row.orders {
			if all = append(all, id); change != "reset" {
				due = append(due, id)
			}
		}
	}
	for query, want := range map[string][]string{"?limit=7": all, "?limit=1000": all, "?limit=7&due=true": due, "?limit=90&status=pending": slices.Concat(due, []string{future})} {
		seen := b.walk(t, orders+query, func() {})
		slices.Sort(seen)
		slices.Sort(want)
		if diff := cmp.Diff(want, seen); diff != "" {
			t.Errorf("walk %s (-want +seen):\n%s", query, diff)
		}
	}
	decode[map[string]any](t, b.get(t, orders+"/stats"), http.StatusOK)
	decode[map[string]any](t, b.get(t, "/api/v1/vorlauffrist?monat=2026-09"), http.StatusOK)
	for _, tool := range []string{"list_due_orders", "get_sperr_stats"} {
		b.tool(t, tool, `{}`)
	}
	t.Run("each", func(t *testing.T) {
		for _, row := range rows {
			t.Run(row.column+" "+row.value, func(t *testing.T) {
				t.Parallel()
				b.readOdd(t, row)
				b.changeOdd(t, row)
				b.readOdd(t, oddRow{row.column, row.value, row.malo, map[string]string{"again": row.orders["again"]}})
			})
		}
	})
	if n := b.count(t, `SELECT count(*) FROM sperr_orders WHERE array_to_string(warnungen, ' ') LIKE '% holds %'`); n != 0 {
		t.Errorf("the derived warning was written to %d orders", n)
	}
}

// tool calls a tool of MCP, which must not fail.
func (b *bench) tool(t *testing.T, name, arguments string) string {
	t.Helper()
	a := b.mcp(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`)
	wantStatus(t, a, http.StatusOK)
	if text := string(a.body); strings.Contains(text, `"isError":true`) || strings.Contains(text, `"error":`) {
		t.Errorf("%s %s: %s", name, arguments, text)
	}
	_, data, _ := strings.Cut(string(a.body), "data: ")
	return data
}

// readOdd reads the orders of row in every way there is.
func (b *bench) readOdd(t *testing.T, row oddRow) {
	t.Helper()
	for _, query := range []string{"", "&due=true", "&status=pending", "&limit=1", "&due=true&limit=1"} {
		wantStatus(t, b.get(t, orders+"?malo_id="+row.malo+query), http.StatusOK)
	}
	b.tool(t, "list_sperr_orders", `{"malo_id":"`+row.malo+`"}`)
	b.tool(t, "list_sperr_orders", `{"malo_id":"`+row.malo+`","due":true}`)
	for change, id := range row.orders {
		wantStatus(t, b.get(t, orders+"/"+id+"/history"), http.StatusOK)
		got := decode[map[string]any](t, b.get(t, orders+"/"+id), http.StatusOK)
		wantShown(t, row, got)
		wantShown(t, row, decodeTool(t, b.tool(t, "get_sperr_order", `{"id":"`+id+`"}`)))
		if t.Failed() {
			t.Fatalf("%s: %v", change, got)
		}
	}
}

func decodeTool(t *testing.T, body string) map[string]any {
	t.Helper()
	var message struct {
		Result struct {
			StructuredContent map[string]any `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(body), &message); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return message.Result.StructuredContent
}

// changeOdd does to each order of row what is there for, and looks whether the odd value
// stays where the change does not own its column.
func (b *bench) changeOdd(t *testing.T, row oddRow) {
	t.Helper()
	event := `{"specversion":"1.0","id":"%[1]s","source":"urn:x","type":"de.mako.process.initiated","subject":"%[1]s",
		"makopid":%[2]d,"makoworkflow":"gpke-sperrung","data":{"malo_id":"` + row.malo + `","lf_mp_id":"` + lf + `","ausfuehrung_am":"20260907"}}`
	reset := http.StatusNoContent
	if row.column == "iftsta_dispatched_at" { // says that it is dispatched
		reset = http.StatusConflict
	}
	for change, id := range row.orders {
		switch change {
		case "execute":
			wantStatus(t, b.report(t, id, "execute", ""), http.StatusAccepted)
		case "fail":
			wantStatus(t, b.report(t, id, "fail", `{"reason":"zu","endgueltig":true,"pruefschritt_code":"A01"}`), http.StatusAccepted)
		case "visit":
			wantStatus(t, b.report(t, id, "fail", `{"reason":"zu"}`), http.StatusAccepted)
		case "cancel":
			wantStatus(t, b.report(t, id, "cancel", ""), http.StatusNoContent)
		case "reset":
			wantStatus(t, b.reset(t, id, ""), reset)
		case "storno":
			wantStatus(t, b.deliver(t, fmt.Appendf(nil, event, id, 39000)), http.StatusNoContent)
		case "again":
			wantStatus(t, b.deliver(t, fmt.Appendf(nil, event, id, 17115)), http.StatusNoContent)
		}
		if slices.Contains(owned[change], row.column) && (change != "reset" || reset == http.StatusNoContent) {
			wantStatus(t, b.get(t, orders+"/"+id), http.StatusOK)
			continue
		}
		if n := b.count(t, `SELECT count(*) FROM sperr_orders WHERE id = '`+id+`' AND `+row.column+` = '`+row.value+`'`); n != 1 {
			t.Errorf("%s took %s away from %s", change, row.value, row.column)
		}
	}
}

// wantShown fails unless an order shows its odd value as it can, and tells of it.
func wantShown(t *testing.T, row oddRow, got map[string]any) {
	t.Helper()
	shown := any("0001-01-01T00:00:00Z")
	if oddValues[row.value] {
		shown = "9999-12-31T22:59:59.999999Z"
	}
	if oddColumns[row.column] {
		shown = nil
	}
	if value, there := got[row.column]; !there || value != shown {
		t.Errorf("%s is shown as %v, want %v", row.column, value, shown)
	}
	told := 0
	for _, w := range got["warnungen"].([]any) {
		if strings.HasPrefix(w.(string), row.column+" holds "+strings.TrimSuffix(row.value, " BC")) {
			told++
		}
	}
	if told != 1 {
		t.Errorf("warnings %q, want one of %s", got["warnungen"], row.column)
	}
}
