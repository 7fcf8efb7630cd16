package journeys

import (
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// releaseWrites is about how many writes a release of six pods in three batches takes.
const releaseWrites = 18

// takenOver is the first write of a release after the one that takes the workload over.
const takenOver = 3

// TestRolledBackAtAnyMoment: F14 and F10, rolled back before a write of a release of web:2 (each
// with -every-moment, else one in 15), at its end, or after it, by people or by Git, all pods
// run web:1 again, and enough serve meanwhile. A release without any write has nothing to roll
// back, so the annotation comes after the take-over.
func TestRolledBackAtAnyMoment(t *testing.T) {
	annotate := func(w *world) { w.rollBack() }
	cases := map[string]struct {
		back     func(*world)
		first    int64
		workload func(*appsv1.Deployment)
	}{
		"Annotation":               {annotate, takenOver, func(*appsv1.Deployment) {}},
		"AnnotationWithoutHistory": {annotate, takenOver, noHistory},
		"Revert":                   {func(w *world) { w.release(podTemplate("web:1", delayed)) }, 1, func(*appsv1.Deployment) {}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sum tally
			least := leastOf{pods: 6}
			t.Run("At", func(t *testing.T) {
				for _, write := range moments(t.Name(), releaseWrites) {
					if write < c.first {
						continue
					}
					t.Run(momentName(write, releaseWrites), func(t *testing.T) {
						t.Cleanup(func() { sum.add(t.Failed()) })
						d := sixPods()
						c.workload(d)
						least.note(rolledBackAt(t, d, write, c.back))
					})
				}
			})
			t.Logf("%d runs, %d violations; %d of 6 pods served at least", sum.runs, sum.broken, least.pods)
		})
	}
}

// rolledBackAt has a release of web:2 rolled back before a write, and returns how many pods served
// at least.
func rolledBackAt(t *testing.T, d *appsv1.Deployment, write int64, back func(*world)) int32 {
	t.Helper()
	w := newWorld(t)
	w.deployed(d)
	w.create(releaseOf(podTemplate("web:1", delayed), threeBatches().Spec.Strategy.Steps...))
	first := w.startController()
	w.await(web.completed)
	first.kill()
	w.release(podTemplate("web:2", delayed))
	c := w.startControllerHalting(write)
	w.awaitConfirming(either(c.halt.reached, all(web.completed, web.serves("web:2", 6))))
	t.Logf("it is rolled back before %q\n%s", c.halt.at(), standing(w.now()))
	back(w)
	w.catchUp()
	c.halt.goOn()
	s := w.awaitConfirming(all(web.completed, web.serves("web:1", 6)))
	wantStrategy(t, s, d)
	w.wantNoAnnotation(v1alpha1.RollbackAnnotation)
	return w.findings(web).leastReady
}

// leastOf is the least of what concurrent runs find.
type leastOf struct {
	mu   sync.Mutex
	pods int32
}

// note takes what one run has found; less than 0 is nothing.
func (l *leastOf) note(pods int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pods >= 0 {
		l.pods = min(l.pods, pods)
	}
}
