package plan_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/order"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// The tests drive the course with a mover of another kind: a rack of numbered slots, each with one
// pod, which are replaced where they are. It has no ReplicaSets, no surge and no paused strategy.
// Whoever deletes the pod of a slot gets one of the rack's template, and a rack that is not held
// replaces all that differ at once.

// rack is the workload, its release, and what belongs to it.
type rack struct {
	t        *testing.T
	release  v1alpha1.BatchRelease
	template string
	slots    []slot
	hold     *plan.Hold
	kept     []plan.Kept
	gates    []v1alpha1.Gate
	final    bool
	story    []string
	events   []plan.Event
}

type slot struct {
	revision string
	ready    bool
}

func newRack(t *testing.T, replicas int) *rack {
	step := func(share string) v1alpha1.Step {
		return v1alpha1.Step{Replicas: intstr.Parse(share), Gates: []v1alpha1.GatePolicy{{Manual: &v1alpha1.ManualGate{}}}}
	}
	k := &rack{t: t, template: "v1", slots: slices.Repeat([]slot{{"v1", true}}, replicas)}
	k.release.ObjectMeta = metav1.ObjectMeta{Name: "web", UID: "release-1", Generation: 1, Annotations: map[string]string{}}
	k.release.Spec = v1alpha1.BatchReleaseSpec{
		WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "example.com/v1", Kind: "Rack", Name: "web"},
		Strategy:    v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{step("1"), step("50%"), {Replicas: intstr.Parse("100%")}}},
	}
	return k
}

// slots is the rack as its mover sees it.
type slots struct {
	pods  []slot
	held  bool
	final bool
	// stale is Native.Stale, of a workload whose own strategy is OnDelete.
	stale bool
}

func (m slots) Native() mover.Native {
	return mover.Native{
		Secured: m.held, Free: !m.held, Ours: m.held, Unsecured: v1alpha1.ReasonStrategyChanged,
		Own:   v1alpha1.HeldWorkload{Strategy: map[bool]string{true: "held", false: "own"}[m.held]},
		Stale: m.stale, OnDelete: m.stale && !m.held,
	}
}

func (slots) Bounds(_, _ *intstr.IntOrString, _ int32) mover.Bounds {
	return mover.Bounds{Unavailable: 2}
}

func (m slots) Count(digest string) mover.Counts {
	c := mover.Counts{Settled: true, Final: m.final}
	c.Updated.Known, c.Updated.Observed, c.Others.Observed, c.All.Observed = true, true, true, true
	for _, pod := range m.pods {
		one := mover.Count{Known: true, Observed: true, Wanted: 1, Current: 1, Most: 1}
		if pod.ready {
			one.Ready, one.Available, one.Staying, one.StayingReady = 1, 1, 1, 1
		}
		c.All = c.All.And(one)
		if digestOf(pod.revision) == digest {
			c.Updated = c.Updated.And(one)
		} else {
			c.Others = c.Others.And(one)
		}
	}
	return c
}

func (m slots) Has(revision string) bool {
	return slices.ContainsFunc(m.pods, func(pod slot) bool { return pod.revision == revision })
}

func (slots) Serving(_, revision string) string { return revision }

func (m slots) Runs(revision string) int32 {
	n := int32(0)
	for _, pod := range m.pods {
		if pod.revision == revision {
			n++
		}
	}
	return n
}

// Move replaces as many slots of other versions, the lowest first, as may be unavailable.
func (m slots) Move(t mover.Task) mover.Moves {
	counts, moves := m.Count(t.Digest), mover.Moves{GrowsFirst: true}
	room := counts.All.Available - (t.Replicas - t.Unavailable)
	missing := min(t.Target-counts.Updated.Wanted, room)
	for i, pod := range m.pods {
		if missing > 0 && digestOf(pod.revision) != t.Digest {
			moves.Shrink = append(moves.Shrink, replace{i})
			missing--
		}
	}
	return moves
}

func (slots) Make(mover.Task) mover.Write                               { return nil }
func (slots) Keep(mover.Task) mover.Moves                               { return mover.Moves{} }
func (slots) Now(mover.Task) mover.Moves                                { return mover.Moves{} }
func (slots) MayAct(string, int32, int64) bool                          { return false }
func (slots) Prepare(mover.Beginning) ([]mover.Write, v1alpha1.Awaited) { return nil, "" }
func (slots) Give(string) []mover.Write                                 { return nil }
func (slots) Finish(string) []mover.Write                               { return nil }
func (slots) Restore([]order.Pod) mover.Write                           { return nil }
func (slots) Clear(mover.Task) []mover.Write                            { return nil }
func (slots) Refill(mover.Beginning) mover.Write                        { return nil }
func (slots) Refilled(string, int64) bool                               { return true }

// replace is the one write that the mover has.
type replace struct{ slot int }

func (w replace) String() string  { return fmt.Sprintf("replace slot %d", w.slot) }
func (replace) Name() mover.Name  { return mover.Name{Key: "Replace", Words: "replace a slot"} }
func (replace) Reason() mover.Why { return mover.Forward }
func (replace) Updates() bool     { return false }

func digestOf(revision string) string { return "digest-" + revision }

// observation returns the rack's state without lag.
func (k *rack) observation(resolved *plan.Resolved) plan.Observation {
	given := string(k.release.Spec.Template.Raw)
	return plan.Observation{
		Now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Release: &k.release, Given: given,
		Workload: &plan.Workload{
			UID: "rack-1", Name: "web", Replicas: int32(len(k.slots)), Digest: digestOf(k.template), Revision: k.template,
			Hold: k.hold, Mover: slots{pods: slices.Clone(k.slots), held: k.hold != nil, final: k.final},
		},
		Gates: k.gates, Facts: plan.Facts{Live: ^plan.Reads(0), Kept: k.kept, Resolved: resolved, Preflight: &preflight.Findings{}},
	}
}

// settle asks the planner and does what it says until there is nothing to do.
func (k *rack) settle() {
	k.t.Helper()
	var resolved *plan.Resolved
	for range 200 {
		next := plan.Next(k.observation(resolved))
		k.release.Status = next.Status
		k.events = append(k.events, next.Events...)
		if s := next.Status; k.final && s.StepStartedAt != nil && s.Replicas != int32(len(k.slots)) {
			k.t.Fatalf("the step counts %d slots, and there are %d: nothing is to be moved first", s.Replicas, len(k.slots))
		}
		for _, action := range next.Actions {
			k.do(action)
			k.obey()
		}
		switch grew := k.start(); {
		case next.StatusFirst, len(next.Actions) > 0, grew:
		case next.Needs.Resolve != nil:
			revision := cmp.Or(next.Needs.Resolve.Revision, string(k.release.Spec.Template.Raw))
			resolved = &plan.Resolved{ResolvedTemplate: v1alpha1.ResolvedTemplate{Digest: digestOf(revision), Revision: revision}}
			if next.Needs.Resolve.Given {
				resolved.Given = revision
			}
		case next.Needs.Any():
			k.t.Fatalf("what the planner needs is not known: %+v", next.Needs)
		default:
			return
		}
	}
	k.t.Fatalf("the plan does not come to an end: %v", k.story)
}

// start makes the pods ready that are not. It reports whether there were any.
func (k *rack) start() bool {
	any := false
	for i := range k.slots {
		any = any || !k.slots[i].ready
		k.slots[i].ready = true
	}
	return any
}

// obey checks the rack: a slot of another version is held, and at most 2 slots are unavailable.
func (k *rack) obey() {
	k.t.Helper()
	unavailable := 0
	for i := range k.slots {
		if k.hold == nil && k.slots[i].revision != k.template {
			k.t.Errorf("the rack is not held, and slot %d runs %s, not %s: it would be replaced at once; so far: %v",
				i, k.slots[i].revision, k.template, k.story)
		}
		if !k.slots[i].ready {
			unavailable++
		}
	}
	if unavailable > 2 {
		k.t.Errorf("%d slots are unavailable, at most 2 may be", unavailable)
	}
}

func (k *rack) do(action plan.Action) {
	named := func(name string) func(plan.Kept) bool { return func(o plan.Kept) bool { return o.Name == name } }
	switch a := action.(type) {
	case plan.Annotate:
		annotations := maps.Clone(k.release.Annotations)
		maps.Copy(annotations, a.Set)
		for _, key := range a.Remove {
			delete(annotations, key)
		}
		k.release.Annotations = annotations
		if a.Finalizer != nil && *a.Finalizer {
			k.release.Finalizers = []string{v1alpha1.Finalizer}
		}
	case plan.RecordRevision:
		k.kept = append(slices.Clip(k.kept), plan.Kept{Name: "web-" + a.Revision, Revision: a.Revision, Digest: a.Digest, Number: a.Number, Record: a.Record})
	case plan.UpdateRevision:
		k.kept = slices.Clone(k.kept)
		i := slices.IndexFunc(k.kept, named(a.Name))
		k.kept[i].Number, k.kept[i].Record = a.Number, a.Record
	case plan.PruneRevision:
		k.kept = slices.DeleteFunc(slices.Clone(k.kept), named(a.Name))
	case plan.TakeOver:
		k.hold = &a.Hold
		if a.Template != nil {
			k.template = cmp.Or(a.Template.Revision, string(k.release.Spec.Template.Raw))
		}
	case plan.HandBack:
		k.hold = nil
		if a.Template != nil {
			k.template = a.Template.Revision
		}
	case plan.Follow, plan.CopyTemplate:
		k.t.Errorf("%s, and the release follows nothing", a)
	case plan.Traffic:
		k.t.Errorf("%s, and nothing has traffic", a)
	case plan.RetryMember:
		k.t.Errorf("%s, and the release is no train", a)
	case plan.MovePods:
		at := a.Write.(replace).slot
		k.slots[at] = slot{revision: k.template}
	case plan.OpenGate:
		k.gates = append(slices.Clip(k.gates), v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{Name: a.Name}, Spec: a.Spec})
	case plan.CloseGate:
		k.gates = slices.DeleteFunc(slices.Clone(k.gates), func(g v1alpha1.Gate) bool { return g.Name == a.Name })
	}
	k.story = append(k.story, action.String())
}

func (k *rack) give(revision string) {
	k.release.Spec.Template = &runtime.RawExtension{Raw: []byte(revision)}
	k.release.Generation++
}

// approve passes the gate that is open.
func (k *rack) approve() {
	k.gates = slices.Clone(k.gates)
	for i := range k.gates {
		k.gates[i].Status.Decision = v1alpha1.DecisionPassed
	}
}

// runs counts the slots of a revision.
func (k *rack) runs(revision string) int {
	n := 0
	for _, pod := range k.slots {
		if pod.revision == revision {
			n++
		}
	}
	return n
}

func (k *rack) want(updated int, phase v1alpha1.Phase, held bool) {
	k.t.Helper()
	type standing struct {
		Updated int
		Phase   v1alpha1.Phase
		Held    bool
	}
	got, want := standing{k.runs("v2"), k.release.Status.Phase, k.hold != nil}, standing{updated, phase, held}
	if got != want {
		k.t.Fatalf("the release stands at %+v, want %+v; so far: %v", got, want, k.story)
	}
}

func TestAnotherKindIsReleasedAndRolledBack(t *testing.T) {
	t.Parallel()
	k := newRack(t, 10)
	k.give("v2")
	k.settle()
	k.want(1, v1alpha1.PhaseRollingUpdate, true)
	k.approve()
	k.settle()
	k.want(5, v1alpha1.PhaseRollingUpdate, true)
	k.approve()
	k.settle()
	k.want(10, v1alpha1.PhaseCompleted, false)

	k.release.Annotations[v1alpha1.RollbackAnnotation] = "true"
	k.settle()
	k.want(0, v1alpha1.PhaseCompleted, false)
	if got := k.release.Status.Quarantined; !slices.Equal(got, []string{"v2"}) {
		t.Errorf("quarantined is %v, want v2", got)
	}
}

// TestASurgeIsNotLostWithoutAWord: pods of the rack are replaced where they are, and its own
// strategy surges.
func TestASurgeIsNotLostWithoutAWord(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		surge   string
		accept  bool
		refused bool
	}{
		"a surge":                   {surge: "25%", refused: true},
		"a surge that is given up":  {surge: "1", accept: true},
		"a surge of nothing":        {surge: "0"},
		"a surge of nothing at all": {surge: "0%"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newRack(t, 10)
			k.give("v2")
			if test.accept {
				k.release.Spec.Strategy.MaxUnavailable = new(intstr.FromInt32(1))
			}
			o := k.observation(nil)
			o.Workload.MaxSurge = new(intstr.Parse(test.surge))
			next := plan.Next(o)
			stalled := meta.FindStatusCondition(next.Status.Conditions, v1alpha1.ConditionStalled)
			refused := stalled != nil && stalled.Reason == v1alpha1.ReasonInvalidStrategy
			if refused != test.refused || refused && !strings.Contains(stalled.Message, "maxUnavailable") {
				t.Errorf("refused is %t, want %t; the condition Stalled is %+v", refused, test.refused, stalled)
			}
		})
	}
}
