package plan

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestUnguarded: a release in progress asks again whether a policy acts on its workload if none
// did at the last write, says so, and goes on meanwhile.
func TestUnguarded(t *testing.T) {
	t.Parallel()
	followed := func() *scene {
		return held(10).sets(set("v1", 9), set("v2", 1)).but(func(o *Observation) {
			o.Release.Spec.Follow, o.Workload.Follower = v1alpha1.FollowWorkload, "web"
			o.Release.Annotations[v1alpha1.FollowedAnnotation] = o.Workload.Digest
		})
	}
	none := UnguardedWords("Deployment", "web")
	told := func(o *Observation) {
		refused := Refusal{Why: none, Unguarded: true}.To(Follow{Reason: followReason}, o.Release.Generation)
		o.Refusals = Refusals{}.With(refused, o.Now, 0)
	}
	opens, gate := []string{"open gate web-v2-1-0-0 (manual): batch 1/3 is done"}, "RollingUpdate 1/3 Blocking StepBlocking"
	checkPlans(t, map[string]planned{
		"guarded": {followed().but(func(o *Observation) { o.Workload.Guarded = true }), outcome{Script: opens, Is: gate}},
		"a write had no guard: the label is written again": {followed(), outcome{
			Script: []string{"follow the workload: its templates come from whoever applies it"},
			Is:     "RollingUpdate 1/3 Upgrade StepUpgrading", Stalled: "Unguarded: " + none,
		}},
		"the policies are still away: the release goes on": {followed().but(told), outcome{
			Script: opens, Wake: firstRetry, Is: gate, Stalled: "Unguarded: " + none,
		}},
	})
}
