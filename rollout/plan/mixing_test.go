package plan

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// recreating has a workload whose user asked for one version at a time.
func recreating(replicas int32) *scene {
	return completed(replicas).resolved("v2").but(recreate)
}

func mayMix(o *Observation) { o.Release.Spec.Strategy.AllowMixedVersions = true }

func TestAWorkloadThatAsksForOneVersionAtATime(t *testing.T) {
	t.Parallel()
	const waits, takes = "Initial - Initial WouldMixVersions", "Initial - Initial TakingOver"
	takesOver := []string{"take over with the template of the release: release v2"}
	refused := outcome{Is: waits, Stalled: "WouldMixVersions: " + preflight.MixesVersions("web")}
	checkPlans(t, map[string]planned{
		"is not taken over for a release that would run two":   {recreating(10), refused},
		"nor is it when it is asked again":                     {recreating(10).saved(), refused},
		"nor if its user has paused it":                        {recreating(10).but(func(o *Observation) { deploymentOf(o.Workload).Paused = true }), refused},
		"nor in its first release":                             {running(10).but(recreate), refused},
		"what is in the namespace is not asked about":          {recreating(10).but(func(o *Observation) { o.Preflight = nil }), refused},
		"scaled to 0, it still has pods until they are gone":   {recreating(0).sets(set("v1", 1)), refused},
		"it is, if the release says that it may":               {recreating(10).but(mayMix), outcome{Script: takesOver, Is: takes}},
		"it is, once the release says that it may":             {recreating(10).saved().but(mayMix), outcome{Script: takesOver, Is: takes}},
		"it is without pods: there is nothing to mix":          {recreating(0).sets(set("v1", 0)), outcome{Script: []string{"take over: release v2"}, Is: takes}},
		"it is once its strategy is another":                   {recreating(10).saved().but(func(o *Observation) { deploymentOf(o.Workload).Recreate = false }), outcome{Script: takesOver, Is: takes}},
		"what it runs already is complete without a take-over": {recreating(10).resolved("v1"), outcome{Is: "Completed 3/3 Completed Completed"}},
		"a rollback is not asked": {
			recreating(10).stable("v1", "v0").keep("v0").annotated(v1alpha1.RollbackAnnotation, "v0").saved().but(func(o *Observation) {
				delete(o.Release.Annotations, v1alpha1.RollbackAnnotation)
			}),
			outcome{Script: []string{"take over with template v0: release v0"}, Is: "RollingBack - Initial RollingBack"},
		},
		"a release under way goes on, whatever the strategy was": {
			held(10).sets(set("v1", 10), set("v2", 1)).cached().but(func(o *Observation) { o.Workload.Hold.Strategy = `{"type":"Recreate"}` }),
			outcome{Script: []string{"needs workload, counts"}, Is: "RollingUpdate 1/3 Upgrade StepUpgrading", Wake: longestLook},
		},
		"a new template takes the place of one that is under way": {
			held(10).resolved("v3"),
			outcome{Script: []string{"take over with the template of the release: release v3 instead"}, Is: takes},
		},
		"one that has lost our annotation is held again": {
			held(10).but(func(o *Observation) { o.Workload.Hold = nil }),
			outcome{
				Script: []string{"take over with the template of the release: put back: the annotation that says who has taken the workload over"},
				Is:     "RollingUpdate 1/3 Upgrade StepUpgrading",
			},
		},
		"so is one whose status is lost as well": {
			held(10).resolved("v2").but(func(o *Observation) {
				o.Workload.Hold, o.Release.Status = nil, v1alpha1.BatchReleaseStatus{}
			}),
			outcome{Script: []string{
				"keep template v2 (Adopted): kept to roll back to",
				"annotate release finalizer=true current-stable-revision=v2 last-stable-revision=v1: the workload is handed back before the release goes away",
				"take over with the template of the release: release v2",
			}, Is: takes},
		},
	})
}
