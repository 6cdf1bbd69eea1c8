package tracing

import (
	"context"
	"fmt"
	"math/rand/v2"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/bezoar-dev/bezoar/internal/gateway/span"
)

// Tracing creates spans and sends them. Create it with [New] and call Run. It is safe for
// concurrent use.
type Tracing struct {
	cfg    Config
	queue  *queue
	tracer trace.Tracer
}

var _ span.Tracer = (*Tracing)(nil)

// New returns a Tracing, or an error with every fault of cfg. It does not call the
// collector.
func New(ctx context.Context, cfg Config) (*Tracing, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	cfg = cfg.withDefaults()
	sender, err := newClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	exporter, err := otlptrace.New(ctx, sender)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	t := &Tracing{cfg: cfg, queue: newQueue(cfg, exporter)}
	provider := sdk.NewTracerProvider(
		sdk.WithSpanProcessor(t.queue),
		sdk.WithSampler(sdk.AlwaysSample()), // unsampled requests get no span at all
		sdk.WithRawSpanLimits(limits()),
		sdk.WithResource(resource.NewWithAttributes(semconv.SchemaURL,
			semconv.ServiceName("bezoar"), semconv.ServiceVersion(cfg.Version), semconv.ServiceInstanceID(cfg.Node))),
	)
	t.tracer = provider.Tracer("github.com/bezoar-dev/bezoar")
	return t, nil
}

// limits bounds the content of one span.
func limits() sdk.SpanLimits {
	return sdk.SpanLimits{
		AttributeValueLengthLimit: maxText, AttributeCountLimit: 32, EventCountLimit: 1, LinkCountLimit: 1,
		AttributePerEventCountLimit: 4, AttributePerLinkCountLimit: 1,
	}
}

// maxText is the maximum length of a text in a span.
const maxText = 256

// Run sends spans until ctx ends, and then the queued ones. It returns nil.
func (t *Tracing) Run(ctx context.Context) error {
	t.queue.run(ctx)
	return nil
}

// Stats returns the counts of spans so far.
func (t *Tracing) Stats() Stats { return t.queue.stats() }

// Start implements [span.Tracer].
func (t *Tracing) Start(s *span.Span) span.Trace {
	if !t.wanted(s) || !t.queue.open() {
		return span.Trace{}
	}
	ctx := context.Background()
	if !s.Parent.IsZero() {
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: s.Parent.ID, SpanID: s.Parent.Span, TraceFlags: trace.TraceFlags(s.Parent.Flags), Remote: s.Attempt == 0,
		}))
	}
	method, name := methodOf(s.Method)
	kind := trace.SpanKindServer
	if s.Attempt > 0 {
		kind = trace.SpanKindClient
	}
	_, made := t.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(s.Began),
		trace.WithAttributes(append(begun(s), semconv.HTTPRequestMethodKey.String(method))...))
	s.State = made
	c := made.SpanContext()
	return span.Trace{ID: c.TraceID(), Span: c.SpanID(), Flags: byte(c.TraceFlags())}
}

// wanted reports whether to create a span: as the parent decided, or at random.
func (t *Tracing) wanted(s *span.Span) bool {
	switch {
	case !s.Parent.IsZero():
		return s.Parent.Flags&1 != 0
	case s.Attempt > 0: // the request has no span
		return false
	}
	return t.cfg.Sample > 0 && rand.Float64() < t.cfg.Sample
}

// End implements [span.Tracer].
func (t *Tracing) End(s *span.Span) {
	made, ok := s.State.(trace.Span)
	if !ok {
		return
	}
	s.State = nil
	if s.Attempt == 0 && s.Route != "" {
		_, name := methodOf(s.Method)
		made.SetName(name + " " + s.Route)
		made.SetAttributes(semconv.HTTPRoute(s.Route))
	}
	made.SetAttributes(ended(s)...)
	if code, text := status(s); code != 0 {
		made.SetStatus(code, text)
	}
	made.End()
}

// methodOf returns the method for the attribute, according to the semantic conventions, and
// for the span's name.
func methodOf(method string) (attr, name string) {
	switch method {
	case "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY":
		return method, method
	}
	return "_OTHER", "HTTP"
}

// Attributes that the conventions do not define.
const (
	attrRequest = attribute.Key("bezoar.request.id")
	attrWorker  = attribute.Key("bezoar.worker")
	attrLane    = attribute.Key("bezoar.lane")
)
