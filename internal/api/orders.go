package api

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"

	"sperrd/internal/sperr"
	"sperrd/internal/transaction"
	"sperrd/internal/werktag"
)

// pathUUID is the id in the path of a request. Only the form of 36 characters counts;
// whatever else stands there names nothing.
func pathUUID(r *http.Request) (uuid.UUID, error) {
	id, ok := parseUUID(chi.URLParam(r, "id"))
	if !ok {
		return uuid.Nil, sperr.ErrNotFound
	}
	return id, nil
}

// pathID is pathUUID on a route that takes no query parameter.
func pathID(r *http.Request) (uuid.UUID, error) {
	id, err := pathUUID(r)
	if err != nil {
		return uuid.Nil, err
	}
	_, err = readParameters(r)
	return id, err
}

// orderID is pathID of an order, which the line of the request then names.
func orderID(r *http.Request) (uuid.UUID, error) {
	id, err := pathID(r)
	if err == nil {
		noteOrder(r, id)
	}
	return id, err
}

func noteOrder(r *http.Request, id uuid.UUID) {
	entryOf(r.Context()).add(slog.String("order_id", id.String()))
}

func (s *server) handleList(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Vary", "Accept")
	p, err := readParameters(r, "status", "malo_id", "due", "limit", "cursor", parameterCSV)
	if err != nil {
		return err
	}
	filter, err := p.filter()
	if err != nil {
		return err
	}
	filter.Today = werktag.BerlinDay(s.Now())
	format, err := acceptedFormat(r.Header, filter.Due)
	if err != nil {
		return err
	}
	entryOf(r.Context()).add(slog.String("format", string(format)))
	if format == formatCSV {
		return s.serveRoute(w, r, p, filter)
	}
	if _, given := p[parameterCSV]; given {
		return fieldFault(errInvalidParameter, parameterCSV, "goes with Accept: text/csv")
	}
	ctx, cancel := bounded(r)
	defer cancel()
	page, err := s.Repository.List(ctx, filter)
	if err != nil {
		return err
	}
	p.linkNext(w, r, page.Next)
	return writeJSON(w, http.StatusOK, page.Orders)
}

// filter is what the parameters of the list ask for.
func (p parameters) filter() (f sperr.Filter, err error) {
	if f.Limit, err = p.limit(); err != nil {
		return f, err
	}
	f.Status, f.MaloID, f.Cursor = sperr.Status(p["status"]), p["malo_id"], p["cursor"]
	if f.Status != "" && !f.Status.Valid() {
		return f, fieldFault(errInvalidParameter, "status", "must be pending, executed, failed or cancelled")
	}
	if f.MaloID != "" && !sperr.ValidMaloShape(f.MaloID) {
		return f, fieldFault(errInvalidParameter, "malo_id", "must be eleven digits, the first not 0")
	}
	switch p["due"] {
	case "", "false":
	case "true":
		f.Due = true
	default:
		return f, fieldFault(errInvalidParameter, "due", "must be true or false")
	}
	if f.Due && f.Status != "" && f.Status != sperr.StatusPending {
		return f, fieldFault(errInvalidParameter, "due", "goes with status pending only: no other order is due")
	}
	return f, nil
}

func (s *server) handleStats(w http.ResponseWriter, r *http.Request) error {
	if _, err := readParameters(r); err != nil {
		return err
	}
	ctx, cancel := bounded(r)
	defer cancel()
	stats, err := s.Repository.Stats(ctx, werktag.BerlinDay(s.Now()))
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, stats)
}

func (s *server) handleOrder(w http.ResponseWriter, r *http.Request) error {
	id, err := orderID(r)
	if err != nil {
		return err
	}
	ctx, cancel := bounded(r)
	defer cancel()
	order, err := s.Repository.Get(ctx, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, order)
}

func (s *server) handleHistory(w http.ResponseWriter, r *http.Request) error {
	id, err := orderID(r)
	if err != nil {
		return err
	}
	ctx, cancel := bounded(r)
	defer cancel()
	entries, err := s.Repository.History(ctx, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, entries)
}

// newOrder is the body of POST /api/v1/sperr-orders; null is absent.
type newOrder struct {
	MaloID        string  `json:"malo_id"`
	LieferantID   string  `json:"lf_mp_id"`
	OrderType     string  `json:"order_type"`
	ProcessID     *string `json:"process_id"`
	AusfuehrungAm *string `json:"ausfuehrung_am"`
	FruehestensAm *string `json:"fruehestens_am"`
	Arbeitszeit   *string `json:"arbeitszeit"`
	Treffpunkt    struct {
		Hinweis string `json:"hinweis"`
		Strasse string `json:"strasse"`
		PLZ     string `json:"plz"`
		Ort     string `json:"ort"`
		Land    string `json:"land"`
	} `json:"treffpunkt"`
	Hinweis string `json:"hinweis"`
}

func (s *server) readCreate(r *http.Request) (change, error) {
	if _, err := readParameters(r); err != nil {
		return change{}, err
	}
	var order newOrder
	body, err := s.decode(r, &order)
	if err != nil {
		return change{}, err
	}
	request := sperr.NewOrder{
		MaloID: order.MaloID, LieferantID: order.LieferantID, OrderType: order.OrderType, ProcessID: order.ProcessID,
		AusfuehrungAm: order.AusfuehrungAm, FruehestensAm: order.FruehestensAm, Arbeitszeit: order.Arbeitszeit,
		Treffpunkt: sperr.Treffpunkt(order.Treffpunkt), Hinweis: order.Hinweis,
	}
	return change{
		body: body, answer: answerCreated,
		do: func(ctx context.Context, call sperr.Call) (sperr.Result, error) {
			return s.Service.Create(ctx, call, request)
		},
	}, nil
}

func answerCreated(result sperr.Result) (transaction.Answer, error) {
	answer, err := newAnswer(http.StatusCreated, "application/json", result.Order)
	if err != nil {
		return transaction.Answer{}, err
	}
	answer.Header["Location"] = orderPath(result.Order.ID)
	return answer, nil
}

// orderPath is where an order is read.
func orderPath(id uuid.UUID) string { return ordersPath + "/" + id.String() }
