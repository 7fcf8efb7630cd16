package sim

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// TestMain lets each run take the same walks, so that a test which fails does so for a reason of
// its own. Other ones: -rapid.seed=N, or 0 for a seed of the moment, and more of them:
// -rapid.checks=N. A failure prints its seed.
func TestMain(m *testing.M) {
	for name, value := range map[string]string{"rapid.seed": "20261121", "rapid.nofailfile": "true"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	os.Exit(m.Run())
}

// gcPercent suits tests that allocate much and keep little: at the default a fifth of the time is spent on collecting.
const gcPercent = 800

// memoryLimit is from where on they are collected as often as need be: nine times what a whole family keeps is more than machines have.
const memoryLimit = 8 << 30

// TestWalks lets anything happen in any order to releases of any shape, and then nothing
// unforeseen any more: the laws hold at every write, and the clean end is reached.
func TestWalks(t *testing.T) {
	t.Parallel()
	fmt.Printf("walks with seed %s\n", flag.Lookup("rapid.seed").Value)
	for replicas := range int32(13) {
		t.Run(fmt.Sprintf("%d replicas", replicas), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				w := begin(t, replicas)
				for range rapid.IntRange(0, 150).Draw(t, "events") {
					w.step(w.anything("event"))
				}
				w.calmDown()
			})
		})
	}
}

// walk is one way through what may happen, at random.
type walk struct {
	*rapid.T
	*player
}

func begin(t *rapid.T, replicas int32) *walk {
	return beginWith(t, drawSetup(t, replicas))
}

func beginWith(t *rapid.T, setup Setup) *walk {
	w := &walk{t, play(t, script{
		setup:   setup,
		sick:    rapid.SampledFrom([]string{"", "", "v1", "v2", "v3"}).Draw(t, "sick"),
		refused: rapid.SampledFrom([]string{"", "", "", "v2", "v3"}).Draw(t, "refused"),
	})}
	w.step(Event{Kind: Give, Text: "v2"})
	return w
}

func drawSetup(t *rapid.T, replicas int32) Setup {
	setup := Setup{
		Replicas: replicas, Steps: drawSteps(t, "steps"),
		MaxSurge: drawLimit(t, "maxSurge"), MaxUnavailable: drawLimit(t, "maxUnavailable"),
		Strategy:       rapid.SampledFrom([]string{RollingUpdate, RollingUpdate, RollingUpdate, Recreate}).Draw(t, "strategy"),
		OneVersion:     rapid.Bool().Draw(t, "one version"),
		Paused:         rapid.IntRange(0, 9).Draw(t, "paused") == 0,
		Newborn:        rapid.IntRange(0, 4).Draw(t, "newborn") == 0,
		MinReady:       rapid.IntRange(0, 2).Draw(t, "min ready") == 0,
		Graceful:       rapid.IntRange(0, 2).Draw(t, "graceful") == 0,
		HistoryLimit:   rapid.IntRange(0, 3).Draw(t, "history"),
		Deadline:       time.Hour,
		OnFailure:      rapid.SampledFrom([]v1alpha1.FailurePolicy{v1alpha1.FailurePause, v1alpha1.FailureRollback}).Draw(t, "on failure"),
		DeletionPolicy: rapid.SampledFrom([]v1alpha1.DeletionPolicy{v1alpha1.DeletionRevert, v1alpha1.DeletionProceed}).Draw(t, "deletion"),
		Drift:          rapid.SampledFrom([]v1alpha1.DriftPolicy{v1alpha1.DriftReport, v1alpha1.DriftRevert}).Draw(t, "drift"),
		StepBack:       rapid.SampledFrom([]v1alpha1.StepBackPolicy{v1alpha1.StepBackKeepPods, v1alpha1.StepBackRemovePods}).Draw(t, "step back"),
		Supersede:      rapid.SampledFrom([]v1alpha1.SupersedePolicy{v1alpha1.SupersedeRestart, v1alpha1.SupersedeQueue}).Draw(t, "supersede"),
	}
	if rapid.IntRange(0, 2).Draw(t, "guarded") == 0 {
		setup.Guard = rapid.SampledFrom([]v1alpha1.RejectPolicy{v1alpha1.RejectHold, v1alpha1.RejectRollback}).Draw(t, "guard")
	}
	if rapid.IntRange(0, 3).Draw(t, "has rollback") == 0 {
		setup.Rollback = holding(drawSteps(t, "rollback"))
	}
	return setup
}

// drawSteps draws up to four steps, in pods or in percent, before the last.
func drawSteps(t *rapid.T, label string) []v1alpha1.Step {
	gates := rapid.SampledFrom([]string{"", " none", " none", " manual", " soak", " soak manual", " manual-", " soak- manual"})
	least := map[string]int{}
	var texts []string
	for range rapid.IntRange(0, 4).Draw(t, label) {
		unit := rapid.SampledFrom([]string{"", "%"}).Draw(t, "unit")
		if least["%"] == 100 {
			unit = "%" // nothing comes after all pods
		}
		least[unit] = rapid.IntRange(least[unit], map[string]int{"": 13, "%": 100}[unit]).Draw(t, "replicas")
		texts = append(texts, fmt.Sprintf("%d%s%s", least[unit], unit, gates.Draw(t, "gates")))
	}
	return Steps(append(texts, "100%"+gates.Draw(t, "gates"))...)
}

// holding are the steps with gates that hold when they are rejected, as those of a rollback must.
func holding(steps []v1alpha1.Step) []v1alpha1.Step {
	for i := range steps {
		for j := range steps[i].Gates {
			steps[i].Gates[j].OnReject = ""
		}
	}
	return steps
}

func drawLimit(t *rapid.T, label string) intstr.IntOrString {
	if rapid.Bool().Draw(t, label+" in percent") {
		return intstr.FromString(fmt.Sprintf("%d%%", rapid.IntRange(0, 100).Draw(t, label)))
	}
	return intstr.FromInt32(rapid.Int32Range(0, 4).Draw(t, label))
}

// usual and unusual are what happens in a walk; often what is named often.
var (
	usual = slices.Concat(
		slices.Repeat([]Kind{Pass, SyncSet, PodReady}, 8),
		slices.Repeat([]Kind{SyncWorkload, Approve, Confirm}, 3),
		slices.Repeat([]Kind{PodAvailable}, 6),
		[]Kind{PodHeals, PodGone, Wait, Thaw},
	)
	unusual = slices.Concat(
		slices.Repeat([]Kind{
			PassDies, PassRaces, Restart, SyncWorkloadLate, PodFails, PodLost, Refuse, Crowd, Cure, Scale, Give, Rollback, Retry, Reject, Suspend, Resume, Spoil, Repair, EditStep, Jump, ReleaseTo,
			Unpause, EditTemplate, StripHold, Drift, Freeze, Touch, Elapse, Away, Leap,
		}, 3),
		[]Kind{DeleteRelease, DeleteWorkload, CreateWorkload},
	)
)

// anything draws an event.
func (w *walk) anything(label string) Event { return w.anyOf(label, usual, unusual) }

// anyOf draws an event of some kinds, more often of the usual ones.
func (w *walk) anyOf(label string, usual, unusual []Kind) Event {
	kinds := usual
	if rapid.IntRange(0, 5).Draw(w.T, label) == 0 {
		kinds = unusual
		if w.state.Kind() != Deployment {
			kinds = append(slices.Clip(kinds), PodEnds, PodEnds, PodEnds)
		}
	}
	if w.state.Traffic != nil {
		kinds = w.routed(kinds)
	}
	if w.state.API.Policied {
		kinds = append(slices.Clip(kinds), Admit, TouchWorkload)
	}
	e := Event{Kind: rapid.SampledFrom(kinds).Draw(w.T, label)}
	switch e.Kind {
	case PassDies:
		e.N = rapid.Int32Range(1, 6).Draw(w.T, "after write")
	case PassRaces:
		e.N = rapid.Int32Range(1, 8).Draw(w.T, "before request")
		if race := w.anyOf("race", usual, unusual); race.Kind > Restart {
			e.Race = &race
			return e
		}
		return Event{Kind: Restart}
	case Scale:
		e.N = rapid.Int32Range(0, 13).Draw(w.T, "replicas")
	case RestoreRoute:
		e.N, e.Text = rapid.Int32Range(0, 1).Draw(w.T, "all"), w.about(e.Kind)
	case ShareRouteAgain:
		e.N, e.Text = rapid.Int32Range(0, 100).Draw(w.T, "weight"), w.about(e.Kind)
	case Spoil:
		e.N = rapid.Int32Range(fewerSteps, rollbackSteps).Draw(w.T, "way")
	case EditStep:
		e.N = rapid.Int32Range(0, 1).Draw(w.T, "more")
	case Leap:
		e.N = rapid.SampledFrom([]int32{1, 2, -2}).Draw(w.T, "hours")
	case Jump:
		e.N = rapid.Int32Range(0, 5).Draw(w.T, "step")
	case ReleaseTo:
		e.N = rapid.Int32Range(-1, 5).Draw(w.T, "step")
	case SyncWorkloadLate:
		e.N = rapid.Int32Range(1, 3).Draw(w.T, "changes")
	default:
		e.Text = w.about(e.Kind)
	}
	return e
}

// about draws what an event of a kind is about; empty if it is about nothing.
func (w *walk) about(kind Kind) string {
	var choice []string
	switch kind {
	case SyncSet, PodReady, PodAvailable, PodGone, PodFails, PodHeals, PodLost, PodEnds:
		for i := range w.state.Sets {
			choice = append(choice, w.state.Sets[i].Revision)
		}
		for i := range w.state.Places {
			choice = append(choice, w.state.Places[i].Name)
		}
	case Give, EditTemplate, Drift, CreateWorkload, Apply:
		choice = []string{"v1", "v2", "v3", "v2~"}
		if w.state.Kind() != Deployment { // which tell a template by how it is written
			choice = choice[:3]
		}
	case Admit:
		choice = []string{"", "blue", "green"}
	case Refuse:
		for _, writes := range slices.Concat(AllWrites, AllUnanswered) {
			choice = append(choice, string(writes))
		}
	case Rollback:
		choice = []string{"true", "true", "v1", "v2", "v9"}
	case Freeze:
		choice = []string{
			string(ReleaseObject), string(WorkloadObject), string(GateObjects), string(KeptObjects), string(NewSetObjects),
			"v1", "v2", "v3",
		}
		if w.state.Traffic != nil {
			choice = append(choice, string(TrafficObjects))
		}
	case SyncSlices, DeleteService, EditService:
		for _, name := range w.state.Traffic.sides() {
			choice = append(choice, string(name))
		}
	case Accept, RestoreRoute, DeleteRoute, CreateRoute, StripRoute, ShareRouteAgain, Silence, Speak:
		for i := range w.state.Traffic.Routes {
			choice = append(choice, w.state.Traffic.Routes[i].Name)
		}
	}
	if len(choice) == 0 {
		return ""
	}
	return rapid.SampledFrom(choice).Draw(w.T, "about")
}

// reword puts other words into a status, and another state: nothing may be decided by
// those. Some conditions are kept as they
// are while nobody looks at what they say.
func reword(status *v1alpha1.BatchReleaseStatus) {
	if status.State != "" {
		status.State, status.StoppedBy, status.StalledBy = v1alpha1.StateIdle, nil, ""
	}
	status.Reason, status.Message = "Other", "in other words; next: revision v0"
	for i := range status.Conditions {
		kept := []string{v1alpha1.ConditionPreflightFailed, v1alpha1.ConditionDrifted, v1alpha1.ConditionBeyondStep, v1alpha1.ConditionRolledBackServes}
		if c := &status.Conditions[i]; !slices.Contains(kept, c.Type) {
			c.Reason, c.Message = "Other", "in other words"
		}
	}
}

func copyOf(o plan.Observation) plan.Observation {
	o.Release = o.Release.DeepCopy()
	if o.Workload != nil {
		o.Workload = new(*o.Workload)
		o.Workload.Hold = copyOfPointer(o.Workload.Hold)
		switch m := o.Workload.Mover.(type) {
		case deployment.Mover:
			m.Sets = slices.Clone(m.Sets)
			o.Workload.Mover = m
		case statefulset.Mover:
			m.Pods = slices.Clone(m.Pods)
			o.Workload.Mover = m
		case daemonset.Mover:
			m.Pods = slices.Clone(m.Pods)
			o.Workload.Mover = m
		}
	}
	o.Kept, o.Gates = slices.Clone(o.Kept), slices.Clone(o.Gates)
	for i := range o.Gates {
		o.Gates[i] = *o.Gates[i].DeepCopy()
	}
	o.Resolved, o.Drift = copyOfPointer(o.Resolved), copyOfPointer(o.Drift)
	o.Preflight = copyOfPointer(o.Preflight)
	return o
}

func copyOfPointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
