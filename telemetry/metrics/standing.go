package metrics

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// The gauges of the releases that exist at the time of the scrape.
var (
	releasesOf = prometheus.NewDesc("sluice_releases",
		"Number of releases by phase. None means that a release has released nothing yet.", []string{"namespace", "phase"}, nil)
	stateOf = prometheus.NewDesc("sluice_release_state",
		"1 for the state of each release that is in progress, waits or needs attention. The train is that of a member, or empty.", []string{"namespace", "release", "state", "train"}, nil)
	sinceOf = prometheus.NewDesc("sluice_release_state_since_timestamp_seconds",
		"Unix time in seconds since when a release has been in its state.", []string{"namespace", "release"}, nil)
	stoppedOf = prometheus.NewDesc("sluice_release_stopped",
		"1 for each cause that stops a release in progress or one that waits.", []string{"namespace", "release", "cause"}, nil)
	stalledOf = prometheus.NewDesc("sluice_release_stalled",
		"1 for the cause that somebody must remove before a release can continue.", []string{"namespace", "release", "cause"}, nil)
)

// none is the phase of a release that has none.
const none = "None"

// phases are the values of the label phase.
var phases = []string{
	none, string(v1alpha1.PhaseInitial), string(v1alpha1.PhaseRollingUpdate), string(v1alpha1.PhaseRollingBack),
	string(v1alpha1.PhaseFinalizing), string(v1alpha1.PhaseCompleted), string(v1alpha1.PhaseFailed),
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{releasesOf, stateOf, sinceOf, stoppedOf, stalledOf} {
		descs <- desc
	}
}

// While shows the releases of a cache while this process holds the Lease; the manager runs it.
func (m *Metrics) While(cache client.Reader) manager.Runnable { return &leading{m, cache} }

// leading is a process that holds the Lease.
type leading struct {
	metrics *Metrics
	cache   client.Reader
}

var _ manager.LeaderElectionRunnable = &leading{}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*leading) NeedLeaderElection() bool { return true }

// Start shows releases until ctx ends.
func (l *leading) Start(ctx context.Context) error {
	l.metrics.change(func(all []*leading) []*leading { return append(all, l) })
	<-ctx.Done()
	l.metrics.change(func(all []*leading) []*leading {
		return slices.DeleteFunc(all, func(other *leading) bool { return other == l })
	})
	return nil
}

func (m *Metrics) change(leading func([]*leading) []*leading) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.leading = leading(slices.Clone(m.leading))
}

// Collect implements prometheus.Collector: it reads the releases and keeps nothing of them.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	m.mutex.Lock()
	all := m.leading
	m.mutex.Unlock()
	s := scrape{metrics: metrics, counts: map[string]map[string]int{}, several: len(all) > 1, seen: map[client.ObjectKey]bool{}}
	for _, one := range all {
		if err := s.read(one.cache); err != nil {
			metrics <- prometheus.NewInvalidMetric(releasesOf, err)
			return
		}
	}
	there := map[string]bool{}
	for namespace, counts := range s.counts {
		there[namespace] = true
		for _, phase := range phases {
			s.gauge(releasesOf, float64(counts[phase]), namespace, phase)
		}
	}
	if len(all) > 0 {
		m.keep(there)
	}
}

// scrape is one look at the releases.
type scrape struct {
	metrics chan<- prometheus.Metric
	// counts holds the number of releases by namespace and phase.
	counts map[string]map[string]int
	// several says that several managers run in this process, as in tests; seen are the releases that
	// one of them has.
	several bool
	seen    map[client.ObjectKey]bool
}

func (s *scrape) read(cache client.Reader) error {
	var all v1alpha1.BatchReleaseList
	// The objects belong to the cache: they are only read.
	if err := cache.List(context.Background(), &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list BatchReleases: %w", err)
	}
	for i := range all.Items {
		release := &all.Items[i]
		if s.several {
			key := client.ObjectKeyFromObject(release)
			if s.seen[key] {
				continue
			}
			s.seen[key] = true
		}
		s.release(release)
	}
	return nil
}

func (s *scrape) release(release *v1alpha1.BatchRelease) {
	status, namespace := &release.Status, release.Namespace
	if s.counts[namespace] == nil {
		s.counts[namespace] = map[string]int{}
	}
	s.counts[namespace][phaseOf(status)]++
	if !concerns(status) {
		return
	}
	if status.State != "" {
		s.gauge(stateOf, 1, namespace, release.Name, string(status.State), release.Spec.Train)
	}
	if since := status.StandsSince(); !since.IsZero() {
		s.gauge(sinceOf, float64(since.Unix()), namespace, release.Name)
	}
	if status.Stops() != "" {
		for _, cause := range slices.Compact(slices.Sorted(slices.Values(status.StoppedBy))) { // one series twice would fail the whole scrape
			s.gauge(stoppedOf, 1, namespace, release.Name, string(cause))
		}
	}
	if status.StalledBy != "" {
		s.gauge(stalledOf, 1, namespace, release.Name, string(status.StalledBy))
	}
}

func (s *scrape) gauge(desc *prometheus.Desc, value float64, labels ...string) {
	s.metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

func phaseOf(status *v1alpha1.BatchReleaseStatus) string {
	if status.Phase == "" {
		return none
	}
	return string(status.Phase)
}

// concerns reports whether a release is in progress, waits, or needs attention.
func concerns(status *v1alpha1.BatchReleaseStatus) bool {
	return !status.State.AtRest() || status.StalledBy != ""
}

// afterwards is how long a namespace keeps its series after its last release is gone.
const afterwards = time.Hour

// note notes that a namespace has releases.
func (m *Metrics) note(namespace string, now time.Time) {
	if _, known := m.seen[namespace]; !known {
		m.begin(namespace)
	}
	if now.After(m.seen[namespace]) {
		m.seen[namespace] = now
	}
}

// keep begins the series of namespaces that have releases, and forgets those of namespaces that
// have had none for a while: preview environments of pull requests come and go.
func (m *Metrics) keep(there map[string]bool) {
	now := m.clock.Now()
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.scraped = now
	for namespace := range there {
		m.note(namespace, now)
	}
	for namespace, last := range m.seen {
		if now.Sub(last) > afterwards && !there[namespace] {
			delete(m.seen, namespace)
			m.forget(namespace)
		}
	}
}

// unscraped finds out which namespaces have releases, once in a while, if no scrape does: otherwise
// those that have gone would keep their series.
func (m *Metrics) unscraped(now time.Time) {
	m.mutex.Lock()
	all, due := m.leading, now.Sub(m.scraped) > afterwards
	m.mutex.Unlock()
	if !due {
		return
	}
	there := map[string]bool{}
	for _, one := range all {
		if err := namespaces(one.cache, there); err != nil {
			return // the next fact asks again
		}
	}
	m.keep(there)
}

// listTime is how long to wait for the releases of a cache, which has them at hand.
const listTime = time.Second

// namespaces adds those that have releases in a cache.
func namespaces(cache client.Reader, there map[string]bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	defer cancel()
	var all v1alpha1.BatchReleaseList
	if err := cache.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list BatchReleases: %w", err)
	}
	for i := range all.Items {
		there[all.Items[i].Namespace] = true
	}
	return nil
}
