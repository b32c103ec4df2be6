package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"sperrd/internal/sperr"
)

// The actions a caller needs permission for.
const (
	actionNone    = "none" // authenticated by a signature, or open
	actionRead    = "read-sperr-order"
	actionCreate  = "create-sperr-order"
	actionExecute = "execute-sperr-order"
	actionCancel  = "cancel-sperr-order"
)

const (
	ordersPath  = "/api/v1/sperr-orders"
	rejectsPath = "/api/v1/webhook-rejects"
)

// handler answers a request, or returns why it cannot; writeError answers then.
type handler func(http.ResponseWriter, *http.Request) error

// route is one line of the table. A GET route serves HEAD too.
type route struct {
	method  string
	pattern string
	action  string
	handle  handler
}

// table is every route there is.
func (s *server) table() []route {
	return []route{
		{http.MethodPost, "/webhook", actionNone, s.handleWebhook},

		{http.MethodGet, ordersPath, actionRead, s.handleList},
		{http.MethodPost, ordersPath, actionCreate, s.handleCreate},
		{http.MethodGet, ordersPath + "/stats", actionRead, s.handleStats},
		{http.MethodGet, ordersPath + "/{id}", actionRead, s.handleOrder},
		{http.MethodGet, ordersPath + "/{id}/history", actionRead, s.handleHistory},
		{http.MethodPut, ordersPath + "/{id}/execute", actionExecute, s.handleExecute},
		{http.MethodPut, ordersPath + "/{id}/fail", actionExecute, s.handleFail},
		{http.MethodPut, ordersPath + "/{id}/cancel", actionCancel, s.handleCancel},
		{http.MethodPost, ordersPath + "/{id}/iftsta/reset", actionExecute, s.handleResetIFTSTA},

		{http.MethodGet, rejectsPath, actionRead, s.handleRejects},
		{http.MethodGet, rejectsPath + "/{id}", actionRead, s.handleReject},

		{http.MethodGet, "/health/live", actionNone, s.handleLive},
		{http.MethodGet, "/health/ready", actionNone, s.handleReady},
	}
}

func (s *server) router() *chi.Mux {
	mux := chi.NewRouter()
	mux.Use(s.logRequest, secureHeaders, recoverPanic)
	for _, route := range s.routes {
		serve := answer(route)
		mux.Method(route.method, route.pattern, serve)
		if route.method == http.MethodGet {
			mux.Method(http.MethodHead, route.pattern, serve)
		}
	}
	mux.NotFound(func(w http.ResponseWriter, r *http.Request) { writeError(w, r, errNoRoute) })
	mux.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) { s.refuseMethod(mux, w, r) })
	return mux
}

// answer serves a route and writes what its handler could not.
func answer(route route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		entryOf(r.Context()).action = route.action
		if err := route.handle(w, r); err != nil {
			writeError(w, r, err)
		}
	}
}

var (
	errNoRoute  = &fault{kind: sperr.ErrNotFound, detail: "There is no such route."}
	errNoMethod = &fault{kind: errMethodNotAllowed, detail: "The route does not take this method; Allow names those it takes."}
)

// refuseMethod answers a method that the path does not take. The router comes here
// with a method it does not know on any path, also one that does not exist.
func (s *server) refuseMethod(mux *chi.Mux, w http.ResponseWriter, r *http.Request) {
	path := r.URL.RawPath // what the router looks at
	if path == "" {
		path = r.URL.Path
	}
	var allowed []string
	for _, route := range s.routes {
		if mux.Find(chi.NewRouteContext(), route.method, path) != route.pattern {
			continue
		}
		allowed = append(allowed, route.method)
		if route.method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	if allowed == nil {
		writeError(w, r, errNoRoute)
		return
	}
	slices.Sort(allowed)
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeError(w, r, errNoMethod)
}
