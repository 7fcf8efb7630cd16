package approvals

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/judge"
	"github.com/sluice-dev/sluice/judge/counters"
	"github.com/sluice-dev/sluice/measure"
)

// answer returns series with a label of pods, and of bounds where a name has one after a slash.
func answer(values map[string]float64) measure.Answer {
	var a measure.Answer
	for name, value := range values {
		pod, le, bucket := strings.Cut(name, "/")
		labels := map[string]string{"pod": pod}
		if bucket {
			labels["le"] = le
		}
		a.Series = append(a.Series, measure.Series{Labels: labels, Value: value})
	}
	return a
}

// TestCountersOfPods: errors belong to the requests of their pod; a pod without has none.
func TestCountersOfPods(t *testing.T) {
	t.Parallel()
	pods := []counters.Pod{{Name: "a"}, {Name: "b"}, {Name: "unmeasured"}}
	count := func(requests, failed measure.Answer, label string) (map[string]judge.Count, error) {
		return countErrors(&requests, &failed, label, pods)
	}
	got, err := count(answer(map[string]float64{"a": 10, "b": 20, "of another release": 5}), answer(map[string]float64{"b": 3, "gone": 7}), "pod")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]judge.Count{"a": {Requests: 10}, "b": {Requests: 20, Errors: 3}}, got); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	if trouble, words := troubleOf(second(count(answer(map[string]float64{"a": 10}), answer(map[string]float64{"gone": 3}), "pod"))); trouble != v1alpha1.TroubleNoData {
		t.Errorf("errors of no pod: got %q %s, want that nothing is measured", trouble, words)
	}
	twice := measure.Answer{Series: []measure.Series{{Labels: map[string]string{"pod": "a", "code": "500"}}, {Labels: map[string]string{"pod": "a", "code": "502"}}}}
	for name, tc := range map[string]struct {
		requests, failed measure.Answer
		label, says      string
	}{
		"no label":                {answer(map[string]float64{"a": 1}), measure.Answer{}, "instance", "has no label instance"},
		"several of a pod":        {twice, measure.Answer{}, "pod", "requests has several series of pod a: write sum by (pod)"},
		"several errors of a pod": {answer(map[string]float64{"a": 1}), twice, "pod", "errors has several series of pod a"},
	} {
		_, err := count(tc.requests, tc.failed, tc.label)
		if trouble, words := troubleOf(err); trouble != v1alpha1.TroubleBadQuery || !strings.Contains(words, tc.says) {
			t.Errorf("%s: got %s: %s, want %q", name, trouble, words, tc.says)
		}
	}
}

func second(_ any, err error) error { return err }

// TestBoundsOfLatency: the old version's requests choose the bounds, which then stay.
func TestBoundsOfLatency(t *testing.T) {
	t.Parallel()
	pods := []counters.Pod{{Name: "old"}, {Name: "new", New: true}}
	w := &metricWatch{}
	first := answer(map[string]float64{
		"old/0.1": 400, "old/0.5": 950, "old/1": 995, "old/+Inf": 1000,
		"new/0.1": 1, "new/0.5": 1, "new/1": 1, "new/+Inf": 100,
	})
	counts, err := w.countSlow(first, "pod", pods)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"0.5", "1"}, w.bounds); diff != "" {
		t.Fatalf("bounds: want -, got +:\n%s", diff)
	}
	want := []map[string]judge.Count{
		{"old": {Requests: 1000, Errors: 50}, "new": {Requests: 100, Errors: 99}}, {"old": {Requests: 1000, Errors: 5}, "new": {Requests: 100, Errors: 99}},
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	slower := answer(map[string]float64{"old/0.1": 0, "old/0.5": 0, "old/1": 0, "old/+Inf": 5000})
	if _, err := w.countSlow(slower, "pod", pods); err != nil || len(w.bounds) != 2 {
		t.Errorf("bounds are now %v, %v", w.bounds, err)
	}
	for name, bad := range map[string]measure.Answer{
		"other buckets": answer(map[string]float64{"old/0.2": 1, "old/+Inf": 2}),
		"no bound":      answer(map[string]float64{"old": 1}),
		"falling":       answer(map[string]float64{"old/0.5": 3, "old/1": 2, "old/+Inf": 5}),
		"no last one":   answer(map[string]float64{"old/0.5": 3, "old/1": 4}),
		"not a number":  answer(map[string]float64{"old/abc": 3, "old/+Inf": 4}),
	} {
		if _, err := w.countSlow(bad, "pod", pods); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	idle := &metricWatch{}
	none := answer(map[string]float64{"old/0.1": 0, "old/0.5": 0, "old/1": 0, "old/+Inf": 0, "new/0.1": 1, "new/0.5": 1, "new/1": 1, "new/+Inf": 1})
	if trouble, words := troubleOf(second(idle.countSlow(none, "pod", pods))); trouble != v1alpha1.TroubleNoData || len(idle.bounds) > 0 {
		t.Errorf("bounds %v are chosen by no request: %s: %s", idle.bounds, trouble, words)
	}
	if _, err := (&metricWatch{}).countSlow(answer(map[string]float64{"new/1": 1, "new/+Inf": 1}), "pod", pods); err == nil {
		t.Error("bounds are chosen by the new version")
	}
}

// TestLooksOfBothVersions: a look needs series of both versions, and a later answer than before.
func TestLooksOfBothVersions(t *testing.T) {
	t.Parallel()
	of := func(names ...string) []map[string]judge.Count {
		counts := map[string]judge.Count{}
		for _, name := range names {
			counts[name] = judge.Count{Requests: 1}
		}
		return []map[string]judge.Count{counts}
	}
	old, fresh := counters.Pod{Name: "old", UID: "o"}, counters.Pod{Name: "new", UID: "n", New: true}
	for want, tc := range map[v1alpha1.MetricTrouble]struct {
		counts []map[string]judge.Count
		pods   []counters.Pod
	}{
		v1alpha1.TroubleNoOldPods: {of("new"), []counters.Pod{fresh}},
		v1alpha1.TroubleNoNewPods: {of("old"), []counters.Pod{old}},
		v1alpha1.TroubleNoData:    {of("old"), []counters.Pod{old, fresh}},
	} {
		if got, _ := troubleOf(noData(tc.counts, tc.pods, 0)); got != want {
			t.Errorf("trouble %s, want %s", got, want)
		}
	}
	w, at := &metricWatch{bounds: []string{""}}, time.Now()
	var reading gate.MetricReading
	if err := w.look(&reading, of("old", "new"), at, []counters.Pod{old, fresh}, 0); err != nil {
		t.Fatal(err)
	}
	if got, _ := troubleOf(w.look(&reading, of("old", "new"), at, []counters.Pod{old, fresh}, 0)); got != v1alpha1.TroubleStale {
		t.Errorf("an answer of the same time: %s", got)
	}
}

// TestPodsOfVersions: a pod is of a version by its labels and its owner, and has nothing else in
// memory.
func TestPodsOfVersions(t *testing.T) {
	t.Parallel()
	since := metav1.NewTime(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	pod := func(change ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: "web-x", UID: types.UID("x"), Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "7f", "app": "web"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web-7f", Controller: new(true)}},
		}}
		p.Spec.Containers = []corev1.Container{{Name: "web", Env: []corev1.EnvVar{{Name: "SECRET", Value: "s3cret"}}}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", RestartCount: 2}, {Name: "proxy", RestartCount: 1}}
		for _, c := range change {
			c(p)
		}
		kept, err := podToMeasure(p)
		if err != nil {
			t.Fatal(err)
		}
		return kept.(*corev1.Pod)
	}
	version := kinds.Named(kinds.Deployment).Pods("web", "7f")
	if p := pod(); !isOf(p, version) || readySince(p) != since.Time || restartsOf(p) != 3 || len(p.Spec.Containers) != 0 || len(p.Labels) != 1 {
		t.Errorf("kept %+v", p)
	}
	for name, other := range map[string]*corev1.Pod{
		"another version":  pod(func(p *corev1.Pod) { p.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "6e" }),
		"another workload": pod(func(p *corev1.Pod) { p.OwnerReferences[0].Name = "shop-7f" }),
		"no owner":         pod(func(p *corev1.Pod) { p.OwnerReferences = nil }),
		"another kind":     pod(func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Job" }),
	} {
		if isOf(other, version) {
			t.Errorf("%s counts", name)
		}
	}
	for name, other := range map[string]*corev1.Pod{
		"not ready":     pod(func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }),
		"terminating":   pod(func(p *corev1.Pod) { p.DeletionTimestamp = &since }),
		"no conditions": pod(func(p *corev1.Pod) { p.Status.Conditions = nil }),
	} {
		if !readySince(other).IsZero() {
			t.Errorf("%s is ready", name)
		}
	}
}

// TestHeadersOfProviders: credentials come from the Secret, and one kind of them alone.
func TestHeadersOfProviders(t *testing.T) {
	t.Parallel()
	spec := &v1alpha1.MetricServer{Headers: []v1alpha1.MetricHeader{{Name: "X-Scope-OrgID", Value: "shop"}}}
	secret := func(data ...string) *corev1.Secret {
		s := &corev1.Secret{Data: map[string][]byte{}}
		for i := 0; i < len(data); i += 2 {
			s.Data[data[i]] = []byte(data[i+1])
		}
		return s
	}
	for name, tc := range map[string]struct {
		secret *corev1.Secret
		want   http.Header
	}{
		"none":  {secret(), http.Header{"X-Scope-Orgid": {"shop"}}},
		"token": {secret("bearerToken", "t0k3n\n"), http.Header{"X-Scope-Orgid": {"shop"}, "Authorization": {"Bearer t0k3n"}}},
		"basic": {secret("username", "ada", "password", "pw"), http.Header{"X-Scope-Orgid": {"shop"}, "Authorization": {"Basic YWRhOnB3"}}},
		"other": {secret("header.X-Key", "k", "header.X-Scope-OrgID", "other"), http.Header{"X-Scope-Orgid": {"other"}, "X-Key": {"k"}}},
	} {
		got, err := headerOf(spec, tc.secret)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, want -, got +:\n%s", name, err, diff)
		}
	}
	if _, err := headerOf(spec, secret("bearerToken", "t", "username", "ada")); err == nil {
		t.Error("two kinds of credentials are accepted")
	}
}

// TestLabelsAreWordsOnALine: a label of an answer reaches a status as a short line alone.
func TestLabelsAreWordsOnALine(t *testing.T) {
	t.Parallel()
	label := "web\x1b]0;owned\x07\n::error::" + strings.Repeat("x", 1<<20)
	series := func(le string, value float64) measure.Series {
		return measure.Series{Labels: map[string]string{"pod": label, "le": le}, Value: value}
	}
	twice := measure.Answer{Series: []measure.Series{series("1", 1), series("+Inf", 1)}}
	falling := measure.Answer{Series: []measure.Series{series("1", 2), series("+Inf", 1)}}
	other, pods, few := &metricWatch{bounds: []string{"0.5"}}, []counters.Pod{{Name: label}}, answer(map[string]float64{"a": 1})
	for name, err := range map[string]error{
		"requests":      second(countErrors(&twice, &few, "pod", pods)),
		"errors":        second(countErrors(&few, &twice, "pod", pods)),
		"no histogram":  second((&metricWatch{}).countSlow(falling, "pod", pods)),
		"other buckets": second(other.countSlow(twice, "pod", pods)),
	} {
		if trouble, words := troubleOf(err); trouble == "" || plain.Line(words) != words || len(words) > 300 {
			t.Errorf("%s: got %q and %.400q, want a harmless line", name, trouble, words)
		}
	}
}

// TestReadingsOfAMinute: readings of ten metrics, one each second, are kept until they are
// recorded, once a minute. A failure that is dropped would not count.
func TestReadingsOfAMinute(t *testing.T) {
	t.Parallel()
	o, policy := &openGate{}, v1alpha1.GatePolicy{Metrics: &v1alpha1.MetricsGate{}}
	begin := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for second := range 60 {
		var readings []gate.MetricReading
		for metric := range 10 {
			readings = append(readings, gate.MetricReading{Metric: string(rune('a' + metric)), At: begin.Add(time.Duration(second) * time.Second)})
		}
		o.end(readings, len(readings))
	}
	if kept := o.since(&v1alpha1.Gate{Spec: v1alpha1.GateSpec{Policy: policy}}); len(kept) != 600 {
		t.Errorf("%d readings are kept, want all 600", len(kept))
	}
	for range 1000 {
		o.end(make([]gate.MetricReading, 10), 10)
	}
	if most := maxReadings * 10; len(o.readings) != most {
		t.Errorf("%d readings are kept in an outage of the API server, want %d", len(o.readings), most)
	}
}

// TestOtherServer: counters of a provider that was changed are no increments of those before.
func TestOtherServer(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	pods := []counters.Pod{{Name: "old", UID: "1"}, {Name: "new", UID: "2", New: true}}
	o := &openGate{watches: map[string]*metricWatch{}}
	m := &measurement{gate: &v1alpha1.Gate{}, provider: &v1alpha1.MetricProvider{ObjectMeta: metav1.ObjectMeta{UID: "p", Generation: 1}}}
	check := gate.MetricCheck{Name: "errors"}
	for i, step := range []struct {
		generation int64
		served     float64
		want       float64
	}{{1, 10, 0}, {1, 30, 20}, {2, 1_000_000, 0}, {2, 1_000_005, 5}, {1, 40, 0}} {
		m.provider.Generation = step.generation
		watch := o.watch(m, check)
		watch.bounds = []string{""}
		var reading gate.MetricReading
		counts := []map[string]judge.Count{{"old": {Requests: step.served}, "new": {Requests: step.served, Errors: step.served / 2}}}
		if err := watch.look(&reading, counts, begin.Add(time.Duration(i)*time.Minute), pods, 0); err != nil {
			t.Fatal(err)
		}
		if got := reading.Looks[0].Look.New.Requests; got != step.want {
			t.Errorf("measurement %d: %v requests are new, want %v", i, got, step.want)
		}
	}
}

// TestBoundsOfNoRequest: a histogram without requests chooses no bound of latency.
func TestBoundsOfNoRequest(t *testing.T) {
	t.Parallel()
	watch, pods := &metricWatch{}, []counters.Pod{{Name: "a"}}
	_, err := watch.countSlow(answer(map[string]float64{"a/0.1": 0, "a/1": 0, "a/+Inf": 0}), "pod", pods)
	if trouble, words := troubleOf(err); trouble != v1alpha1.TroubleNoData || len(watch.bounds) > 0 {
		t.Errorf("got bounds %v and %q %s, want that there is nothing to choose by", watch.bounds, trouble, words)
	}
	if _, err := watch.countSlow(answer(map[string]float64{"a/0.1": 10, "a/1": 99, "a/+Inf": 100}), "pod", pods); err != nil || watch.bounds[0] != "1" {
		t.Errorf("got bounds %v and %v, want those of what was served", watch.bounds, err)
	}
}

// TestServersOfThePast: providers that come and go leave nothing behind.
func TestServersOfThePast(t *testing.T) {
	t.Parallel()
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	servers := newMetricServers(nil, now, dialer.Rules{})
	lasting := &v1alpha1.MetricProvider{ObjectMeta: metav1.ObjectMeta{UID: "lasting"}}
	lasting.Spec.Prometheus = &v1alpha1.MetricServer{Address: "http://prometheus:9090"}
	_, name, err := servers.open(t.Context(), lasting)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		now.SetTime(now.Now().Add(10 * time.Minute))
		provider := lasting.DeepCopy()
		provider.UID = types.UID(fmt.Sprint(i))
		for _, p := range []*v1alpha1.MetricProvider{provider, lasting} {
			if _, again, err := servers.open(t.Context(), p); err != nil || p == lasting && again != name {
				t.Fatalf("got %s and %v, want the server that is used", again, err)
			}
		}
	}
	if kept := len(servers.all); kept > 20 {
		t.Errorf("%d servers are kept, want those of two hours", kept)
	}
}
