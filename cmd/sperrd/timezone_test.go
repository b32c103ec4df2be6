package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/postgres/postgrestest"
)

// fristen are the days of an order.
type fristen struct {
	AusfuehrungAm            string `json:"ausfuehrung_am"`
	AusfuehrungFaelligAm     string `json:"ausfuehrung_faellig_am"`
	VorlauffristSpaetesterUT string `json:"vorlauffrist_spaetester_ut"`
	VorlauffristEingehalten  *bool  `json:"vorlauffrist_eingehalten"`
	IFTSTAFaelligAm          string `json:"iftsta_faellig_am"`
}

// Where sperrd runs, and in which zone, must not move a day. Each instant of the test lies
// in the last two hours of a UTC day, which in Berlin are the next one already.
func TestServe_counts_Berlin_days_whatever_the_zone_of_machine_and_database(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env      []string
		database []string // settings
		start    func(t *testing.T, s setup, env ...string) *instance
	}{
		"UTC":               {[]string{"TZ=UTC"}, []string{"timezone = 'UTC'"}, startChild},
		"New York":          {[]string{"TZ=America/New_York"}, nil, startChild},
		"a zone of no file": {[]string{"TZ=Europe/Nowhere", "ZONEINFO=/nonexistent"}, nil, startChild},
		"database elsewhere": {
			[]string{"TZ=UTC"}, []string{"timezone = 'Pacific/Auckland'", "datestyle = 'German, DMY'", "intervalstyle = 'sql_standard'"}, startChild,
		},
		"all of it": {
			[]string{"TZ=America/New_York", "ZONEINFO=/nonexistent"}, []string{"timezone = 'Pacific/Auckland'", "datestyle = 'German, DMY'"}, startChild,
		},
		"an empty root": {[]string{"TZ=America/New_York", "ZONEINFO=/nonexistent"}, []string{"timezone = 'Pacific/Auckland'"}, startInEmptyRoot},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMarket(t)
			s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: m.url}
			for _, setting := range c.database {
				execSQL(t, s.database, "ALTER DATABASE "+databaseName(t, s.database)+" SET "+setting)
			}
			i := c.start(t, s, c.env...)
			i.awaitReady(t)
			wantFristen(t, m, i)
			wantIFTSTAFristen(t, m, i)
			wantWerktage(t, i)
		})
	}
}

// wantFristen takes one order from its arrival to its outcome.
func wantFristen(t *testing.T, m market, i *instance) {
	t.Helper()
	kept := false // received on 14 August, and not on the 13th as in UTC
	want := fristen{
		AusfuehrungAm: "2026-08-31", AusfuehrungFaelligAm: "2026-09-08",
		VorlauffristSpaetesterUT: "2026-08-13", VorlauffristEingehalten: &kept,
		IFTSTAFaelligAm: "2026-09-08", // done on Monday 7 September, and not on Sunday
	}
	id := m.queued(t, i, m.sperrauftrag(t, maloID(1), map[string]any{"ausfuehrung_am": "202608302200+00"}))
	if diff := cmp.Diff(want, i.executedAt(t, id, "2026-09-06T22:30:00Z")); diff != "" {
		t.Errorf("Fristen (-want +got):\n%s", diff)
	}
}

// wantIFTSTAFristen reports orders as carried out around midnight and before holidays: the
// Frist is the first Werktag after the day of the Abschluss.
func wantIFTSTAFristen(t *testing.T, m market, i *instance) {
	t.Helper()
	got := map[string]string{}
	want := map[string]string{
		"2026-08-30T21:30:00Z":      "2026-08-31", // Sunday 23:30
		"2026-08-30T22:30:00Z":      "2026-09-01", // Monday 00:30
		"2026-08-30T18:30:00-04:00": "2026-09-01", // the same instant
		"2026-03-28T23:30:00Z":      "2026-03-30", // Sunday 00:30, the day of 23 hours
		"2025-10-25T22:30:00Z":      "2025-10-27", // Sunday 00:30, the day of 25 hours
		"2025-06-05T12:00:00Z":      "2025-06-10", // 6 June 2025 is a holiday once, and 9 June is Whit Monday
		"2025-05-07T12:00:00Z":      "2025-05-09", // 8 May 2025 is a holiday in Berlin once
	}
	n := 1
	for executedAt := range want {
		n++
		got[executedAt] = i.executedAt(t, m.order(t, i, maloID(n)), executedAt).IFTSTAFaelligAm
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("iftsta_faellig_am by executed_at (-want +got):\n%s", diff)
	}
}

// wantWerktage counts six Werktage from a requested day.
func wantWerktage(t *testing.T, i *instance) {
	t.Helper()
	got := map[string]string{}
	want := map[string]string{
		"2026-03-27": "2026-04-08", "2026-10-23": "2026-11-02", // over the changes of the clocks
		"2026-12-22": "2027-01-05", "2026-12-23": "2027-01-07", // 24 and 31 December are none, nor is 6 January
		"2026-11-17": "2026-11-26", // Buss- und Bettag, of Saxony alone
		"2027-10-01": "2027-10-11", // a holiday on a Sunday moves nothing
		"2027-08-06": "2027-08-16", // that of Augsburg is none
		"2025-06-05": "2025-06-17", "2025-05-07": "2025-05-16",
	}
	for day := range want {
		status, body, err := i.call(t.Context(), http.MethodPost, ordersRoute, fmt.Sprintf(
			`{"malo_id":%q,"lf_mp_id":"9900012345678","order_type":"sperrung","fruehestens_am":%q}`, maloID(100+len(got)), day))
		var order fristen
		if err != nil || status != http.StatusCreated || json.Unmarshal([]byte(body), &order) != nil {
			t.Fatalf("create: %d %s %v; want 201", status, body, err)
		}
		got[day] = order.AusfuehrungFaelligAm
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ausfuehrung_faellig_am by fruehestens_am (-want +got):\n%s", diff)
	}
}

// executedAt reports an order as carried out at an instant and returns its days.
func (i *instance) executedAt(t *testing.T, id, at string) (days fristen) {
	t.Helper()
	status, body, err := i.call(t.Context(), http.MethodPut, executePath(id), fmt.Sprintf(`{"executed_at":%q}`, at))
	if err != nil || status != http.StatusNoContent {
		t.Fatalf("execute: %d %s %v; want 204", status, body, err)
	}
	if _, body, err = i.get(t, ordersRoute+"/"+id); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(body), &days); err != nil {
		t.Fatal(err)
	}
	return days
}

// startInEmptyRoot runs the static binary where no file is but itself and its
// configuration. Only root may change the root of a process: for anybody else the files of
// the machine stay where they are, and env alone says that there are no zones.
func startInEmptyRoot(t *testing.T, s setup, env ...string) *instance {
	t.Helper()
	_, s.database = databaseWire(t, s.database) // the socket of the test server is a file
	root := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", filepath.Join(root, "sperrd"), "sperrd/cmd/sperrd")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build sperrd: %v\n%s", err, output)
	}
	if err := os.WriteFile(filepath.Join(root, "sperrd.toml"), []byte(s.toml()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root, "sperrd"))
	cmd.Dir, cmd.Env, cmd.SysProcAttr = root, env, childAttributes()
	if os.Geteuid() == 0 {
		cmd.Path, cmd.Dir, cmd.SysProcAttr.Chroot = "/sperrd", "/", root
	}
	t.Logf("root %q, directory %q", cmd.SysProcAttr.Chroot, cmd.Dir)
	i := newInstance(s.port, func() { _ = cmd.Process.Signal(syscall.SIGTERM) })
	cmd.Stdout, cmd.Stderr = i.log, i.log
	i.start(t, cmd)
	t.Cleanup(func() {
		i.stop()
		i.awaitExit(t)
	})
	return i
}
