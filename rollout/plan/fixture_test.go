package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// The tests tell of one release: Deployment web runs v1 and gets v2, in the steps 1, 50%, 100%
// with a manual gate after each but the last, one pod of surge and none unavailable. All of it
// has been read live, and whatever happens, happens at noon.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

const (
	nativeStrategy = `{"type":"RollingUpdate"}`
	tenMinutes     = 10 * time.Minute
)

// scene is an Observation in the making.
type scene struct{ Observation }

// running returns a workload under the native controller. Its release of v2 has not been seen
// before.
func running(replicas int32) *scene {
	s := &scene{Observation{
		Now:   noon,
		Facts: Facts{Live: ReadRelease | ReadWorkload | ReadCounts | ReadGates | ReadKept, Preflight: &preflight.Findings{}},
		Given: "given-v2",
		Release: &v1alpha1.BatchRelease{
			ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "release-1", Generation: 3, CreationTimestamp: metav1.NewTime(noon.Add(-time.Hour)), Annotations: map[string]string{}},
			Spec: v1alpha1.BatchReleaseSpec{
				WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			},
		},
		Workload: &Workload{
			UID: "deployment-1", Name: "web", Replicas: replicas,
			Digest: "digest-v1", Revision: "v1", Mover: &deployment.Mover{Strategy: nativeStrategy},
		},
	}}
	return s.steps(step("1"), step("50%"), step("100%")).bounds("1", "0").sets(set("v1", replicas)).resolved("v2")
}

// completed returns a release of v1 that has ended; v2 is given now.
func completed(replicas int32) *scene {
	return running(replicas).keep("v1").finalized().stable("v1", "").status(func(s *v1alpha1.BatchReleaseStatus) {
		s.Phase, s.State, s.Reason, s.Batch = v1alpha1.PhaseCompleted, v1alpha1.StateCompleted, v1alpha1.ReasonCompleted, "3/3"
		s.CurrentStepIndex, s.CurrentStepState = 2, v1alpha1.StepCompleted
		s.Attempt, s.UpdateRevision, s.StableRevision = 1, "v1", "v1"
		s.Resolved, s.WorkloadUID = resolved("v1"), "deployment-1"
		s.Replicas, s.TargetReplicas = replicas, replicas
	})
}

// held returns a workload that is taken over, in the first step of the release of v2.
func held(replicas int32) *scene {
	s := running(replicas).keep("v1").finalized().stable("v1", "").at(0, 1)
	s.Resolved = nil
	s.status(func(status *v1alpha1.BatchReleaseStatus) {
		status.Phase, status.Reason, status.CurrentStepState =
			v1alpha1.PhaseRollingUpdate, v1alpha1.ReasonUpgrading, v1alpha1.StepUpgrade
		status.Attempt, status.UpdateRevision, status.StableRevision = 1, "v2", "v1"
		status.Resolved, status.WorkloadUID = resolved("v2"), "deployment-1"
		status.Held = &v1alpha1.HeldWorkload{Strategy: nativeStrategy}
		status.Progress = &v1alpha1.Progress{Since: metav1.NewTime(noon)}
	})
	w := s.Workload
	deploymentOf(w).Paused, deploymentOf(w).Recreate, w.Digest, w.Revision = true, true, "digest-v2", "v2"
	w.Hold = &Hold{Release: "web", UID: "release-1", Stable: "v1", HeldWorkload: v1alpha1.HeldWorkload{Strategy: nativeStrategy}}
	return s
}

// rollingBack returns a workload held for the way back to v1 after a release of v2, in the first
// step.
func rollingBack(replicas int32) *scene {
	s := held(replicas).keep("v2").stable("v2", "v1")
	s.Workload.Digest, s.Workload.Revision, s.Workload.Hold.Stable = "digest-v1", "v1", ""
	return s.status(func(status *v1alpha1.BatchReleaseStatus) {
		status.Phase, status.Reason = v1alpha1.PhaseRollingBack, v1alpha1.ReasonRollingBack
		status.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerGitRevert, From: "v2", Message: "v1 is given again"}
		status.UpdateRevision, status.StableRevision, status.Batch = "v1", "v2", "1/2"
		status.Resolved = &v1alpha1.ResolvedTemplate{Given: "given-v2", Digest: "digest-v1", Revision: "v1"}
		status.Quarantined = []string{"given-v2"}
	})
}

// notEntered sets a status before the first step.
func notEntered(s *v1alpha1.BatchReleaseStatus) {
	s.Batch, s.StepStartedAt, s.CurrentStepState = "", nil, v1alpha1.StepInitial
}

func resolved(revision string) *v1alpha1.ResolvedTemplate {
	return &v1alpha1.ResolvedTemplate{Given: "given-" + revision, Digest: "digest-" + revision, Revision: revision}
}

// but changes anything at all.
func (s *scene) but(change func(*Observation)) *scene {
	change(&s.Observation)
	return s
}

func (s *scene) status(change func(*v1alpha1.BatchReleaseStatus)) *scene {
	change(&s.Release.Status)
	return s
}

func (s *scene) sets(sets ...Set) *scene {
	deploymentOf(s.Workload).Sets = sets
	return s
}

func (s *scene) steps(steps ...v1alpha1.Step) *scene {
	s.Release.Spec.Strategy.Steps = steps
	return s
}

func (s *scene) bounds(surge, unavailable string) *scene {
	s.Release.Spec.Strategy.MaxSurge = new(intstr.Parse(surge))
	s.Release.Spec.Strategy.MaxUnavailable = new(intstr.Parse(unavailable))
	return s
}

// at puts the release into a step, counted from 0, with a target for the present replicas.
func (s *scene) at(index, target int32) *scene {
	status := &s.Release.Status
	status.CurrentStepIndex, status.TargetReplicas, status.Replicas = index, target, s.Workload.Replicas
	status.Batch, status.StepStartedAt = fmt.Sprintf("%d/%d", index+1, len(s.Release.Spec.Strategy.Steps)), &metav1.Time{Time: noon}
	return s
}

// scaledFrom says that spec.replicas was another number when the step was entered.
func (s *scene) scaledFrom(replicas int32) *scene {
	s.Release.Status.Replicas = replicas
	return s
}

func (s *scene) annotated(key, value string) *scene {
	s.Release.Annotations[key] = value
	return s
}

// stable names the revisions that are stable, now and before; none if empty.
func (s *scene) stable(current, last string) *scene {
	for key, revision := range map[string]string{
		v1alpha1.CurrentStableAnnotation: current, v1alpha1.LastStableAnnotation: last,
	} {
		delete(s.Release.Annotations, key)
		if revision != "" {
			s.Release.Annotations[key] = revision
		}
	}
	return s
}

func (s *scene) finalized() *scene {
	s.Release.Finalizers = []string{v1alpha1.Finalizer}
	return s
}

// keep adds kept templates, numbered in their order.
func (s *scene) keep(revisions ...string) *scene {
	for _, revision := range revisions {
		number := int64(len(s.Kept) + 1)
		s.Kept = append(s.Kept, Kept{
			Name: "web-" + revision, Revision: revision, Digest: "digest-" + revision, Number: number,
		})
	}
	return s
}

// resolved returns the API server's answer for the template that is given.
func (s *scene) resolved(revision string) *scene {
	s.Given, s.Resolved = "given-"+revision, &Resolved{ResolvedTemplate: *resolved(revision)}
	return s
}

// cached says that nothing has been read live, by a process that has scaled the sets before.
func (s *scene) cached() *scene {
	s.Live, s.LastScale = s.Live&(ReadKept|ReadPods|ReadFailing), noon.Add(-time.Minute)
	if s.Workload == nil {
		return s
	}
	d := deploymentOf(s.Workload)
	for i := range d.Sets {
		d.Sets[i].Live = false
	}
	return s
}

// deleted says that the release is being deleted.
func (s *scene) deleted() *scene {
	s.Release.DeletionTimestamp = &metav1.Time{Time: noon}
	return s
}

// Set is a ReplicaSet of the Deployment.
type Set = deployment.Set

// deploymentOf returns the workload as a Deployment.
func deploymentOf(w *Workload) *deployment.Mover { return w.Mover.(*deployment.Mover) }

// set returns a ReplicaSet whose pods are all available.
func set(revision string, replicas int32, changes ...func(*Set)) Set {
	s := Set{
		Name: "web-" + revision, UID: types.UID("set-" + revision), Live: true, Observed: true,
		Digest: "digest-" + revision, Revision: revision,
		Created:  noon.Add(-24 * time.Hour).Add(time.Duration(revision[len(revision)-1]) * time.Minute),
		Replicas: replicas, Current: replicas, Ready: replicas, Available: replicas,
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func available(n int32) func(*Set) { return func(s *Set) { s.Ready, s.Available = n, n } }

// warming makes n pods ready, and not available yet.
func warming(n int32) func(*Set) { return func(s *Set) { s.Available -= n } }

func current(n int32) func(*Set) { return func(s *Set) { s.Current = n } }

func unobserved(s *Set) { s.Observed = false }

func stale(s *Set) { s.Live = false }

func unlisted(o *Observation) { o.Live &^= ReadCounts }

func (s *scene) gates(gates ...v1alpha1.Gate) *scene {
	s.Gates = gates
	return s
}

// gate returns the manual gate of the release of v2, undecided.
func gate(attempt int64, step, index int32, changes ...func(*v1alpha1.Gate)) v1alpha1.Gate {
	g := v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-v2-%d-%d-%d", attempt, step, index)},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: "release-1"},
			Revision:   "v2", Attempt: attempt, Step: step, Index: index,
			Type: v1alpha1.GateManual, Policy: manual,
		},
	}
	for _, change := range changes {
		change(&g)
	}
	return g
}

func passed(g *v1alpha1.Gate) { g.Status.Decision = v1alpha1.DecisionPassed }

func rejected(g *v1alpha1.Gate) {
	g.Status.Decision, g.Status.Message = v1alpha1.DecisionRejected, "the pull request was closed"
}

// step returns a step with these gates, or with one manual gate if none is given.
func step(replicas string, gates ...v1alpha1.GatePolicy) v1alpha1.Step {
	return v1alpha1.Step{Replicas: intstr.Parse(replicas), Gates: gates}
}

var (
	manual = v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}
	none   = v1alpha1.GatePolicy{None: &v1alpha1.NoGate{}}
	soak   = v1alpha1.GatePolicy{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: tenMinutes}}}
)

// look returns the planner's snapshot of the scene.
func (s *scene) look() *snapshot { return snapshotOf(s.Observation) }

// script returns the actions of a plan, each with its reason, and then its requests.
func script(p Plan) []string {
	var lines []string
	for _, action := range p.Actions {
		lines = append(lines, fmt.Sprintf("%s: %s", action, action.Why()))
	}
	if p.Needs.Any() {
		lines = append(lines, "needs "+strings.Join(needs(p.Needs), ", "))
	}
	return lines
}

func needs(n Needs) []string {
	var words []string
	for _, need := range []struct {
		word string
		is   Reads
	}{{"release", ReadRelease}, {"workload", ReadWorkload}, {"counts", ReadCounts}, {"pods", ReadPods}, {"gates", ReadGates}, {"kept", ReadKept}, {"failing", ReadFailing}} {
		if n.Has(need.is) {
			words = append(words, need.word)
		}
	}
	if n.Preflight != nil {
		words = append(words, "preflight")
	}
	if n.Drift != nil {
		words = append(words, "drift from "+n.Drift.String())
	}
	if n.Resolve != nil {
		words = append(words, "to resolve "+n.Resolve.String())
	}
	return words
}

// outcome is a plan as the tables tell it.
type outcome struct {
	Script      []string
	StatusFirst bool
	Wake        time.Duration
	// Is has phase, batch, state and reason.
	Is string
	// Stalled is the problem that only a user can fix.
	Stalled string
}

func outcomeOf(p Plan) outcome {
	o := outcome{Script: script(p), StatusFirst: p.StatusFirst, Wake: p.Wake(), Is: standing(&p.Status)}
	for _, c := range p.Status.Conditions {
		if c.Type == v1alpha1.ConditionStalled {
			o.Stalled = c.Reason + ": " + c.Message
		}
	}
	return o
}

func standing(s *v1alpha1.BatchReleaseStatus) string {
	words := []string{string(s.Phase), s.Batch, string(s.CurrentStepState), s.Reason}
	for i, word := range words {
		if word == "" {
			words[i] = "-"
		}
	}
	return strings.Join(words, " ")
}

// next plans, and makes sure that the observation is left as it was.
func next(t *testing.T, s *scene) Plan {
	t.Helper()
	release := s.Release.DeepCopy()
	p := Next(s.Observation)
	if diff := cmp.Diff(release, s.Release); diff != "" {
		t.Errorf("Next changed the release it was given (-before +after):\n%s", diff)
	}
	return p
}

// planned is a case of a table that looks at the whole plan.
type planned struct {
	scene *scene
	want  outcome
}

// checkPlans compares whole plans. The name of a case is the rule that it shows.
func checkPlans(t *testing.T, tests map[string]planned) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, outcomeOf(next(t, test.scene))); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// scripted is a case of a table that looks at actions and needs only.
type scripted struct {
	scene *scene
	want  []string
}

// checkScripts compares what plans do and ask for.
func checkScripts(t *testing.T, tests map[string]scripted) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, script(next(t, test.scene))); diff != "" {
				t.Errorf("actions and needs (-want +got):\n%s", diff)
			}
		})
	}
}
