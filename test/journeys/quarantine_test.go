package journeys

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// podsRunning returns the names of the pods of an image that are not going away, by UID; of all if
// it is empty.
func (s *scene) podsRunning(image string) map[types.UID]string {
	running := map[types.UID]string{}
	for uid, pod := range s.pods {
		if alive(pod) && (image == "" || pod.Spec.Containers[0].Image == image) {
			running[uid] = pod.Name
		}
	}
	return running
}

// TestFieldsThatTheServerDrops: the API server drops fields of a feature that is not enabled. The
// release names them, also if nothing else has changed. The API server refuses unknown fields.
func TestFieldsThatTheServerDrops(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(2))
	w.create(release("web:1", step(1), step("100%")))
	first := w.await(all(web.completed, web.serves("web:1", 2)))
	const dropped = "the API server drops spec.template.spec.schedulingGroup: "
	w.patchRelease(`{"spec":{"template":{"spec":{"schedulingGroup":{"podGroupName":"web"}}}}}`)
	w.await(all(answered, web.completed, web.condition(v1alpha1.ConditionFieldsDropped, v1alpha1.ReasonFieldsDropped, dropped),
		web.attempt(first.releases["web"].Status.Attempt)))
	w.awaitEvent(v1alpha1.ReasonFieldsDropped, dropped)
	w.patchRelease(`{"spec":{"template":{"spec":{"schedulingGroup":null,"schedulingGrupp":{"podGroupName":"web"}}}}}`)
	w.await(stalls("web", v1alpha1.ReasonInvalidTemplate, `unknown field "spec.template.spec.schedulingGrupp"`))
	w.patchRelease(`{"spec":{"template":{"spec":{"schedulingGrupp":null}}}}`)
	w.await(all(answered, web.completed, web.withoutCondition(v1alpha1.ConditionFieldsDropped)))
}

// TestQuarantineHolds: a template that was rolled back is not released again while it is given, and
// another one lifts that.
func TestQuarantineHolds(t *testing.T) {
	w := newWorld(t)
	c := w.startController()
	w.deployed(deployment(4))
	r := release("web:2", step(1), step("100%"))
	r.Annotations = fromCommit(secondCommit, "Ada", "Second")
	w.create(r)
	w.await(web.blocksAt(0))
	w.rollBack()
	w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.quarantined, web.serves("web:1", 4)))
	for _, disturb := range []func(){
		func() { c.kill(); w.startController() },
		func() { w.annotateRelease(v1alpha1.CommitAnnotation, thirdCommit) }, // a resync brings the same template
		func() { w.releaseImage("web:2") },
		func() {
			w.patchRelease(`{"spec":{"template":{"metadata":{"labels":{"pod-template-hash":"5c66667f6"}}}}}`)
		},
		func() { w.annotateRelease(v1alpha1.RetryAnnotation, "true") },
		func() { w.scale("5") },
		func() { w.patchRelease(`{"spec":{"strategy":{"steps":[{"replicas":"100%"}]}}}`) },
	} {
		disturb()
		w.lookedAgain()
		s := w.await(all(web.observed, web.completed, web.quarantined, web.attempt(2)))
		if running := s.podsOf(s.deployments["web"]); running["web:2"] > 0 {
			t.Fatalf("want nothing of web:2 to run, have %v", running)
		}
	}
	w.releaseImage("web:3")
	s := w.awaitConfirming(all(web.attempt(3), web.completed, web.serves("web:3", 5)))
	if err := web.quarantined(s); err == nil {
		t.Error("want the quarantine lifted by another template")
	}
}
