package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/postgres/postgrestest"
)

// fristTOML is a configuration that loads, with a Monday that is no Werktag, and no
// neighbour that anybody could reach.
func fristTOML(more string) string {
	return setup{port: 8780, database: "postgres://127.0.0.1:1/sperrd", makod: "http://127.0.0.1:1", more: more}.toml()
}

const extraMonday = "[frist]\nextra_holidays = [\"2026-12-28\", \"2026-12-25\"]\n"

func TestFrist_prints_a_line_a_day_with_its_number_or_the_reason(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := command(t, fristTOML(extraMonday), "frist", "--datum", "2026-12-23", "--art", "iftsta")
	want := `iftsta: 2026-12-29 Dienstag
  rule         1 WT nach dem Abschluss, GPKE Teil 2 § 3.5.1.2 Nr. 5 (Sperrung), § 3.5.2.2 Nr. 4 (Entsperrung)
  from         Abschluss, 2026-12-23 Mittwoch
  missed from  2026-12-30 00:00 in Berlin, 2026-12-29T23:00:00Z
  note         Unverzüglich geht vor; bis zu diesem Tag muss die IFTSTA 21039 beim LF eingegangen sein.
    2026-12-24  Donnerstag  Heiligabend (Marktregel)
    2026-12-25  Freitag     1. Weihnachtstag (alle Länder)
    2026-12-26  Samstag     Samstag; 2. Weihnachtstag (alle Länder)
    2026-12-27  Sonntag     Sonntag
    2026-12-28  Montag      Zusatzfeiertag (Konfiguration)
    2026-12-29  Dienstag    1. WT
`
	if diff := cmp.Diff(want, stdout); diff != "" || code != exitOK || stderr != "" {
		t.Errorf("exit code %d, %q (-want +got):\n%s", code, stderr, diff)
	}
}

func TestFrist_without_arguments_explains_all_from_today(t *testing.T) {
	t.Parallel()
	var out, log buffer
	code := run(t.Context(), process{
		args: []string{"frist"}, lookupEnv: lookup(map[string]string{"SPERRD_CONFIG": t.TempDir() + "/none.toml"}), stdout: &out, stderr: &log,
		now: func() time.Time { return time.Date(2026, time.August, 30, 22, 30, 0, 0, time.UTC) }, // Monday in Berlin
	})
	if code != exitOK || strings.Count(out.String(), "  rule ") != 8 || !strings.Contains(out.String(), "ausfuehrung: 2026-09-08 Dienstag\n") {
		t.Errorf("exit code %d:\n%s", code, out.String())
	}
	if lines := strings.Split(log.String(), "\n"); len(lines) != 2 || !strings.Contains(lines[0], "none.toml: counted on the built-in calendar") {
		t.Errorf("stderr %q; want one line that says on which calendar", log.String())
	}
}

func TestFrist_takes_no_other_file_than_the_one_that_is_named(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"missing": {"frist", "--config", t.TempDir() + "/none.toml"},
		"broken":  {"frist", "--config", writeConfig(t, fristTOML("[frist]\nextra_holidays = [\"2026-02-30\"]\n"))},
		"lacking": {"frist", "--config", writeConfig(t, with(fristTOML(""), "makod_api_key", `makod_api_key = "file:/nonexistent"`))},
	} {
		code, stdout, stderr := commandIn(t, nil, args...)
		if code != exitUsage || stdout != "" || stderr == "" {
			t.Errorf("%s: exit code %d, %q, %q; want 2", name, code, stdout, stderr)
		}
	}
	broken := writeConfig(t, "port = 0\n")
	if code, stdout, _ := commandIn(t, map[string]string{"SPERRD_CONFIG": broken}, "frist"); code != exitUsage || stdout != "" {
		t.Errorf("a broken file from the environment: exit code %d, %q; want 2", code, stdout)
	}
}

func TestFrist_mistakes_end_with_2(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--datum", ""},
		{"--datum", "infinity"},
		{"--datum", "2026-02-30"},
		{"--datum", "2018-12-31"},
		{"--datum", "9999-12-31"},
		{"--datum", "２０２６-08-31"},
		{"--datum", " 2026-08-31"},
		{"--art", ""},
		{"--art", "storno"},
		{"--order", ""},
		{"--order", "x"},
		{"--order", "urn:uuid:" + queueID(1)},
		{"--order", "{" + queueID(1) + "}"},
		{"--order", strings.ReplaceAll(queueID(1), "-", "")},
		{"--order", queueID(1), "--art", "iftsta"},
		{"extra"},
	} {
		code, stdout, stderr := command(t, fristTOML(""), append([]string{"frist"}, args...)...)
		if code != exitUsage || stdout != "" || !strings.HasPrefix(stderr, "sperrd: ") {
			t.Errorf("%q: exit code %d, %q, %q; want 2 and a word on stderr", args, code, stdout, stderr)
		}
	}
}

func TestFrist_of_an_order(t *testing.T) {
	t.Parallel()
	url := postgrestest.NewURL(t)
	execSQL(t, url,
		queuedOrder(1, columns{
			"status": "'pending'", "executed_at": "NULL", "fruehestens_am": "'2026-12-22'", "ausfuehrung_faellig_am": "'2027-01-05'",
			"vorlauffrist_spaetester_ut": "'2026-12-14'", "vorlauffrist_eingehalten": "true", "uebertragungstag": "'2026-12-10'",
		}),
		queuedOrder(2, columns{"tenant": "'9900000000001'"}),
	)
	toml := setup{port: 8780, database: url, makod: "http://127.0.0.1:1", more: extraMonday}.toml()
	code, stdout, stderr := command(t, toml, "frist", "--order", queueID(1), "--datum", "2027-01-06")
	if code != exitOK || stderr != "" {
		t.Fatalf("exit code %d, %q", code, stderr)
	}
	for _, want := range []string{
		"order: " + queueID(1) + ", sperrung, pending\n", "  visit on     2027-01-06 Mittwoch\n  in window    no\n",
		"ausfuehrung: 2027-01-07 Donnerstag\n", "  stored       2027-01-05 Dienstag\n  missed from  2027-01-06 00:00 in Berlin, 2027-01-05T23:00:00Z\n",
		"vorlauf: 2026-12-14 Montag\n", "  received     2026-12-10 Donnerstag\n  kept         yes\n", "\niftsta: 2027-01-07 Donnerstag\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
	for _, id := range []string{queueID(2), queueID(3)} {
		if code, stdout, stderr := command(t, toml, "frist", "--order", id); code != exitFailure || stdout != "" || !strings.Contains(stderr, "no such order") {
			t.Errorf("exit code %d, %q, %q; want 1 and that there is no such order", code, stdout, stderr)
		}
	}
}

// The configured holidays reach the service, and the command says what its routes say.
func TestFrist_as_JSON_is_the_answer_of_the_route(t *testing.T) {
	t.Parallel()
	m := newMarket(t)
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: m.url, more: extraMonday}
	i := start(t, s)
	i.awaitReady(t)
	id := m.queued(t, i, m.sperrauftrag(t, maloID(1), map[string]any{"fruehestens_am": "2026-12-22"}))
	for path, args := range map[string][]string{
		"/api/v1/fristen?datum=2026-12-23":                              {"--datum", "2026-12-23"},
		"/api/v1/fristen?datum=2026-12-22&art=ausfuehrung":              {"--datum", "2026-12-22", "--art", "ausfuehrung"},
		"/api/v1/sperr-orders/" + id + "/fristen":                       {"--order", id},
		"/api/v1/sperr-orders/" + id + "/fristen?" + "datum=2026-12-30": {"--order", id, "--datum", "2026-12-30"},
	} {
		status, body, err := i.get(t, path)
		if err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s %v", path, status, body, err)
		}
		code, stdout, stderr := command(t, s.toml(), append([]string{"frist", "--json"}, args...)...)
		if diff := cmp.Diff(body+"\n", stdout); diff != "" || code != exitOK || stderr != "" {
			t.Errorf("%s: exit code %d, %q (-route +command):\n%s", path, code, stderr, diff)
		}
	}
	if _, body, _ := i.get(t, "/api/v1/sperr-orders/"+id); !strings.Contains(body, `"ausfuehrung_faellig_am":"2027-01-07"`) {
		t.Errorf("the order was not counted on the configured calendar: %s", body)
	}
}
