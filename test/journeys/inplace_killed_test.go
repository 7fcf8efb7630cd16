package journeys

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// writesInPlace is about how many writes a release of four pods in two batches takes.
const writesInPlace = 21

// Killed at any write of a small release, the next controller comes to the same end, with the pods that the gate wants.
func TestInPlaceKilledAtAnyWrite(t *testing.T) {
	cases := map[string]struct {
		workload func(*world) client.Object
		kind     string
	}{
		"StatefulSet":  {func(*world) client.Object { return statefulSet(4) }, "StatefulSet"},
		"OrderedReady": {func(*world) client.Object { return statefulSet(4, managed(oneByOne)) }, "StatefulSet"},
		"DaemonSet": {func(w *world) client.Object {
			w.ownNodes(4)
			return w.daemonSet()
		}, "DaemonSet"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sum tally
			t.Run("At", func(t *testing.T) {
				for _, write := range moments(t.Name(), writesInPlace) {
					t.Run(momentName(write, writesInPlace), func(t *testing.T) {
						t.Cleanup(func() { sum.add(t.Failed()) })
						w := newWorld(t)
						before := c.workload(w)
						w.placed(before, 4)
						template := templateOf(before).DeepCopy()
						template.Spec.Containers[0].Image = "web:2"
						w.create(releaseTo(c.kind, *template, step("50%"), step("100%")))
						first := w.startControllerHalting(write)
						w.awaitConfirming(either(first.halt.reached, all(web.completed, web.serves("web:2", 4))))
						t.Logf("it is killed before %q\n%s", first.halt.at(), standing(w.now()))
						first.kill()
						w.startController()
						w.patchRelease(`{"spec":{"revisionHistoryLimit":9}}`) // that it was seen shows that the controller has been here
						w.wantUntouched(before, all(web.completed, web.serves("web:2", 4)))
						w.wantStops("2 of 4")
					})
				}
			})
			t.Logf("%d runs, %d violations", sum.runs, sum.broken)
		})
	}
}
