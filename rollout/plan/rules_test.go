package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestLeaveHandsTheWorkloadBackBeforeTheReleaseGoesAway(t *testing.T) {
	t.Parallel()
	const (
		upgrading = "RollingUpdate 1/3 Upgrade StepUpgrading"
		free      = "annotate release finalizer=false: the native controller manages the workload again"
		deleted   = ": the release is deleted"
	)
	checkPlans(t, map[string]planned{
		"in mid-release the workload gets its stable template back: nobody has approved the rest": {
			held(10).deleted(),
			outcome{Script: []string{"hand back with template v1" + deleted, free}, Is: upgrading},
		},
		"Proceed leaves the new template for the native controller to go on with": {
			held(10).deleted().but(func(o *Observation) { o.Release.Spec.DeletionPolicy = v1alpha1.DeletionProceed }),
			outcome{Script: []string{"hand back" + deleted, free}, Is: upgrading},
		},
		"a rollback is never undone by a deletion": {
			rollingBack(10).deleted(),
			outcome{Script: []string{"hand back" + deleted, free}, Is: "RollingBack 1/2 Upgrade RollingBack"},
		},
		"a release whose pods are all updated is not undone": {
			held(10).deleted().status(func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFinalizing }),
			outcome{Script: []string{"hand back" + deleted, free}, Is: "Finalizing 1/3 Upgrade HandingBack"},
		},
		"a stable template that is not kept is still that of its ReplicaSet": {
			held(10).deleted().but(func(o *Observation) { o.Kept = nil }),
			outcome{Script: []string{"hand back with template v1" + deleted, free}, Is: upgrading},
		},
		"without a stable template the workload keeps the one it has": {
			held(10).deleted().but(func(o *Observation) { o.Kept, deploymentOf(o.Workload).Sets = nil, nil }),
			outcome{Script: []string{"hand back" + deleted, free}, Is: upgrading},
		},
		"a workload that another release holds is left to it": {
			held(10).deleted().but(func(o *Observation) { o.Workload.Hold = &Hold{Release: "other", UID: "release-9"} }),
			outcome{Script: []string{free}, Is: upgrading},
		},
		"a workload whose hold somebody took off is held again, to be handed back next": {
			held(10).deleted().but(func(o *Observation) { o.Workload.Hold = nil }),
			outcome{Script: []string{"take over: put back: the annotation that says who has taken the workload over"}, Is: upgrading},
		},
		"a workload that somebody has made their own again is left to them": {
			held(10).deleted().but(func(o *Observation) { o.Workload.Hold, deploymentOf(o.Workload).Paused = nil, false }),
			outcome{Script: []string{free}, Is: upgrading},
		},
		"a workload that is going away is not handed back": {
			held(10).deleted().but(func(o *Observation) { o.Workload.Deleting = true }),
			outcome{Script: []string{free}, Is: "RollingUpdate 1/3 Upgrade WorkloadNotFound"},
		},
		"without a workload there is nothing to hand back": {
			held(10).deleted().but(func(o *Observation) { o.Workload = nil }),
			outcome{Script: []string{free}, Is: "RollingUpdate 1/3 Upgrade WorkloadNotFound"},
		},
		"whether it is taken over, and with what, is read live first": {
			held(10).deleted().cached(),
			outcome{Script: []string{"needs release, workload"}, Is: upgrading},
		},
		"a live workload is not enough: a cached release may have reached the end since": {
			held(10).deleted().but(func(o *Observation) { o.Live &^= ReadRelease }),
			outcome{Script: []string{"needs release"}, Is: upgrading},
		},
		"nothing is left to do without our finalizer and hold": {
			running(10).deleted(),
			outcome{Is: "- - - -"},
		},
	})
}

func TestMissWorkloadWaitsForIt(t *testing.T) {
	t.Parallel()
	checkPlans(t, map[string]planned{
		"no workload yet": {
			running(10).but(func(o *Observation) { o.Workload = nil }),
			outcome{Is: "- - - WorkloadNotFound"},
		},
		"one that is being deleted counts as gone, and is not touched": {
			held(10).but(func(o *Observation) { o.Workload.Deleting = true }),
			outcome{Is: "RollingUpdate 1/3 Upgrade WorkloadNotFound"},
		},
		"a completed release stays completed": {
			completed(10).but(func(o *Observation) { o.Workload = nil }),
			outcome{Is: "Completed 3/3 Completed WorkloadNotFound"},
		},
		"once it is there again a completed release says what it said before": {
			completed(10).resolved("v1").status(func(s *v1alpha1.BatchReleaseStatus) { s.Reason = v1alpha1.ReasonWorkloadNotFound }),
			outcome{Is: "Completed 3/3 Completed Completed"},
		},
		"once it is there again a step says what it does": {
			held(10).sets(set("v1", 10), set("v2", 1, available(0))).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.Reason = v1alpha1.ReasonWorkloadNotFound
			}),
			outcome{Is: "RollingUpdate 1/3 Upgrade StepUpgrading", Wake: longestLook},
		},
	})
}

func TestAnotherWorkloadOfTheNameStartsOver(t *testing.T) {
	t.Parallel()
	another := func(o *Observation) { o.Workload.UID = "deployment-2" }
	checkPlans(t, map[string]planned{
		"a completed release is completed for the workload that it spoke of": {
			completed(10).resolved("v2").but(another),
			outcome{
				Script: []string{"take over with the template of the release: release v2"},
				Is:     "Initial - Initial TakingOver",
			},
		},
		"a template that was rolled back is not released to the new one either": {
			rollingBack(10).but(another).but(func(o *Observation) { o.Workload.Hold = nil }),
			outcome{Script: []string{"mark template web-v2 (RolledBack): it was rolled back"}, Is: "RollingBack 1/2 Upgrade RollingBack"},
		},
		"once the history says so": {
			rollingBack(10).but(another).but(func(o *Observation) { o.Workload.Hold, o.Kept = nil, nil }),
			outcome{Is: "- - - RolledBack"},
		},
	})
}

func TestWhatWasToldToAForgeIsKept(t *testing.T) {
	t.Parallel()
	told, refused := &v1alpha1.ForgeReport{Commit: "c0ffee", Posts: 3}, &v1alpha1.ForgeReport{Commit: "bad"}
	status := next(t, completed(10).resolved("v2").but(func(o *Observation) { o.Workload.UID = "deployment-2" }).
		status(func(s *v1alpha1.BatchReleaseStatus) { s.Report, s.Refusal = told, refused })).Status
	if diff := cmp.Diff([]*v1alpha1.ForgeReport{told, refused}, []*v1alpha1.ForgeReport{status.Report, status.Refusal}); diff != "" {
		t.Errorf("another workload starts over, but the approvals part has told what it has told (-want +got):\n%s", diff)
	}
}

func TestYieldToHolderOfTheWorkload(t *testing.T) {
	t.Parallel()
	checkPlans(t, map[string]planned{
		"two releases of one workload: the second waits and says what to do": {
			running(10).but(func(o *Observation) { o.Workload.Hold = &Hold{Release: "other", UID: "release-9"} }),
			outcome{
				Is:      "- - - WorkloadHeldByAnother",
				Stalled: `WorkloadHeldByAnother: Deployment "web" is taken over by BatchRelease "other": delete one of the two`,
			},
		},
		"an earlier object of the same name is no other release: the new one goes on with its workload": {
			held(10).resolved("v2").but(func(o *Observation) {
				o.Workload.Hold.UID = "release-0"
				o.Release.Status = v1alpha1.BatchReleaseStatus{}
			}),
			outcome{
				Script: []string{"take over with the template of the release: release v2 instead"},
				Is:     "Initial - Initial TakingOver",
			},
		},
	})
}

func TestRefuseStrategyThatCantBeRead(t *testing.T) {
	t.Parallel()
	checkPlans(t, map[string]planned{
		"nothing is done for steps that are wrong": {
			running(10).steps(step("50%"), step("30%"), step("100%")),
			outcome{
				Is:      "- - - -",
				Stalled: `InvalidStrategy: spec.strategy.steps[1].replicas: Invalid value: "30%": must not be less than in a step before it`,
			},
		},
	})
}

func TestAWorkloadOfAnotherUIDIsReadLive(t *testing.T) {
	t.Parallel()
	another := func(o *Observation) { o.Workload.UID = "deployment-2" }
	cached := func(o *Observation) { o.Live &^= ReadWorkload }
	checkScripts(t, map[string]scripted{
		"the cache may show one that is gone": {completed(10).but(another).but(cached), []string{"needs workload"}},
		"the one that is there is released from the first step": {
			completed(10).but(another), []string{"take over with the template of the release: release v2"},
		},
	})
}
