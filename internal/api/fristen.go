package api

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

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
	datum, err := p.datum()
	if err != nil {
		return err
	}
	art := sperr.FristArt(p["art"])
	if art != "" && !art.Valid() {
		return fieldFault(errInvalidParameter, "art", "must be one of "+artenText())
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
	id, ok := parseUUID(chi.URLParam(r, "id"))
	if !ok {
		return sperr.ErrNotFound
	}
	p, err := readParameters(r, "datum")
	if err != nil {
		return err
	}
	noteOrder(r, id)
	visit, err := p.datum()
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

// datum is the day asked about, nil if none is: one that the calendar can count from.
func (p parameters) datum() (*werktag.Date, error) {
	text, given := p["datum"]
	if !given {
		return nil, nil
	}
	day, err := werktag.ParseDate(text)
	if err != nil || day.Year() < werktag.FirstYear || day.Year() > werktag.LastYear {
		return nil, fieldFault(errInvalidParameter, "datum",
			fmt.Sprintf("must be a day of the years %d to %d, written YYYY-MM-DD", werktag.FirstYear, werktag.LastYear))
	}
	return &day, nil
}

func artenText() string {
	var names []string
	for _, art := range sperr.FristArten() {
		names = append(names, string(art))
	}
	return strings.Join(names, ", ")
}
