package journeys

import (
	"testing"
)

// writesInPlace is about how many writes a release of four pods in two batches takes.
const writesInPlace = 21

// kindsInPlace returns the kinds of a sweep: StatefulSets of one policy and DaemonSets. With
// -every-moment it has StatefulSets of both policies.
func kindsInPlace(policy string) []string {
	if *everyMoment {
		return []string{"StatefulSet", "OrderedReady", "DaemonSet"}
	}
	return []string{policy, "DaemonSet"}
}

// TestInPlaceKilledAtAnyWrite: killed at any write of a small release, the next controller comes to
// the same end, and stops at the gate with the pods that it wants.
func TestInPlaceKilledAtAnyWrite(t *testing.T) {
	for _, kind := range kindsInPlace("StatefulSet") {
		p := workloadKinds()[kind]
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, write := range moments(t.Name(), writesInPlace) {
				t.Run(momentName(write, writesInPlace), func(t *testing.T) {
					w := newWorld(t)
					before := p.begin(w, 4)
					w.create(p.to(w, step("50%"), step("100%")))
					first := w.startControllerHalting(write)
					w.awaitConfirming(either(first.halt.reached, all(web.completed, web.serves("web:2", 4))))
					t.Logf("it is killed before %q\n%s", first.halt.at(), standing(w.now()))
					first.kill()
					w.startController()
					w.patchRelease(`{"spec":{"revisionHistoryLimit":9}}`) // its observation shows that the controller was here
					w.wantUntouched(before, all(web.completed, web.serves("web:2", 4)))
					w.wantStops("2 of 4")
				})
			}
		})
	}
}
