package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sperrd/internal/config"
	"sperrd/internal/postgres"
	"sperrd/internal/werktag"
)

// What cannot be had from a real neighbour in a test: other clocks, zone data, versions and
// ages.
func TestCheck_judges(t *testing.T) {
	t.Parallel()
	skew := func(d time.Duration) func(*findings) { return func(f *findings) { f.skew(d) } }
	year := func(y int) func(*findings) {
		return func(f *findings) { f.calendar(&config.Config{}, time.Date(y, time.June, 1, 0, 0, 0, 0, time.UTC)) }
	}
	version := func(s postgres.Status) func(*findings) { return func(f *findings) { f.version(s) } }
	server := func(s postgres.Server) func(*findings) {
		return func(f *findings) { (&database{findings: f, config: &config.Config{}}).serverKind(s) }
	}
	held := func(age time.Duration, reads bool) func(*findings) {
		return func(f *findings) {
			f.oldestSnapshot(postgres.Snapshot{Age: age, Holder: "session 7 (report)", End: "SELECT pg_terminate_backend(7)"}, postgres.Server{Role: "r", ReadStats: reads})
		}
	}
	table := func(live, dead int64) func(*findings) {
		return func(f *findings) {
			var tables []postgres.Table
			for name := range privileges {
				tables = append(tables, postgres.Table{Name: name, Triggers: triggers[name]})
			}
			tables[0].Live, tables[0].Dead = live, dead
			f.upkeep(tables)
		}
	}
	pool := func(available int) func(*findings) {
		return func(f *findings) {
			c := &config.Config{Database: config.Database{PoolSize: 10}}
			(&database{findings: f, config: c}).connections(postgres.Server{Available: available})
		}
	}
	for _, c := range []struct {
		want  string // level, what, a part of the text and one of what to do
		judge func(*findings)
	}{
		{"ok clock||", skew(2 * time.Second)},
		{"warn clock||NTP", skew(2*time.Second + 1)},
		{"warn clock||NTP", skew(-30 * time.Second)},
		{"fail clock||NTP", skew(-30*time.Second - 1)},
		{"ok calendar||", year(2033)},
		{"warn calendar||newer version", year(2034)},
		{"warn calendar||newer version", year(2035)},
		{"fail calendar||newer version", year(2036)},
		{"ok schema||", version(postgres.Status{Version: 4, Newest: 4})},
		{"warn schema||0004_x.up.sql", version(postgres.Status{Version: 3, Newest: 4, Pending: []string{"0004_x.up.sql"}})},
		{"warn schema||serves it", version(postgres.Status{Version: 5, Newest: 4})},
		{"fail schema|dirty|migrate up", version(postgres.Status{Version: 4, Newest: 4, Dirty: true})},
		{"ok database|PostgreSQL 15.3|", server(postgres.Server{Version: "15.3", Major: 15, Encoding: "UTF8"})},
		{"fail database|too old|15 or newer", server(postgres.Server{Version: "14.9", Major: 14, Encoding: "UTF8"})},
		{"fail database|standby|the primary", server(postgres.Server{Major: 15, Encoding: "UTF8", Standby: true, ReadOnly: true})},
		{"ok snapshot|10m0s|", held(10*time.Minute, true)},
		{"ok snapshot|as far as the role r may see|GRANT pg_read_all_stats", held(time.Minute, false)},
		{"warn snapshot|session 7 (report)|SELECT pg_terminate_backend(7)", held(10*time.Minute+1, true)},
		{"ok tables||", table(100_001, 100_001)},
		{"ok tables||", table(0, 100_000)},
		{"warn tables|100001 removed rows beside 7|VACUUM (ANALYZE)", table(7, 100_001)},
		{"ok connections||", pool(11)},
		{"warn connections||pool_size", pool(10)},
		{"ok zone||", func(f *findings) { f.zone(werktag.Berlin()) }},
		{"fail zone|UTC|another build", func(f *findings) { f.zone(time.UTC) }},
	} {
		var f findings
		c.judge(&f)
		parts := strings.Split(c.want, "|")
		if len(f.list) != 1 || f.list[0].Level+" "+f.list[0].What != parts[0] ||
			!strings.Contains(f.list[0].Text, parts[1]) || !strings.Contains(f.list[0].Todo, parts[2]) {
			t.Errorf("%+v; want %s", f.list, c.want)
		}
	}
}

func TestCheck_database_with_other_zone_data_is_told(t *testing.T) {
	t.Parallel()
	samples := zoneSamples(2026, 2026)
	right := make([]time.Duration, len(samples))
	for i, at := range samples {
		_, seconds := at.In(werktag.Berlin()).Zone()
		right[i] = time.Duration(seconds) * time.Second
	}
	for i := range samples {
		var f findings
		f.sameZone(samples, right)
		wrong := append([]time.Duration(nil), right...)
		wrong[i] += time.Hour
		f.sameZone(samples, wrong)
		if f.list[0].Level != levelOK || f.list[1].Level != levelWarn || !strings.Contains(f.list[1].Text, samples[i].Format(time.RFC3339)) {
			t.Errorf("%s: %+v", samples[i], f.list)
		}
	}
	var changes []string
	for _, at := range samples {
		changes = append(changes, at.Format(time.RFC3339))
	}
	want := []string{
		"2026-01-01T12:00:00Z", "2026-07-01T12:00:00Z", "2026-03-29T00:59:59Z", "2026-03-29T01:00:00Z",
		"2026-10-25T00:59:59Z", "2026-10-25T01:00:00Z",
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}

func TestCheck_extra_holidays_are_counted_and_those_without_effect_told(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.June, 1, 0, 0, 0, 0, time.UTC)
	day := werktag.NewDate
	for _, c := range []struct {
		days []werktag.Date
		want []string
	}{
		{nil, []string{"ok"}},
		{[]werktag.Date{day(2026, 12, 28)}, []string{"ok, and 1 extra holiday"}},
		{[]werktag.Date{day(2025, 12, 29), day(2026, 12, 28)}, []string{"ok, and 2 extra holidays, 1 in the past"}},
		{[]werktag.Date{day(2026, 12, 27)}, []string{"ok, and 1 extra holiday", "warnfrist.extra_holidays: 2026-12-27 is no Werktag anyway: Sonntag"}},
	} {
		var f findings
		f.calendar(&config.Config{Frist: config.Frist{ExtraHolidays: c.days}}, now)
		var got []string
		for _, finding := range f.list {
			got = append(got, finding.Level+strings.TrimPrefix(finding.Text, "BDEW-Werktage until the end of 2035"))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.days, diff)
		}
	}
}
