package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"sperrd/internal/sperr"
	"sperrd/internal/transaction"
	"sperrd/internal/werktag"
)

// parameterDryRun asks a route that changes something what it would do.
const parameterDryRun = "dry_run"

// wantsDryRun reports whether a request asks for a dry run. A route that has none refuses
// the parameter.
func wantsDryRun(r *http.Request) bool {
	values, err := url.ParseQuery(r.URL.RawQuery)
	return err == nil && slices.Equal(values[parameterDryRun], []string{"true"})
}

// dryRun reads the parameter.
func (p parameters) dryRun() (bool, error) {
	switch p[parameterDryRun] {
	case "", "false":
		return false, nil
	case "true":
		return true, nil
	}
	return false, fieldFault(errInvalidParameter, parameterDryRun, "must be true or false")
}

// reportOn reads on which order a field report is, and whether it is a dry run, which the
// line of the request then says.
func reportOn(r *http.Request) (id uuid.UUID, dryRun bool, err error) {
	if id, err = pathUUID(r); err != nil {
		return uuid.Nil, false, err
	}
	p, err := readParameters(r, parameterDryRun)
	if err != nil {
		return uuid.Nil, false, err
	}
	if dryRun, err = p.dryRun(); err != nil {
		return uuid.Nil, false, err
	}
	noteOrder(r, id)
	if dryRun {
		noteDryRun(r)
	}
	return id, dryRun, nil
}

// noteDryRun says in the line of the request that it changes nothing.
func noteDryRun(r *http.Request) {
	e := entryOf(r.Context())
	e.dryRun = true
	e.add(slog.Bool(parameterDryRun, true))
}

// servePreview answers what a change would do. It reads, as any GET does.
func servePreview(w http.ResponseWriter, r *http.Request, c change) error {
	ctx, cancel := bounded(r)
	defer cancel()
	answer, err := c.preview(ctx)
	if err != nil {
		return err
	}
	writeAnswer(w, answer)
	return nil
}

// dryRunReport is the answer to a dry run of a field report. Where the report is not
// acceptable, errors and fitting_codes are those of the 422 that it would get.
type dryRunReport struct {
	DryRun               bool               `json:"dry_run"`
	Acceptable           bool               `json:"acceptable"`
	Errors               []sperr.FieldError `json:"errors"`
	FittingCodes         []string           `json:"fitting_codes,omitempty"`
	Status               *sperr.Status      `json:"status"`
	Sperrversuche        *int               `json:"sperrversuche"`
	PruefschrittCode     *string            `json:"pruefschritt_code"`
	IFTSTAGeschuldet     bool               `json:"iftsta_geschuldet"`
	IFTSTAFaelligAm      *werktag.Date      `json:"iftsta_faellig_am"`
	AusfuehrungFaelligAm *werktag.Date      `json:"ausfuehrung_faellig_am"`
	Command              *dryRunCommand     `json:"command"`
	Warnungen            []string           `json:"warnungen"`
	Advice               *string            `json:"advice"`
}

// dryRunCommand is what would go to makod; the ids of an attempt are drawn when it is made.
type dryRunCommand struct {
	Name           string         `json:"name"`
	IdempotencyKey string         `json:"idempotency_key"`
	Marktrolle     string         `json:"marktrolle"`
	Payload        jsontext.Value `json:"payload"`
}

// previewed is the change of a report that is only asked about.
func previewed(preview func(context.Context) (sperr.Preview, error)) change {
	return change{preview: func(ctx context.Context) (transaction.Answer, error) {
		p, err := preview(ctx)
		if err != nil {
			return transaction.Answer{}, err
		}
		report, err := dryRunOf(p)
		if err != nil {
			return transaction.Answer{}, err
		}
		return newAnswer(http.StatusOK, "application/json", report)
	}}
}

func dryRunOf(p sperr.Preview) (dryRunReport, error) {
	report := dryRunReport{DryRun: true, Errors: []sperr.FieldError{}, Warnungen: []string{}, AusfuehrungFaelligAm: p.Order.AusfuehrungFaelligAm}
	if p.Invalid != nil {
		report.Errors, report.FittingCodes = p.Invalid.Fields, p.Invalid.FittingCodes
		return report, nil
	}
	report.Acceptable = true
	report.Status, report.Sperrversuche, report.PruefschrittCode = &p.Order.Status, &p.Order.Sperrversuche, p.PruefschrittCode
	report.Warnungen = append(report.Warnungen, p.Warnungen...)
	if p.Advice != "" {
		report.Advice = &p.Advice
	}
	if p.Command == nil {
		return report, nil
	}
	payload, err := p.Command.EncodePayload()
	if err != nil {
		return dryRunReport{}, err
	}
	report.IFTSTAGeschuldet, report.IFTSTAFaelligAm = true, p.Order.IFTSTAFaelligAm
	report.Command = &dryRunCommand{
		Name: p.Command.Name, IdempotencyKey: p.Command.IdempotencyKey, Marktrolle: p.Command.Marktrolle, Payload: payload,
	}
	return report, nil
}
