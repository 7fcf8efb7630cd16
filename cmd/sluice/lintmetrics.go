package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/lint"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/measure"
)

// metricsToken is the environment variable with the bearer token of a server of metrics.
//
//nolint:gosec // G101: the name of a variable
const metricsToken = "SLUICE_METRICS_TOKEN"

// metricsFlags name the server that forecasts ask.
type metricsFlags struct{ address, provider string }

func (f *metricsFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.address, "metrics", "", "`URL` of a Prometheus to ask for the traffic of the last hour (default that of --metrics-provider)")
	set.StringVar(&f.provider, "metrics-provider", "", "`file` with the MetricProvider whose metrics the gates share")
}

// open returns the metrics; nil if no flag names any.
func (f *metricsFlags) open(ctx context.Context) (*lint.Metrics, error) {
	if f.address == "" && f.provider == "" {
		return nil, nil
	}
	provider := &v1alpha1.MetricProvider{}
	if f.provider != "" {
		text, err := os.ReadFile(f.provider)
		if err != nil {
			return nil, fmt.Errorf("read MetricProvider: %w", err)
		}
		if provider, err = readProvider(text); err != nil {
			return nil, fmt.Errorf("read MetricProvider: %s: %w", f.provider, err)
		}
	}
	if provider.Spec.Prometheus == nil {
		provider.Spec.Prometheus = &v1alpha1.MetricServer{}
	}
	options := measure.Options{Address: f.address, Header: http.Header{}, Networks: anywhere()}
	if f.address == "" {
		options.Address = provider.Spec.Prometheus.Address
	}
	for _, header := range provider.Spec.Prometheus.Headers {
		options.Header.Set(header.Name, header.Value)
	}
	if token := os.Getenv(metricsToken); token != "" {
		options.Header.Set("Authorization", "Bearer "+token)
	}
	server, err := measure.Open(options)
	if err != nil {
		return nil, usageError{fmt.Errorf("--metrics: %w", err)}
	}
	known := map[string]float64{} // steps of a release ask the same
	ask := func(query string) (value float64, found bool, err error) {
		if value, found = known[query]; !found {
			if value, found, err = askOnce(ctx, server, query); found {
				known[query] = value
			}
		}
		return value, found, err
	}
	return &lint.Metrics{Provider: provider, Ask: ask}, nil
}

// readProvider reads a MetricProvider strictly.
func readProvider(text []byte) (*v1alpha1.MetricProvider, error) {
	var kind metav1.PartialObjectMetadata
	if err := yaml.Unmarshal(text, &kind); err != nil {
		return nil, err
	}
	if kind.Kind != "MetricProvider" || kind.Name == "" {
		return nil, fmt.Errorf("the file has %s %q: give one with a MetricProvider", cmp.Or(kind.Kind, "no kind, with the name"), kind.Name)
	}
	provider := &v1alpha1.MetricProvider{}
	return provider, yaml.UnmarshalStrict(text, provider)
}

// anywhere allows all addresses: the user of the command line named the server.
func anywhere() dialer.Rules {
	return dialer.Rules{Allowed: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
}

// askOnce returns the value of a query that gives at most one.
func askOnce(ctx context.Context, server *measure.Server, query string) (float64, bool, error) {
	answer, err := server.Prometheus(ctx, query)
	if wrong, is := errors.AsType[*measure.Error](err); is && wrong.Kind == measure.BadQuery {
		return 0, false, lint.QueryError{Message: wrong.Message}
	}
	if err != nil || len(answer.Series) == 0 {
		return 0, false, err
	}
	return answer.Series[0].Value, true, nil
}
