package outbox

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"sperrd/internal/telemetry"
)

// span begins the span of one delivery. It names no URL: that of the ERP may hold a token.
func (d *Drainer) span(ctx context.Context, c claim) (context.Context, trace.Span) {
	return d.Tracing.Resume(ctx, "erp "+c.ceType, telemetry.Kept(c.trace), c.attempts == 1,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("sperrd.order_id", c.orderID.String()), attribute.String("sperrd.event_id", c.eventID),
			attribute.Int("sperrd.attempt", c.attempts)))
}

// endSpan ends it with what became of the delivery. The ERP's words stay out of it.
func endSpan(span trace.Span, f *failure) {
	if f != nil {
		span.SetStatus(codes.Error, f.code)
		span.SetAttributes(attribute.String("sperrd.result", f.code))
		if f.status != 0 {
			span.SetAttributes(attribute.Int("http.response.status_code", f.status))
		}
	}
	span.End()
}
