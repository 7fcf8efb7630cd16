package migrate

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

// The limits of the CRD.
const (
	maxShared    = 50
	maxInGate    = 10
	maxGuards    = 5
	maxArguments = 20
	maxText      = 2048
	maxValue     = 256
	maxHeader    = 1024
	maxHeaders   = 10
)

// server is a server of metrics.
type server struct {
	http      bool
	namespace string
	address   string
	headers   []v1alpha1.MetricHeader
	timeout   *time.Duration
	// secret names a Secret that exists.
	secret string
	// credentials are the keys of a Secret that is to be created, with the name of the provider.
	credentials []string
}

func (s *server) key() string {
	timeout := time.Duration(0)
	if s.timeout != nil {
		timeout = *s.timeout
	}
	return fmt.Sprintf("%t %q %q %q %s %q %q", s.http, s.namespace, s.address, s.headers, timeout, s.secret, s.credentials)
}

// keep notes a key of the Secret of a server.
func (s *server) keep(key string) {
	if s.secret == "" && !slices.Contains(s.credentials, key) {
		s.credentials = append(s.credentials, key)
	}
}

// provider is a MetricProvider with what its readers should know.
type provider struct {
	v1alpha1.MetricProvider

	// credentials are the keys that its Secret must have.
	credentials []string
	// from are the objects that it was translated from.
	from []string
	// offers are metrics that could be in it, each with what to do.
	offers []offer
}

// offer is a metric that a user can add.
type offer struct {
	words  string
	metric v1alpha1.SharedMetric
}

// gates are the gates of a step, or the guards of a release.
type gates struct {
	from     string
	guards   bool
	policies []v1alpha1.GatePolicy
}

// addressForm is the form that the CRD asks of an address.
var addressForm = regexp.MustCompile(`^https?://[^/?#@\s][^?#@\s]*$`)

// checkAddress says what is wrong with an address; empty if nothing is. It names no part of it, as
// that may be a password.
func checkAddress(address string) string {
	parsed, err := url.Parse(address)
	switch {
	case address == "":
		return "has no address: give that of the server"
	case err != nil, strings.ContainsFunc(address, unseen), parsed.Host == "", parsed.Scheme != "http" && parsed.Scheme != "https", len(address) > maxText:
		return "is not a URL such as http://prometheus.monitoring:9090: correct it"
	case parsed.User != nil:
		return "has a user and a password: remove them, and create a Secret with username and password for the MetricProvider"
	case !addressForm.MatchString(address):
		return "has a query or a fragment: remove it"
	}
	return ""
}

// providerOf returns the provider of a server that has room for another metric.
func (t *translation) providerOf(s *server, from string) *provider {
	key := s.key()
	if p := t.providers[key]; p != nil && len(p.Spec.Metrics) < maxShared {
		if !slices.Contains(p.from, from) {
			p.from = append(p.from, from)
		}
		return p
	}
	p := &provider{credentials: s.credentials, from: []string{from}}
	p.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MetricProvider"}
	p.Namespace = s.namespace
	p.Name = free(nameOfServer(s), func(name string) bool { return t.names[s.namespace+"/"+name] })
	t.names[s.namespace+"/"+p.Name], t.providers[key] = true, p
	spec := &v1alpha1.MetricServer{Address: s.address, Headers: s.headers}
	if s.timeout != nil {
		spec.Timeout = &metav1.Duration{Duration: *s.timeout}
	}
	switch {
	case s.secret != "":
		spec.SecretRef = &v1alpha1.LocalReference{Name: s.secret}
	case s.credentials != nil:
		spec.SecretRef = &v1alpha1.LocalReference{Name: p.Name}
	}
	if s.http {
		p.Spec.HTTP = spec
	} else {
		p.Spec.Prometheus = spec
	}
	t.result.providers = append(t.result.providers, p)
	return p
}

// nameOfServer returns the first part of a server's name.
func nameOfServer(s *server) string {
	otherwise := "prometheus"
	if s.http {
		otherwise = "http"
	}
	parsed, err := url.Parse(s.address)
	if err != nil || parsed.Hostname() == "" || strings.ContainsAny(parsed.Hostname()[:1], "0123456789[:") {
		return otherwise
	}
	first, _, _ := strings.Cut(parsed.Hostname(), ".")
	return labelOf(first, otherwise)
}

// add adds a metric, and returns the name under which the provider has it. Another one of that name
// keeps it.
func (p *provider) add(metric v1alpha1.SharedMetric, owner string) string {
	for _, name := range []string{metric.Name, labelOf(owner+"-"+metric.Name, metric.Name)} {
		metric.Name = name
		i := slices.IndexFunc(p.Spec.Metrics, func(m v1alpha1.SharedMetric) bool { return m.Name == name })
		if i < 0 {
			p.Spec.Metrics = append(p.Spec.Metrics, metric)
			return name
		}
		if reflect.DeepEqual(p.Spec.Metrics[i], metric) {
			return name
		}
	}
	metric.Name = free(metric.Name, func(name string) bool {
		return slices.ContainsFunc(p.Spec.Metrics, func(m v1alpha1.SharedMetric) bool { return m.Name == name })
	})
	p.Spec.Metrics = append(p.Spec.Metrics, metric)
	return metric.Name
}

// checkShared says what is wrong with a metric by the rules of the API; empty if nothing is.
func checkShared(metric v1alpha1.SharedMetric) string {
	parameters := make([]string, len(metric.Arguments))
	for i, argument := range metric.Arguments {
		parameters[i] = argument.Name
	}
	if len(parameters) > maxArguments {
		return fmt.Sprintf("takes %d arguments, more than %d: write some into the query", len(parameters), maxArguments)
	}
	if q := metric.Query; q != nil && utf8.RuneCountInString(q.Query) > maxText {
		return fmt.Sprintf("has a query of more than %d characters: make it a recording rule", maxText)
	}
	if problems := gate.ValidateCheck(&metric.MetricCheck, parameters, field.NewPath("metric")); len(problems) > 0 {
		return "can't be a metric of Sluice: " + problems[0].Error()
	}
	return ""
}

// room counts a metric. False says that there are too many, which is reported.
func (t *translation) room(o *object) bool {
	if t.result.Metrics == maxMetrics {
		o.report(LeftOut, "", fmt.Sprintf("only %d metrics are translated at a time: give fewer files", maxMetrics))
		return false
	}
	t.result.Metrics++
	return true
}

// gateKey tells the gates of an analysis apart.
type gateKey struct {
	provider        *provider
	interval, delay time.Duration
}

// gateMetric is a metric of an analysis that is translated.
type gateMetric struct {
	provider        *provider
	interval, delay *time.Duration
	metric          v1alpha1.GateMetric
	// guard says that the metric is measured until the release ends.
	guard bool
}

const unset = time.Duration(-1)

// gatesOf returns the gates, or the guards, that measure metrics. One gate has the metrics of a
// server with one interval and one delay.
func gatesOf(metrics []gateMetric, guards bool) []v1alpha1.GatePolicy {
	byKey := map[gateKey]*v1alpha1.MetricsGate{}
	var policies []v1alpha1.GatePolicy
	for _, m := range metrics {
		if m.guard != guards {
			continue
		}
		key := gateKey{m.provider, unset, unset}
		if m.interval != nil {
			key.interval = *m.interval
		}
		if m.delay != nil {
			key.delay = *m.delay
		}
		of := byKey[key]
		full := of != nil && (len(of.Metrics) == maxInGate || slices.ContainsFunc(of.Metrics, func(g v1alpha1.GateMetric) bool { return g.Name == m.metric.Name }))
		if of == nil || full {
			of = &v1alpha1.MetricsGate{Provider: m.provider.Name}
			if m.interval != nil {
				of.Interval = &metav1.Duration{Duration: *m.interval}
			}
			if m.delay != nil {
				of.InitialDelay = &metav1.Duration{Duration: *m.delay}
			}
			byKey[key] = of
			policies = append(policies, v1alpha1.GatePolicy{Metrics: of, OnReject: v1alpha1.RejectRollback})
		}
		of.Metrics = append(of.Metrics, m.metric)
	}
	return policies
}
