package api

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

// Route is a line of the route table as tests see it.
type Route struct{ Method, Pattern, Action, Open string }

// Table is the route table.
func Table() []Route {
	var table []Route
	for _, r := range (&server{}).table() {
		table = append(table, Route{r.method, r.pattern, r.access.action, r.access.open})
	}
	return table
}

// Wrap serves h at / behind the middleware of every route.
func Wrap(o Options, h http.HandlerFunc) http.Handler {
	mux := chi.NewRouter()
	mux.Use((&server{Options: o}).logRequest, secureHeaders, recoverPanic)
	mux.Get("/", h)
	return mux
}
