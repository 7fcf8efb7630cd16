package sim

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// afterRefusal is how many writes may come after the API server begins to refuse some for good: those of the way
// to where it stands, or back, and what is told.
const afterRefusal = 60

// TestRefusedForGood has each kind of write refused, or made something else of, from each moment of a release on.
// The release completes all the same, or says in the end what is refused, or has failed for it and, if the
// strategy says so, goes back; few writes are sent for that. Once nothing is refused any more it reaches its end.
func TestRefusedForGood(t *testing.T) {
	t.Parallel()
	setups := map[string]Setup{
		"holds":      ten("1", "50% none", "100%").of(4),
		"turns back": ten("1", "50% none", "100%").of(4).turning(),
	}
	for name, setup := range setups {
		for _, writes := range slices.Concat(AllWrites, AllUnanswered) {
			t.Run(name+", "+string(writes), func(t *testing.T) {
				t.Parallel()
				runs := 0
				for state := releasing(setup); state != nil; state, _ = Calm(state) {
					refusedForGood(t, state.Clone(), writes)
					runs++
				}
				fmt.Printf("%-12s %-18s %d runs\n", name, writes, runs)
			})
		}
	}
}

func refusedForGood(t *testing.T, s *State, writes Writes) {
	t.Helper()
	from := s.String()
	Event{Kind: Refuse, Text: string(writes)}.Apply(s)
	sent := 0
	for range 4 { // until nothing happens any more, and then a deadline later
		sent += s.withoutCure(t)
		Event{Kind: Elapse}.Apply(s)
	}
	switch status := s.Release.Status; {
	case len(s.Broken) > 0:
		t.Fatalf("%s: from %s on: %s", writes, from, s.Broken[0])
	case unfinished(s.World) == "":
	case !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled) && status.Reason != v1alpha1.ReasonDrifted:
		t.Fatalf("%s: from %s on: it stands as %s and says nothing: %s", writes, from, s.World, status.Message)
	}
	if sent > afterRefusal {
		t.Errorf("%s: from %s on: %d writes, want at most %d", writes, from, sent, afterRefusal)
	}
	Event{Kind: Cure}.Apply(s)
	Event{Kind: Retry}.Apply(s)
	if s = calmed(s, ended); unfinished(s.World) != "" {
		t.Fatalf("%s: from %s on: cured it ends as %s: %s", writes, from, s.World, unfinished(s.World))
	}
}

// withoutCure lets everybody take turns, people and the API server's rules aside, until nothing is left to do. It
// counts the writes.
func (s *State) withoutCure(t *testing.T) int {
	t.Helper()
	left := []Kind{Cure, Retry, Give, Resume, CreateWorkload}
	for sent := 0; ; {
		moved := false
		for _, event := range calmTurns(s) {
			if slices.Contains(left, event.Kind) || event.idle(s) {
				continue
			}
			if event.Kind == Wait && s.awaitsRetry() && !slices.ContainsFunc(s.Gates, func(g Gate) bool { return soaking(s.World, g) }) {
				continue // a deadline later it is sent again
			}
			if event.Kind == Pass {
				s.Process.recall(s.World)
				s.Now = s.Now.Add(tick)
				n := len(s.Process.passUnasked(s.World, Mishaps{}).Done)
				sent, moved = sent+n, n > 0
			} else {
				moved = event.Apply(s)
			}
			if moved {
				break
			}
		}
		if !moved {
			return sent
		}
		if sent > 10*afterRefusal {
			t.Fatalf("it writes without an end: %s", s.World)
		}
	}
}

// TestNamesOnlyWhatIsKept: what runs can't be kept, and somebody rolls out by hand what is given. A rollback could not go back to what
// ran before, and no annotation says so.
func TestNamesOnlyWhatIsKept(t *testing.T) {
	t.Parallel()
	for _, kind := range workload.Kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := releasing(ten("1", "100%").of(2).as(kind, 1))
			for _, e := range []Event{
				{Kind: Refuse, Text: string(Templates)}, {Kind: Pass}, {Kind: Drift, Text: "v2"}, {Kind: SyncWorkload}, {Kind: Pass},
			} {
				e.Apply(s)
			}
			if s = calmed(s, ended); len(s.Broken) > 0 || unfinished(s.World) != "" {
				t.Errorf("it ends as %s: %s, broken: %v", s.World, unfinished(s.World), s.Broken)
			}
		})
	}
}

// TestRecordOfWhatIsLeftIsSentAgain: a workload without pods has the stable template, and nothing but the record says of the one that is rolled
// back what it was. Where that is refused the rollback says so, and sends it again when its time has come, or somebody requests it.
func TestRecordOfWhatIsLeftIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, again := range []Kind{Wait, Retry} {
		t.Run(again.String(), func(t *testing.T) {
			t.Parallel()
			setup := ten("1", "100%").of(4)
			setup.Rollback = Steps("1 manual", "100%") // as long as it waits here
			s := scaledToZero(setup)
			Event{Kind: Refuse, Text: string(Templates)}.Apply(s)
			Event{Kind: Rollback, Text: "true"}.Apply(s)
			for range 20 { // to the gate
				for _, event := range calmTurns(s) {
					if !slices.Contains([]Kind{Cure, Confirm, Wait}, event.Kind) && !event.idle(s) {
						event.Apply(s)
					}
				}
			}
			status := s.Release.Status
			if told := status.RefusedWrite; told == nil || told.Key != "Keep/v2/RolledBack" || status.CurrentStepState != v1alpha1.StepBlocking {
				t.Fatalf("the rollback stands as %s, and tells of %+v, want it at its gate, and the record of v2 refused: %v", s.World, told, s.Broken)
			}
			for _, event := range []Event{{Kind: Cure}, {Kind: again}, {Kind: Pass}} {
				event.Apply(s)
			}
			left := slices.IndexFunc(s.Kept, func(k plan.Kept) bool { return k.Revision == "v2" && k.Outcome == v1alpha1.OutcomeRolledBack })
			if left < 0 || s.Release.Status.RefusedWrite != nil {
				t.Errorf("cured, the history has %+v, and the status tells of %+v", s.Kept, s.Release.Status.RefusedWrite)
			}
			if s = calmed(s, ended); len(s.Broken) > 0 || unfinished(s.World) != "" {
				t.Errorf("it ends as %s: %s, broken: %v", s.World, unfinished(s.World), s.Broken)
			}
		})
	}
}

// TestRetryOfAPutBack: the API server makes something else of what puts a workload back, until Sluice sends it no more. What somebody requests
// then is to send it again, whatever else there is to say of the change later.
func TestRetryOfAPutBack(t *testing.T) {
	t.Parallel()
	s := calmed(releasing(ten("1", "100%").of(4)), atStep(0))
	Event{Kind: Refuse, Text: string(Resumed)}.Apply(s)
	Event{Kind: Unpause}.Apply(s)
	for range 6 {
		Event{Kind: Pass}.Apply(s)
		Event{Kind: Wait}.Apply(s)
	}
	if !s.Workload.exposed() || !slices.ContainsFunc(s.Process.refusals, func(r plan.Refusal) bool { return r.Until.IsZero() }) {
		t.Fatalf("it stands as %s, want that it is sent no more: %+v", s.World, s.Process.refusals)
	}
	Event{Kind: Cure}.Apply(s)
	Event{Kind: Retry}.Apply(s)
	Event{Kind: Pass}.Apply(s)
	if s.Workload.exposed() || s.Release.Annotations[v1alpha1.RetryAnnotation] != "" {
		t.Errorf("the retry leaves it as %s, annotated %v", s.World, s.Release.Annotations)
	}
	if s = calmed(s, ended); len(s.Broken) > 0 || unfinished(s.World) != "" {
		t.Errorf("it ends as %s: %s, broken: %v", s.World, unfinished(s.World), s.Broken)
	}
}
