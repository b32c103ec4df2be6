package sperr

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"sperrd/internal/makod"
	"sperrd/internal/telemetry"
)

// commandSpan begins the span of one command to makod: within the request that reported
// the outcome, or linked to its trace.
func (s *Service) commandSpan(ctx context.Context, c claim, cmd makod.Command) (context.Context, trace.Span) {
	return s.Tracing.Resume(ctx, "makod "+cmd.Name, telemetry.Kept(c.order.AbschlussTraceparent), c.first,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("sperrd.order_id", c.order.ID.String()), attribute.String("sperrd.process_id", text(c.order.ProcessID)),
			attribute.Int("sperrd.attempt", c.order.IFTSTAAttempts)))
}

// endCommandSpan ends it with what became of the command. makod's words stay out of it.
func endCommandSpan(span trace.Span, a attempt) {
	span.SetAttributes(attribute.String("sperrd.result", string(a.result())))
	if a.dispatched == nil {
		span.SetStatus(codes.Error, a.inVain.code)
	}
	span.End()
}
