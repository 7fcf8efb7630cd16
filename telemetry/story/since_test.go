package story

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

var began = metav1.NewTime(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC))

// at returns a release of three steps with that status.
func at(status v1alpha1.BatchReleaseStatus) *v1alpha1.BatchRelease {
	r := &v1alpha1.BatchRelease{Status: status}
	r.UID, r.Namespace, r.Name = "uid", "shop", "web"
	r.Spec.Strategy.Steps = []v1alpha1.Step{{Replicas: intstr.FromInt32(1)}, {Replicas: intstr.FromInt32(2)}, {Replicas: intstr.FromString("100%")}}
	return r
}

// course returns a whole release, then a rollback, then one that drifts: each version of the status
// that a watch sees.
func course() []*v1alpha1.BatchRelease {
	s := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseCompleted, State: v1alpha1.StateCompleted, Attempt: 1}
	versions := []*v1alpha1.BatchRelease{at(s)}
	next := func(change func(s *v1alpha1.BatchReleaseStatus)) {
		s = *s.DeepCopy()
		change(&s)
		versions = append(versions, at(s))
	}
	next(func(s *v1alpha1.BatchReleaseStatus) {
		s.Attempt, s.Phase, s.State, s.UpdateRevision, s.Commit, s.StartedAt = 2, v1alpha1.PhaseInitial, v1alpha1.StateStarting, "new", "c2", &began
	})
	for step := range int32(3) {
		next(func(s *v1alpha1.BatchReleaseStatus) {
			s.Phase, s.State, s.CurrentStepState = v1alpha1.PhaseRollingUpdate, v1alpha1.StateRolling, v1alpha1.StepUpgrade
			s.CurrentStepIndex, s.StepStartedAt = step, &began
		})
		next(func(s *v1alpha1.BatchReleaseStatus) {
			s.State, s.CurrentStepState = v1alpha1.StateBlocked, v1alpha1.StepBlocking
		})
	}
	next(func(s *v1alpha1.BatchReleaseStatus) {
		s.Phase, s.State, s.CurrentStepState = v1alpha1.PhaseCompleted, v1alpha1.StateCompleted, v1alpha1.StepCompleted
	})
	next(func(s *v1alpha1.BatchReleaseStatus) {
		s.Attempt, s.Phase, s.State, s.UpdateRevision, s.StartedAt, s.StepStartedAt = 3, v1alpha1.PhaseInitial, v1alpha1.StateStarting, "old", &began, nil
		s.CurrentStepIndex, s.CurrentStepState = 0, ""
		s.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerAnnotation, From: "new"}
		s.Ended = []v1alpha1.EndedRelease{{Commit: "c2", Revision: "new"}}
	})
	next(func(s *v1alpha1.BatchReleaseStatus) {
		s.Phase, s.State, s.CurrentStepState, s.StepStartedAt = v1alpha1.PhaseRollingBack, v1alpha1.StateRolling, v1alpha1.StepUpgrade, &began
	})
	next(func(s *v1alpha1.BatchReleaseStatus) {
		s.Phase, s.State, s.CurrentStepState = v1alpha1.PhaseCompleted, v1alpha1.StateCompleted, v1alpha1.StepCompleted
	})
	next(func(s *v1alpha1.BatchReleaseStatus) { s.State = v1alpha1.StateDrifted })
	return versions
}

func idsOf(facts []Fact) []string {
	var ids []string
	for i := range facts {
		ids = append(ids, facts[i].ID())
	}
	return ids
}

// TestSinceMissesNothing: a reader that misses versions of a release, from any one to any other up
// to the next attempt but one, gets the same facts with the same IDs as one that sees them all,
// from data that outlives a process.
func TestSinceMissesNothing(t *testing.T) {
	t.Parallel()
	missNothing(t, course())
}

// TestSinceOfAdopted: the same holds where the workload had the template before, where it reaches
// it by its own rolling update, and where it is taken over in the middle of that.
func TestSinceOfAdopted(t *testing.T) {
	t.Parallel()
	none := v1alpha1.BatchReleaseStatus{}
	native := v1alpha1.BatchReleaseStatus{
		Attempt: 1, Phase: v1alpha1.PhaseInitial, State: v1alpha1.StateNativeRollout, UpdateRevision: "one", StartedAt: &began, Adopted: true,
	}
	there := native
	there.Phase, there.State, there.CurrentStepIndex, there.CurrentStepState, there.StepStartedAt = v1alpha1.PhaseCompleted, v1alpha1.StateCompleted, 2, v1alpha1.StepCompleted, &began
	taken := native
	taken.Adopted, taken.Phase, taken.State, taken.StepStartedAt = false, v1alpha1.PhaseRollingUpdate, v1alpha1.StateRolling, &began
	next := v1alpha1.BatchReleaseStatus{
		Attempt: 2, Phase: v1alpha1.PhaseInitial, State: v1alpha1.StateStarting, UpdateRevision: "two", StartedAt: &began,
		Ended: []v1alpha1.EndedRelease{{Revision: "one"}},
	}
	missNothing(t, []*v1alpha1.BatchRelease{at(none), at(native), at(there), at(next)})
	missNothing(t, []*v1alpha1.BatchRelease{at(none), at(native), at(taken)})
	want := []string{"uid/1/ReleaseAdopted/0"}
	if diff := cmp.Diff(want, idsOf(OfRelease(at(none), at(there), began.Time))); diff != "" {
		t.Errorf("adopted at once: -want +got:\n%s", diff)
	}
	if got := Deleted(at(native), began.Time); len(got) > 0 {
		t.Errorf("want no end told of what Sluice had not begun, got %v", idsOf(got))
	}
	next.Ended = nil
	// The workload is deleted and made again while the release is suspended: nothing begins.
	over := v1alpha1.BatchReleaseStatus{Attempt: 1, State: v1alpha1.StateIdle}
	missNothing(t, []*v1alpha1.BatchRelease{at(there), at(over), at(next)})
	missNothing(t, []*v1alpha1.BatchRelease{at(native), at(over), at(next)})
	missNothing(t, []*v1alpha1.BatchRelease{at(taken), at(over), at(next)}) // what nobody saw, the status no longer has
	if got := idsOf(OfRelease(at(taken), at(over), began.Time)); !cmp.Equal(got, []string{"uid/1/ReleaseSuperseded/1"}) {
		t.Errorf("want the end told of a release whose workload is gone, got %v", got)
	}
	for name, from := range map[string]v1alpha1.BatchReleaseStatus{"none": none, "in its rolling update": native, "there": there} {
		for _, got := range [][]Fact{OfRelease(at(from), at(over), began.Time), Since(See(at(from)), nil, at(over), began.Time)} {
			if len(got) > 0 {
				t.Errorf("%s, then another workload: want nothing told, got %v", name, idsOf(got))
			}
		}
	}
	if got := idsOf(OfRelease(at(native), at(next), began.Time)); !cmp.Equal(got, []string{"uid/2/ReleaseStarted/0"}) {
		t.Errorf("want nothing told to be superseded that Sluice had not begun, got %v", got)
	}
}

// missNothing misses versions of a release.
func missNothing(t *testing.T, versions []*v1alpha1.BatchRelease) {
	t.Helper()
	now := began.Time
	for first := range versions {
		for last := first; last < len(versions); last++ {
			from, to := versions[first], versions[last]
			if to.Status.Attempt > from.Status.Attempt+1 {
				continue // the status no longer says how a rollback began and ended whose next release has begun
			}
			var want []string
			for i := first; i < last; i++ {
				want = append(want, idsOf(OfRelease(versions[i], versions[i+1], now))...)
			}
			var seen Seen
			if kept, err := json.Marshal(See(from)); err != nil || json.Unmarshal(kept, &seen) != nil {
				t.Fatalf("keep what was seen: %v", err)
			}
			if diff := cmp.Diff(want, idsOf(Since(seen, nil, to, now))); diff != "" {
				t.Errorf("from version %d to %d: -want +got:\n%s", first, last, diff)
			}
			if again := Since(See(to), to, to, now); len(again) > 0 {
				t.Errorf("version %d: want nothing twice, got %v", last, idsOf(again))
			}
		}
	}
}

// TestSinceOfConfirmed: a confirmation that was too early is not kept as done.
func TestSinceOfConfirmed(t *testing.T) {
	t.Parallel()
	version := func(state v1alpha1.StepState, gates ...v1alpha1.GateReference) *v1alpha1.BatchRelease {
		return at(v1alpha1.BatchReleaseStatus{
			Attempt: 2, Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateRolling, UpdateRevision: "two", StartedAt: &began, StepStartedAt: &began,
			CurrentStepState: state, Gates: gates,
		})
	}
	gate := v1alpha1.GateReference{Name: "web-1"}
	for name, tc := range map[string]struct {
		before, after *v1alpha1.BatchRelease
		want          []string
	}{
		"too early":       {version(v1alpha1.StepCompleted), version(v1alpha1.StepBlocking, gate), []string{"uid/2/BatchDone/1"}},
		"when it was due": {version(v1alpha1.StepCompleted, gate), version(v1alpha1.StepBlocking, gate), nil},
		"all at once":     {version(v1alpha1.StepUpgrade), version(v1alpha1.StepCompleted, gate), []string{"uid/2/BatchDone/1"}},
	} {
		if diff := cmp.Diff(tc.want, idsOf(Since(See(tc.before), nil, tc.after, began.Time))); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestSinceOfAnotherObject: a version of an object that had the name before tells nothing of what
// happened to this one.
func TestSinceOfAnotherObject(t *testing.T) {
	t.Parallel()
	versions := course()
	earlier, after := versions[2].DeepCopy(), versions[3]
	earlier.UID = "another"
	seen, now := See(earlier), began.Time
	want := Since(seen, nil, after, now)
	if got := Since(seen, earlier, after, now); len(want) == 0 || !cmp.Equal(want, got) {
		t.Errorf("facts (-want +got):\n%s", cmp.Diff(want, got))
	}
}
