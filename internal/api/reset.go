package api

import (
	"fmt"
	"net/http"
	"time"

	"sperrd/internal/sperr"
)

// handleResetIFTSTA begins a new cycle of attempts for an outcome that its Lieferant
// does not know yet.
func (s *server) handleResetIFTSTA(w http.ResponseWriter, r *http.Request) error {
	id, err := orderID(r)
	if err != nil {
		return err
	}
	var body struct {
		Reason string `json:"reason"`
	}
	if err := s.decodeOptional(r, &body); err != nil {
		return err
	}
	ctx, cancel := bounded(r)
	defer cancel()
	if err := s.Service.ResetIFTSTA(ctx, actor(r), id, body.Reason); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// nothingToReset says why no IFTSTA of the order is outstanding.
func nothingToReset(o sperr.Order) string {
	switch {
	case o.Status == sperr.StatusPending:
		return "The order is pending: it has no outcome to send yet."
	case o.Status == sperr.StatusCancelled:
		return "The order is cancelled: no IFTSTA follows."
	case !o.OwesIFTSTA():
		return "The order has no market process: nobody is owed an IFTSTA."
	case o.IFTSTADispatchedAt != nil:
		return fmt.Sprintf("makod has taken the IFTSTA of the order at %s.", o.IFTSTADispatchedAt.UTC().Format(time.RFC3339))
	default:
		return "No IFTSTA of the order is outstanding."
	}
}
