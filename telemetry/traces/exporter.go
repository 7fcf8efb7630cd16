package traces

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/credentials"

	"github.com/sluice-dev/sluice/internal/lru"
	"github.com/sluice-dev/sluice/telemetry/story"
)

const (
	// requestTime is how long one request may take, sendTime one batch of spans with all that is tried
	// again.
	requestTime = 10 * time.Second
	sendTime    = 75 * time.Second
	// flushTime is how long the end of the process waits for the collector.
	flushTime = 5 * time.Second
	// maxAnswer is how much is read of a response of the collector.
	maxAnswer = 64 << 10
	// remembered is how many spans are known to have been told.
	remembered = 8192
)

// Exporter sends facts to an OpenTelemetry collector.
type Exporter struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	sender   *sender
	// told are the spans of late. A batch whose pods are lost and come again is done twice, and a
	// release can be said to have ended twice: the first time counts.
	told *lru.Cache[spanKey, bool]
	// goesOn are the recent traces of releases that were seen in progress.
	goesOn *lru.Cache[trace.TraceID, bool]
	// adopted are the recent releases that moved no pods, by the traces that they don't have.
	adopted *lru.Cache[trace.TraceID, bool]
}

type spanKey struct {
	trace trace.TraceID
	id    trace.SpanID
}

// New makes an Exporter; nothing is sent before there is something to tell. Options must be
// enabled.
func New(o Options) (*Exporter, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	otel.SetLogger(logr.Discard()) // it logs variables that it can't read as they are, tokens and addresses with passwords among them
	otlp, err := newOTLP(o)
	if err != nil {
		return nil, fmt.Errorf("set up the exporter of traces: %w", err)
	}
	about, err := resource.Merge(resource.Environment(), resource.NewWithAttributes("", about(o)...))
	if err != nil {
		return nil, fmt.Errorf("set up the exporter of traces: %w", err)
	}
	sender := newSender(otlp, o.Logger)
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithResource(about),
		sdktrace.WithIDGenerator(givenIDs{}),
		sdktrace.WithSampler(sdktrace.AlwaysSample()),
		sdktrace.WithSpanProcessor(newQueue(sender)),
	)
	return &Exporter{
		provider: provider, tracer: provider.Tracer("github.com/sluice-dev/sluice", trace.WithInstrumentationVersion(o.Version), trace.WithSchemaURL(semconv.SchemaURL)),
		sender: sender, told: lru.New[spanKey, bool](remembered), goesOn: lru.New[trace.TraceID, bool](remembered),
		adopted: lru.New[trace.TraceID, bool](remembered),
	}, nil
}

// about returns what sends.
func about(o Options) []attribute.KeyValue {
	all := []attribute.KeyValue{semconv.ServiceName("sluice")}
	all = append(all, text(string(semconv.ServiceVersionKey), o.Version)...)
	all = append(all, text(string(semconv.K8SClusterNameKey), o.Cluster)...)
	return append(all, text(string(semconv.DeploymentEnvironmentNameKey), o.Cluster)...)
}

// newOTLP makes what sends spans. It connects when it sends. The operator of the controller has
// chosen the collector, which may be anywhere, as may the proxy; where the collector sends us
// instead, nobody has chosen.
func newOTLP(o Options) (sdktrace.SpanExporter, error) {
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = requestTime
	}
	if o.Protocol == GRPC {
		options := []otlptracegrpc.Option{otlptracegrpc.WithEndpointURL(o.Endpoint), otlptracegrpc.WithTimeout(timeout)}
		if o.TLS != nil {
			options = append(options, otlptracegrpc.WithTLSCredentials(credentials.NewTLS(o.TLS)))
		}
		if o.Headers != nil {
			options = append(options, otlptracegrpc.WithHeaders(o.Headers))
		}
		return otlptracegrpc.New(context.Background(), options...)
	}
	options := []otlptracehttp.Option{
		otlptracehttp.WithEndpointURL(o.Endpoint), otlptracehttp.WithEncoding(otlptracehttp.EncodingProtobuf), otlptracehttp.WithMaxResponseSize(maxAnswer),
		otlptracehttp.WithHTTPClient(newHTTPClient(o, timeout)),
	}
	if o.Headers != nil {
		options = append(options, otlptracehttp.WithHeaders(o.Headers))
	}
	return otlptracehttp.New(context.Background(), options...)
}

func newHTTPClient(o Options, timeout time.Duration) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = o.TLS.Clone()
	transport.MaxIdleConns, transport.MaxConnsPerHost = 1, 1
	transport.MaxResponseHeaderBytes = maxAnswer
	return &http.Client{
		Transport: patient{transport}, Timeout: timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Tell implements telemetry.Teller. It never waits.
func (e *Exporter) Tell(facts []story.Fact) {
	for i := range facts {
		f := &facts[i]
		for _, s := range spansOf(f) {
			if e.isOf(s) {
				e.tell(s)
			}
		}
		e.note(f)
	}
}

// isOf reports whether a span is of a trace that there is.
func (e *Exporter) isOf(s span) bool {
	return !e.adopted.Get(s.trace) && (!s.unsure || e.goesOn.Get(s.trace))
}

// note notes what a fact says about the trace of its release. One that was adopted, or that drifts,
// has ended.
func (e *Exporter) note(f *story.Fact) {
	in := root(f, f.Attempt).TraceID()
	switch f.Kind {
	case story.ReleaseAdopted:
		e.adopted.Put(in, true, 1)
	case story.Drifted:
	default:
		e.goesOn.Put(in, true, 1)
	}
}

func (e *Exporter) tell(s span) {
	key := spanKey{s.trace, s.id}
	if e.told.Get(key) {
		return
	}
	e.told.Put(key, true, 1)
	ctx := withIDs(context.Background(), s.trace, s.id)
	kind := trace.SpanKindServer // as the conventions have it of a run of a pipeline
	if s.parent.IsValid() {
		kind = trace.SpanKindInternal
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: s.trace, SpanID: s.parent, TraceFlags: trace.FlagsSampled,
		}))
	}
	_, told := e.tracer.Start(ctx, s.name, trace.WithTimestamp(s.start), trace.WithSpanKind(kind), trace.WithAttributes(s.attributes...), trace.WithLinks(s.links...))
	if s.wrong != "" {
		told.SetStatus(codes.Error, s.wrong)
	}
	told.End(trace.WithTimestamp(s.end))
}

// Shutdown sends the queued spans until ctx ends, for at most 5 s. It drops later facts.
func (e *Exporter) Shutdown(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	err := e.provider.Shutdown(ctx)
	e.sender.giveUp(err)
}

// patient is a transport that marks every failure as temporary, so that it is retried for a minute:
// a collector that restarts refuses connections.
type patient struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := p.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, passingError{err}
	}
	return response, nil
}

// passingError is an error that may go away by itself.
type passingError struct{ error }

// Temporary implements the interface that the library checks.
func (passingError) Temporary() bool { return true }

// Unwrap returns the wrapped error.
func (e passingError) Unwrap() error { return e.error }
