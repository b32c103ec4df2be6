package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"sperrd/internal/sperr"
)

const (
	ordersPath  = "/api/v1/sperr-orders"
	rejectsPath = "/api/v1/webhook-rejects"
	mcpPath     = "/mcp"

	vorlauffristPath = "/api/v1/vorlauffrist"
)

// handler answers a request, or returns why it cannot; writeError answers then.
type handler func(http.ResponseWriter, *http.Request) error

// route is one line of the table. A GET route serves HEAD too.
type route struct {
	method  string
	pattern string
	access  access
	serving
}

// table is every route there is. A route that changes something is served by once or
// onceOfReject.
func (s *server) table() []route {
	return []route{
		{http.MethodPost, "/webhook", openFor("its Standard Webhooks signature authenticates makod, which has no token of this service"), unkeyed(s.handleWebhook, "the market process of an event is its key, under whatever id it is delivered")},

		{http.MethodGet, ordersPath, needs(actionRead), reads(s.handleList)},
		{http.MethodPost, ordersPath, needs(actionCreate), once(s.readCreate)},
		{http.MethodGet, ordersPath + "/stats", needs(actionRead), reads(s.handleStats)},
		{http.MethodGet, ordersPath + "/{id}", needs(actionRead), reads(s.handleOrder)},
		{http.MethodGet, ordersPath + "/{id}/history", needs(actionRead), reads(s.handleHistory)},
		{http.MethodGet, ordersPath + "/{id}/fristen", needs(actionRead), reads(s.handleOrderFristen)},
		{http.MethodPut, ordersPath + "/{id}/execute", needs(actionExecute), once(s.readExecute)},
		{http.MethodPut, ordersPath + "/{id}/fail", needs(actionExecute), once(s.readFail)},
		{http.MethodPut, ordersPath + "/{id}/cancel", needs(actionCancel), once(s.readCancel)},
		{http.MethodPost, ordersPath + "/{id}/iftsta/reset", needs(actionExecute), once(s.readResetIFTSTA)},

		{http.MethodPost, resetsPath, needs(actionExecute), once(s.readResets)},
		{http.MethodGet, pruefschrittePath, needs(actionRead), reads(s.handlePruefschritte)},

		{http.MethodGet, rejectsPath, needs(actionRead), reads(s.handleRejects)},
		{http.MethodGet, rejectsPath + "/{id}", needs(actionRead), reads(s.handleReject)},
		{http.MethodPost, rejectsPath + "/{id}/replay", needs(actionCreate), onceOfReject(s.readReplay)},
		{http.MethodPost, rejectsPath + "/{id}/dismiss", needs(actionCreate), onceOfReject(s.readDismiss)},

		{http.MethodGet, fristenPath, needs(actionRead), reads(s.handleFristen)},

		{http.MethodGet, vorlauffristPath, needs(actionRead), reads(s.handleVorlauffrist)},

		{http.MethodPost, mcpPath, needsOrMCPKey(actionRead), unkeyed(s.handleMCP, "its tools change nothing")},

		{http.MethodGet, "/health/live", openFor("an orchestrator has no token, and it learns nothing but that the process runs"), reads(s.handleLive)},
		{http.MethodGet, "/health/ready", openFor("a load balancer has no token, and it learns whether to send requests here, and what is open to everybody anyway"), reads(s.handleReady)},
		{http.MethodGet, metricsPath, openFor("a Prometheus has no token, and it learns how much there is and of whom nothing"), reads(s.handleMetrics)},
		{http.MethodGet, openAPIPath, openFor("who writes a client has no token yet, and it learns what the source tells"), reads(s.handleOpenAPI)},
		{http.MethodGet, docsPath, openFor("it shows the document before"), reads(s.handleDocs)},
		{http.MethodGet, docsPath + "/{asset}", openFor("the page loads it"), reads(s.handleDocsAsset)},
	}
}

func (s *server) router() *chi.Mux {
	mux := chi.NewRouter()
	mux.Use(s.logRequest, secureHeaders, recoverPanic)
	for _, route := range s.routes {
		serve := s.traced(route, s.answer(route))
		mux.Method(route.method, route.pattern, serve)
		if route.method == http.MethodGet {
			mux.Method(http.MethodHead, route.pattern, serve)
		}
	}
	mux.NotFound(func(w http.ResponseWriter, r *http.Request) { writeError(w, r, errNoRoute) })
	mux.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) { s.refuseMethod(mux, w, r) })
	return mux
}

// answer serves a route to whom it is for, and writes what its handler could not. Who
// calls is asked each time, before anything is looked up: a role may have been revoked.
func (s *server) answer(route route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		entryOf(r.Context()).action = route.access.name()
		var ids identifiers
		var malformed error
		if route.read != nil {
			ids, malformed = s.identify(w, r)
		}
		admitted, err := s.admit(route.access, r)
		switch {
		case err != nil:
		case malformed != nil:
			if id, ok := parseUUID(chi.URLParam(r, "id")); ok {
				route.note(r, id)
			}
			err = malformed
		case route.read != nil:
			err = s.serveOnce(w, admitted, route.read, ids)
		default:
			err = route.handle(w, admitted)
		}
		if err != nil {
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
