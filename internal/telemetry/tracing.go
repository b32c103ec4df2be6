package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Tracing makes the spans of one process. A nil *Tracing records nothing and hands the
// trace context of a caller on all the same. It is safe for concurrent use.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// TracingOptions say where the spans go.
type TracingOptions struct {
	// Endpoint is the base URL of a collector that takes OTLP over HTTP, tracing.endpoint.
	// Where it is empty, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and OTEL_EXPORTER_OTLP_ENDPOINT
	// name it as OpenTelemetry defines them.
	Endpoint string
	// SampleRatio is which part of the traces that begin here is recorded, above 0 up to
	// 1. A caller's own decision stands.
	SampleRatio float64
	Version     string
	LookupEnv   func(string) (string, bool)
	Logger      *slog.Logger
}

// endpoint is the URL that takes the spans; empty: nobody does.
func (o TracingOptions) endpoint() string {
	if o.Endpoint != "" {
		return strings.TrimRight(o.Endpoint, "/") + "/v1/traces"
	}
	if url, _ := o.LookupEnv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); url != "" {
		return url
	}
	if url, _ := o.LookupEnv("OTEL_EXPORTER_OTLP_ENDPOINT"); url != "" {
		return strings.TrimRight(url, "/") + "/v1/traces"
	}
	return ""
}

// exportTimeout bounds one export, so that a collector that hangs costs spans and nothing
// else.
const exportTimeout = 10 * time.Second

// NewTracing returns what sends spans to the collector, or nil where none is named. Of
// what the collector does not take the log has a line a minute. The caller ends it with
// Shutdown.
func NewTracing(ctx context.Context, o TracingOptions) (*Tracing, error) {
	url := o.endpoint()
	if url == "" {
		return nil, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(url), otlptracehttp.WithTimeout(exportTimeout))
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	name, _ := o.LookupEnv("OTEL_SERVICE_NAME")
	if name == "" {
		name = "sperrd"
	}
	// The library tells its trouble to one handler of the process.
	otel.SetErrorHandler(&exportTrouble{logger: o.Logger})
	return newTracing(sdktrace.WithBatcher(exporter, sdktrace.WithExportTimeout(exportTimeout)), o.SampleRatio, resource.NewSchemaless(
		attribute.String("service.name", name), attribute.String("service.version", o.Version))), nil
}

func newTracing(spans sdktrace.TracerProviderOption, ratio float64, of *resource.Resource) *Tracing {
	provider := sdktrace.NewTracerProvider(spans, sdktrace.WithResource(of),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(ratio))))
	return &Tracing{provider: provider, tracer: provider.Tracer("sperrd")}
}

// Provider is for libraries that make spans of their own; nil: there is none.
func (t *Tracing) Provider() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.provider
}

// Shutdown sends what has ended, until ctx ends.
func (t *Tracing) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

var nowhere = noop.NewTracerProvider().Tracer("")

// Start begins a span, which the caller ends. Without Tracing the context stays in the
// trace that it is in.
func (t *Tracing) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	if t == nil {
		return nowhere.Start(ctx, name, options...)
	}
	return t.tracer.Start(ctx, name, options...)
}

// exportTrouble logs what the library cannot do.
type exportTrouble struct {
	logger *slog.Logger
	mu     sync.Mutex
	last   time.Time
}

// Handle implements otel.ErrorHandler.
func (e *exportTrouble) Handle(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if now := time.Now(); now.Sub(e.last) >= time.Minute {
		e.last = now
		e.logger.Warn("spans are lost: the collector does not take them", "error", err)
	}
}
