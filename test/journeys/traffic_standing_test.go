package journeys

import (
	"fmt"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestTrafficStoppedKeepsItsPods: a release that is stopped keeps the pods for its requests,
// whatever its workload is scaled to: down for the night, and up again.
func TestTrafficStoppedKeepsItsPods(t *testing.T) {
	w := newTrafficWorld(t)
	w.startController()
	w.deployed(deployment(6, rolling(1, 0)))
	w.create(sharing("web:2", stepOf("50%", "50%"), stepOf("100%", "100%")))
	w.await(all(web.blocksAt(0), gets(50), web.runs(pods{"web:1": 3, "web:2": 3})))
	w.kubectl("annotate", "deployment", "web", v1alpha1.HoldAnnotation+"-")
	w.await(web.drifted(v1alpha1.ReasonHoldRemoved))
	w.autoscale(2)
	w.await(all(gets(50), web.runs(pods{"web:1": 2, "web:2": 1}))) // one within maxSurge stays
	w.create(autoscaler(12))
	w.await(all(gets(50), web.runs(pods{"web:1": 6, "web:2": 6})))
}

// TestTrafficStepEditedAtItsGate: an author who may push but not approve edits the waiting step.
// It gives the new version no more pods and requests until the original step is approved, and then
// waits again. Less takes effect at once.
func TestTrafficStepEditedAtItsGate(t *testing.T) {
	w := newTrafficWorld(t)
	w.startController()
	w.deployed(deployment(10, rolling(1, 0)))
	before := w.routed()
	edit := func(replicas, requests string) {
		w.patchRelease(fmt.Sprintf(`{"spec":{"strategy":{"steps":%s}}}`, encode([]v1alpha1.Step{stepOf(replicas, requests), stepOf("100%", "100%")})))
	}
	w.create(sharing("web:2", stepOf("40%", "20%"), stepOf("100%", "100%")))
	w.await(all(web.blocksAt(0), gets(20), web.runs(pods{"web:1": 8, "web:2": 4})))
	edit("80%", "80%")
	w.await(all(web.observed, web.blocksAt(0), gets(20), web.runs(pods{"web:1": 8, "web:2": 4})))
	w.autoscale(15)
	w.await(all(web.observed, web.blocksAt(0), gets(20), web.runs(pods{"web:1": 12, "web:2": 6})))
	edit("80%", "10%")
	w.await(all(web.observed, web.blocksAt(0), gets(10)))
	edit("80%", "60%")
	w.await(all(web.observed, web.blocksAt(0), gets(20)))
	w.confirm("web")
	w.await(all(web.blocksAt(0), gets(60), web.runs(pods{"web:1": 6, "web:2": 12})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 15), givenBack(before)))
}
