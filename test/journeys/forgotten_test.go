package journeys

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// loseStatus clears the whole status of the release "web", as a restore from a backup does.
func (w *world) loseStatus() {
	w.Helper()
	release := w.mine(named[v1alpha1.BatchRelease]("web"))
	patch := client.RawPatch("application/json-patch+json", []byte(`[{"op":"replace","path":"/status","value":{}}]`))
	if err := w.Status().Patch(w.Context(), release, patch); err != nil {
		w.Fatalf("clear the status: %v", err)
	}
}

// The status is lost altogether before each write: a release goes through all its gates again, and what was rolled back stays
// rolled back, and quarantined: the history knows of it.
func TestStatusLostAtAnyMoment(t *testing.T) {
	onlyQuarantine := func(e *ending) {
		e.Release, e.Gates = v1alpha1.BatchReleaseStatus{Quarantined: e.Release.Quarantined}, nil
	}
	cases := map[string]scenario{
		"Release": {},
		"Rollback": {
			earlier: func(w *world) {
				c := w.startController()
				w.await(web.blocksAt(0))
				c.kill()
				w.rollBack()
			},
			ends: all(web.completed, web.serves("web:1", 6), web.quarantined),
		},
		"RollbackAfterTheEnd": {
			earlier: func(w *world) {
				c := w.startController()
				w.awaitConfirming(all(web.completed, web.serves("web:2", 6)))
				c.kill()
				w.rollBack()
			},
			ends: all(web.completed, web.serves("web:1", 6), web.quarantined),
		},
	}
	for name, s := range cases {
		t.Run(name, func(t *testing.T) {
			s.happens, s.forget, s.extra = (*world).loseStatus, onlyQuarantine, begunAnew
			if name == "Release" {
				// Where it is lost in the last batch an updated pod makes room for an old one, until the gates pass again: no ReplicaSet
				// may be alone. Which writes a run has there depends on how fast the pods are.
				s.excused = excused(t)
				s.excused.races = []law{neverFewer, oldStays}
			}
			s.sweep(t)
		})
	}
}

// What is rolled back before its workload ever had it is not released either when the status is lost: the history has it, as it
// would be.
func TestStatusLostAfterARollbackOfWhatNeverRan(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4, rolling(1, 0)))
	w.quota("full", corev1.ResourcePods, "4")
	w.create(release("web:2", step(1), step("100%")))
	w.await(web.reason(v1alpha1.ReasonWillNotFit))
	w.rollBack()
	recorded := func(r *appsv1.ControllerRevision) bool {
		var template corev1.PodTemplateSpec
		return json.Unmarshal(r.Data.Raw, &template) == nil && template.Spec.Containers[0].Image == "web:2" &&
			template.Spec.RestartPolicy == corev1.RestartPolicyAlways &&
			v1alpha1.Outcome(r.Annotations[v1alpha1.OutcomeAnnotation]) == v1alpha1.OutcomeRolledBack
	}
	w.await(all(web.completed, web.quarantined, func(s *scene) error {
		if !slices.ContainsFunc(slices.Collect(maps.Values(s.kept)), recorded) {
			return fmt.Errorf("the history does not have the template with web:2 and its defaults: %v", slices.Sorted(maps.Keys(s.kept)))
		}
		return nil
	}))
	w.kubectl("delete", "resourcequota", "full")
	w.loseStatus()
	s := w.await(all(web.completed, web.quarantined, web.serves("web:1", 4), func(s *scene) error {
		if back := s.releases["web"].Status.Rollback; back == nil || back.Trigger != v1alpha1.TriggerHistory {
			return fmt.Errorf("want a rollback that is recalled from the history, have %+v", back)
		}
		return nil
	}))
	if held(s.deployments["web"]) {
		t.Error("the Deployment is taken over again")
	}
}

// begunAnew is how many writes beyond slack it may take that a release begins again. Measured with -every-moment, with and without
// other load: 42 writes at most where the status is lost in the last batch; 23 to 27 if nothing happens.
const begunAnew = 11
