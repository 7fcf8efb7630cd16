package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
)

// handedBack returns a workload that runs v2 under the native controller again, after the last
// step.
func handedBack(replicas int32) *scene {
	s := held(replicas).at(2, replicas).sets(set("v1", 0), set("v2", replicas))
	w := s.Workload
	deploymentOf(w).Paused, deploymentOf(w).Recreate, w.Hold = false, false, nil
	return s.status(func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFinalizing })
}

func notFinalizing(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseRollingUpdate }

func TestRestLeavesACompletedReleaseAlone(t *testing.T) {
	t.Parallel()
	const rests = "Completed 3/3 Completed Completed"
	hold := func(o *Observation) {
		o.Workload.Hold = &Hold{Release: "web", UID: "release-1", HeldWorkload: v1alpha1.HeldWorkload{Strategy: "as it was"}}
	}
	done := func() *scene { return completed(10).resolved("v1") }
	checkPlans(t, map[string]planned{
		"nothing is written, nothing read, nothing waited for": {done().cached(), outcome{Is: rests}},
		"whatever the native controller does with its own workload": {
			done().sets(set("v1", 3), set("v2", 4, available(0))), outcome{Is: rests},
		},
		"a hold that is left over is taken away": {
			done().but(hold), outcome{Script: []string{"hand back: the release is completed"}, Is: rests},
		},
		"but not on the word of a cache: the release may have started again": {
			done().but(hold).cached(), outcome{Script: []string{"needs release"}, Is: rests},
		},
		"a gate that nobody decides any more, and that a pass that died has left, is closed; passed ones stay": {
			done().gates(gate(1, 0, 0), gate(1, 1, 0, passed), gate(1, 1, 1, leaving), gate(2, 0, 0), gate(2, 1, 0, passed)),
			outcome{Script: []string{"close gate web-v2-1-0-0: the release is completed", "close gate web-v2-2-0-0: the release is completed"}, Is: rests},
		},
		"one of an earlier attempt is closed, though it has passed: its deletion may have been refused": {
			done().status(func(s *v1alpha1.BatchReleaseStatus) { s.Attempt = 2 }).gates(gate(1, 0, 0, passed), gate(2, 0, 0, passed)),
			outcome{Script: []string{"close gate web-v2-1-0-0: the release is completed"}, Is: rests},
		},
		"one of a later attempt only by a live read of the release: a cache may not show that it has begun": {
			done().gates(gate(2, 0, 0)).but(func(o *Observation) { o.Live &^= ReadRelease }), outcome{Script: []string{"needs release"}, Is: rests},
		},
		"but not on the word of a cache either: it may have passed": {
			done().gates(gate(1, 0, 0)).but(func(o *Observation) { o.Live &^= ReadGates }), outcome{Script: []string{"needs gates"}, Is: rests},
		},
	})
}

func TestACompletedReleaseGoesBackFromOneThatWasNeverRecorded(t *testing.T) {
	t.Parallel()
	begun := completed(10).resolved("v1").sets(set("v1", 10), set("v2", 1)).but(func(o *Observation) {
		o.Workload.Hold = &Hold{Release: "web", UID: "release-1", HeldWorkload: v1alpha1.HeldWorkload{Strategy: "as it was"}}
		deploymentOf(o.Workload).Paused, deploymentOf(o.Workload).Recreate = true, true
		o.Workload.Digest, o.Workload.Revision = "digest-v2", "v2"
	})
	checkPlans(t, map[string]planned{
		"a pass that died had taken it over for a template that is not given any more, and may have made pods of it": {
			begun,
			outcome{
				Script: []string{
					"keep template v2 (RolledBack): rolled back: kept for the record",
					"take over with the template of the release: release v1 instead",
				},
				Is: "RollingBack - Initial RollingBack",
			},
		},
	})
}

func TestLeftoverIsWhatTheWorkloadGetsBack(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*Workload)
		want   v1alpha1.HeldWorkload
	}{
		"a workload that is taken over gets back what it had": {
			func(w *Workload) { deploymentOf(w).Paused, deploymentOf(w).Recreate = true, true }, v1alpha1.HeldWorkload{Strategy: "then", Paused: true},
		},
		"half unpaused it is taken over still": {
			func(w *Workload) { deploymentOf(w).Recreate = true }, v1alpha1.HeldWorkload{Strategy: "then", Paused: true},
		},
		"paused with another strategy it is taken over still": {
			func(w *Workload) { deploymentOf(w).Paused = true }, v1alpha1.HeldWorkload{Strategy: "then", Paused: true},
		},
		"kubectl rollout undo brought an old hold back: it keeps what it has": {
			func(*Workload) {}, v1alpha1.HeldWorkload{Strategy: "now"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &Workload{Mover: &deployment.Mover{Strategy: "now"}, Hold: &Hold{
				Release: "web", UID: "release-1", HeldWorkload: v1alpha1.HeldWorkload{Strategy: "then", Paused: true},
			}}
			test.change(w)
			want := Hold{Release: "web", UID: "release-1", HeldWorkload: test.want}
			if diff := cmp.Diff(want, w.leftover()); diff != "" {
				t.Errorf("what is handed back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestArriveCompletesARelease(t *testing.T) {
	t.Parallel()
	const (
		completed = "Completed 3/3 Completed Completed"
		keep      = "keep template v2 (Released): revision v2 is stable"
		stable    = "annotate release current-stable-revision=v2 last-stable-revision=v1: revision v2 is stable"
		closing   = ": the release is completed"
	)
	checkPlans(t, map[string]planned{
		"after the hand-back its template is kept and its revision is stable": {
			handedBack(10), outcome{Script: []string{keep, stable}, Is: completed},
		},
		"on a live workload only, where no status says that it was handed back": {
			handedBack(10).status(notFinalizing).but(func(o *Observation) { o.Live &^= ReadWorkload }),
			outcome{Script: []string{"needs workload"}, Is: "RollingUpdate 3/3 Upgrade HandingBack"},
		},
		"else without": {
			handedBack(10).but(func(o *Observation) { o.Live &^= ReadWorkload }), outcome{Script: []string{keep, stable}, Is: completed},
		},
		"gates of earlier attempts and those that nobody decides any more go, the passed ones are the record": {
			handedBack(10).status(func(s *v1alpha1.BatchReleaseStatus) { s.Attempt = 2 }).
				gates(gate(1, 0, 0, passed), gate(2, 0, 0, passed), gate(2, 1, 0)),
			outcome{Script: []string{keep, stable, "close gate web-v2-1-0-0" + closing, "close gate web-v2-2-1-0" + closing}, Is: completed},
		},
		"an undecided gate is looked at live first: it may have been decided": {
			handedBack(10).gates(gate(1, 1, 0)).but(func(o *Observation) { o.Live &^= ReadGates }),
			outcome{Script: []string{"needs gates"}, Is: "Finalizing 3/3 Upgrade HandingBack"},
		},
		"a gate that goes already is left to": {
			handedBack(10).gates(gate(0, 0, 0, leaving), gate(1, 0, 0, leaving)),
			outcome{Script: []string{keep, stable}, Is: completed},
		},
		"a status that was not written after the hand-back is made up for": {
			handedBack(10).status(notFinalizing), outcome{Script: []string{keep, stable}, Is: completed},
		},
		"asked again it does nothing more": {
			handedBack(10).recorded("v2", Record{Outcome: v1alpha1.OutcomeReleased, Attempt: 1}).stable("v2", "v1"), outcome{Is: completed},
		},
		"a kept template of the revision that is another one is kept anew": {
			handedBack(10).keep("v2").stable("v2", "v1").but(func(o *Observation) { o.Kept[1].Digest = "digest-of-a-collision" }),
			outcome{Script: []string{keep}, Is: completed},
		},
		"a hold that somebody took away in mid-release ends nothing: the workload is taken over again": {
			handedBack(10).status(notFinalizing).sets(set("v1", 5), set("v2", 5)),
			outcome{
				Script: []string{"take over with the template of the release: put back: only Sluice may unpause a workload that is taken over"},
				Is:     "RollingUpdate 3/3 Upgrade StepUpgrading",
			},
		},
		"another template under the native controller is not this release's end": {
			handedBack(10).but(func(o *Observation) { o.Workload.Digest = "digest-v9" }),
			outcome{
				Script: []string{"take over with the template of the release: put back: only Sluice may unpause a workload that is taken over"},
				Is:     "Finalizing 3/3 Upgrade StepUpgrading",
			},
		},
		"after a rollback the bad template is no longer one to go back to": {
			rollingBack(10).but(func(o *Observation) {
				deploymentOf(o.Workload).Paused, deploymentOf(o.Workload).Recreate, o.Workload.Hold = false, false, nil
				o.Release.Status.Phase = v1alpha1.PhaseFinalizing
			}),
			outcome{
				Script: []string{
					"mark template web-v1 (RolledBackTo): revision v1 is stable",
					"mark template web-v2 (RolledBack): it was rolled back",
					"annotate release current-stable-revision=v1 -last-stable-revision: revision v1 is stable",
				},
				Is: "Completed 2/2 Completed RolledBack",
			},
		},
		"a workload that has no ReplicaSet yet is waited for": {
			running(10).resolved("v1").sets(), outcome{Is: "Initial - Initial TakingOver"},
		},
		"a workload whose own rollout to the template is under way is waited for": {
			running(10).resolved("v1").sets(set("v0", 4), set("v1", 7)),
			outcome{Is: "Initial - Initial NativeRollout"},
		},
		"... until the last pod of another version is gone": {
			running(10).resolved("v1").sets(set("v0", 0, current(1)), set("v1", 10)),
			outcome{Is: "Initial - Initial NativeRollout"},
		},
		"... and so is one that is paused on the way": {
			running(10).resolved("v1").sets(set("v0", 4), set("v1", 7)).but(paused),
			outcome{Is: "Initial - Initial NativeRollout"},
		},
		"... or that was born paused, and has no pods yet": {
			running(10).resolved("v1").sets().but(paused), outcome{Is: "Initial - Initial NativeRollout"},
		},
		"a first release that the workload runs already has no version before": {
			running(10).resolved("v1"),
			outcome{
				Script: []string{
					"keep template v1 (Released): revision v1 is stable",
					"annotate release current-stable-revision=v1: revision v1 is stable",
				},
				Is: completed,
			},
		},
	})
}

// TestArriveNamesTheTemplateAsTheNativeController: the name that the native controller gave a
// template stands, not the one that was reckoned before it had.
func TestArriveNamesTheTemplateAsTheNativeController(t *testing.T) {
	t.Parallel()
	reckoned := running(10).resolved("reckoned").but(func(o *Observation) { o.Resolved.Digest = "digest-v1" })
	status := next(t, reckoned).Status
	if names := []string{status.UpdateRevision, status.StableRevision, status.Resolved.Revision}; !slices.Equal(names, []string{"v1", "v1", "v1"}) {
		t.Errorf("the template is called %q, want v1 throughout", names)
	}
}

// TestArriveNamesWhatARollbackWentToAsTheNativeController: after a rollback the status has the name
// that the native controller gave the template, and the template is bad by no name.
func TestArriveNamesWhatARollbackWentToAsTheNativeController(t *testing.T) {
	t.Parallel()
	asV3 := func(o *Observation) {
		w := o.Workload
		deploymentOf(w).Paused, deploymentOf(w).Recreate, w.Hold, w.Revision = false, false, nil, "v3"
		o.Release.Status.Phase = v1alpha1.PhaseFinalizing
	}
	inDigestOfV1 := func(s *Set) { s.Digest = "digest-v1" }
	p := next(t, rollingBack(10).stable("v1", "").sets(set("v2", 0), set("v3", 10, inDigestOfV1)).but(asV3))
	status := p.Status
	if names := []string{status.UpdateRevision, status.StableRevision, status.Resolved.Revision, status.RolledBackTo()}; !slices.Equal(names, []string{"v3", "v3", "v3", "v3"}) {
		t.Errorf("the template is called %q, want v3 throughout", names)
	}
	want := []string{
		"keep template v3 (RolledBackTo): revision v3 is stable",
		"mark template web-v2 (RolledBack): it was rolled back",
		"annotate release current-stable-revision=v3: revision v3 is stable",
	}
	if diff := cmp.Diff(want, script(p)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func leaving(g *v1alpha1.Gate) { g.DeletionTimestamp = &metav1.Time{Time: noon} }

func TestHandedBackTellsOurEndFromSomebodyElses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  bool
	}{
		"we meant to": {handedBack(10).sets(set("v1", 5), set("v2", 5)), true},
		"we meant to, and somebody took the annotation away first": {
			handedBack(10).but(paused).but(recreate).but(ourStrategy), false,
		},
		"we meant to, and a workload that was Recreate is still paused": {
			handedBack(10).but(paused).but(recreate).but(ourStrategy).but(wasRecreate), false,
		},
		"we meant to, and a workload that was Recreate is resumed": {
			handedBack(10).but(recreate).but(ourStrategy).but(wasRecreate), true,
		},
		"all pods are updated in the last step":  {handedBack(10).status(notFinalizing), true},
		"an earlier step does not end a release": {handedBack(10).status(notFinalizing).at(1, 5), false},
		"... though it says all pods":            {handedBack(10).status(notFinalizing).steps(step("100%"), step("100%")).at(0, 10), false},
		"the last step said less when it began":  {handedBack(10).status(notFinalizing).status(said("50%", 0)), false},
		"old pods are left":                      {handedBack(10).status(notFinalizing).sets(set("v1", 1), set("v2", 10)), false},
		"updated pods are missing":               {handedBack(10).status(notFinalizing).sets(set("v2", 9)), false},
		"there is no ReplicaSet of the revision": {handedBack(0).status(notFinalizing).sets(set("v1", 0)), false},
		"only the annotation was taken away":     {handedBack(10).status(notFinalizing).but(paused).but(recreate), false},
		"somebody unpaused it, our strategy is left": {
			handedBack(10).status(notFinalizing).but(recreate).but(ourStrategy), false,
		},
		"a workload that was paused is so again":   {handedBack(10).status(notFinalizing).but(paused), true},
		"a workload that was Recreate is so again": {handedBack(10).status(notFinalizing).but(recreate), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := wasHandedBack(test.scene.look()); got != test.want {
				t.Errorf("handed back by us is %t, want %t", got, test.want)
			}
		})
	}
}

func paused(o *Observation)      { deploymentOf(o.Workload).Paused = true }
func recreate(o *Observation)    { deploymentOf(o.Workload).Recreate = true }
func ourStrategy(o *Observation) { deploymentOf(o.Workload).Strategy = `{"type":"Recreate"}` }

func wasRecreate(o *Observation) {
	o.Release.Status.Held = &v1alpha1.HeldWorkload{Strategy: `{"type":"Recreate"}`}
}

func TestLastStable(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene             *scene
		current, revision string
		want              string
	}{
		"after a release it is what was stable before":             {held(10), "v1", "v2", "v1"},
		"after the first there is none":                            {held(10), "", "v1", ""},
		"what is stable already changes nothing":                   {held(10).stable("v2", "v0"), "v2", "v2", "v0"},
		"after a rollback it is the one kept before the target":    {rollingBack(10).but(keptInOrder("v8", "v9", "v1", "v2")), "v2", "v1", "v9"},
		"... that was not rolled back itself":                      {rollingBack(10).but(keptInOrder("v8", "v9", "v1", "v2")).but(markedBad("v9")), "v2", "v1", "v8"},
		"after a rollback to the oldest there is none":             {rollingBack(10), "v2", "v1", ""},
		"after a rollback to what is not kept any more it is none": {rollingBack(10).but(keptInOrder("v9")), "v2", "v1", ""},
		"it is not what only the history knows was rolled back":    {held(10).but(keptInOrder("v0", "v1", "v2")).but(markedBad("v2")), "v2", "v1", "v0"},
		"... also if the new one is yet to be kept":                {held(10).but(keptInOrder("v0", "v1", "v2")).but(markedBad("v2")), "v2", "v3", "v1"},
		"... nor what Git has reverted":                            {held(10).but(keptInOrder("v0", "v1", "v2")), "v2", "v1", "v0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := lastStable(test.scene.look(), test.current, test.revision); got != test.want {
				t.Errorf("last stable revision %q, want %q", got, test.want)
			}
		})
	}
}

// keptInOrder sets the kept templates.
func keptInOrder(revisions ...string) func(*Observation) {
	return func(o *Observation) { o.Kept = (&scene{}).keep(revisions...).Kept }
}

// places makes the workload a StatefulSet whose own rollout is at seven of ten pods.
func (s *scene) places(m statefulset.Mover) *scene {
	m.Strategy, m.Window, m.Observed, m.Replicas, m.Digest, m.Update, m.Current = "own", inplace.Held, true, 10, "digest-v1", "v1", "v0"
	m.Status = inplace.Status{Current: 10, Ready: 10, Available: 10, Updated: 7}
	return s.but(func(o *Observation) {
		o.Release.Namespace, o.Release.Spec.WorkloadRef.Kind, o.Workload.Mover = "shop", "StatefulSet", m
	})
}

// TestNativeRolloutIsTold: the reported pod counts are true before and after a release completes.
func TestNativeRolloutIsTold(t *testing.T) {
	t.Parallel()
	rolling := func() *scene { return running(10).resolved("v1").sets(set("v0", 4), set("v1", 7, available(5))) }
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"under way": {rolling(), "the workload's own rollout is in progress: 7 of 10 pods run revision v1"},
		"paused": {
			running(10).resolved("v1").sets(set("v0", 4), set("v1", 7)).but(paused).but(func(o *Observation) { o.Release.Namespace = "shop" }),
			"the Deployment is paused, and 7 of 10 pods run revision v1: the release completes once it is resumed and all of them run it; " +
				"kubectl rollout resume deployment web -n shop",
		},
		"OnDelete": {
			rolling().places(statefulset.Mover{}),
			"the StatefulSet has update strategy OnDelete, and 7 of 10 pods run revision v1: the release completes once all of them run it: " +
				"delete the other pods, or give another template, which is released in batches",
		},
		"with a partition that it has come to": {
			rolling().places(statefulset.Mover{RollingUpdate: true, Partition: 3}),
			"the StatefulSet has partition 3, and 7 of 10 pods run revision v1: the release completes once all of them run it; " +
				`kubectl patch statefulset web -n shop -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'`,
		},
		"with a partition that it has not come to": {
			rolling().places(statefulset.Mover{RollingUpdate: true, Partition: 2}), "the workload's own rollout is in progress: 7 of 10 pods run revision v1",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := next(t, test.scene).Status.Message; got != test.want {
				t.Errorf("message\n%s, want\n%s", got, test.want)
			}
		})
	}
	s := next(t, rolling()).Status
	if s.Replicas != 10 || s.UpdatedReplicas != 7 || s.UpdatedAvailableReplicas != 5 || s.StableRevision != "" {
		t.Errorf("%d of %d pods are updated, %d available, %q is stable; want 7 of 10, 5, none", s.UpdatedReplicas, s.Replicas, s.UpdatedAvailableReplicas, s.StableRevision)
	}
}

// TestOnlyAReleaseThatNobodyWasToldOfIsAdopted: a release that was told to have begun stays one,
// whoever brings the template then: it completes. One that was adopted from its begin, or is not on
// record yet, is adopted.
func TestOnlyAReleaseThatNobodyWasToldOfIsAdopted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stored  func(*v1alpha1.BatchReleaseStatus)
		adopted bool
	}{
		"begun":     {func(*v1alpha1.BatchReleaseStatus) {}, false},
		"adopted":   {func(s *v1alpha1.BatchReleaseStatus) { s.Adopted = true }, true},
		"not begun": {func(s *v1alpha1.BatchReleaseStatus) { *s = v1alpha1.BatchReleaseStatus{} }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := running(10).but(func(o *Observation) { o.Workload.Digest, o.Workload.Revision = "digest-v2", "v2" }).sets(set("v2", 10)).keep("v2").stable("v2", "")
			s.status(func(r *v1alpha1.BatchReleaseStatus) {
				r.Attempt, r.Phase, r.CurrentStepState, r.UpdateRevision = 1, v1alpha1.PhaseInitial, v1alpha1.StepInitial, "v2"
				r.Resolved, r.WorkloadUID, r.State = resolved("v2"), "deployment-1", v1alpha1.StateStarting
			}).status(test.stored)
			got := next(t, s).Status
			if got.Attempt != 1 || got.Adopted != test.adopted || got.Phase != v1alpha1.PhaseCompleted {
				t.Errorf("want attempt 1 to complete, adopted: %t, got attempt %d, %t in %s", test.adopted, got.Attempt, got.Adopted, got.Phase)
			}
		})
	}
}
