package journeys

import (
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A rollback in the middle of a release leaves the pods of the good version as they are.
func TestRollbackKeepsGoodPods(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(10, rolling(2, 0)))
	w.create(release("web:2", step("50%"), step("100%")))
	s := w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 5})))
	good := s.podsRunning("web:1")
	w.rollBack()
	s = w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.serves("web:1", 10)))
	for uid, name := range good {
		if s.podsRunning("web:1")[uid] == "" {
			t.Errorf("pod %s of the good version did not outlive the rollback", name)
		}
	}
	if least := w.findings(web).leastReady; least < 10 {
		t.Errorf("%d pods served at least, want all 10: none may be unavailable", least)
	}
}

// podsRunning are the pods of an image that are not going away, by UID.
func (s *scene) podsRunning(image string) map[types.UID]string {
	running := map[types.UID]string{}
	for uid, pod := range s.pods {
		if alive(pod) && pod.Spec.Containers[0].Image == image {
			running[uid] = pod.Name
		}
	}
	return running
}

// What was rolled back is not released again as long as the same is given, whatever happens.
func TestQuarantineHolds(t *testing.T) {
	cases := map[string]func(*world, *controller){
		"Restart": func(w *world, first *controller) {
			first.kill()
			w.startController()
		},
		"Annotated": func(w *world, _ *controller) { // a resync brings the same commit again
			w.kubectl("annotate", "batchrelease", "web", "--overwrite", v1alpha1.CommitAnnotation+"="+thirdCommit)
		},
		"WrittenAnotherWay": func(w *world, _ *controller) {
			w.patchRelease(`{"spec":{"template":{"metadata":{"labels":{"pod-template-hash":"5c66667f6"}}}}}`)
		},
		"AppliedAgain": func(w *world, _ *controller) { w.releaseImage("web:2") },
		"AskedAgain":   func(w *world, _ *controller) { w.annotateRelease(v1alpha1.RetryAnnotation, "true") },
		"Scaled":       func(w *world, _ *controller) { w.scale("5") },
		"StepsEdited": func(w *world, _ *controller) {
			w.patchRelease(`{"spec":{"strategy":{"steps":[{"replicas":"100%"}]}}}`)
		},
	}
	for name, disturb := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.startController()
			w.deployed(deployment(4))
			r := release("web:2", step(1), step("100%"))
			r.Annotations = fromCommit(secondCommit, "Ada", "Second")
			w.create(r)
			w.await(web.blocksAt(0))
			w.rollBack()
			w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.quarantined, web.serves("web:1", 4)))

			disturb(w, c)
			w.patchRelease(`{"spec":{"revisionHistoryLimit":9}}`) // that it is observed shows that the controller has been here
			s := w.await(all(web.observed, web.completed, web.quarantined, web.attempt(2)))
			if running := s.podsOf(s.deployments["web"]); running["web:2"] > 0 {
				t.Errorf("want nothing of web:2 to run, have %v", running)
			}

			// Another template lifts it.
			w.releaseImage("web:3")
			s = w.awaitConfirming(all(web.attempt(3), web.completed, func(s *scene) error { return web.serves("web:3", wanted(s))(s) }))
			if err := web.quarantined(s); err == nil {
				t.Error("want the quarantine lifted by another template")
			}
		})
	}
}

// TestFieldsThatTheServerDrops: the API server drops fields of a feature that is not enabled. The release names them,
// also if nothing else has changed. The API server refuses unknown fields.
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

func wanted(s *scene) int32 { return *s.deployments["web"].Spec.Replicas }

// A template that says what runs lifts the quarantine, and rolls nothing; what was rolled back is then a
// release like any other, with all its gates.
func TestQuarantineIsLifted(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(release("web:2", step(1), step("100%")))
	w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
	w.rollBack()
	s := w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, ""), web.quarantined, web.serves("web:1", 4)))
	before := s.podsRunning("web:1")

	w.releaseImage("web:1")
	s = w.await(all(web.completed, web.attempt(2), web.status("no quarantine", func(s *v1alpha1.BatchReleaseStatus) bool { return len(s.Quarantined) == 0 })))
	if !maps.Equal(before, s.podsRunning("web:1")) {
		t.Error("want the pods that ran before, have others")
	}
	w.releaseImage("web:2")
	w.await(all(web.attempt(3), web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	if phase := w.now().releases["web"].Status.Phase; phase != v1alpha1.PhaseRollingUpdate {
		t.Errorf("phase %s, want a release like any other", phase)
	}
}
