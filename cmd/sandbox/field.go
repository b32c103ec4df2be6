package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// theDispatcherPlansTheRoute takes the due list as a spreadsheet does.
func (s *story) theDispatcherPlansTheRoute(ctx context.Context) {
	s.chapter("The dispatcher takes the same list as CSV, sorted for a route")
	if s.done() {
		return
	}
	path := ordersPath + "?due=true"
	a, err := s.sperrd.doAccepting(ctx, "text/csv", request{method: http.MethodGet, path: path})
	s.try(err)
	s.answered("GET "+path+", Accept: text/csv", a)
	s.expect(a.status == http.StatusOK && strings.HasPrefix(a.header.Get("Content-Type"), "text/csv"), "the list comes as %v", a.header)
	lines, err := csv.NewReader(bytes.NewReader(a.body)).ReadAll()
	s.try(err)
	s.expect(len(lines) > 4, "the CSV has %d lines", len(lines))
	if s.done() {
		return
	}
	column := func(line []string, name string) string { return line[slices.Index(lines[0], name)] }
	shown := []string{"treffpunkt_plz", "treffpunkt_ort", "treffpunkt_strasse", "order_type", "ausfuehrung_am", "hinweis"}
	s.note("%s", strings.Join(shown, " | "))
	for i, line := range lines[1:] {
		plz := column(line, "treffpunkt_plz")
		s.expect(i == 0 || column(lines[i], "treffpunkt_plz") <= plz, "PLZ %s is not in its place", plz)
		if i < 4 {
			cells := make([]string, len(shown))
			for n, name := range shown {
				cells[n] = column(line, name)
			}
			s.note("%s", strings.Join(cells, " | "))
		}
	}
}

// dryRun is what a report would do.
type dryRun struct {
	Acceptable bool `json:"acceptable"`
	Errors     []struct {
		Field  string `json:"field"`
		Reason string `json:"reason"`
	} `json:"errors"`
	Status          *string `json:"status"`
	IFTSTAFaelligAm *string `json:"iftsta_faellig_am"`
	Command         *struct {
		Name    string          `json:"name"`
		Payload json.RawMessage `json:"payload"`
	} `json:"command"`
}

// theAppAsksFirst shows to the team what its report would say, and changes nothing.
func (s *story) theAppAsksFirst(ctx context.Context) {
	s.chapter("Before the report the app asks what it would do: a dry run")
	before := s.fetch(ctx, s.fixed.path("")).body
	good := s.preview(ctx, "/execute", fields{"note": "Sperrung am Zaehlerplatz, Siegel 4711"})
	s.expect(good.Acceptable && good.Status != nil && *good.Status == "executed" && good.Command != nil && good.IFTSTAFaelligAm != nil,
		"the report would not close the order: %+v", good)
	if !s.done() {
		s.note("it would be %s, and the Lieferant must know by %s", *good.Status, *good.IFTSTAFaelligAm)
		s.note("makod would get %s %s", good.Command.Name, strings.ReplaceAll(string(good.Command.Payload), `,"`, `, "`))
	}
	bad := s.preview(ctx, "/fail", fields{"reason": "", "endgueltig": true})
	s.expect(!bad.Acceptable && len(bad.Errors) == 2 && bad.Command == nil, "a report without code and reason would be taken: %+v", bad)
	for _, e := range bad.Errors {
		s.note("it lacks: %s %s", e.Field, e.Reason)
	}
	after := s.fetch(ctx, s.fixed.path("")).body
	s.expect(bytes.Equal(before, after), "asking has changed the order from %s to %s", before, after)
	s.lieferantKnowsNothing(s.fixed)
}

func (s *story) preview(ctx context.Context, part string, report fields) dryRun {
	return read[dryRun](s, s.ask(ctx, http.StatusOK, request{http.MethodPut, s.fixed.path(part) + "?dry_run=true", report, newIdentifiers()}))
}
