package api

import (
	"context"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
)

// Route is a line of the route table as tests see it.
type Route struct {
	Method, Pattern, Action, Open string

	Once    bool   // each operation is done once
	Unkeyed string // why no call is recognised
}

// Table is the route table.
func Table() []Route {
	var table []Route
	for _, r := range (&server{}).table() {
		table = append(table, Route{r.method, r.pattern, r.access.action, r.access.open, r.read != nil, r.why})
	}
	return table
}

// NewImpatientHandler is NewHandler with other bounds for MCP: of the wait for a turn and
// of an answer. Reports wait as long for their turn.
func NewImpatientHandler(o Options, wait, answer time.Duration) http.Handler {
	s := newServer(o)
	s.mcp.wait, s.mcp.answer = wait, answer
	s.reports.wait = wait
	return s.router()
}

// NewOneCSVHandler is NewHandler with one CSV on its way at a time, for which nobody waits.
func NewOneCSVHandler(o Options) http.Handler {
	s := newServer(o)
	s.routing.free, s.routing.wait = make(chan struct{}, 1), time.Millisecond
	return s.router()
}

// WaitForTurn waits for a turn of MCP that never comes.
func WaitForTurn(ctx context.Context, wait time.Duration) error {
	_, err := turns{free: make(chan struct{}), wait: wait}.take(ctx)
	return err
}

// NewHandlerOfNobody serves a route at / of which nothing says who may call it.
func NewHandlerOfNobody(o Options, h func(http.ResponseWriter, *http.Request) error) http.Handler {
	s := newServer(o)
	s.routes = []route{{http.MethodGet, "/", access{}, reads(h)}}
	return s.router()
}

// Wrap serves h at / behind the middleware of every route.
func Wrap(o Options, h http.HandlerFunc) http.Handler {
	mux := chi.NewRouter()
	mux.Use((&server{Options: o}).logRequest, secureHeaders, recoverPanic)
	mux.Get("/", h)
	return mux
}

// Cell is what stands in a CSV for text.
func Cell(text string) string { return cell(text) }

// NewShortRouteHandler is NewHandler with another bound for the orders of a CSV.
func NewShortRouteHandler(o Options, maxRoute int) http.Handler {
	s := newServer(o)
	s.maxRoute = maxRoute
	return s.router()
}

// ProblemCodes are the codes of problems with the status of each.
func ProblemCodes() map[string]int {
	codes := map[string]int{internal.code: internal.status}
	for _, k := range kinds {
		codes[k.code] = k.status
	}
	return codes
}
