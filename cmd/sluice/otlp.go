package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/telemetry/traces"
)

// otlpFlags say where traces are sent. What they leave open is read from OpenTelemetry's environment variables.
type otlpFlags struct {
	endpoint, protocol string
	insecure           bool
	page               string
}

func (f *otlpFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.endpoint, "otlp-endpoint", "",
		"`URL` of an OpenTelemetry collector for a trace of each release, such as https://collector.example.com:4318 (default $OTEL_EXPORTER_OTLP_ENDPOINT; without one, no traces are sent)")
	set.StringVar(&f.protocol, "otlp-protocol", "",
		"`protocol` of the collector: http/protobuf or grpc (default $OTEL_EXPORTER_OTLP_PROTOCOL, or http/protobuf)")
	set.BoolVar(&f.insecure, "otlp-insecure", false,
		"allow plain http to a collector on another machine (default $OTEL_EXPORTER_OTLP_INSECURE)")
	set.StringVar(&f.page, "trace-url", "",
		"`URL` of a trace in your viewer, with {traceID} in it, for links in commit statuses, such as https://jaeger.example.com/trace/{traceID}")
}

// variables reads a variable of the environment; those of OpenTelemetry for traces alone come first.
type variables func(name string) string

func (v variables) otlp(name string) string {
	return cmp.Or(v("OTEL_EXPORTER_OTLP_TRACES_"+name), v("OTEL_EXPORTER_OTLP_"+name))
}

// apply sets where traces go. Invalid flags are an error. Variables may be set for all pods of a cluster, without Sluice in mind: if they are
// invalid, apply returns a warning, and no traces are sent.
func (f *otlpFlags) apply(options *app.Options, env variables) (warning, err error) {
	page, err := traces.NewPage(f.page)
	if err != nil {
		return nil, fmt.Errorf("--trace-url: %w", err)
	}
	to, err := f.options(env)
	if err == nil {
		err = to.Check()
	}
	switch {
	case err != nil && (f.endpoint != "" || f.protocol != ""):
		return nil, fmt.Errorf("--otlp-endpoint: %w", err)
	case err != nil:
		return fmt.Errorf("variables OTEL_*: %w", err), nil
	case !to.Enabled():
		return nil, nil
	}
	options.Traces, options.TracePage = to, page
	return nil, nil
}

func (f *otlpFlags) options(env variables) (traces.Options, error) {
	to := traces.Options{Protocol: traces.Protocol(cmp.Or(f.protocol, env.otlp("PROTOCOL"), string(traces.HTTP)))}
	if to.Endpoint = f.address(env, to.Protocol); to.Endpoint == "" {
		return traces.Options{}, nil
	}
	to.Insecure = f.insecure || strings.EqualFold(env.otlp("INSECURE"), "true")
	if given := env.otlp("TIMEOUT"); given != "" {
		milliseconds, err := strconv.Atoi(given)
		if err != nil || milliseconds <= 0 || milliseconds > 60_000 {
			return to, errors.New("OTEL_EXPORTER_OTLP_TIMEOUT is not a number of milliseconds between 1 and 60000")
		}
		to.Timeout = time.Duration(milliseconds) * time.Millisecond
	}
	if err := checkHeaders(env); err != nil {
		return to, err
	}
	var err error
	to.TLS, err = certificates(env)
	return to, err
}

// checkHeaders refuses what the library would leave out and log as it is: what is written in the wrong way is a token, most of the time. Nothing of
// it is repeated.
func checkHeaders(env variables) error {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"} {
		for i, header := range strings.Split(env(name), ",") {
			key, value, found := strings.Cut(header, "=")
			_, err := url.PathUnescape(value)
			if strings.TrimSpace(header) != "" && (!found || err != nil || !headerName.MatchString(strings.TrimSpace(key))) {
				return fmt.Errorf("%s: entry %d is not NAME=VALUE with a value as in URLs, such as Authorization=Bearer%%20TOKEN", name, i+1)
			}
		}
	}
	return nil
}

// headerName is how the name of a header looks.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// address is where traces go. OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is used as it is; the others name a collector for all signals.
func (f *otlpFlags) address(env variables, protocol traces.Protocol) string {
	ofCollector := f.endpoint
	if ofCollector == "" {
		if env("OTEL_SDK_DISABLED") == "true" || env("OTEL_TRACES_EXPORTER") == "none" {
			return ""
		}
		if ofTraces := env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"); ofTraces != "" {
			return ofTraces
		}
		ofCollector = env("OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	const path = "/v1/traces"
	if ofCollector == "" || protocol == traces.GRPC || strings.HasSuffix(ofCollector, path) || strings.ContainsAny(ofCollector, "?#") {
		return ofCollector
	}
	return strings.TrimRight(ofCollector, "/") + path
}

// certificates are those to verify the collector with, and the client's own; nil if there are none.
func certificates(env variables) (*tls.Config, error) {
	trusted, own, key := env.otlp("CERTIFICATE"), env.otlp("CLIENT_CERTIFICATE"), env.otlp("CLIENT_KEY")
	if trusted == "" && own == "" && key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if trusted != "" {
		pem, err := os.ReadFile(trusted)
		if err != nil {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: there is no certificate in PEM in %s", trusted)
		}
	}
	if own != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(own, key)
		if err != nil {
			return nil, fmt.Errorf("read OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and OTEL_EXPORTER_OTLP_CLIENT_KEY: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
