package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/judge"
	"github.com/sluice-dev/sluice/judge/counters"
)

// MetricFacts holds the facts on the metrics of a gate.
type MetricFacts struct {
	// Problem says why nothing can be measured; empty if it can.
	Problem string
	// Checks are the checks of the gate's metrics, in their order.
	Checks []MetricCheck
	// Readings are the measurements that were taken, the oldest first. The gate's status may have some
	// of them, which are ignored.
	Readings []MetricReading
}

// MetricReading is one measurement of a metric.
type MetricReading struct {
	// Metric is the name of the metric.
	Metric string
	// Digest is the digest of the check that was measured.
	Digest string
	// At is the time of the measurement; later than that of any before.
	At time.Time
	// Trouble says why nothing was measured, with the words for people; empty if it was.
	Trouble v1alpha1.MetricTrouble
	Message string
	// Looks are the increments of a comparison, one for each bound.
	Looks []BoundLook
	// Gaps says what is missing in the looks.
	Gaps counters.Gaps
	// Result is the result of a query.
	Result QueryResult
}

// BoundLook is a look at one bound of latency, or at errors if the bound is empty.
type BoundLook struct {
	Bound string
	Look  judge.Look
}

// checkMetrics passes when all metrics have passed, and rejects when one has failed. Once no metric
// is measured any more and one is undecided, a user decides.
func checkMetrics(g *v1alpha1.Gate, facts Facts, now time.Time) Decision {
	seen := facts.Metrics
	switch {
	case seen == nil: // not read yet
		return unchanged(g)
	case !asksFor(facts.Release, g):
		return waiting("the release does not have this gate: nothing is measured", time.Time{})
	case g.Status.Undecided:
		return checkUndecided(g, facts.Release)(now)
	case g.IsGuard() && facts.Release.Status.Phase == v1alpha1.PhaseCompleted:
		return endGuard(g, now)
	case seen.Problem != "":
		return measuring(g.Status.Metrics, waiting(seen.Problem, NextMeasurement(g, now)))
	}
	metrics := make([]v1alpha1.MetricStatus, len(seen.Checks))
	for i, check := range seen.Checks {
		metrics[i] = measured(g, check, seen.Readings, comparisons(facts.Release))
	}
	return measuring(metrics, decideByMetrics(g, seen.Checks, metrics, now))
}

// measuring adds what was measured to a decision.
func measuring(metrics []v1alpha1.MetricStatus, d Decision) Decision {
	d.Status.Metrics = metrics
	return d
}

// checkUndecided decides a gate that its metrics can't decide by the answer of a user.
func checkUndecided(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) func(now time.Time) Decision {
	return func(now time.Time) (d Decision) {
		if answer := answerTo(g, release); answer != nil {
			d = answered(answer, now)
		} else {
			d = waiting(g.Status.Message, time.Time{})
		}
		d.Status.Undecided = true
		return measuring(g.Status.Metrics, d)
	}
}

// decideByMetrics decides by what the metrics have come to. A dry run decides nothing.
func decideByMetrics(g *v1alpha1.Gate, checks []MetricCheck, metrics []v1alpha1.MetricStatus, now time.Time) Decision {
	var counted []v1alpha1.MetricStatus
	for i, metric := range metrics {
		if !checks[i].DryRun {
			counted = append(counted, metric)
		}
	}
	with := func(outcome v1alpha1.MetricOutcome) []v1alpha1.MetricStatus {
		return slices.DeleteFunc(slices.Clone(counted), func(m v1alpha1.MetricStatus) bool { return m.Outcome != outcome })
	}
	failed, open, undecided := with(v1alpha1.MetricFailed), with(""), with(v1alpha1.MetricUndecided)
	switch {
	case len(failed) > 0:
		return decided(v1alpha1.DecisionRejected, wordsOfMetrics(failed), now, evidenceOf(failed, EvidenceMetricFailed)...)
	case len(open) > 0:
		return waiting(wordsOfMetrics(open), NextMeasurement(g, now))
	case len(undecided) > 0:
		d := waiting(fmt.Sprintf("%s; decide yourself: sluice approve %s -n %s", wordsOfMetrics(undecided), g.Spec.ReleaseRef.Name, g.Namespace), time.Time{})
		d.Status.Undecided = true
		return d
	case len(counted) == 0 && g.IsGuard(): // it watches on
		return waiting(wordsOfMetrics(metrics), NextMeasurement(g, now))
	case len(counted) == 0:
		return decided(v1alpha1.DecisionPassed, "all metrics are dry runs", now, evidenceOf(metrics, EvidenceMetricPassed)...)
	}
	return decided(v1alpha1.DecisionPassed, wordsOfMetrics(counted), now, evidenceOf(counted, EvidenceMetricPassed)...)
}

// wordsOfMetrics says in a line how metrics stand.
func wordsOfMetrics(metrics []v1alpha1.MetricStatus) string {
	words := make([]string, len(metrics))
	for i, metric := range metrics {
		words[i] = metric.Name + ": " + metric.Message
	}
	return strings.Join(words, "; ")
}

// endGuard passes the guard of a completed release, and names the metrics that it never measured.
func endGuard(g *v1alpha1.Gate, now time.Time) Decision {
	seen, message := withData(g.Status.Metrics), "no metric had failed when the release was completed"
	var unseen []string
	for _, metric := range g.Spec.Policy.Metrics.Metrics {
		if !slices.ContainsFunc(seen, func(m v1alpha1.MetricStatus) bool { return m.Name == metric.Name }) {
			unseen = append(unseen, metric.Name)
		}
	}
	if len(unseen) > 0 {
		message += "; never measured: " + strings.Join(unseen, ", ")
	}
	return measuring(g.Status.Metrics, decided(v1alpha1.DecisionPassed, message, now, evidenceOf(seen, EvidenceMetricPassed)...))
}

// withData returns the metrics of which something was measured: no data is no evidence.
func withData(metrics []v1alpha1.MetricStatus) []v1alpha1.MetricStatus {
	return slices.DeleteFunc(slices.Clone(metrics), func(m v1alpha1.MetricStatus) bool {
		compared := m.Compared != nil && m.Compared.Looks > 0
		return !compared && (m.Measured == nil || m.Measured.Successful+m.Measured.Failed+m.Measured.Inconclusive == 0)
	})
}

func evidenceOf(metrics []v1alpha1.MetricStatus, kind string) []v1alpha1.Evidence {
	facts := make([]v1alpha1.Evidence, len(metrics))
	for i, metric := range metrics {
		facts[i] = v1alpha1.Evidence{Kind: kind, Detail: metric.Name + ": " + metric.Message, URL: metric.URL}
		if metric.MeasuredAt != nil {
			facts[i].Time = new(metav1.NewTime(metric.MeasuredAt.Time))
		}
	}
	return facts
}

// comparisons returns how many comparisons can reject a release. The chance that any of them
// rejects a good version is that of one comparison alone.
func comparisons(release *v1alpha1.BatchRelease) int {
	count := comparisonsOf(release.Spec.Strategy.Guards)
	for _, rollback := range []bool{false, true} {
		for step := range release.Spec.Steps(rollback) {
			count += comparisonsOf(release.Spec.Gates(rollback, step))
		}
	}
	return max(count, 1)
}

func comparisonsOf(policies []v1alpha1.GatePolicy) (count int) {
	for _, policy := range policies {
		if policy.Metrics == nil {
			continue
		}
		for _, metric := range policy.Metrics.Metrics {
			if metric.Query == nil && !metric.DryRun {
				count++
			}
		}
	}
	return count
}

// measured returns the status of a metric with the readings that it does not have yet.
func measured(g *v1alpha1.Gate, check MetricCheck, readings []MetricReading, among int) v1alpha1.MetricStatus {
	status := statusOf(g, check)
	for _, reading := range readings {
		if reading.Metric != check.Name || reading.Digest != status.CheckDigest || status.Outcome != "" || !later(&status, reading) {
			continue
		}
		status.MeasuredAt, status.Trouble = new(metav1.NewMicroTime(reading.At.Truncate(time.Microsecond))), reading.Trouble
		switch {
		case check.Query != nil:
			countMeasurement(&status, check, reading)
		case reading.Trouble != "":
			status.Message = reading.Message
		default:
			compare(&status, check, reading, among)
		}
		if g.IsGuard() && status.Outcome != v1alpha1.MetricFailed { // it watches on
			status.Outcome = ""
		}
	}
	return status
}

// later reports whether a status does not have a reading yet. Times are stored in microseconds.
func later(status *v1alpha1.MetricStatus, reading MetricReading) bool {
	return status.MeasuredAt == nil || reading.At.Truncate(time.Microsecond).After(status.MeasuredAt.Time)
}

// recorded returns what a gate has recorded of a metric; nil if there is nothing of the check with
// the digest.
func recorded(g *v1alpha1.Gate, name, digest string) *v1alpha1.MetricStatus {
	for i := range g.Status.Metrics {
		if before := &g.Status.Metrics[i]; before.Name == name && before.CheckDigest == digest {
			return before
		}
	}
	return nil
}

// statusOf returns what was measured of a metric; nothing if it was another check.
func statusOf(g *v1alpha1.Gate, check MetricCheck) v1alpha1.MetricStatus {
	digest := check.Digest()
	if before := recorded(g, check.Name, digest); before != nil {
		return *before.DeepCopy()
	}
	return v1alpha1.MetricStatus{Name: check.Name, CheckDigest: digest, URL: check.URL, Message: "not measured yet"}
}

// OutcomeOf returns the outcome that is recorded for a check; empty while it is measured.
func OutcomeOf(g *v1alpha1.Gate, check MetricCheck) v1alpha1.MetricOutcome {
	if status := recorded(g, check.Name, check.Digest()); status != nil {
		return status.Outcome
	}
	return ""
}

// BoundsOf returns the bounds that a check is judged at so far.
func BoundsOf(g *v1alpha1.Gate, check MetricCheck) (bounds []string) {
	if status := recorded(g, check.Name, check.Digest()); status != nil && status.Compared != nil {
		for _, at := range status.Compared.Bounds {
			bounds = append(bounds, at.Bound)
		}
	}
	return bounds
}

// Unrecorded returns the readings that are not part of a gate's status.
func Unrecorded(g *v1alpha1.Gate, readings []MetricReading) []MetricReading {
	return slices.DeleteFunc(readings, func(r MetricReading) bool {
		status := recorded(g, r.Metric, r.Digest)
		return status != nil && !later(status, r)
	})
}

// Measures reports whether the metrics of a gate are measured: its release waits for it, and has
// its policy.
func Measures(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) bool {
	return Awaited(g, release) && asksFor(release, g) && !g.Status.Undecided && g.Status.Force == nil &&
		release.Status.Phase != v1alpha1.PhaseCompleted
}

const (
	defaultMetricInterval = 15 * time.Second
	// spread is the time over which the gates of an interval measure.
	spread = time.Second
)

// MetricInterval returns the time between two measurements of a gate.
func MetricInterval(policy *v1alpha1.MetricsGate) time.Duration {
	if policy.Interval == nil {
		return defaultMetricInterval
	}
	return policy.Interval.Duration
}

// FirstMeasurement returns the time of the first measurement of a gate.
func FirstMeasurement(g *v1alpha1.Gate) time.Time {
	if delay := g.Spec.Policy.Metrics.InitialDelay; delay != nil {
		return g.CreationTimestamp.Add(delay.Duration)
	}
	return g.CreationTimestamp.Time
}

// NextMeasurement returns the time of the next measurement of a gate, which is after now: the first
// one, or one in the next interval, as gates that ask the same share the answer of an interval.
func NextMeasurement(g *v1alpha1.Gate, now time.Time) time.Time {
	interval := MetricInterval(g.Spec.Policy.Metrics)
	sum := int64(0)
	for _, b := range []byte(g.UID) {
		sum = (sum*31 + int64(b)) % int64(spread)
	}
	if first := FirstMeasurement(g); now.Before(first) {
		return first.Add(time.Duration(sum))
	}
	return now.Truncate(interval).Add(interval + time.Duration(sum))
}
