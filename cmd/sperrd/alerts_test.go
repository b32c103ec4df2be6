package main

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/goccy/go-yaml"

	"sperrd/internal/outbox/erptest"
	"sperrd/internal/postgres/postgrestest"
)

// exposed are the series of a serving process: the labels of each by its name.
func exposed(t *testing.T) map[string][]string {
	t.Helper()
	m := newMarket(t)
	erp := erptest.New(erptest.Options{Secret: erpSecret})
	s := setup{port: freePort(t), database: postgrestest.NewURL(t), makod: m.url, erp: erp.Start(t)}
	i := start(t, s)
	i.awaitReady(t)
	m.order(t, i, maloID(1))
	status, body, err := i.get(t, "/metrics")
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET /metrics: %d, %v", status, err)
	}
	series := map[string][]string{"up": nil}
	label := regexp.MustCompile(`([a-z_]+)="`)
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		name, labels, _ := strings.Cut(name+" "+rest, "{")
		name, _, _ = strings.Cut(name, " ")
		for _, found := range label.FindAllStringSubmatch(labels, -1) {
			if !slices.Contains(series[name], found[1]) {
				series[name] = append(series[name], found[1])
			}
		}
		series[name] = append(series[name], "job", "instance") // which Prometheus adds
	}
	return series
}

// wantAnswerable fails unless every metric and label of an expression is exposed. It
// returns the names of the metrics.
func wantAnswerable(t *testing.T, where, expr string, series map[string][]string) (names []string) {
	t.Helper()
	parsed, err := metricsql.Parse(expr)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return nil
	}
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		metric, ok := e.(*metricsql.MetricExpr)
		if !ok {
			return
		}
		for _, filters := range metric.LabelFilterss {
			name := filters[0].Value
			labels, known := series[name]
			if !known {
				t.Errorf("%s: there is no metric %s", where, name)
			}
			names = append(names, name)
			for _, filter := range filters[1:] {
				if !slices.Contains(labels, filter.Label) && name != "up" {
					t.Errorf("%s: %s has no label %s", where, name, filter.Label)
				}
			}
		}
	})
	if len(names) == 0 {
		t.Errorf("%s: asks for no metric", where)
	}
	return names
}

type alertRule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func alertRules(t *testing.T) []alertRule {
	t.Helper()
	text, err := os.ReadFile("../../docs/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []alertRule
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil || len(file.Groups) != 1 {
		t.Fatalf("docs/alerts.yml: %d groups, %v", len(file.Groups), err)
	}
	return file.Groups[0].Rules
}

// dashboardQueries are the expressions of the dashboard by the title of their panel.
func dashboardQueries(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Title         string
		SchemaVersion int
		Panels        []struct {
			ID          int
			Title, Type string
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil || board.Title == "" || board.SchemaVersion == 0 {
		t.Fatalf("docs/dashboard.json: %q, %v", board.Title, err)
	}
	queries, ids := map[string][]string{}, map[int]bool{}
	for _, panel := range board.Panels {
		if ids[panel.ID] {
			t.Errorf("panel %d is there twice", panel.ID)
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			queries[panel.Title] = append(queries[panel.Title], strings.ReplaceAll(target.Expr, "$job", "sperrd"))
		}
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("panel %q shows nothing", panel.Title)
		}
	}
	return queries
}

func TestAlerts_and_dashboard_ask_for_what_a_serving_process_shows(t *testing.T) {
	t.Parallel()
	series := exposed(t)
	asked := map[string]bool{}
	for _, rule := range alertRules(t) {
		for _, name := range wantAnswerable(t, rule.Alert, rule.Expr, series) {
			asked[name] = true
		}
	}
	for title, queries := range dashboardQueries(t) {
		for _, expr := range queries {
			for _, name := range wantAnswerable(t, title, expr, series) {
				asked[name] = true
			}
		}
	}
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for name := range series {
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if !strings.HasPrefix(name, "sperrd_") {
			continue
		}
		if !strings.Contains(string(guide), "`"+base+"`") && !strings.Contains(string(guide), "`"+base+"{") {
			t.Errorf("docs/operations.md does not explain %s", base)
		}
		if base == name && !asked[name] {
			t.Errorf("neither an alert nor the dashboard shows %s", name)
		}
	}
}

func TestAlerts_lead_to_their_section_of_the_runbook(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := alertRules(t)
	if len(rules) < 15 {
		t.Errorf("%d alerts", len(rules))
	}
	for _, rule := range rules {
		_, section, found := strings.Cut(string(guide), "\n### "+rule.Alert+"\n")
		section, _, _ = strings.Cut(section, "\n#")
		if !found || len(strings.TrimSpace(section)) < 80 {
			t.Errorf("docs/operations.md has no section %s that says what to do", rule.Alert)
		}
		if rule.Annotations["runbook_url"] != "docs/operations.md#"+strings.ToLower(rule.Alert) {
			t.Errorf("%s leads to %s", rule.Alert, rule.Annotations["runbook_url"])
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" || !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) {
			t.Errorf("%s: labels %v, annotations %v", rule.Alert, rule.Labels, rule.Annotations)
		}
	}
}
