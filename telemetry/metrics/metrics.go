package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Metrics are the metrics of releases. It counts facts (telemetry.Teller), and collects the states
// of existing releases at each scrape.
type Metrics struct {
	batches, gates, releases           *prometheus.HistogramVec
	commitToBatch, leadTime, toRestore *prometheus.HistogramVec
	ends, rollbacks                    *prometheus.CounterVec

	clock clock.PassiveClock
	mutex sync.Mutex
	// bad is, by release, since when a workload has run a version that failed or was rolled back.
	bad map[types.UID]time.Time
	// failed are the attempts of releases that have failed, or that a rollback leaves which had, until
	// they end.
	failed map[types.UID]int64
	// scraped is when the releases were last read.
	scraped time.Time
	// seen are the namespaces that have series, and when they last had releases.
	seen map[string]time.Time
	// leading are the managers that show releases: one, unless several run in this process.
	leading []*leading
}

// Default are the Metrics of this process, in the registry of controller-runtime.
var Default = sync.OnceValue(func() *Metrics { return New(metrics.Registry, clock.RealClock{}) })

// New makes Metrics and registers them.
func New(registry prometheus.Registerer, now clock.PassiveClock) *Metrics {
	m := &Metrics{clock: now, bad: map[types.UID]time.Time{}, failed: map[types.UID]int64{}, seen: map[string]time.Time{}}
	made := promauto.With(registry)
	m.batches = made.NewHistogramVec(histogram("sluice_batch_duration_seconds",
		"Duration of batches in seconds, from the start of the batch until all of its pods are available and get their requests.",
		5, 15, 30, minute, 2*minute, 5*minute, 10*minute, 20*minute, 30*minute, hour, 2*hour, 4*hour), []string{"namespace"})
	m.gates = made.NewHistogramVec(histogram("sluice_gate_wait_seconds",
		"Seconds from the opening of a gate to its decision, by type and decision.",
		1, 10, minute, 5*minute, 15*minute, hour, 4*hour, 12*hour, day, 3*day, 7*day), []string{"type", "decision"})
	m.releases = made.NewHistogramVec(histogram("sluice_release_duration_seconds",
		"Duration of releases and rollbacks in seconds, from start to end, by outcome.",
		minute, 5*minute, 15*minute, 30*minute, hour, 2*hour, 4*hour, 8*hour, day, 3*day, 7*day), []string{"outcome"})
	m.commitToBatch = made.NewHistogramVec(histogram("sluice_commit_to_batch_seconds",
		"Seconds from a commit, at the time that its committer claims, to the end of each batch of its release.", fromCommit...), []string{"batch"})
	m.leadTime = made.NewHistogramVec(histogram("sluice_lead_time_seconds",
		"Seconds from a commit, at the time that its committer claims, to the completion of its release.", fromCommit...), []string{"namespace"})
	m.toRestore = made.NewHistogramVec(histogram("sluice_time_to_restore_seconds",
		"Seconds from the start of a release that failed or was rolled back until all pods run a good version again.",
		minute, 5*minute, 15*minute, 30*minute, hour, 4*hour, day), []string{"namespace"})
	m.ends = made.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_release_ends_total",
		Help: "Releases that ended, by outcome. A release that fails counts as Failed, once, and again when it ends in another way.",
	}, []string{"namespace", "outcome"})
	m.rollbacks = made.NewCounterVec(prometheus.CounterOpts{
		Name: "sluice_rollbacks_total", Help: "Rollbacks that began, by trigger.",
	}, []string{"namespace", "trigger"})
	m.fromZero()
	registry.MustRegister(m)
	return m
}

// Seconds.
const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
)

// fromCommit are the buckets of durations that begin at a commit.
var fromCommit = []float64{minute, 5 * minute, 15 * minute, hour, 4 * hour, 12 * hour, day, 2 * day, 7 * day, 30 * day}

func histogram(name, help string, buckets ...float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}
}

// The outcomes of releases.
const (
	completed  = "Completed"
	rolledBack = "RolledBack"
	superseded = "Superseded"
	failed     = "Failed"
	deleted    = "Deleted"
	// failedRolledBack: it was rolled back after it had failed, and was counted as that.
	failedRolledBack = "FailedRolledBack"
	// restored: the controller took back a change that somebody made to the workload itself. No release
	// has failed.
	restored = "Restored"
)

var (
	outcomes = []string{completed, rolledBack, superseded, failed, deleted, failedRolledBack, restored}
	triggers = []v1alpha1.RollbackTrigger{
		v1alpha1.TriggerAnnotation, v1alpha1.TriggerGitRevert, v1alpha1.TriggerDeadline,
		v1alpha1.TriggerGateRejected, v1alpha1.TriggerDrift, v1alpha1.TriggerHistory, v1alpha1.TriggerMember,
	}
	gateTypes = []v1alpha1.GateType{
		v1alpha1.GateManual, v1alpha1.GateNone, v1alpha1.GateSoak, v1alpha1.GateWindow,
		v1alpha1.GatePullRequest, v1alpha1.GateCommitStatus, v1alpha1.GateCheckRun, v1alpha1.GateJob, v1alpha1.GateMetrics, otherType,
	}
	decisions = []v1alpha1.Decision{v1alpha1.DecisionPassed, v1alpha1.DecisionRejected}
)

// otherType stands for all types of gates that are not Sluice's own.
const otherType v1alpha1.GateType = "other"

// fromZero begins each series whose labels are known at 0: a series that does not exist looks like
// a failed scrape, and its first increase would be lost.
func (m *Metrics) fromZero() {
	for _, outcome := range outcomes {
		m.releases.WithLabelValues(outcome)
	}
	for _, kind := range gateTypes {
		for _, decision := range decisions {
			m.gates.WithLabelValues(string(kind), string(decision))
		}
	}
	m.commitToBatch.WithLabelValues("1")
}

// begin begins the series of a namespace at 0.
func (m *Metrics) begin(namespace string) {
	for _, outcome := range outcomes {
		m.ends.WithLabelValues(namespace, outcome)
	}
	for _, trigger := range triggers {
		m.rollbacks.WithLabelValues(namespace, string(trigger))
	}
	m.batches.WithLabelValues(namespace)
	m.leadTime.WithLabelValues(namespace)
	m.toRestore.WithLabelValues(namespace)
}

// forget removes the series of a namespace.
func (m *Metrics) forget(namespace string) {
	for _, vector := range []interface {
		DeletePartialMatch(labels prometheus.Labels) int
	}{
		m.ends, m.rollbacks, m.batches, m.leadTime, m.toRestore,
	} {
		vector.DeletePartialMatch(prometheus.Labels{"namespace": namespace})
	}
}
