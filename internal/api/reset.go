package api

import "net/http"

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
