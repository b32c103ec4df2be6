package api

import (
	"fmt"
	"net/http"

	"sperrd/internal/sperr"
	"sperrd/internal/werktag"
)

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
	report, err := s.vorlauffrist(r, monat, lieferantID)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, report)
}

// vorlauffrist makes one report at a time: a month can have many orders, and each report
// may hold a connection for seconds. Its turn ends before its client takes the answer.
func (s *server) vorlauffrist(r *http.Request, monat sperr.Monat, lieferantID string) (sperr.VorlauffristReport, error) {
	end, err := s.reports.take(r.Context())
	if err != nil {
		return sperr.VorlauffristReport{}, err
	}
	defer end()
	ctx, cancel := bounded(r)
	defer cancel()
	return s.Repository.Vorlauffrist(ctx, s.Service.Calendar, monat, lieferantID)
}
