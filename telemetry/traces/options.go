package traces

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"time"

	"github.com/go-logr/logr"
)

// Protocol is how spans are sent.
type Protocol string

// The protocols, by the names that OTEL_EXPORTER_OTLP_PROTOCOL has for them.
const (
	HTTP Protocol = "http/protobuf"
	GRPC Protocol = "grpc"
)

// Options say where traces are sent. The zero value sends none.
type Options struct {
	// Endpoint is the URL to send to: with HTTP as it is, path and all; with GRPC scheme, host and
	// port. Empty sends nothing.
	Endpoint string
	// Protocol is HTTP where it is empty.
	Protocol Protocol
	// Insecure allows plain http to other machines.
	Insecure bool
	// TLS is for a collector with certificates of its own; nil trusts what the system trusts.
	TLS *tls.Config
	// Headers go with every request; nil leaves OTEL_EXPORTER_OTLP_HEADERS to the library.
	Headers map[string]string
	// Timeout is for one request. Default 10s.
	Timeout time.Duration
	// Cluster is the name of this cluster, Version that of this program.
	Cluster, Version string
	// Logger logs failures, at most once a minute.
	Logger logr.Logger
}

// Enabled reports whether traces are sent.
func (o Options) Enabled() bool { return o.Endpoint != "" }

// Check returns an error that says what to change, if the options are invalid.
func (o Options) Check() error {
	if !o.Enabled() {
		return nil
	}
	if err := o.Protocol.Check(); err != nil {
		return err
	}
	return o.CheckEndpoint()
}

// Check returns an error if the protocol is not supported.
func (p Protocol) Check() error {
	if p != "" && p != HTTP && p != GRPC {
		return fmt.Errorf("the protocol %q is not supported: use %s or %s", string(p), HTTP, GRPC)
	}
	return nil
}

// CheckEndpoint returns an error if spans can't or must not be sent to the endpoint. It never
// repeats the address: it may have a password in it.
func (o Options) CheckEndpoint() error {
	to, err := url.Parse(o.Endpoint)
	switch {
	case err != nil || to.Hostname() == "" || to.Scheme != "https" && to.Scheme != "http":
		return errors.New("the endpoint for traces is not a URL such as https://collector.example.com:4318")
	case to.User != nil:
		return errors.New("the endpoint for traces has a password in it: set OTEL_EXPORTER_OTLP_HEADERS instead, from a Secret")
	case to.RawQuery != "" || to.Fragment != "":
		return errors.New("the endpoint for traces has a query or fragment, which OTLP does not support: remove it")
	case o.Protocol == GRPC && to.Path != "" && to.Path != "/":
		return errors.New("the endpoint for traces has a path, which grpc does not support: remove it, or use http/protobuf")
	case to.Scheme == "http" && !o.Insecure && !isLoopback(to.Hostname()):
		return errors.New("the endpoint for traces is plain http to another machine: use https, or allow it with --otlp-insecure")
	case to.Scheme == "http" && o.TLS != nil:
		return errors.New("there are certificates for the endpoint for traces, but it is plain http: use https")
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(host)
	return err == nil && address.Unmap().IsLoopback()
}
