package approvals

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/measure"
)

// metricServers are the servers of all MetricProviders.
type metricServers struct {
	live     client.Reader
	clock    clock.PassiveClock
	networks dialer.Rules
	shared   *measure.Shared

	mu  sync.Mutex
	all map[types.UID]*metricServer
}

// metricServer is the server of a provider, as the provider was in a generation.
type metricServer struct {
	// setup is held while the server is opened.
	setup      sync.Mutex
	server     *measure.Server
	generation int64
	// secret is the version of the Secret, and readAt when it was read.
	secret string
	readAt time.Time
	// usedAt is when the server was opened last; metricServers.mu guards it.
	usedAt time.Time
}

// keepServer is the time for which a server is kept that nothing is measured on: of a provider that
// is gone, or that no gate names. It is longer than any interval.
const keepServer = 2 * time.Hour

func newMetricServers(live client.Reader, now clock.PassiveClock, networks dialer.Rules) *metricServers {
	return &metricServers{live: live, clock: now, networks: networks, shared: measure.NewShared(now), all: map[types.UID]*metricServer{}}
}

// read returns the answer to a PromQL query in the present interval, which all who ask the same
// share.
func (s *metricServers) read(ctx context.Context, provider *v1alpha1.MetricProvider, query string, interval time.Duration) (measure.Reading, error) {
	server, name, err := s.open(ctx, provider)
	if err != nil {
		return measure.Reading{}, err
	}
	return s.shared.Read(ctx, measure.Question{Tenant: provider.Namespace, Server: name, Query: query, Interval: interval}, func(ctx context.Context) (measure.Answer, error) {
		return server.Prometheus(ctx, query)
	})
}

// json returns what a server answers at a path in the present interval, as read does.
func (s *metricServers) json(ctx context.Context, m *measurement, path string, query url.Values) (measure.Reading, error) {
	server, name, err := s.open(ctx, m.provider)
	if err != nil {
		return measure.Reading{}, err
	}
	question := measure.Question{Tenant: m.provider.Namespace, Server: name, Query: path + "?" + query.Encode(), Interval: gate.MetricInterval(m.gate.Spec.Policy.Metrics)}
	return s.shared.Read(ctx, question, func(ctx context.Context) (measure.Answer, error) { return server.JSON(ctx, path, query) })
}

// of returns the server of a provider, and forgets those that have not been used for long.
func (s *metricServers) of(provider types.UID) *metricServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, known := s.clock.Now(), s.all[provider]
	if known == nil {
		maps.DeleteFunc(s.all, func(_ types.UID, other *metricServer) bool { return now.Sub(other.usedAt) > keepServer })
		known = &metricServer{}
		s.all[provider] = known
	}
	known.usedAt = now
	return known
}

// open returns the server of a provider, with a name that changes with the provider and its Secret.
func (s *metricServers) open(ctx context.Context, provider *v1alpha1.MetricProvider) (*measure.Server, string, error) {
	known := s.of(provider.UID)
	known.setup.Lock()
	defer known.setup.Unlock()
	name := func() string { return fmt.Sprintf("%s/%d/%s", provider.UID, known.generation, known.secret) }
	spec := serverOf(provider)
	same := known.server != nil && known.generation == provider.Generation
	if same && (spec.SecretRef == nil || s.clock.Since(known.readAt) < secretFor) {
		return known.server, name(), nil
	}
	var secret corev1.Secret
	if spec.SecretRef != nil {
		if err := s.readSecret(ctx, client.ObjectKey{Namespace: provider.Namespace, Name: spec.SecretRef.Name}, &secret); err != nil {
			return nil, "", err
		}
	}
	known.readAt = s.clock.Now()
	if same && known.secret == secret.ResourceVersion {
		return known.server, name(), nil
	}
	header, err := headerOf(spec, &secret)
	if err != nil {
		return nil, "", err
	}
	options := measure.Options{Address: spec.Address, CABundle: secret.Data["ca.crt"], Header: header, Networks: s.networks}
	if spec.Timeout != nil {
		options.Timeout = spec.Timeout.Duration
	}
	server, err := measure.Open(options)
	if err != nil {
		return nil, "", err
	}
	known.server, known.generation, known.secret = server, provider.Generation, secret.ResourceVersion
	return server, name(), nil
}

func serverOf(provider *v1alpha1.MetricProvider) *v1alpha1.MetricServer {
	if provider.Spec.HTTP != nil {
		return provider.Spec.HTTP
	}
	return provider.Spec.Prometheus
}

func (s *metricServers) readSecret(ctx context.Context, key client.ObjectKey, secret *corev1.Secret) error {
	err := s.live.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return &measure.Error{Kind: measure.Misconfigured, Message: fmt.Sprintf("read Secret %s: %v", key.Name, err)}
	case err != nil:
		return &measure.Error{Kind: measure.Unreachable, Message: fmt.Sprintf("read Secret %s: %v", key.Name, err)}
	}
	if err := kube.CheckCredentials(secret); err != nil {
		return &measure.Error{Kind: measure.Misconfigured, Message: err.Error()}
	}
	return nil
}

// headerPrefix begins the keys of a Secret that hold values of headers.
const headerPrefix = "header."

// headerOf returns the header of the requests to a server.
func headerOf(spec *v1alpha1.MetricServer, secret *corev1.Secret) (http.Header, error) {
	header := http.Header{}
	for _, h := range spec.Headers {
		header.Set(h.Name, h.Value)
	}
	for key, value := range secret.Data {
		if name, is := strings.CutPrefix(key, headerPrefix); is {
			header.Set(name, strings.TrimSpace(string(value)))
		}
	}
	token, user, password := secret.Data["bearerToken"], secret.Data["username"], secret.Data["password"]
	switch {
	case token != nil && user != nil:
		return nil, &measure.Error{Kind: measure.Misconfigured, Message: fmt.Sprintf("Secret %s has bearerToken and username: remove one", secret.Name)}
	case token != nil:
		header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	case user != nil:
		pair := string(user) + ":" + string(password)
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
	}
	return header, nil
}
