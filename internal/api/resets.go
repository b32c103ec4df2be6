package api

import (
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"sperrd/internal/sperr"
	"sperrd/internal/transaction"
	"sperrd/internal/werktag"
)

const resetsPath = ordersPath + "/iftsta/reset"

// resets is the answer to a reset of many outcomes.
type resets struct {
	DryRun bool         `json:"dry_run"`
	Count  int          `json:"count"`
	Orders []resetOrder `json:"orders"`
	Next   *uuid.UUID   `json:"next"` // where to go on: after; null: there are no more
}

type resetOrder struct {
	ID        uuid.UUID    `json:"id"`
	MaloID    string       `json:"malo_id"`
	ProcessID *string      `json:"process_id"`
	Status    sperr.Status `json:"status"`
}

// resetsBody is the body of a reset of many.
type resetsBody struct {
	Stuck       bool       `json:"stuck"`
	Code        string     `json:"code"`
	LieferantID string     `json:"lf_mp_id"`
	MaloID      string     `json:"malo_id"`
	OrderType   sperr.Type `json:"order_type"`
	FaelligBis  *string    `json:"faellig_bis"`
	After       *string    `json:"after"`
	Limit       *int       `json:"limit"`
	Reason      string     `json:"reason"`
}

// request is what the body asks for. What it chooses is the service's to judge.
func (b resetsBody) request() (sperr.ResetRequest, error) {
	request := sperr.ResetRequest{Limit: sperr.MaxResets, Reason: b.Reason, Filter: sperr.IFTSTAFilter{
		Stuck: b.Stuck, Code: b.Code, LieferantID: b.LieferantID, MaloID: b.MaloID, OrderType: b.OrderType,
	}}
	invalid := &sperr.ValidationError{Subject: sperr.SubjectReport}
	fault := func(field, reason string) {
		invalid.Fields = append(invalid.Fields, sperr.FieldError{Field: field, Reason: reason})
	}
	if b.FaelligBis != nil {
		day, err := werktag.ParseDate(*b.FaelligBis)
		if err != nil {
			fault("faellig_bis", "must be a day, written YYYY-MM-DD")
		}
		request.Filter.FaelligBis = &day
	}
	if b.After != nil {
		id, ok := parseUUID(*b.After)
		if !ok {
			fault("after", "must be the next of an earlier answer")
		}
		request.After = id
	}
	if b.Limit != nil {
		request.Limit = *b.Limit
		if request.Limit < 1 || request.Limit > sperr.MaxResets {
			fault("limit", fmt.Sprintf("must be 1 to %d", sperr.MaxResets))
		}
	}
	if len(invalid.Fields) > 0 {
		return sperr.ResetRequest{}, invalid
	}
	return request, nil
}

// readResets reads which outcomes are sent again.
func (s *server) readResets(r *http.Request) (change, error) {
	p, err := readParameters(r, parameterDryRun)
	if err != nil {
		return change{}, err
	}
	dryRun, err := p.dryRun()
	if err != nil {
		return change{}, err
	}
	if dryRun {
		noteDryRun(r)
	}
	var body resetsBody
	raw, err := s.decode(r, &body)
	if err != nil {
		return change{}, err
	}
	request, err := body.request()
	if err != nil {
		return change{}, err
	}
	c := change{
		body: raw,
		answer: func(result sperr.Result) (transaction.Answer, error) {
			return newAnswer(http.StatusOK, "application/json", resetsOf(result.Reset, false, request.Limit))
		},
		do: func(ctx context.Context, call sperr.Call) (sperr.Result, error) {
			return s.Service.ResetSome(ctx, call, request)
		},
	}
	if dryRun {
		c.preview = func(ctx context.Context) (transaction.Answer, error) { return s.previewResets(ctx, request) }
	}
	return c, nil
}

func (s *server) previewResets(ctx context.Context, request sperr.ResetRequest) (transaction.Answer, error) {
	if err := request.Check(); err != nil {
		return transaction.Answer{}, err
	}
	orders, err := s.Repository.Resettable(ctx, request.Filter, request.After, request.Limit)
	if err != nil {
		return transaction.Answer{}, err
	}
	return newAnswer(http.StatusOK, "application/json", resetsOf(orders, true, request.Limit))
}

func resetsOf(orders []sperr.Order, dryRun bool, limit int) resets {
	r := resets{DryRun: dryRun, Count: len(orders), Orders: []resetOrder{}}
	for _, o := range orders {
		r.Orders = append(r.Orders, resetOrder{ID: o.ID, MaloID: o.MaloID, ProcessID: o.ProcessID, Status: o.Status})
	}
	if len(orders) == limit {
		r.Next = &orders[limit-1].ID
	}
	return r
}
