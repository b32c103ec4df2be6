package api

import (
	"context"
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

// readResets reads which outcomes are sent again. What limit and after are against a rule
// is a fault of the body; a filter is the service's to judge.
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
	var body struct {
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
	raw, err := s.decode(r, &body)
	if err != nil {
		return change{}, err
	}
	request := sperr.ResetRequest{Limit: sperr.MaxResets, Reason: body.Reason, Filter: sperr.IFTSTAFilter{
		Stuck: body.Stuck, Code: body.Code, LieferantID: body.LieferantID, MaloID: body.MaloID, OrderType: body.OrderType,
	}}
	invalid := &sperr.ValidationError{Subject: sperr.SubjectReport}
	if body.FaelligBis != nil {
		day, err := werktag.ParseDate(*body.FaelligBis)
		if err != nil {
			invalid.Fields = append(invalid.Fields, sperr.FieldError{Field: "faellig_bis", Reason: "must be a day, written YYYY-MM-DD"})
		}
		request.Filter.FaelligBis = &day
	}
	if body.After != nil {
		id, ok := parseUUID(*body.After)
		if !ok {
			invalid.Fields = append(invalid.Fields, sperr.FieldError{Field: "after", Reason: "must be the next of an earlier answer"})
		}
		request.After = id
	}
	if body.Limit != nil {
		request.Limit = *body.Limit
		if request.Limit < 1 || request.Limit > sperr.MaxResets {
			invalid.Fields = append(invalid.Fields, sperr.FieldError{Field: "limit", Reason: "must be 1 to 500"})
		}
	}
	if len(invalid.Fields) > 0 {
		return change{}, invalid
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
