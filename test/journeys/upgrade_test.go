package journeys

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Upgraded in mid-release, with statuses that an earlier version wrote, releases go on where they are: nothing but the status is
// written, no pod goes, no gate is passed by. The statuses in testdata/earlier are those of commit d1adb4f, at the same points of
// the same release.
func TestUpgradedInMidRelease(t *testing.T) {
	half := func(w *world) {
		w.await(web.blocksAt(0))
		w.confirm("web")
		w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 3, "web:2": 3})))
	}
	cases := map[string]struct {
		reach  func(*world)
		state  v1alpha1.ReleaseState
		goesOn func(*world)
		stops  []string
	}{
		"at-gate": {
			func(w *world) { w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 1}))) }, v1alpha1.StateBlocked,
			releasesAll, []string{"1 of 6", "3 of 6"},
		},
		"in-second-batch": {half, v1alpha1.StateBlocked, releasesAll, []string{"1 of 6", "3 of 6"}},
		"suspended": {
			func(w *world) {
				w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 1})))
				w.suspend(true)
				w.await(suspended(v1alpha1.ReasonSuspended, "spec.suspend"))
			}, v1alpha1.StateStopped,
			func(w *world) {
				w.suspend(false)
				releasesAll(w)
			}, []string{"1 of 6", "3 of 6"},
		},
		"rolling-back": {
			func(w *world) {
				half(w)
				w.rollBack()
				w.await(all(web.phase(v1alpha1.PhaseRollingBack), web.blocksAt(0), web.runs(pods{"web:1": 4, "web:2": 2})))
			}, v1alpha1.StateBlocked,
			func(w *world) {
				w.awaitConfirming(all(web.completed, web.serves("web:1", 6), web.reason(v1alpha1.ReasonRolledBack)))
			},
			[]string{"1 of 6", "3 of 6", "4 of 6"},
		},
		"completed": {
			func(w *world) { w.awaitConfirming(all(web.completed, web.serves("web:2", 6))) }, v1alpha1.StateCompleted,
			func(w *world) {
				w.releaseImage("web:3")
				w.awaitConfirming(all(web.attempt(2), web.completed, web.serves("web:3", 6)))
			}, []string{"1 of 6", "3 of 6", "1 of 6", "3 of 6"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.deployed(deployment(6))
			r := release("web:2", step(1), step("50%"), step("100%"))
			r.Spec.Rollback = &v1alpha1.RollbackStrategy{Steps: []v1alpha1.Step{step("60%", manual()), step("100%")}}
			w.create(r)
			first := w.startController()
			tc.reach(w)
			w.await(gatesAreLookedAt)
			first.kill()

			earlier := w.writtenEarlier(name)
			before := whatRuns(w.now())
			second := w.startController()
			s := w.await(all(web.observed, web.status(string(tc.state), func(s *v1alpha1.BatchReleaseStatus) bool { return s.State == tc.state })))
			if diff := cmp.Diff(before, whatRuns(s)); diff != "" {
				t.Errorf("pods and gates (-before +after the upgrade):\n%s", diff)
			}
			if diff := cmp.Diff(map[string]int{"patch batchreleases/status": 1}, second.writes()); diff != "" {
				t.Errorf("writes of a controller that takes over from an earlier version (-want +got):\n%s", diff)
			}
			status := s.releases["web"].Status
			had, have := placeOf(&earlier), placeOf(&status)
			if had != have {
				t.Errorf("the release is at %s, want %s as before", have, had)
			}
			tc.goesOn(w)
			w.wantStops(tc.stops...)
		})
	}
}

// releasesAll goes on to the end, with every gate confirmed.
func releasesAll(w *world) {
	w.Helper()
	w.awaitConfirming(all(web.completed, web.serves("web:2", 6)))
}

// writtenEarlier gives the release the status that an earlier version wrote at this point, as the CRD of now keeps it.
func (w *world) writtenEarlier(name string) v1alpha1.BatchReleaseStatus {
	w.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "earlier", name+".json"))
	if err != nil {
		w.Fatal(err)
	}
	var status map[string]any
	if err := json.Unmarshal(data, &status); err != nil {
		w.Fatalf("decode the status: %v", err)
	}
	live := w.now().releases["web"]
	status["workloadUID"] = live.Status.WorkloadUID
	status["observedGeneration"] = live.Status.ObservedGeneration
	patch := encode([]any{map[string]any{"op": "replace", "path": "/status", "value": status}})
	release := live.DeepCopy()
	if err := w.Status().Patch(w.Context(), release, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		w.Fatalf("write the status: %v", err)
	}
	if release.Status.State != "" || release.Status.StepStartedAt != nil {
		w.Fatalf("want a status without what is new, have %+v", release.Status)
	}
	w.await(func(s *scene) error {
		if s.releases["web"].ResourceVersion != release.ResourceVersion {
			return fmt.Errorf("want resource version %s, have %s", release.ResourceVersion, s.releases["web"].ResourceVersion)
		}
		return nil
	})
	return release.Status
}

// gatesAreLookedAt wants every gate to pass, or to be waited for, those included that the journal has only in the status yet.
func gatesAreLookedAt(s *scene) error {
	for _, release := range s.releases {
		for _, gate := range release.Status.Gates {
			if release.Status.CurrentStepState == v1alpha1.StepBlocking && s.gates[gate.Name] == nil {
				return fmt.Errorf("want gate %s in the journal", gate.Name)
			}
		}
	}
	for name, gate := range s.gates {
		if gate.Status.Decision == "" {
			return fmt.Errorf("want gate %s looked at", name)
		}
	}
	return nil
}

// whatRuns names the pods and the gates that there are.
func whatRuns(s *scene) []string {
	var all []string
	for _, pod := range s.pods {
		if alive(pod) {
			all = append(all, "pod "+string(pod.UID))
		}
	}
	for name, gate := range s.gates {
		all = append(all, fmt.Sprintf("gate %s %s %s", name, gate.UID, gate.Status.Decision))
	}
	slices.Sort(all)
	return all
}

// placeOf says where a release is.
func placeOf(s *v1alpha1.BatchReleaseStatus) string {
	return fmt.Sprintf("%s, step %d %s, attempt %d, from %s to %s, %d of %d", s.Phase, s.CurrentStepIndex, s.CurrentStepState, s.Attempt,
		s.StableRevision, s.UpdateRevision, s.TargetReplicas, s.Replicas)
}
