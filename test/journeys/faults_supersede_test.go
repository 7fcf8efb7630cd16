package journeys

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestSupersededAtAnyMoment: F13, a new template comes before any write of a release, or after it,
// and one more while that one is released. Whether it replaces the one before or waits for it, no
// passed gate counts for another template, nothing gets stuck, and the last one runs in the end.
func TestSupersededAtAnyMoment(t *testing.T) {
	for _, policy := range []v1alpha1.SupersedePolicy{v1alpha1.SupersedeRestart, v1alpha1.SupersedeQueue} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			var sum tally
			t.Run("At", func(t *testing.T) {
				for _, write := range moments(t.Name(), releaseWrites) {
					t.Run(momentName(write, releaseWrites), func(t *testing.T) {
						t.Cleanup(func() { sum.add(t.Failed()) })
						supersededAt(t, policy, write)
					})
				}
			})
			t.Logf("%d runs, %d violations", sum.runs, sum.broken)
		})
	}
}

// supersededAt has a release of web:2 meet web:3 before a write, and that one web:4.
func supersededAt(t *testing.T, policy v1alpha1.SupersedePolicy, write int64) {
	t.Helper()
	w := newWorld(t)
	d := sixPods()
	w.deployed(d)
	release := threeBatches()
	release.Spec.Strategy.Supersede = policy
	w.create(release)
	c := w.startControllerHalting(write)
	w.awaitConfirming(either(c.halt.reached, all(web.completed, web.serves("web:2", 6))))
	t.Logf("web:3 comes before %q\n%s", c.halt.at(), standing(w.now()))
	w.release(podTemplate("web:3", delayed))
	w.catchUp()
	c.halt.goOn()
	w.awaitConfirming(web.spec("the template web:3", func(d *appsv1.Deployment) bool { return imageOf(d) == "web:3" }))
	w.release(podTemplate("web:4", delayed))
	s := w.awaitConfirming(all(web.completed, web.serves("web:4", 6)))
	wantStrategy(t, s, d)
}
