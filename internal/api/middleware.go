package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
)

const noStore = "no-store"

// secureHeaders keeps answers out of caches and from being taken for something else
// than they say: they hold addresses.
func secureHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", noStore)
		next.ServeHTTP(w, r)
	})
}

// recoverPanic answers a handler that panics with a 500. Once an answer has begun it
// can only be cut, which is what http.ErrAbortHandler asks for.
func recoverPanic(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			e := entryOf(r.Context())
			if cause == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
				panic(cause)
			}
			e.add(slog.String("stack", string(debug.Stack())))
			err := fmt.Errorf("panic: %v", cause)
			if e.begun() {
				e.raise(slog.LevelError)
				e.add(slog.Any("error", err))
				panic(http.ErrAbortHandler)
			}
			writeError(w, r, err)
		}()
		next.ServeHTTP(w, r)
	})
}
