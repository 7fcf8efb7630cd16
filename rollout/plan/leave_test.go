package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestLetGo: a workload gets the same fields back with and without the controller.
func TestLetGo(t *testing.T) {
	t.Parallel()
	const revert, proceed = v1alpha1.DeletionRevert, v1alpha1.DeletionProceed
	mid := func(change func(*scene)) *scene {
		s := held(10)
		change(s)
		return s
	}
	at := func(phase v1alpha1.Phase) func(*v1alpha1.BatchReleaseStatus) {
		return func(s *v1alpha1.BatchReleaseStatus) { s.Phase = phase }
	}
	turned := func(s *v1alpha1.BatchReleaseStatus) {
		s.Phase, s.UpdateRevision, s.Resolved = v1alpha1.PhaseRollingBack, "v1", resolved("v1")
		s.Rollback = &v1alpha1.RollbackRecord{From: "v2"}
	}
	tests := map[string]struct {
		scene  *scene
		policy v1alpha1.DeletionPolicy
		gone   bool
		want   string
	}{
		"a release goes back to the stable version":                    {held(10), revert, false, "v1"},
		"or on to the new one":                                         {held(10), proceed, false, ""},
		"once its last step is done it keeps what it has":              {held(10).status(at(v1alpha1.PhaseFinalizing)), revert, false, ""},
		"but not what somebody has made of it since":                   {takenFrom(func(w *Workload) { w.Digest = "digest-v9" }).status(at(v1alpha1.PhaseFinalizing)), revert, false, "v1"},
		"a rollback on record that the workload has not seen is done":  {held(10).status(turned), revert, false, "v1"},
		"whatever the policy: the version that is left was to go":      {held(10).status(turned), proceed, false, "v1"},
		"also where the pass that took it over did not live to say so": {held(10).status(func(s *v1alpha1.BatchReleaseStatus) { turned(s); s.Held = nil }), proceed, false, "v1"},
		"a rollback under way keeps what it has":                       {rollingBack(10), revert, false, ""},
		"one that another template has taken the place of, unrecorded": {mid(func(s *scene) { s.status(turned); s.Workload.Digest = "digest-v3" }), revert, false, "v1"},
		"a first release of which there is no status":                  {held(10).status(func(s *v1alpha1.BatchReleaseStatus) { *s = v1alpha1.BatchReleaseStatus{} }), revert, false, "v1"},
		"one whose status tells that it waits": {held(10).status(func(s *v1alpha1.BatchReleaseStatus) {
			s.Phase, s.Held, s.StableRevision = v1alpha1.PhaseInitial, nil, "v0"
		}), revert, false, "v1"},
		"a status of another workload of the name counts for nothing":       {held(10).status(func(s *v1alpha1.BatchReleaseStatus) { turned(s); s.WorkloadUID, s.UpdateRevision = "another", "v0" }), revert, false, "v1"},
		"where the policy was another one when the workload was taken over": {mid(func(s *scene) { s.Workload.Hold.Stable = "" }), revert, false, "v1"},
		"without a release the annotation is all there is":                  {held(10), revert, true, "v1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status := &test.scene.Release.Status
			if test.gone {
				status = nil
			}
			want := Left{HeldWorkload: v1alpha1.HeldWorkload{Strategy: nativeStrategy}, Revision: test.want}
			if diff := cmp.Diff(want, LetGo(test.scene.Workload, test.policy, status)); diff != "" {
				t.Errorf("left with (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLeavingLooksForTheTemplate: a template that no cache has is looked for before the workload
// keeps one that nobody has approved.
func TestLeavingLooksForTheTemplate(t *testing.T) {
	t.Parallel()
	lost := func() *scene {
		s := held(10).sets(set("v2", 10)).deleted()
		s.Kept = nil
		return s
	}
	checkScripts(t, map[string]scripted{
		"it is asked for live": {lost().but(func(o *Observation) { o.Live &^= ReadKept | ReadCounts }), []string{"needs counts, kept"}},
		"what is gone for good is not put back": {lost(), []string{
			"hand back: the release is deleted", "annotate release finalizer=false: the native controller manages the workload again",
		}},
	})
}
