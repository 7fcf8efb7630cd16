package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestProgressIsTold: a release that begins, each batch of it, its end without a gate, and what it
// takes the place of are told once, with words of their own.
func TestProgressIsTold(t *testing.T) {
	t.Parallel()
	commit := func(s *v1alpha1.BatchReleaseStatus) { s.Commit = "0123456789abcdef" }
	given := func(o *Observation) { o.Release.Annotations[v1alpha1.CommitAnnotation] = "fedcba9876543210" }
	fresh := func() *scene { return held(10).status(notEntered) }
	ungated := func() *scene {
		return held(10).steps(step("1", none), step("50%"), step("100%")).sets(set("v1", 9), set("v2", 1)).status(commit)
	}
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"a release begins":              {completed(10).resolved("v2"), []string{"TakingOver: revision v2 is released in 3 batches"}},
		"of a commit":                   {completed(10).resolved("v2").but(given), []string{"TakingOver: revision v2 of commit fedcba9 is released in 3 batches"}},
		"of one batch":                  {completed(10).resolved("v2").steps(step("100%")), []string{"TakingOver: revision v2 is released in 1 batch"}},
		"a batch begins":                {fresh(), []string{"StepUpgrading: batch 1/3: updating to 1 pod of 10"}},
		"told before":                   {fresh().saved(), nil},
		"a batch without gates is done": {ungated(), []string{"StepCompleted: batch 1/3 done with 1 pod of 10", "StepUpgrading: batch 2/3: updating to 5 pods of 10"}},
		"another takes its place": {held(10).at(1, 5).sets(set("v1", 5), set("v2", 5)).status(commit).resolved("v3").but(given), []string{
			"Superseded: the release of revision v2 of commit 0123456 at batch 2/3 is superseded by revision v3 of commit fedcba9",
			"TakingOver: revision v3 of commit fedcba9 is released in 3 batches",
		}},
		"a rollback begins": {held(10).at(1, 5).sets(set("v1", 5), set("v2", 5)).but(rollback("true")), []string{
			"RollingBack: rolling back to v1: rollback=true was requested",
		}},
		"a batch of a rollback": {rollingBack(10).status(notEntered).sets(set("v1", 0), set("v2", 10)), []string{"RollingBack: batch 1/2: updating to 1 pod of 10"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, event := range next(t, test.scene).Events {
				got = append(got, event.Reason+": "+event.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
