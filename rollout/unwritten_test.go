package rollout

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// TestHandBackAloneMayWaitToBeTold: a hand-back is told of only if the end of the release takes
// long: not where the status has more to say, nor where nothing was handed back.
func TestHandBackAloneMayWaitToBeTold(t *testing.T) {
	t.Parallel()
	rolling := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, Attempt: 1}
	finalizing := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseFinalizing, Attempt: 1}
	but := func(s v1alpha1.BatchReleaseStatus, change func(*v1alpha1.BatchReleaseStatus)) v1alpha1.BatchReleaseStatus {
		change(&s)
		return s
	}
	now := time.Now()
	for name, test := range map[string]struct {
		handedBack     time.Time
		stored, status v1alpha1.BatchReleaseStatus
		waits          bool
	}{
		"a moment ago":              {now, rolling, finalizing, true},
		"a while ago":               {now.Add(-time.Minute), rolling, finalizing, false},
		"not by this process":       {time.Time{}, rolling, finalizing, false},
		"told of already":           {now, finalizing, finalizing, false},
		"another attempt":           {now, but(rolling, func(s *v1alpha1.BatchReleaseStatus) { s.Attempt = 2 }), finalizing, false},
		"another phase":             {now, rolling, but(finalizing, func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }), false},
		"a gate on record":          {now, but(rolling, func(s *v1alpha1.BatchReleaseStatus) { s.Gates = make([]v1alpha1.GateReference, 1) }), finalizing, false},
		"a gate passed by force":    {now, rolling, but(finalizing, func(s *v1alpha1.BatchReleaseStatus) { s.Forced = make([]v1alpha1.ForcedGate, 1) }), false},
		"the end of a rollback":     {now, but(rolling, func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseRollingBack }), finalizing, true},
		"the release had not begun": {now, but(rolling, func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseInitial }), finalizing, false},
		"a write is refused":        {now, rolling, but(finalizing, func(s *v1alpha1.BatchReleaseStatus) { s.RefusedWrite = &v1alpha1.RefusedWrite{} }), false},
	} {
		r := newReconciler(&cluster{clock: clock.RealClock{}, processes: newProcesses(clock.RealClock{})})
		v := &view{process: newProcess(r.clock), release: &v1alpha1.BatchRelease{}, persisted: test.stored}
		v.process.unwritten.handedBack = test.handedBack
		shell{r: r, v: v}.Intend(&test.status)
		v.release.Status = test.stored
		wait := r.mayWait(v, &test.status)
		if waits := wait > 0 && wait <= endsWithin; waits != test.waits {
			t.Errorf("%s: it waits for %v", name, wait)
		}
		if kept := v.process.unwritten.of(v.release) != nil; test.waits && !kept {
			t.Errorf("%s: the status is not kept", name)
		}
	}
}

// TestStepsWithoutGatesMayWaitToBeWritten: a step that nobody is asked about is written with the
// next counts, unless there is more to say. The next pass begins with it, whatever ends this one.
func TestStepsWithoutGatesMayWaitToBeWritten(t *testing.T) {
	t.Parallel()
	now := metav1.Now()
	first := v1alpha1.BatchReleaseStatus{
		Phase: v1alpha1.PhaseRollingUpdate, CurrentStepState: v1alpha1.StepUpgrade, State: v1alpha1.StateRolling, Attempt: 1,
		Batch: "1/4", Message: "batch 1/4", TargetReplicas: 1, StepStartedAt: &now, Replicas: 10,
	}
	third := first
	third.CurrentStepIndex, third.Batch, third.Message, third.TargetReplicas, third.UpdatedReplicas = 2, "3/4", "batch 3/4", 5, 5
	for name, change := range map[string]func(stored, status *v1alpha1.BatchReleaseStatus){
		"": func(*v1alpha1.BatchReleaseStatus, *v1alpha1.BatchReleaseStatus) {},
		"in a rollback": func(stored, status *v1alpha1.BatchReleaseStatus) {
			stored.Phase, status.Phase = v1alpha1.PhaseRollingBack, v1alpha1.PhaseRollingBack
		},
		"not: a gate has passed": func(stored, _ *v1alpha1.BatchReleaseStatus) { stored.Gates = make([]v1alpha1.GateReference, 1) },
		"not: a gate waits":      func(_, status *v1alpha1.BatchReleaseStatus) { status.Gates = make([]v1alpha1.GateReference, 1) },
		"not: another attempt":   func(_, status *v1alpha1.BatchReleaseStatus) { status.Attempt = 2 },
		"not: it goes back":      func(stored, _ *v1alpha1.BatchReleaseStatus) { stored.CurrentStepIndex = 3 },
		"not: scaled meanwhile":  func(_, status *v1alpha1.BatchReleaseStatus) { status.Replicas = 12 },
		"not: requests move":     func(_, status *v1alpha1.BatchReleaseStatus) { status.Traffic = &v1alpha1.TrafficStatus{} },
		"not: it is stopped": func(_, status *v1alpha1.BatchReleaseStatus) {
			status.StoppedBy = []v1alpha1.StopCause{v1alpha1.StopSuspended}
		},
		"not: it fails": func(_, status *v1alpha1.BatchReleaseStatus) { status.Phase = v1alpha1.PhaseFailed },
		"not: a write is refused": func(_, status *v1alpha1.BatchReleaseStatus) {
			status.RefusedWrite = &v1alpha1.RefusedWrite{}
		},
	} {
		stored, status := first, third
		change(&stored, &status)
		r := newReconciler(&cluster{clock: clock.RealClock{}, processes: newProcesses(clock.RealClock{})})
		v := &view{process: newProcess(r.clock), release: &v1alpha1.BatchRelease{}, persisted: stored}
		v.process.statusWritten = time.Now()
		waits := !strings.HasPrefix(name, "not: ")
		if wait := r.mayWait(v, &status); (wait > 0) != waits {
			t.Errorf("%s: the status waits for %v", name, wait)
		}
		shell{r: r, v: v}.Intend(&status)
		release := &v1alpha1.BatchRelease{Status: stored}
		if kept := v.process.unwritten.of(release); (kept != nil) != waits || kept != nil && kept.Batch != "3/4" {
			t.Errorf("%s: the next pass begins with %+v", name, kept)
		}
		v.process.statusWritten = time.Time{}
		if wait := r.mayWait(v, &status); wait > 0 {
			t.Errorf("%s: by a process that has written none it waits for %v", name, wait)
		}
	}
}

// TestHandBackCountsThoughOthersWriteTheRelease: the unwritten status still counts after other
// writes to the release, such as a commit annotation, another template, or a deletion. It does not
// count after a write of the fields that it started with, nor for another release.
func TestHandBackCountsThoughOthersWriteTheRelease(t *testing.T) {
	t.Parallel()
	at := metav1.Now()
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{UID: "1", ResourceVersion: "7", Generation: 1}}
	release.Status = v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, Attempt: 1}
	status := release.Status.DeepCopy()
	status.Phase = v1alpha1.PhaseFinalizing
	for name, test := range map[string]struct {
		change func(*v1alpha1.BatchRelease)
		counts bool
	}{
		"nothing":                   {func(*v1alpha1.BatchRelease) {}, true},
		"the report of its commit":  {func(r *v1alpha1.BatchRelease) { r.Status.Report = &v1alpha1.ForgeReport{Commit: "c"} }, true},
		"another template":          {func(r *v1alpha1.BatchRelease) { r.Generation = 2 }, true},
		"an annotation":             {func(r *v1alpha1.BatchRelease) { r.Annotations = map[string]string{v1alpha1.RollbackAnnotation: "true"} }, true},
		"its deletion":              {func(r *v1alpha1.BatchRelease) { r.DeletionTimestamp = &at }, true},
		"an answer in its status":   {func(r *v1alpha1.BatchRelease) { r.Status.CurrentStepState = v1alpha1.StepCompleted }, false},
		"a status that was cleared": {func(r *v1alpha1.BatchRelease) { r.Status = v1alpha1.BatchReleaseStatus{} }, false},
		"another of its name":       {func(r *v1alpha1.BatchRelease) { r.UID = "2" }, false},
	} {
		var e unwritten
		if e.of(release) != nil {
			t.Fatal("a status counts before there is one")
		}
		e.waits(release.UID, &release.Status, status)
		changed := release.DeepCopy()
		changed.ResourceVersion = "8"
		test.change(changed)
		switch got := e.of(changed); {
		case (got != nil) != test.counts:
			t.Errorf("%s: the hand-back counts: %t, want %t", name, got != nil, test.counts)
		case got != nil && (got.Phase != v1alpha1.PhaseFinalizing || !equality.Semantic.DeepEqual(got.Report, changed.Status.Report)):
			t.Errorf("%s: the status is %+v", name, got)
		}
	}
}

// TestStatusAfterOneThatWaits: a status that follows an unwritten one is written at once, because
// the next pass would start from the unwritten one again.
func TestStatusAfterOneThatWaits(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newReconciler(&cluster{clock: clock.RealClock{}, processes: newProcesses(clock.RealClock{})})
	rolling := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, Attempt: 1}
	v := &view{process: newProcess(r.clock), release: &v1alpha1.BatchRelease{}, persisted: rolling}
	v.process.unwritten.handedBack, v.process.statusWritten = now, now
	finalizing, counted := rolling, rolling
	finalizing.Phase, counted.ReadyReplicas = v1alpha1.PhaseFinalizing, 3
	if wait := r.mayWait(v, &counted); wait <= 0 {
		t.Errorf("a status that only counts pods waits for %v", wait)
	}
	shell{r: r, v: v}.Intend(&finalizing)
	if wait := r.mayWait(v, &finalizing); wait <= 0 {
		t.Errorf("a status that only tells of the hand-back waits for %v", wait)
	}
	if wait := r.mayWait(v, &counted); wait > 0 {
		t.Errorf("the status that follows it waits for %v", wait)
	}
}

// TestAttemptThatIsNotStored: the plan knows that an attempt is not stored before its status is
// written, so the objects of the previous attempt stay till then.
func TestAttemptThatIsNotStored(t *testing.T) {
	t.Parallel()
	r := newReconciler(&cluster{clock: clock.RealClock{}, processes: newProcesses(clock.RealClock{})})
	stored := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, Attempt: 1}
	v := &view{process: newProcess(r.clock), release: &v1alpha1.BatchRelease{Status: stored}, persisted: stored}
	if v.observation(time.Now()).Begun {
		t.Error("the attempt that is stored counts as just begun")
	}
	next := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseInitial, Attempt: 2}
	shell{r: r, v: v}.Intend(&next)
	if !v.observation(time.Now()).Begun {
		t.Error("an attempt that is not stored counts as stored")
	}
}

// TestTheWaitOfANewTemplateIsWatched: how long a new template waits is counted by passes that end
// well, and people are told at once what it waits for.
func TestTheWaitOfANewTemplateIsWatched(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	before := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingBack, Attempt: 1}
	stored := before
	stored.Queued = &v1alpha1.QueuedTemplate{ResolvedTemplate: v1alpha1.ResolvedTemplate{Given: "v3"}, Since: metav1.NewTime(noon), Awaits: v1alpha1.AwaitedRoom}
	if !plan.Urgent(&before, &stored) {
		t.Error("that a template waits is written with the next counts only")
	}
	v := &view{process: newProcess(clock.RealClock{}), release: &v1alpha1.BatchRelease{Status: stored}, persisted: stored}
	want := func(after, want time.Duration) {
		t.Helper()
		if got := v.observation(noon.Add(after)).Watched.Queue; got != want {
			t.Errorf("after %s it has waited for %s, want %s", after, got, want)
		}
	}
	want(time.Minute, 0)
	v.noteLook(nil, noon)
	want(30*time.Second, 30*time.Second)
	v.noteLook(nil, noon.Add(30*time.Second))
	v.noteLook(errors.New("no answer"), noon.Add(40*time.Second))
	want(time.Hour, 30*time.Second)
}
