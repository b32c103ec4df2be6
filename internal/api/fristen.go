package api

import (
	"net/http"

	"sperrd/internal/sperr"
	"sperrd/internal/werktag"
)

const fristenPath = "/api/v1/fristen"

// handleFristen explains what comes of a day, today if none is given.
func (s *server) handleFristen(w http.ResponseWriter, r *http.Request) error {
	p, err := readParameters(r, "datum", "art")
	if err != nil {
		return err
	}
	datum, err := p.calendarDatum()
	if err != nil {
		return err
	}
	art := sperr.FristArt(p["art"])
	if art != "" && !art.Valid() {
		return fieldFault(errInvalidParameter, "art", "must be one of "+sperr.FristArtenText())
	}
	day := werktag.BerlinDay(s.Now())
	if datum != nil {
		day = *datum
	}
	return writeJSON(w, http.StatusOK, sperr.ExplainFristen(s.Service.Calendar, day, art))
}

// handleOrderFristen explains the Fristen of an order and, where a day is given, what a
// visit on it would mean.
func (s *server) handleOrderFristen(w http.ResponseWriter, r *http.Request) error {
	id, err := pathUUID(r)
	if err != nil {
		return err
	}
	p, err := readParameters(r, "datum")
	if err != nil {
		return err
	}
	noteOrder(r, id)
	visit, err := p.calendarDatum()
	if err != nil {
		return err
	}
	ctx, cancel := bounded(r)
	defer cancel()
	order, err := s.Repository.Get(ctx, id)
	if err != nil {
		return err
	}
	today := werktag.BerlinDay(s.Now())
	return writeJSON(w, http.StatusOK, sperr.ExplainOrder(s.Service.Calendar, order, today, visit))
}
