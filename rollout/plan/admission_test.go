package plan

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestAdmission: the planner acts as the admission check foretells.
func TestAdmission(t *testing.T) {
	t.Parallel()
	grown := func() *scene { return held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v3") }
	given := func(revision string) func(*Observation) {
		return func(o *Observation) { o.Given = "given-" + revision }
	}
	suspended := func(o *Observation) { o.Release.Spec.Suspend = true }
	leftHeld := func() *scene {
		return completed(10).resolved("v2").but(func(o *Observation) {
			o.Workload.Hold = &Hold{Release: "web", UID: "release-1", HeldWorkload: v1alpha1.HeldWorkload{Strategy: "as it was"}}
		})
	}
	tests := map[string]struct {
		scene *scene
		want  Admission
		why   string
		// waits and runs are the revisions that the planner queues and releases.
		waits, runs string
	}{
		"nothing is under way":             {completed(10).resolved("v2"), Begins, "", "", "v2"},
		"a release gives way":              {grown(), Supersedes, "", "", "v3"},
		"one that has completed does not":  {leftHeld(), Begins, "", "", "v2"},
		"or is finished first":             {grown().but(queueing), Queues, "", "v3", "v2"},
		"one that has failed is not":       {grown().but(queueing).status(func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }), Supersedes, "", "", "v3"},
		"a release that is stopped":        {grown().but(suspended), Waits, "spec.suspend is set", "v3", "v2"},
		"one at its end that is":           {completed(10).resolved("v2").but(suspended), Waits, "spec.suspend is set", "v2", "v1"},
		"a freeze":                         {grown().annotated(v1alpha1.FreezeAnnotation, `{"reason":"sale"}`), Waits, "frozen: sale", "v3", "v2"},
		"what is being released":           {grown().resolved("v2").but(given("v2")), Known, "", "", "v2"},
		"what was rolled back":             {completed(10).but(given("v2")).status(func(s *v1alpha1.BatchReleaseStatus) { s.Quarantined = []string{"given-v2"} }), Quarantined, "", "", "v1"},
		"a stop says nothing of the known": {grown().resolved("v2").but(given("v2")).but(suspended), Known, "", "", "v2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &test.scene.Observation
			if got, why := AdmissionOf(o.Release, o.Workload, o.Given, o.Now); got != test.want || why != test.why {
				t.Errorf("want %s %q, got %s %q", test.want, test.why, got, why)
			}
			status, queued := next(t, test.scene).Status, ""
			if status.Queued != nil {
				queued = status.Queued.Revision
			}
			if queued != test.waits || status.UpdateRevision != test.runs {
				t.Errorf("the planner queues %q and releases %q, want %q and %q", queued, status.UpdateRevision, test.waits, test.runs)
			}
		})
	}
}

// TestAdmissionWithoutWorkload: a release that has never been looked at, of a workload that is not
// there.
func TestAdmissionWithoutWorkload(t *testing.T) {
	t.Parallel()
	if got, _ := AdmissionOf(&v1alpha1.BatchRelease{}, nil, "given-v1", noon); got != Begins {
		t.Errorf("want %s, got %s", Begins, got)
	}
}
