package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

var w3c = propagation.TraceContext{}

// FromHeader puts ctx into the trace that the header of a request names in traceparent and tracestate,
// if it names one (W3C Trace Context).
func FromHeader(ctx context.Context, h map[string][]string) context.Context {
	if len(h["Traceparent"]) > 1 {
		return ctx // nobody knows which of them is meant
	}
	return w3c.Extract(ctx, propagation.HeaderCarrier(h))
}

// ToHeader names the trace of ctx in a request.
func ToHeader(ctx context.Context, h map[string][]string) {
	w3c.Inject(ctx, propagation.HeaderCarrier(h))
}

// Traceparent is the trace of ctx as it is kept with a row or an event; nil: it is in none.
func Traceparent(ctx context.Context) *string {
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	if text := carrier["traceparent"]; text != "" {
		return &text
	}
	return nil
}

// Kept is the trace that a row or an event was left in. What is no traceparent, as SQL or
// a stranger may have put it, is no trace.
func Kept(traceparent *string) trace.SpanContext {
	if traceparent == nil {
		return trace.SpanContext{}
	}
	ctx := w3c.Extract(context.Background(), propagation.MapCarrier{"traceparent": *traceparent})
	return trace.SpanContextFromContext(ctx)
}

// Resume begins the span of work that was left in the trace kept, by a request or a change
// that may be long over. Where ctx is in a trace already, the span belongs to that. The
// first try goes on in the trace that was kept; a later one, perhaps days after, is a trace
// of its own that is linked to it.
func (t *Tracing) Resume(ctx context.Context, name string, kept trace.SpanContext, first bool, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	switch {
	case !kept.IsValid() || trace.SpanContextFromContext(ctx).IsValid():
	case first:
		ctx = trace.ContextWithRemoteSpanContext(ctx, kept)
	default:
		options = append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: kept}))
		if t == nil { // the trace goes on where nobody records a new one
			ctx = trace.ContextWithRemoteSpanContext(ctx, kept)
			options = nil
		}
	}
	return t.Start(ctx, name, options...)
}
