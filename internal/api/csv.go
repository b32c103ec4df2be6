package api

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sperrd/internal/sperr"
	"sperrd/internal/transaction"
	"sperrd/internal/werktag"
)

// maxRoute is how many orders one CSV has at most. It is held in memory as a whole, since
// a client on a slow line must keep no snapshot of the database open.
const maxRoute = 20_000

// csvUnderWay is how many CSVs are held in memory for clients that still read them. Each
// client has as long for it as for any answer.
const csvUnderWay = 8

// parameterCSV chooses one of csvForms.
const parameterCSV = "csv"

// csvForm is how cells and lines are written.
type csvForm struct {
	comma rune
	mark  string // before the header row
}

// csvForms are RFC 4180, which every program reads, and what an Excel in German takes for
// a table when somebody opens the file by a double click: there a comma is the decimal
// point, and without the mark the text is no UTF-8.
var csvForms = map[string]csvForm{
	"":         {comma: ','},
	"rfc4180":  {comma: ','},
	"excel_de": {comma: ';', mark: string(byteOrderMark)},
}

// serveRoute answers with all orders that are due, for whoever drives to them.
func (s *server) serveRoute(w http.ResponseWriter, r *http.Request, p parameters, filter sperr.Filter) error {
	for _, name := range []string{"limit", "cursor"} {
		if _, given := p[name]; given {
			return fieldFault(errInvalidParameter, name, "does not go with text/csv, which has all orders that are due")
		}
	}
	form, known := csvForms[p[parameterCSV]]
	if !known {
		return fieldFault(errInvalidParameter, parameterCSV, "must be rfc4180 or excel_de")
	}
	end, err := s.routing.take(r.Context())
	if err != nil {
		return err
	}
	defer end()
	body, err := s.route(r, form, filter)
	if err != nil {
		return err
	}
	writeAnswer(w, transaction.Answer{Status: http.StatusOK, Body: body, Header: map[string]string{
		"Content-Type":        csvType,
		"Content-Disposition": fmt.Sprintf(`attachment; filename="sperr-orders-due-%s.csv"`, filter.Today),
		"Content-Length":      strconv.Itoa(len(body)),
	}})
	return nil
}

// route makes one CSV at a time. Its turn ends before its client takes the answer.
func (s *server) route(r *http.Request, form csvForm, filter sperr.Filter) ([]byte, error) {
	end, err := s.reports.take(r.Context())
	if err != nil {
		return nil, err
	}
	defer end()
	ctx, cancel := bounded(r)
	defer cancel()
	filter.Limit = s.maxRoute
	orders, whole, err := s.Repository.Route(ctx, filter)
	if err != nil {
		return nil, err
	}
	if !whole {
		return nil, fieldFault(errInvalidParameter, "due", fmt.Sprintf("names more than %d orders, too many for one CSV: take application/json, page by page", s.maxRoute))
	}
	return form.encode(orders)
}

func (f csvForm) encode(orders []*sperr.Order) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(f.mark)
	lines := csv.NewWriter(&out)
	lines.Comma, lines.UseCRLF = f.comma, true
	record := make([]string, len(csvColumns))
	for i, c := range csvColumns {
		record[i] = c.name
	}
	_ = lines.Write(record) // its error is that of Flush
	for _, o := range orders {
		for i, c := range csvColumns {
			record[i] = cell(c.of(o))
		}
		_ = lines.Write(record)
	}
	lines.Flush()
	if err := lines.Error(); err != nil {
		return nil, fmt.Errorf("write a CSV: %w", err)
	}
	return out.Bytes(), nil
}

// csvColumns are the columns, named as in JSON where they hold the same.
var csvColumns = []struct {
	name string
	of   func(*sperr.Order) string
}{
	{"id", func(o *sperr.Order) string { return o.ID.String() }},
	{"order_type", func(o *sperr.Order) string { return string(o.OrderType) }},
	{"malo_id", func(o *sperr.Order) string { return o.MaloID }},
	{"lf_mp_id", func(o *sperr.Order) string { return o.LieferantID }},
	{"ausfuehrung_am", func(o *sperr.Order) string { return shownDay(o.AusfuehrungAm) }},
	{"uhrzeit", uhrzeit},
	{"fruehestens_am", func(o *sperr.Order) string { return shownDay(o.FruehestensAm) }},
	{"arbeitszeit", func(o *sperr.Order) string { return orEmpty(o.Arbeitszeit) }},
	{"treffpunkt_plz", func(o *sperr.Order) string { return orEmpty(o.TreffpunktPLZ) }},
	{"treffpunkt_ort", func(o *sperr.Order) string { return orEmpty(o.TreffpunktOrt) }},
	{"treffpunkt_strasse", func(o *sperr.Order) string { return orEmpty(o.TreffpunktStrasse) }},
	{"treffpunkt_land", func(o *sperr.Order) string { return orEmpty(o.TreffpunktLand) }},
	{"treffpunkt_hinweis", func(o *sperr.Order) string { return orEmpty(o.TreffpunktHinweis) }},
	{"hinweis", func(o *sperr.Order) string { return orEmpty(o.Hinweis) }},
	{"ausfuehrung_faellig_am", func(o *sperr.Order) string { return shownDay(o.AusfuehrungFaelligAm) }},
	{"sperrversuche", func(o *sperr.Order) string { return strconv.Itoa(o.Sperrversuche) }},
	{"letzter_versuch_am", letzterVersuchAm},
	{"letzter_versuch_grund", func(o *sperr.Order) string { return orEmpty(o.LetzterVersuchGrund) }},
	{"warnungen", func(o *sperr.Order) string { return strings.Join(o.Warnungen, " | ") }},
}

// uhrzeit is the hour of a fixed date as a clock in Berlin shows it. The market gives both
// in one; only SQL can let them fall on two days, and then the hour has its own.
func uhrzeit(o *sperr.Order) string {
	if o.AusfuehrungZeitpunkt == nil {
		return ""
	}
	at := o.AusfuehrungZeitpunkt.In(werktag.Berlin())
	if o.AusfuehrungAm == nil || werktag.BerlinDay(at) != *o.AusfuehrungAm {
		return at.Format("2006-01-02 15:04")
	}
	return at.Format("15:04")
}

// letzterVersuchAm has the clock of Berlin, and the offset to it.
func letzterVersuchAm(o *sperr.Order) string {
	if o.LetzterVersuchAm == nil {
		return ""
	}
	return o.LetzterVersuchAm.In(werktag.Berlin()).Format(time.RFC3339)
}

func shownDay(d *werktag.Date) string {
	if d == nil {
		return ""
	}
	return d.String()
}

func orEmpty[T ~string](s *T) string {
	if s == nil {
		return ""
	}
	return string(*s)
}
