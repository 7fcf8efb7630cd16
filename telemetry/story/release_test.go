package story_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// at returns so many minutes after noon.
func at(minutes int) *metav1.Time {
	return &metav1.Time{Time: noon.Add(time.Duration(minutes) * time.Minute)}
}

// rolling returns a release in its second of two batches.
func rolling(changes ...func(*v1alpha1.BatchReleaseStatus)) *v1alpha1.BatchRelease {
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"},
		Spec:       v1alpha1.BatchReleaseSpec{Strategy: v1alpha1.ReleaseStrategy{Steps: make([]v1alpha1.Step, 2)}},
		Status: v1alpha1.BatchReleaseStatus{
			Attempt: 3, Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateRolling, CurrentStepIndex: 1, CurrentStepState: v1alpha1.StepUpgrade,
			UpdateRevision: "v2", Commit: "c2", CommitTime: at(-60), StartedAt: at(0), StepStartedAt: at(5), LastUpdateTime: at(5),
		},
	}
	for _, change := range changes {
		change(&release.Status)
	}
	return release
}

type status = v1alpha1.BatchReleaseStatus

func blocked(s *status) {
	s.CurrentStepState, s.State, s.LastUpdateTime = v1alpha1.StepBlocking, v1alpha1.StateBlocked, at(9)
}
func completed(s *status) {
	s.Phase, s.State, s.LastUpdateTime = v1alpha1.PhaseCompleted, v1alpha1.StateCompleted, at(10)
}
func failed(s *status) {
	s.Phase, s.State, s.StalledBy, s.LastUpdateTime = v1alpha1.PhaseFailed, v1alpha1.StateFailed, v1alpha1.StallDeadlineExceeded, at(15)
}
func confirmed(s *status) {
	s.CurrentStepState = v1alpha1.StepCompleted
}
func gated(s *status) {
	s.Gates = []v1alpha1.GateReference{{Name: "web-1"}}
}
func suspended(s *status) {
	s.State, s.StoppedBy = v1alpha1.StateStopped, []v1alpha1.StopCause{v1alpha1.StopSuspended}
}
func next(s *status) {
	s.Attempt, s.Phase, s.StartedAt, s.UpdateRevision, s.Commit = 4, v1alpha1.PhaseInitial, at(20), "v3", "c3"
	s.CurrentStepIndex, s.CurrentStepState, s.StepStartedAt, s.State, s.StalledBy = 0, v1alpha1.StepInitial, nil, v1alpha1.StateStarting, ""
}

func back(trigger v1alpha1.RollbackTrigger, from string) func(*status) {
	return func(s *status) {
		next(s)
		s.Phase, s.UpdateRevision, s.Rollback = v1alpha1.PhaseRollingBack, "v1", &v1alpha1.RollbackRecord{Trigger: trigger, From: from}
	}
}

// told holds the compared fields of a fact.
type told struct {
	Kind        story.Kind
	Batch       int
	Since, Time time.Time
}

func of(kind story.Kind, batch int, since, time *metav1.Time) told {
	t := told{Kind: kind, Batch: batch, Time: time.Time}
	if since != nil {
		t.Since = since.Time
	}
	return t
}

func TestFactsOfAChange(t *testing.T) {
	t.Parallel()
	now := at(30)
	tests := map[string]struct {
		before, after *v1alpha1.BatchRelease
		want          []told
	}{
		"nothing that counts":     {rolling(), rolling(func(s *status) { s.Message, s.UpdatedReplicas = "more", 7 }), nil},
		"a batch is done":         {rolling(), rolling(blocked), []told{of(story.BatchDone, 2, at(5), at(9))}},
		"confirmed too early":     {rolling(), rolling(confirmed), nil},
		"... and then done":       {rolling(confirmed), rolling(blocked, gated), []told{of(story.BatchDone, 2, at(5), at(9))}},
		"confirmed":               {rolling(blocked, gated), rolling(blocked, gated, confirmed), nil},
		"... and completed":       {rolling(blocked, gated, confirmed), rolling(completed), []told{of(story.ReleaseCompleted, 2, at(0), at(10))}},
		"the release completes":   {rolling(blocked), rolling(blocked, completed), []told{of(story.ReleaseCompleted, 2, at(0), at(10))}},
		"both at once":            {rolling(), rolling(completed), []told{of(story.BatchDone, 2, at(5), at(10)), of(story.ReleaseCompleted, 2, at(0), at(10))}},
		"it stops":                {rolling(), rolling(suspended), []told{of(story.ReleaseStopped, 2, nil, now)}},
		"it advances again":       {rolling(suspended), rolling(), []told{of(story.ReleaseResumed, 2, nil, now)}},
		"it fails":                {rolling(), rolling(failed), []told{of(story.ReleaseFailed, 2, at(0), at(15))}},
		"another takes its place": {rolling(), rolling(next), []told{of(story.ReleaseSuperseded, 2, at(0), now), of(story.ReleaseStarted, 0, nil, at(20))}},
		"another follows":         {rolling(blocked, completed), rolling(next), []told{of(story.ReleaseStarted, 0, nil, at(20))}},
		"it completes at once with the begin of another": {
			rolling(), rolling(next, func(s *status) { s.Ended = []v1alpha1.EndedRelease{{Revision: "v2"}} }),
			[]told{of(story.BatchDone, 2, at(5), at(20)), of(story.ReleaseCompleted, 2, at(0), at(20)), of(story.ReleaseStarted, 0, nil, at(20))},
		},
		"another one had ended": {
			rolling(func(s *status) { s.Ended = []v1alpha1.EndedRelease{{Revision: "v2"}} }), rolling(next, func(s *status) { s.Ended = []v1alpha1.EndedRelease{{Revision: "v2"}} }),
			[]told{of(story.ReleaseSuperseded, 2, at(0), now), of(story.ReleaseStarted, 0, nil, at(20))},
		},
		"somebody rolls back":       {rolling(), rolling(back(v1alpha1.TriggerAnnotation, "v2")), []told{of(story.RollbackStarted, 0, at(0), at(20))}},
		"Git goes back":             {rolling(completed), rolling(back(v1alpha1.TriggerGitRevert, "v2")), []told{of(story.RollbackStarted, 0, at(0), at(20))}},
		"what drifted is restored":  {rolling(completed), rolling(back(v1alpha1.TriggerDrift, "vX")), []told{of(story.RollbackStarted, 0, nil, at(20))}},
		"the rollback completes":    {rolling(back(v1alpha1.TriggerAnnotation, "v2")), rolling(back(v1alpha1.TriggerAnnotation, "v2"), completed), []told{of(story.RolledBack, 0, at(20), at(10))}},
		"somebody takes the status": {rolling(), rolling(func(s *status) { *s = status{} }), nil},
		"the first batch, at once with the begin": {
			rolling(completed), rolling(next, func(s *status) { s.Phase, s.StepStartedAt = v1alpha1.PhaseRollingUpdate, at(21) }),
			[]told{of(story.ReleaseStarted, 0, nil, at(20)), of(story.BatchStarted, 1, nil, at(21))},
		},
		"a batch that took no time": {
			rolling(completed), rolling(next, func(s *status) { s.Phase, s.CurrentStepIndex, s.StepStartedAt = v1alpha1.PhaseRollingUpdate, 1, at(21) }),
			[]told{
				of(story.ReleaseStarted, 0, nil, at(20)), of(story.BatchStarted, 1, nil, at(21)), of(story.BatchDone, 1, nil, at(21)),
				of(story.BatchStarted, 2, nil, at(21)),
			},
		},
		"a batch that there is not": {
			rolling(completed), rolling(next, func(s *status) { s.CurrentStepIndex, s.StepStartedAt = 1<<31-1, nil }), []told{of(story.ReleaseStarted, 0, nil, at(20))},
		},
		"more batches than there are": {
			rolling(), rolling(func(s *status) { s.CurrentStepIndex = 1<<31 - 1 }),
			[]told{of(story.BatchDone, 2, at(5), at(5)), of(story.BatchStarted, 1<<31, nil, at(5))},
		},
		"a batch that a jump leaves out": {
			rolling(completed), rolling(next, func(s *status) {
				s.Phase, s.CurrentStepIndex, s.StepStartedAt, s.Jump = v1alpha1.PhaseRollingUpdate, 1, at(21), &v1alpha1.Jump{To: 1, Attempt: 4}
			}),
			[]told{of(story.ReleaseStarted, 0, nil, at(20)), of(story.BatchStarted, 2, nil, at(21))},
		},
		"a jump back is no other release": {
			rolling(), rolling(func(s *status) {
				s.Attempt, s.CurrentStepIndex, s.StepStartedAt, s.Jump = 4, 0, at(20), &v1alpha1.Jump{From: 1, To: 0, Attempt: 4}
			}),
			[]told{of(story.JumpedBack, 2, at(0), now), of(story.BatchStarted, 1, nil, at(20))},
		},
		"drift": {
			rolling(completed), rolling(completed, func(s *status) { s.State = v1alpha1.StateDrifted }), []told{of(story.Drifted, 2, nil, now)},
		},
		"an approval that does not count": {
			rolling(blocked), rolling(blocked, func(s *status) { s.State = v1alpha1.StateApprovalRefused }), []told{of(story.ApprovalRefused, 2, nil, now)},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []told
			for _, fact := range story.OfRelease(test.before, test.after, now.Time) {
				got = append(got, told{fact.Kind, fact.Batch, fact.Since, fact.Time})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFactsSayWhatTheyAreOf(t *testing.T) {
	t.Parallel()
	got := story.OfRelease(rolling(failed), rolling(back(v1alpha1.TriggerDeadline, "v2")), noon)
	want := []story.Fact{{
		Kind: story.RollbackStarted, Release: got[0].Release, UID: "u", Attempt: 4, Revision: "v1", From: "v2", Commit: "c3", CommittedAt: at(-60).Time,
		Batches: 2, Trigger: v1alpha1.TriggerDeadline, Failed: true, Since: at(0).Time, Time: at(20).Time,
	}}
	if diff := cmp.Diff(want, got); diff != "" || got[0].Release.String() != "shop/web" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if superseded := story.OfRelease(rolling(failed), rolling(next), noon)[0]; !superseded.Failed {
		t.Errorf("want the fact to say that the release had failed, got %+v", superseded)
	}
}

func TestFactsOfDeletion(t *testing.T) {
	t.Parallel()
	if got := story.Deleted(rolling(), noon); len(got) != 1 || got[0].Kind != story.ReleaseDeleted || got[0].Since != at(0).Time {
		t.Errorf("want the end of a release in progress told, got %+v", got)
	}
	for name, release := range map[string]*v1alpha1.BatchRelease{"completed": rolling(completed), "that began nothing": {}} {
		if got := story.Deleted(release, noon); got != nil {
			t.Errorf("deletion of a release %s: want nothing told, got %+v", name, got)
		}
	}
}

func gate(decision v1alpha1.Decision) *v1alpha1.Gate {
	g := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "g", CreationTimestamp: *at(0)},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: "u"}, Type: v1alpha1.GateManual, Step: 1, Attempt: 3,
		},
		Status: v1alpha1.GateStatus{Decision: decision, DecidedAt: at(7), Evidence: []v1alpha1.Evidence{{Actor: "ada"}}},
	}
	return g
}

func TestFactsOfGates(t *testing.T) {
	t.Parallel()
	opened, decided := of(story.GateOpened, 2, nil, at(0)), of(story.GatePassed, 2, at(0), at(7))
	rejected := decided
	rejected.Kind = story.GateRejected
	undecided := gate("")
	undecided.Status.Undecided = true
	for name, test := range map[string]struct {
		before, after *v1alpha1.Gate
		want          []told
	}{
		"opens":            {nil, gate(""), []told{opened}},
		"opens and passes": {nil, gate(v1alpha1.DecisionPassed), []told{opened, decided}},
		"passes":           {gate(v1alpha1.DecisionWaiting), gate(v1alpha1.DecisionPassed), []told{decided}},
		"can't be decided": {gate(""), undecided, []told{of(story.GateUndecided, 2, nil, &metav1.Time{Time: noon})}},
		"still can't":      {undecided, undecided, nil},
		"is rejected":      {gate(""), gate(v1alpha1.DecisionRejected), []told{rejected}},
	} {
		var got []told
		for _, fact := range story.OfGate(test.before, test.after, noon) {
			got = append(got, told{fact.Kind, fact.Batch, fact.Since, fact.Time})
			if fact.UID != "u" || fact.Attempt != 3 || fact.Gate.By != "ada" || fact.Gate.Type != v1alpha1.GateManual {
				t.Errorf("%s: got %+v", name, fact)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: facts (-want +got):\n%s", name, diff)
		}
	}
}
