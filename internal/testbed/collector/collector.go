// Package collector is an OpenTelemetry collector for tests: it takes traces by OTLP, over HTTP and
// gRPC, and keeps what it was given.
//
//	exporter ──HTTP, gRPC──► Collector ──► Spans
package collector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// Span is one that came in, with what its exporter says of itself.
type Span struct {
	*tracepb.Span

	Resource map[string]string
}

// Text returns an attribute of the span as a text; empty where there is none.
func (s Span) Text(key string) string { return texts(s.Attributes)[key] }

// Collector takes spans.
type Collector struct {
	collectorpb.UnimplementedTraceServiceServer

	// URL is the endpoint for http/protobuf.
	URL string

	mu      sync.Mutex
	spans   []Span
	headers []http.Header
}

// New runs a Collector that takes http/protobuf until the test ends.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL + "/v1/traces"
	return c
}

// NewGRPC runs one that takes grpc, at an address of http.
func NewGRPC(t testing.TB) *Collector {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	c := &Collector{URL: "http://" + listener.Addr().String()}
	server := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(server, c)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Errorf("serve grpc: %v", err)
		}
	})
	return c
}

// Export takes what comes by gRPC.
func (c *Collector) Export(_ context.Context, request *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	c.take(request, nil)
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

// ServeHTTP takes what comes by HTTP.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	request, err := read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.take(request, r.Header)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func read(r *http.Request) (*collectorpb.ExportTraceServiceRequest, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		return nil, errors.New("not a POST of application/x-protobuf to /v1/traces")
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	request := &collectorpb.ExportTraceServiceRequest{}
	if err := proto.Unmarshal(body, request); err != nil {
		return nil, fmt.Errorf("decode request: %w", err)
	}
	return request, nil
}

func (c *Collector) take(request *collectorpb.ExportTraceServiceRequest, header http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, header)
	for _, from := range request.GetResourceSpans() {
		resource := texts(from.GetResource().GetAttributes())
		for _, scope := range from.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans = append(c.spans, Span{span, resource})
			}
		}
	}
}

// Spans returns those that have come in so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Headers returns those of the requests so far.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}

func texts(attributes []*commonpb.KeyValue) map[string]string {
	all := map[string]string{}
	for _, one := range attributes {
		switch value := one.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			all[one.GetKey()] = value.StringValue
		case *commonpb.AnyValue_IntValue:
			all[one.GetKey()] = fmt.Sprint(value.IntValue)
		case *commonpb.AnyValue_BoolValue:
			all[one.GetKey()] = fmt.Sprint(value.BoolValue)
		default:
		}
	}
	return all
}
