package api

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/cloudevents/sdk-go/v2/event"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"sperrd/internal/telemetry"
)

// traced serves a route within a span, in the trace that the caller names, if any. What is
// asked for every few seconds has none. The span holds neither query nor body nor address.
func (s *server) traced(route route, next http.HandlerFunc) http.HandlerFunc {
	if route.method == http.MethodGet && route.access.open != "" {
		return next
	}
	return func(w http.ResponseWriter, r *http.Request) {
		e := entryOf(r.Context())
		ctx, span := s.Tracing.Start(telemetry.FromHeader(r.Context(), r.Header), route.method+" "+route.pattern,
			trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
				attribute.String("http.request.method", route.method), attribute.String("http.route", route.pattern),
				attribute.String("sperrd.action", route.access.name()), attribute.String("sperrd.request_id", w.Header().Get(headerRequestID))))
		defer span.End()
		e.trace(span.SpanContext())
		next(w, r.WithContext(ctx))
		status := 0
		if e.answer != nil {
			status = e.answer.Status()
		}
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
	}
}

// trace names the trace in the line of the request.
func (e *entry) trace(span trace.SpanContext) {
	if span.IsValid() {
		e.add(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
}

// eventTrace puts a delivery into the trace that its event names where the request itself
// names none, and links the two otherwise. The caller ends the span.
func (s *server) eventTrace(ctx context.Context, h http.Header, e event.Event) (context.Context, trace.Span) {
	const name = "receive de.mako.process.initiated"
	text, _ := e.Extensions()["traceparent"].(string)
	sent := telemetry.Kept(&text)
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer)}
	own := trace.SpanContextFromContext(ctx)
	switch asked := trace.SpanContextFromContext(telemetry.FromHeader(context.Background(), h)); {
	case !sent.IsValid():
		return ctx, trace.SpanFromContext(context.Background())
	case asked.IsValid():
		options = append(options, trace.WithLinks(trace.Link{SpanContext: sent}))
	default:
		ctx = trace.ContextWithRemoteSpanContext(ctx, sent)
		if own.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: own}))
		}
	}
	return s.Tracing.Start(ctx, name, options...)
}
