package api

import (
	"fmt"
	"net/http"

	"sperrd/internal/sperr"
	"sperrd/internal/werktag"
)

// handleVorlauffrist makes one report at a time: a month can have many orders, and each
// report may hold a connection for seconds.
func (s *server) handleVorlauffrist(w http.ResponseWriter, r *http.Request) error {
	p, err := readParameters(r, "monat", "lf_mp_id")
	if err != nil {
		return err
	}
	monat, ok := sperr.ParseMonat(p["monat"])
	if !ok {
		return fieldFault(errInvalidParameter, "monat", fmt.Sprintf("must be a month YYYY-MM of the years %d to %d", werktag.FirstYear, werktag.LastYear))
	}
	lieferantID, given := p["lf_mp_id"]
	if given && !sperr.ValidMPIDShape(lieferantID) {
		return fieldFault(errInvalidParameter, "lf_mp_id", "must be thirteen digits")
	}
	end, err := s.reports.take(r.Context())
	if err != nil {
		return err
	}
	defer end()
	ctx, cancel := bounded(r)
	defer cancel()
	report, err := s.Repository.Vorlauffrist(ctx, s.Service.Calendar, monat, lieferantID)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, report)
}
