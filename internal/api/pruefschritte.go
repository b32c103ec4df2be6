package api

import (
	"fmt"
	"net/http"

	"sperrd/internal/sperr"
	"sperrd/internal/werktag"
)

const pruefschrittePath = "/api/v1/pruefschritte"

// handlePruefschritte lists the codes that a field report may carry, for a form that lets
// its user pick one. A day before the first format version has none.
func (s *server) handlePruefschritte(w http.ResponseWriter, r *http.Request) error {
	p, err := readParameters(r, "order_type", "outcome", "datum")
	if err != nil {
		return err
	}
	orderType, outcome := sperr.Type(p["order_type"]), sperr.Status(p["outcome"])
	if orderType != "" && !orderType.Valid() {
		return fieldFault(errInvalidParameter, "order_type", fmt.Sprintf("must be %s or %s", sperr.TypeSperrung, sperr.TypeEntsperrung))
	}
	if outcome != "" && outcome != sperr.StatusExecuted && outcome != sperr.StatusFailed {
		return fieldFault(errInvalidParameter, "outcome", fmt.Sprintf("must be %s or %s", sperr.StatusExecuted, sperr.StatusFailed))
	}
	datum, err := p.datum()
	if err != nil {
		return err
	}
	day := werktag.BerlinDay(s.Now())
	if datum != nil {
		day = *datum
	}
	list, err := sperr.Pruefschritte(day, orderType, outcome)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, list)
}
