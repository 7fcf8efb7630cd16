package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// What an earlier version has reported is known by its state alone. Where that still holds it is recorded as values, without a
// status; nothing wrong is reported of it, and at most one status is repeated.
func TestAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	const (
		updating  = "batch 2/4: updating to 3 of 10 pods"
		approving = "batch 2/4: 3/10 updated, waiting for approval #12"
		failed    = "batch 2/4: no progress"
		next      = "f1ef pending " + updating
	)
	link := func(s *scene) { s.release.Status.Report.URL = pullAt }
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"a batch that rolls":            {rolling(good).toldBefore(good, forge.StatePending, updating), []string{"write down Updating"}},
		"a batch that goes on":          {rolling(good).toldBefore(good, forge.StatePending, "batch 1/4: updating to 1 of 10 pods"), []string{"900d pending " + updating}},
		"a batch that waits":            {rolling(good).blockedOn(approval()).toldBefore(good, forge.StatePending, approving).but(link), []string{"write down Waiting"}},
		"no progress":                   {rolling(good).failed(failed).toldBefore(good, forge.StateFailure, failed), []string{"write down Failed"}},
		"at its end":                    {rolling(good).completed().toldBefore(good, forge.StateSuccess, "released: 10/10 updated to 7f9c"), []string{"write down Released"}},
		"it came to its end meanwhile":  {rolling(good).completed().toldBefore(good, forge.StatePending, updating), []string{"900d success released: 10/10 updated to 7f9c"}},
		"superseded meanwhile":          {rolling(fix).toldBefore(good, forge.StatePending, updating), []string{"900d failure superseded by f1ef1ef", next}},
		"superseded before":             {rolling(fix).toldBefore(good, forge.StateFailure, "superseded by f1ef1ef at batch 2/4"), []string{next}},
		"superseded, released before":   {rolling(fix).ended(good, "").toldBefore(good, forge.StateFailure, "superseded by bad0bad"), []string{next}},
		"drifted before":                {rolling(fix).ended(good, "").toldBefore(good, forge.StateFailure, "drifted: image is web:9, not web:2"), []string{next}},
		"failed before":                 {rolling(fix).toldBefore(good, forge.StateFailure, failed), []string{next}},
		"failed before, then reverted":  {rolling(fix).reverted().toldBefore(bad, forge.StateFailure, failed).completed(), []string{"f1ef success reverted to 58d4: 10/10 updated"}},
		"rolled back before":            {rolling(fix).ended(bad, v1alpha1.TriggerAnnotation).toldBefore(bad, forge.StateFailure, "rolled back to 58d4: asked for at batch 2/4"), []string{next}},
		"rolled back by itself":         {rolling(bad).takenBack().because(v1alpha1.TriggerDeadline, "no progress within 600s").toldBefore(bad, forge.StateFailure, "rolling back to 58d4: no progress within 600s"), []string{"write down RollingBack"}},
		"rolled back, as it was asked":  {rolling(bad).takenBack().toldBefore(bad, forge.StateFailure, "rolling back to 58d4: asked for at batch 2/4"), []string{"bad0 failure rolling back to 58d4: rollback=true was requested"}},
		"rolled back meanwhile":         {rolling(bad).takenBack().toldBefore(bad, forge.StatePending, updating), []string{"bad0 failure rolling back to 58d4: asked for"}},
		"rolled back after its failure": {rolling(bad).takenBack().toldBefore(bad, forge.StateFailure, failed), []string{"bad0 failure rolling back to 58d4: rollback=true was requested"}},
		"deleted meanwhile":             {rolling(good).toldBefore(good, forge.StatePending, updating).deleted(), []string{"900d failure the release was deleted"}},
		"deleted before":                {rolling(good).toldBefore(good, forge.StateFailure, "the release was deleted at batch 2/4").deleted(), nil},
		"its pull request is there now": {rolling(bad).takenBack().because(v1alpha1.TriggerDeadline, "late").completed().toldBefore(bad, forge.StateFailure, "rolled back to 58d4: late").reverting(v1alpha1.RevertOpen), []string{"bad0 failure rolled back to 58d4, merge #13 to update Git: late -> " + pullAt}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, lines(Next(tc.scene.release, tc.scene.gates, Options{}))); diff != "" {
				t.Errorf("Next(...): -want +got:\n%s", diff)
			}
			if again := Next(after(tc.scene), tc.scene.gates, Options{}); len(again) != 0 {
				t.Errorf("all was told, but there is more: %v", lines(again))
			}
		})
	}
}

// An earlier version kept the rollback of a workload that was replaced since. Nothing runs that could be put into Git, and nothing
// is said of a rollback, before the first look of this version takes the record away.
func TestRollbackOfAReplacedWorkload(t *testing.T) {
	t.Parallel()
	s := rolling(bad).takenBack()
	s.release.Status.Quarantined = []string{"7f9c"}
	if !RevertWanted(s.release) || positionOf(s.release) != goingBack {
		t.Fatal("want a rollback that Git has to follow")
	}
	s.release.Status.UpdateRevision, s.release.Status.State = "", ""
	if RevertWanted(s.release) || positionOf(s.release) == goingBack {
		t.Error("the record of an earlier version is taken for a rollback in progress")
	}
}
