package api_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// drawnReport is a random report on a random order.
type drawnReport struct {
	PID       int // 0: an operator's order
	OrderType string
	Visits    int // in vain, before it
	Verb      string
	Body      map[string]any
}

func drawReport(draw *rand.Rand) drawnReport {
	d := drawnReport{
		PID: []int{17115, 17115, 17117, 0}[draw.IntN(4)], OrderType: []string{"sperrung", "entsperrung"}[draw.IntN(2)],
		Visits: draw.IntN(2), Verb: []string{"execute", "fail"}[draw.IntN(2)], Body: map[string]any{},
	}
	maybe := func(name string, good int, values ...any) { // the first ones are good, and drawn half the time
		switch draw.IntN(4) {
		case 0, 1:
			d.Body[name] = values[draw.IntN(good)]
		case 2:
			d.Body[name] = values[draw.IntN(len(values))]
		}
	}
	texts := []any{"Siegel 4711", "zu & <weg>\u2028 €", "niemand angetroffen ", "Łódź", "  \t", "a\x00b"}
	times := []any{
		"2026-09-03T09:45:59.999999999+02:00", "2026-09-03T08:00:20Z", "2026-06-01T00:30:00+02:00", "2026-09-02T22:30:00Z",
		"2026-09-03T08:01:00Z", "2026-09-03", "0001-01-01T00:00:00Z", "1999-12-31T23:59:59Z",
	}
	if d.Verb == "execute" {
		maybe("pruefschritt_code", 1, map[bool]any{true: "A01", false: "A07"}[d.PID == 17117], "A01", "A07", "A08", "A99", "")
		maybe("note", 4, texts...)
		maybe("executed_at", 4, times...)
		return d
	}
	maybe("pruefschritt_code", 5, "A01", "A02", "A04", "A08", "A02", "A03", "A05", "A06", "A07", "A99", "")
	maybe("reason", 4, texts...)
	maybe("versuch_am", 4, times...)
	maybe("endgueltig", 1, false, true)
	return d
}

// reportedOrder is what a report leaves on its order.
type reportedOrder struct {
	Status               *string  `json:"status"`
	Sperrversuche        *int     `json:"sperrversuche"`
	PruefschrittCode     *string  `json:"pruefschritt_code"`
	IFTSTAFaelligAm      *string  `json:"iftsta_faellig_am"`
	AusfuehrungFaelligAm *string  `json:"ausfuehrung_faellig_am"`
	Warnungen            []string `json:"warnungen"`
}

func TestDryRun_foretells_every_report(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]*bench{"refuse": newBench(t), "warn": newLenient(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			draw, reached := rand.New(rand.NewPCG(seed, 0)), map[string]int{}
			for n := range 120 {
				d := drawReport(draw)
				reached[b.foretold(t, d, maloOf(n))]++
				if t.Failed() {
					t.Fatalf("seed %d, report %d: %+v", seed, n, d)
				}
			}
			for _, kind := range []string{"refused", "pending", "executed", "failed"} {
				if reached[kind] == 0 {
					t.Errorf("seed %d: no report was %s: %v", seed, kind, reached)
				}
			}
		})
	}
}

// foretold previews a report on a fresh order, makes it, and compares. It returns what
// became of the report.
func (b *bench) foretold(t *testing.T, d drawnReport, maloID string) string {
	t.Helper()
	var id string
	if d.PID != 0 {
		id = b.market(t, d.PID, maloID).ID
	} else {
		id = b.create(t, `{"malo_id":"`+maloID+`","lf_mp_id":"`+lf+`","order_type":"`+d.OrderType+`"}`).ID
	}
	for range d.Visits {
		wantStatus(t, b.report(t, id, "fail", `{"reason":"zu"}`), http.StatusAccepted)
	}
	body, err := json.Marshal(d.Body)
	if err != nil {
		t.Fatal(err)
	}
	before := decode[reportedOrder](t, b.get(t, orders+"/"+id), http.StatusOK)
	commands := len(b.makod.Requests())
	shown := decode[dryRun](t, b.preview(t, id, d.Verb, string(body)), http.StatusOK)
	made := b.report(t, id, d.Verb, string(body))
	if shown.Acceptable != (made.status != http.StatusUnprocessableEntity) || !shown.DryRun {
		t.Errorf("acceptable %t, and the report: %d %s", shown.Acceptable, made.status, made.body)
		return ""
	}
	if !shown.Acceptable {
		if diff := cmp.Diff(decode[refusal](t, made, http.StatusUnprocessableEntity), shown.refusal); diff != "" {
			t.Errorf("refused for (-report +dry run):\n%s", diff)
		}
		return "refused"
	}
	after := decode[reportedOrder](t, b.get(t, orders+"/"+id), http.StatusOK)
	b.wantForetold(t, shown, before, after)
	b.wantCommand(t, shown.Command, commands)
	return *after.Status
}

func (b *bench) wantForetold(t *testing.T, shown dryRun, before, after reportedOrder) {
	t.Helper()
	foretold := reportedOrder{
		shown.Status, shown.Sperrversuche, shown.PruefschrittCode, shown.IFTSTAFaelligAm, shown.AusfuehrungFaelligAm,
		append(before.Warnungen, shown.Warnungen...),
	}
	if *after.Status == "pending" { // the code of a first visit stands in its history alone
		foretold.PruefschrittCode = nil
	}
	if diff := cmp.Diff(after, foretold); diff != "" {
		t.Errorf("the order (-after the report +foretold):\n%s", diff)
	}
	if shown.IFTSTAGeschuldet != (shown.Command != nil) || len(shown.Errors) != 0 || shown.FittingCodes != nil {
		t.Errorf("geschuldet %t, command %v, errors %v", shown.IFTSTAGeschuldet, shown.Command, shown.Errors)
	}
}

// wantCommand compares a foretold command with the one that came after so many others.
func (b *bench) wantCommand(t *testing.T, foretold *dryCommand, before int) {
	t.Helper()
	sent := b.makod.Requests()[before:]
	if foretold == nil || len(sent) != 1 {
		if foretold != nil || len(sent) != 0 {
			t.Errorf("foretold %v, sent %d commands", foretold, len(sent))
		}
		return
	}
	var body struct{ Command, Marktrolle string }
	if err := json.Unmarshal(sent[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	got := dryCommand{body.Command, sent[0].Key, body.Marktrolle, payloadOf(t, sent[0].Body)}
	if diff := cmp.Diff(got, *foretold); diff != "" {
		t.Errorf("the command (-sent +foretold):\n%s", diff)
	}
}
