package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/uuid"
)

// A parameter of a route that changes something is part of what is asked for, whichever
// route will have one.
func TestAttemptOf_tells_operations_apart_by_method_route_order_and_query(t *testing.T) {
	t.Parallel()
	operation := func(method, pattern, query string, order uuid.UUID) string {
		r := httptest.NewRequestWithContext(t.Context(), method, "/?"+query, http.NoBody)
		route := chi.NewRouteContext()
		route.RoutePatterns = []string{pattern}
		r = r.WithContext(context.WithValue(r.Context(), chi.RouteCtxKey, route))
		a, err := attemptOf(r, identifiers{id: "a", initial: "a"}, change{orderID: order})
		if err != nil {
			t.Fatal(err)
		}
		return a.Operation
	}
	one, other := uuid.New(), uuid.New()
	seen := map[string]string{}
	for name, got := range map[string]string{
		"a call":        operation(http.MethodPut, "/orders/{id}/execute", "", one),
		"other method":  operation(http.MethodPost, "/orders/{id}/execute", "", one),
		"other route":   operation(http.MethodPut, "/orders/{id}/fail", "", one),
		"other order":   operation(http.MethodPut, "/orders/{id}/execute", "", other),
		"no order":      operation(http.MethodPut, "/orders/{id}/execute", "", uuid.Nil),
		"with a query":  operation(http.MethodPut, "/orders/{id}/execute", "a=1&b=2", one),
		"another value": operation(http.MethodPut, "/orders/{id}/execute", "a=1&b=3", one),
	} {
		if twin, taken := seen[got]; taken {
			t.Errorf("%s and %s are one operation: %s", name, twin, got)
		}
		seen[got] = name
	}
	if a, b := operation(http.MethodPut, "/x", "a=1&b=2", one), operation(http.MethodPut, "/x", "b=2&a=1", one); a != b {
		t.Errorf("%s is not %s: the order of parameters says nothing", a, b)
	}
}
