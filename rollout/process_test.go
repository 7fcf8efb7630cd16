package rollout

import (
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// TestNextTry: a change is decided on at once, but not a thousand times a second where a cache
// lags.
func TestNextTry(t *testing.T) {
	t.Parallel()
	m, total := &process{}, time.Duration(0)
	if first := m.nextTry(); first != time.Millisecond {
		t.Errorf("want the first try at once, got %s", first)
	}
	for range 20 {
		total += m.nextTry()
	}
	if total < 10*time.Second {
		t.Errorf("want tries in a row ever further apart, got 20 within %s", total)
	}
}

// TestCountsOfManyReleasesWaitLonger: the sum of writes does not grow with the number of releases.
func TestCountsOfManyReleasesWaitLonger(t *testing.T) {
	t.Parallel()
	p := newProcesses(clock.RealClock{})
	note := func(releases int, underWay bool) {
		for i := range releases {
			p.note(p.of(types.NamespacedName{Name: strconv.Itoa(i)}), underWay)
		}
	}
	want := func(when string, want time.Duration) {
		t.Helper()
		if got := p.countsInterval(); got != want {
			t.Errorf("%s: want %s, got %s", when, want, got)
		}
	}
	want("at rest", 5*time.Second)
	note(10, true)
	note(10, true)
	want("with ten", 5*time.Second)
	note(200, true)
	want("with 200", 50*time.Second)
	p.forget(types.NamespacedName{Name: "100"})
	p.forget(types.NamespacedName{Name: "100"})
	want("with one gone", 199*time.Second/4)
	note(200, false)
	want("at rest again", 5*time.Second)
}

// TestReleaseThatWasMadeAgain: a release knows nothing of another one that had its name, such as
// the writes that were refused, and no longer counts as in progress. The newest reading of the
// release itself stays, since the cache may lack it.
func TestReleaseThatWasMadeAgain(t *testing.T) {
	t.Parallel()
	p, name := newProcesses(clock.RealClock{}), types.NamespacedName{Namespace: "shop", Name: "web"}
	first := p.ofRelease(name, p.of(name), "1")
	p.note(first, true)
	first.refuse(plan.Refusal{Generation: 1}, time.Now())
	if again := p.ofRelease(name, p.of(name), "1"); again != first {
		t.Error("the same release has another process")
	}
	second := p.ofRelease(name, p.of(name), "2")
	if second == first || len(second.refusals) > 0 || p.busy > 0 {
		t.Errorf("another release of the name knows of %d refusals, and %d are in progress, want none", len(second.refusals), p.busy)
	}
	if second.release != first.release {
		t.Error("what was read of the release is lost")
	}
	if p.of(name) != second {
		t.Error("the next pass has the process of the first release")
	}
}

// TestRevisionOfAnAdoptedSet: a ReplicaSet that was made by hand has no hash that its template
// could be kept under.
func TestRevisionOfAnAdoptedSet(t *testing.T) {
	t.Parallel()
	d := &appsv1.Deployment{}
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}}
	set.Spec.Template = d.Spec.Template
	v := &view{workload: &deployment.Object{Deployment: d}, sets: []*appsv1.ReplicaSet{set}}
	if got := v.parts().revision(v, digestOf(&d.Spec.Template)); got == "" || got != foretold(v.workload) {
		t.Errorf("want the native hash of the template, got %q", got)
	}
}

// TestNativeSight: the native controller has come up to a change when it was first seen to have,
// however often it is looked at.
func TestNativeSight(t *testing.T) {
	t.Parallel()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "one", Generation: 2}, Status: appsv1.DeploymentStatus{ObservedGeneration: 1}}
	begin, sight := time.Now(), nativeSight{}
	look := func(seconds int, want int) {
		t.Helper()
		sight = sight.of(&deployment.Object{Deployment: d}, begin.Add(time.Duration(seconds)*time.Second))
		if got := sight.at.Sub(begin); !sight.at.IsZero() && got != time.Duration(want)*time.Second || sight.at.IsZero() != (want < 0) {
			t.Errorf("after %d s: want %d s, got %v", seconds, want, sight.at)
		}
	}
	look(1, -1)
	d.Status.ObservedGeneration = 2
	look(2, 2)
	look(3, 2)
	d.Generation = 3
	look(4, 2)
	d.Status.ObservedGeneration = 3
	look(5, 5)
	d.UID = "two"
	look(6, 6)
}
