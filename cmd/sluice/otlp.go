package main

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
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

// otlpFlags are the destination of traces. OpenTelemetry's environment variables are the defaults.
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

// variables reads a variable of the environment, first the one for traces alone.
type variables func(name string) string

func (v variables) otlp(name string) string { return v(v.named(name)) }

// named returns the name of the variable that counts.
func (v variables) named(name string) string {
	if ofTraces := "OTEL_EXPORTER_OTLP_TRACES_" + name; v(ofTraces) != "" {
		return ofTraces
	}
	return "OTEL_EXPORTER_OTLP_" + name
}

// apply sets where traces go. Invalid flags are an error. Variables may be set for all pods of a
// cluster, without Sluice in mind: if they are invalid, apply returns a warning, and no traces are
// sent.
func (f *otlpFlags) apply(options *app.Options, env variables) (warning, err error) {
	page, err := traces.NewPage(f.page)
	if err != nil {
		return nil, fmt.Errorf("--trace-url: %w", err)
	}
	if err := traces.Protocol(f.protocol).Check(); err != nil {
		return nil, fmt.Errorf("--otlp-protocol: %w", err)
	}
	to := f.target(env)
	if !to.Enabled() {
		return nil, nil
	}
	if f.endpoint != "" {
		own := to
		own.Protocol = traces.Protocol(cmp.Or(f.protocol, string(traces.HTTP)))
		own.Endpoint = f.address(env, own.Protocol)
		if err := own.CheckEndpoint(); err != nil {
			return nil, fmt.Errorf("--otlp-endpoint: %w", err)
		}
		if err := to.CheckEndpoint(); err != nil {
			return fmt.Errorf("%s does not fit --otlp-endpoint: %w", env.named("PROTOCOL"), err), nil
		}
	}
	if warning := applyVariables(&to, env); warning != nil {
		return warning, nil
	}
	options.Traces, options.TracePage = to, page
	return nil, nil
}

// target returns where traces go, by flags and, where they leave it open, by variables.
func (f *otlpFlags) target(env variables) traces.Options {
	to := traces.Options{Protocol: traces.Protocol(cmp.Or(f.protocol, env.otlp("PROTOCOL"), string(traces.HTTP)))}
	if to.Endpoint = f.address(env, to.Protocol); to.Endpoint == "" {
		return traces.Options{}
	}
	to.Insecure = f.insecure || strings.EqualFold(env.otlp("INSECURE"), "true")
	return to
}

// applyVariables sets what only variables say, once the flags are known to be valid. Errors name
// the variable to blame.
func applyVariables(to *traces.Options, env variables) error {
	if err := to.Protocol.Check(); err != nil {
		return fmt.Errorf("%s: %w", env.named("PROTOCOL"), err)
	}
	if err := to.CheckEndpoint(); err != nil {
		return fmt.Errorf("%s: %w", env.named("ENDPOINT"), err)
	}
	if given := env.otlp("TIMEOUT"); given != "" {
		milliseconds, err := strconv.Atoi(given)
		if err != nil || milliseconds <= 0 || milliseconds > 60_000 {
			return fmt.Errorf("%s is not a number of milliseconds between 1 and 60000", env.named("TIMEOUT"))
		}
		to.Timeout = time.Duration(milliseconds) * time.Millisecond
	}
	if err := checkHeaders(env); err != nil {
		return err
	}
	var err error
	if to.TLS, err = certificates(env); err != nil {
		return err
	}
	if err := to.CheckEndpoint(); err != nil {
		return fmt.Errorf("variables OTEL_EXPORTER_OTLP_[CLIENT_]CERTIFICATE: %w", err)
	}
	return nil
}

// checkHeaders refuses headers that the library would drop and log: most are tokens in a wrong
// form. Its error repeats nothing of them.
func checkHeaders(env variables) error {
	for i, header := range strings.Split(env.otlp("HEADERS"), ",") {
		key, value, found := strings.Cut(header, "=")
		_, err := url.PathUnescape(value)
		if strings.TrimSpace(header) != "" && (!found || err != nil || !headerName.MatchString(strings.TrimSpace(key))) {
			return fmt.Errorf("%s: entry %d is not NAME=VALUE with a value as in URLs, such as Authorization=Bearer%%20TOKEN", env.named("HEADERS"), i+1)
		}
	}
	return nil
}

// headerName is how the name of a header looks.
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// address returns where traces go. OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is used as it is; the others
// name a collector for all signals.
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

// certificates returns those to verify the collector with, and the client's own; nil if there are
// none.
func certificates(env variables) (*tls.Config, error) {
	trusted, own, key := env.otlp("CERTIFICATE"), env.otlp("CLIENT_CERTIFICATE"), env.otlp("CLIENT_KEY")
	if trusted == "" && own == "" && key == "" {
		return nil, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if trusted != "" {
		pem, err := os.ReadFile(trusted)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", env.named("CERTIFICATE"), err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: there is no certificate in PEM in %s", env.named("CERTIFICATE"), trusted)
		}
	}
	if own != "" || key != "" {
		pair, err := tls.LoadX509KeyPair(own, key)
		if err != nil {
			return nil, fmt.Errorf("read %s and %s: %w", env.named("CLIENT_CERTIFICATE"), env.named("CLIENT_KEY"), err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
