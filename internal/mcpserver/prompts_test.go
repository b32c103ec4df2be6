package mcpserver_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sperrd/internal/sperr"
)

func prompt(t *testing.T, session *mcp.ClientSession, name string) *mcp.GetPromptResult {
	t.Helper()
	result, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// playbook is the answer that a prompt puts into the assistant's mouth.
func playbook(t *testing.T, session *mcp.ClientSession, name string) string {
	t.Helper()
	return prompt(t, session, name).Messages[1].Content.(*mcp.TextContent).Text
}

func TestPrompts_are_a_question_and_its_playbook(t *testing.T) {
	t.Parallel()
	session := connect(t, newBench(t).url)
	for _, name := range []string{"execute-sperrung", "iftsta-sweep"} {
		messages := prompt(t, session, name).Messages
		if len(messages) != 2 || messages[0].Role != "user" || messages[1].Role != "assistant" {
			t.Errorf("%s: messages %v, want a user's and an assistant's", name, messages)
		}
	}
}

// texts is everything that the surface tells a model.
func texts(t *testing.T, session *mcp.ClientSession) string {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprint(session.InitializeResult().Instructions, call(t, session, "list_due_orders", nil)["note"])
	for _, tool := range list.Tools {
		all += fmt.Sprint(tool.Description, tool.InputSchema, tool.OutputSchema)
	}
	return all + playbook(t, session, "execute-sperrung") + playbook(t, session, "iftsta-sweep")
}

func TestTexts_name_the_Fristen_that_hold(t *testing.T) {
	t.Parallel()
	session := connect(t, newBench(t).url)
	all := texts(t, session)
	wrong := regexp.MustCompile(`(?i)\b(2|two|zwei|2nd|second)\.? (WT|Werktag)|no (Werktag )?window|(sets|fixes|names|knows) no (Frist|window|deadline)|keine Frist`)
	if found := wrong.FindString(all); found != "" {
		t.Errorf("a text says %q", found)
	}
	for _, want := range []string{
		"6th Werktag after the earliest Sperrtermin", "1st Werktag after the Abschluss", "§ 3.5.1.2 Nr. 1", "§ 3.5.1.2 Nr. 5", "unverzueglich",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no text says %q", want)
		}
	}
}

// reportRow is a row of the table of codes in the playbook.
type reportRow struct {
	orderType  sperr.Type
	report     string
	code       string
	endgueltig bool
	afterwards sperr.Status
}

var tableRow = regexp.MustCompile(`(?m)^\| (sperrung|entsperrung) \| (execute|fail) \| (A\d\d) \| [^|]+ \| (executed|failed|pending)([^|]*) \|$`)

func reportRows(t *testing.T, playbook string) []reportRow {
	t.Helper()
	var rows []reportRow
	for _, match := range tableRow.FindAllStringSubmatch(playbook, -1) {
		rows = append(rows, reportRow{
			orderType: sperr.Type(match[1]), report: match[2], code: match[3],
			afterwards: sperr.Status(match[4]), endgueltig: strings.Contains(match[5], "endgueltig"),
		})
	}
	return rows
}

// report makes the report of a row on a fresh order of the market.
func (b *bench) report(t *testing.T, r reportRow) (sperr.Status, error) {
	t.Helper()
	pid := 17115
	if r.orderType == sperr.TypeEntsperrung {
		pid = 17117
	}
	order := b.market(t, pid, malo, nil)
	var report sperr.Result
	var err error
	if r.report == "execute" {
		report, err = b.service.Execute(t.Context(), sperr.Call{Actor: "team"}, order.ID, sperr.ExecuteReport{PruefschrittCode: &r.code})
	} else {
		report, err = b.service.Fail(t.Context(), sperr.Call{Actor: "team"}, order.ID, sperr.FailReport{Reason: "Befund", PruefschrittCode: &r.code, Endgueltig: r.endgueltig})
	}
	return report.Order.Status, err
}

func TestExecuteSperrung_names_exactly_the_codes_that_the_service_takes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rows := reportRows(t, playbook(t, connect(t, b.url), "execute-sperrung"))
	if len(rows) != 10 {
		t.Fatalf("%d rows, want 10: %v", len(rows), rows)
	}
	for _, orderType := range []sperr.Type{sperr.TypeSperrung, sperr.TypeEntsperrung} {
		for _, report := range []string{"execute", "fail"} {
			for i := range 10 {
				code := fmt.Sprintf("A%02d", i)
				named := slices.IndexFunc(rows, func(r reportRow) bool {
					return r.orderType == orderType && r.report == report && r.code == code
				})
				if named >= 0 {
					if status, err := b.report(t, rows[named]); err != nil || status != rows[named].afterwards {
						t.Errorf("%+v: status %s, error %v", rows[named], status, err)
					}
					continue
				}
				var invalid *sperr.ValidationError
				if _, err := b.report(t, reportRow{orderType: orderType, report: report, code: code}); !errors.As(err, &invalid) {
					t.Errorf("%s of a %s with %s is taken (%v), but the playbook does not name it", report, orderType, code, err)
				}
			}
		}
	}
}

// identifier is the name of a tool, a field or a code in a playbook.
var identifier = regexp.MustCompile("`([a-z]+_[a-z_]+)`")

func TestPlaybooks_name_only_tools_fields_and_codes_that_exist(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := connect(t, b.url)
	known := []string{
		"nothing_to_reset", "connection_lost", "undecodable_answer", // codes of REST and of makod
		"ist_fixtermin", "soll_am", // of the rows of list_due_orders
		"makod_api_key",          // of the configuration
		"versuch_am", "order_id", // of the fail body and of events
	}
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		known = append(known, tool.Name)
		for name := range tool.OutputSchema.(map[string]any)["properties"].(map[string]any) {
			known = append(known, name)
		}
	}
	for _, name := range []string{"execute-sperrung", "iftsta-sweep"} {
		for _, match := range identifier.FindAllStringSubmatch(playbook(t, session, name), -1) {
			if !slices.Contains(known, match[1]) {
				t.Errorf("%s names %s, which is no tool and no field", name, match[1])
			}
		}
	}
}
