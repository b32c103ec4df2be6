package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/google/uuid"
)

const headerRequestID = "X-Request-Id"

// entry is the one line in the log that a request leaves. Handlers add what they
// learn; neither a body nor a query ever gets into it, since both hold addresses and
// identifiers of households. It belongs to the goroutine of its request.
type entry struct {
	action string
	keyed  bool // the call is recognised when it comes again
	dryRun bool // the call changes nothing, whatever its action says
	level  slog.Level
	attrs  []slog.Attr
	answer middleware.WrapResponseWriter
}

type entryKey struct{}

// entryOf is the entry of the request whose context ctx is. Outside of one it is an
// entry that nobody reads.
func entryOf(ctx context.Context) *entry {
	if e, ok := ctx.Value(entryKey{}).(*entry); ok {
		return e
	}
	return &entry{}
}

func (e *entry) add(attrs ...slog.Attr) { e.attrs = append(e.attrs, attrs...) }

// has reports whether the line names key already.
func (e *entry) has(key string) bool {
	return slices.ContainsFunc(e.attrs, func(a slog.Attr) bool { return a.Key == key })
}

// raise makes the line at least as loud as level.
func (e *entry) raise(level slog.Level) { e.level = max(e.level, level) }

// begun reports whether an answer is on its way.
func (e *entry) begun() bool { return e.answer != nil && e.answer.Status() != 0 }

// logRequest writes the line of each request when it has ended, in whatever way.
func (s *server) logRequest(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		id := requestID(r.Header)
		w.Header().Set(headerRequestID, id)
		e := &entry{action: actionNone, answer: middleware.NewWrapResponseWriter(w, r.ProtoMajor)}
		ctx := context.WithValue(r.Context(), entryKey{}, e)
		defer func() {
			route := chi.RouteContext(ctx).RoutePattern()
			attrs := append([]slog.Attr{
				slog.String("method", printable(r.Method, 20)), slog.String("route", route), slog.String("action", e.action),
				slog.Int("status", e.answer.Status()), slog.Duration("duration", time.Since(started)),
				slog.Int("bytes", e.answer.BytesWritten()), slog.String("request_id", id),
			}, e.attrs...)
			if (strings.HasPrefix(route, "/health/") || route == metricsPath) && e.answer.Status() == http.StatusOK {
				e.level = slog.LevelDebug // a probe that finds all well says nothing, nor does a scrape
			}
			s.Logger.LogAttrs(ctx, e.level, "request", attrs...)
			s.Metrics.CountRequest(knownMethod(r.Method), cmp.Or(route, "none"), e.answer.Status(), time.Since(started))
		}()
		next.ServeHTTP(e.answer, r.WithContext(ctx))
	})
}

// knownMethod is a method as it may stand in a metric, which a caller must not fill with
// names of his own.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "other"
}

// requestID is the caller's id for a request where it can stand in a log as it is,
// and a new one otherwise.
func requestID(h http.Header) string {
	if values := h.Values(headerRequestID); len(values) == 1 && saneID(values[0]) {
		return values[0]
	}
	return uuid.NewString()
}

func saneID(id string) bool {
	const punctuation = "-_.:/+="
	return id != "" && len(id) <= 128 && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune(punctuation, r)
	})
}
