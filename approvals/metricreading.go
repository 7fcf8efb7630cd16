package approvals

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/judge"
	"github.com/sluice-dev/sluice/judge/counters"
	"github.com/sluice-dev/sluice/measure"
)

const (
	defaultYoung    = 30 * time.Second
	defaultPodLabel = "pod"
	// bucketLabel is the label that holds the bound of a bucket.
	bucketLabel = "le"
)

// measurement holds the facts that one measurement of a gate needs.
type measurement struct {
	gate     *v1alpha1.Gate
	workload v1alpha1.WorkloadReference
	stable   string
	provider *v1alpha1.MetricProvider
	checks   []gate.MetricCheck
}

// metricWatch keeps the counters of a metric.
type metricWatch struct {
	// server is the provider that the counters are from, with its generation.
	server string
	// bounds are the bounds of latency, as the answers have them; one empty bound for errors.
	bounds []string
	// counters are one Watch for each bound.
	counters []counters.Watch
}

// take measures each metric of a gate that has no outcome yet.
func (r *MetricGates) take(ctx context.Context, o *openGate, m *measurement) []gate.MetricReading {
	var readings []gate.MetricReading
	for _, check := range m.checks {
		if gate.OutcomeOf(m.gate, check) != "" {
			continue
		}
		reading := gate.MetricReading{Metric: check.Name, Digest: check.Digest(), At: r.gates.clock.Now()}
		var err error
		if check.Query != nil {
			err = r.takeQuery(ctx, m, check, &reading)
		} else {
			err = r.takeCounters(ctx, o, m, check, &reading)
		}
		if ctx.Err() != nil {
			return readings
		}
		if err != nil {
			reading.Trouble, reading.Message = troubleOf(err)
		}
		readings = append(readings, reading)
	}
	return readings
}

// readingError is the error of a measurement that has no data.
type readingError struct {
	trouble v1alpha1.MetricTrouble
	message string
}

// Error implements error.
func (e readingError) Error() string { return e.message }

func troubleOf(err error) (v1alpha1.MetricTrouble, string) {
	if own, is := errors.AsType[readingError](err); is {
		return own.trouble, own.message
	}
	if answer, is := errors.AsType[*measure.Error](err); is {
		return v1alpha1.MetricTrouble(answer.Kind), answer.Message
	}
	return v1alpha1.TroubleUnreachable, err.Error()
}

// takeQuery takes the result of a query. It evaluates the conditions, so that no reading keeps an
// answer, and no worker waits for them.
func (r *MetricGates) takeQuery(ctx context.Context, m *measurement, check gate.MetricCheck, reading *gate.MetricReading) error {
	if m.provider.Spec.HTTP != nil {
		path, query, _ := strings.Cut(check.Query.Query, "?")
		values, err := url.ParseQuery(query)
		if err != nil {
			return readingError{v1alpha1.TroubleBadQuery, "the query of the path can't be read: " + err.Error()}
		}
		answer, err := r.servers.json(ctx, m, path, values)
		if err == nil {
			reading.Result = gate.ResultOf(check.Query, answer.JSON)
		}
		return err
	}
	answer, err := r.servers.read(ctx, m.provider, check.Query.Query, gate.MetricInterval(m.gate.Spec.Policy.Metrics))
	if err != nil {
		return err
	}
	if len(answer.Series) == 1 && answer.Series[0].Labels == nil {
		reading.Result = gate.ResultOf(check.Query, answer.Series[0].Value)
		return nil
	}
	values := make([]float64, len(answer.Series))
	for i, series := range answer.Series {
		values[i] = series.Value
	}
	reading.Result = gate.ResultOf(check.Query, values)
	return nil
}

// takeCounters takes the increments of both versions.
func (r *MetricGates) takeCounters(ctx context.Context, o *openGate, m *measurement, check gate.MetricCheck, reading *gate.MetricReading) error {
	watch := o.watch(m, check)
	pods, err := r.podsOf(m)
	if err != nil {
		return err
	}
	var counts []map[string]judge.Count // by bound, and by pod
	var at time.Time
	if check.Compare.Buckets != "" {
		var answer measure.Reading
		if answer, err = r.servers.read(ctx, m.provider, check.Compare.Buckets, check.Interval); err == nil {
			at = answer.At
			counts, err = watch.countSlow(answer.Answer, podLabel(check), pods)
		}
	} else {
		watch.bounds = []string{""}
		counts, at, err = r.countFailed(ctx, m, check, pods)
	}
	if err == nil {
		err = noData(counts, pods, young(check.Compare))
	}
	if err != nil {
		return err
	}
	return watch.look(reading, counts, at, pods, young(check.Compare))
}

func podLabel(check gate.MetricCheck) string {
	if check.Compare.PodLabel == "" {
		return defaultPodLabel
	}
	return check.Compare.PodLabel
}

// watch returns the counters of a metric. They begin again with another server: the difference
// between the counters of two servers is no increment.
func (o *openGate) watch(m *measurement, check gate.MetricCheck) *metricWatch {
	name, server := check.Name+"/"+check.Digest(), fmt.Sprintf("%s/%d", m.provider.UID, m.provider.Generation)
	known := o.watches[name]
	switch {
	case known == nil:
		o.watches[name] = &metricWatch{server: server, bounds: gate.BoundsOf(m.gate, check)}
	case known.server != server:
		o.watches[name] = &metricWatch{server: server, bounds: known.bounds}
	}
	return o.watches[name]
}

// countFailed reads the requests and errors of each pod, at the earlier time of the two.
func (r *MetricGates) countFailed(ctx context.Context, m *measurement, check gate.MetricCheck, pods []counters.Pod) ([]map[string]judge.Count, time.Time, error) {
	requests, err := r.servers.read(ctx, m.provider, check.Compare.Requests, check.Interval)
	if err != nil {
		return nil, time.Time{}, err
	}
	failed, err := r.servers.read(ctx, m.provider, check.Compare.Errors, check.Interval)
	if err != nil {
		return nil, time.Time{}, err
	}
	counts, err := countErrors(&requests.Answer, &failed.Answer, podLabel(check), pods)
	return []map[string]judge.Count{counts}, earliest(requests.At, failed.At), err
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func young(policy *v1alpha1.CompareMetric) time.Duration {
	if policy.Young == nil {
		return defaultYoung
	}
	return policy.Young.Duration
}

// look makes a look at each bound of the counters of pods at a time. It returns an error if none of
// them can bring requests of both versions.
func (w *metricWatch) look(reading *gate.MetricReading, counts []map[string]judge.Count, at time.Time, pods []counters.Pod, young time.Duration) error {
	if w.counters == nil {
		w.counters = make([]counters.Watch, len(w.bounds))
	}
	var useless []error
	for i, of := range counts {
		w.counters[i].Young = young
		look, gaps := w.counters[i].Look(counters.Reading{At: at, Pods: of}, pods)
		if gaps.Stale {
			return readingError{v1alpha1.TroubleStale, "the answer is no newer than the one before"}
		}
		reading.Gaps = gaps
		reading.Looks = append(reading.Looks, gate.BoundLook{Bound: w.bounds[i], Look: look})
		if err := noIncrements(of, at, pods, young, gaps.Back); err != nil {
			useless = append(useless, err)
		}
	}
	if len(useless) > 0 && len(useless) == len(counts) {
		return useless[0]
	}
	return nil
}

// countErrors returns the requests and errors of each of the pods.
func countErrors(requests, failed *measure.Answer, label string, pods []counters.Pod) (map[string]judge.Count, error) {
	served, errs := requests.By(label), failed.By(label)
	switch {
	case served.Missing:
		return nil, readingError{v1alpha1.TroubleBadQuery, fmt.Sprintf("a series of requests has no label %s: write sum by (%s) (…), or set podLabel", label, label)}
	case served.Twice != "":
		return nil, readingError{v1alpha1.TroubleBadQuery, fmt.Sprintf("requests has several series of pod %s: write sum by (%s) (…)", nameOf(served.Twice), label)}
	case errs.Twice != "":
		return nil, readingError{v1alpha1.TroubleBadQuery, fmt.Sprintf("errors has several series of pod %s: write sum by (%s) (…)", nameOf(errs.Twice), label)}
	case len(served.Values) > 0 && !meet(served.Values, errs.Values): // a query that selects nothing would pass any version below a floor
		return nil, readingError{v1alpha1.TroubleNoData, fmt.Sprintf(
			"errors has no series of any pod: correct it, or if no request has failed yet, have it count 0: … or sum by (%s) (REQUESTS) * 0", label)}
	}
	counts := make(map[string]judge.Count, len(pods))
	for _, pod := range pods {
		if value, is := served.Values[pod.Name]; is {
			counts[pod.Name] = judge.Count{Requests: value, Errors: errs.Values[pod.Name]}
		}
	}
	return counts, nil
}

// meet reports whether two maps have a key in common.
func meet(a, b map[string]float64) bool {
	for key := range b {
		if _, is := a[key]; is {
			return true
		}
	}
	return false
}

// maxPodName is the length of a name of a pod in a message. Labels of an answer have any length.
const maxPodName = 100

// nameOf returns what the label of a series says is a pod, for people.
func nameOf(label string) string { return plain.UpTo(plain.Line(label), maxPodName) }

// bucket is a bucket of a histogram.
type bucket struct {
	bound float64
	text  string
	count float64
}

// countSlow returns the requests of each pod, with the slower ones as errors, for each bound. The
// first answer decides on the bounds.
func (w *metricWatch) countSlow(answer measure.Answer, label string, pods []counters.Pod) ([]map[string]judge.Count, error) {
	byPod := make(map[string][]bucket, len(pods))
	for _, pod := range pods {
		byPod[pod.Name] = nil
	}
	for _, series := range answer.Series {
		pod, le := series.Labels[label], series.Labels[bucketLabel]
		bound, err := strconv.ParseFloat(le, 64)
		if pod == "" || err != nil {
			return nil, readingError{v1alpha1.TroubleBadQuery, fmt.Sprintf("buckets has a series without labels %s and le: write sum by (%s, le) (…)", label, label)}
		}
		if _, asked := byPod[pod]; asked {
			byPod[pod] = append(byPod[pod], bucket{bound, le, series.Value})
		}
	}
	maps.DeleteFunc(byPod, func(_ string, buckets []bucket) bool { return len(buckets) == 0 })
	for pod, buckets := range byPod {
		slices.SortFunc(buckets, func(a, b bucket) int { return int(math.Copysign(1, a.bound-b.bound)) })
		if err := histogram(buckets).Check(); err != nil {
			return nil, readingError{v1alpha1.TroubleBadQuery, fmt.Sprintf("buckets of pod %s are no histogram: %v", nameOf(pod), err)}
		}
	}
	if len(w.bounds) == 0 {
		w.choose(byPod, pods)
	}
	if len(w.bounds) == 0 {
		return nil, readingError{v1alpha1.TroubleNoData, "no bound of latency can be chosen: pods of the old version have served no request yet, or most took longer than each finite bucket"}
	}
	counts := make([]map[string]judge.Count, len(w.bounds))
	for i, text := range w.bounds {
		counts[i] = map[string]judge.Count{}
		bound, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, readingError{v1alpha1.TroubleBadAnswer, fmt.Sprintf("the bound %q is not a number", text)}
		}
		for pod, buckets := range byPod {
			count, err := histogram(buckets).Slower(bound)
			if err != nil {
				return nil, readingError{v1alpha1.TroubleBadAnswer, fmt.Sprintf("pod %s has no bucket of %s: the versions must have the same buckets", nameOf(pod), text)}
			}
			counts[i][pod] = count
		}
	}
	return counts, nil
}

func histogram(buckets []bucket) judge.Histogram {
	var h judge.Histogram
	for _, b := range buckets {
		h.Bounds, h.Counts = append(h.Bounds, b.bound), append(h.Counts, b.count)
	}
	return h
}

// choose chooses the bounds of latency by what the pods of the old version have served.
func (w *metricWatch) choose(byPod map[string][]bucket, pods []counters.Pod) {
	var all judge.Histogram
	for _, pod := range pods {
		h := histogram(byPod[pod.Name])
		switch {
		case pod.New || len(h.Bounds) == 0:
		case all.Bounds == nil:
			all = h
		case slices.Equal(all.Bounds, h.Bounds):
			for i := range all.Counts {
				all.Counts[i] += h.Counts[i]
			}
		}
	}
	if all.Bounds == nil || all.Counts[len(all.Counts)-1] == 0 { // each bound would do for no request
		return
	}
	for _, bound := range all.JudgedBounds() {
		w.bounds = append(w.bounds, strconv.FormatFloat(bound, 'g', -1, 64))
	}
}
