package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func failing(why string) func(*Observation) {
	return func(o *Observation) { o.Failing, o.Live = why, o.Live|ReadFailing }
}

// watchedFor says for how long this process has watched the release wait for a pod.
func watchedFor(d time.Duration) func(*Observation) {
	return func(o *Observation) { o.Watched.Progress = d }
}

// waitedBefore says for how long processes before this one had, as far as it is on record.
func waitedBefore(d time.Duration) func(*v1alpha1.BatchReleaseStatus) {
	return func(s *v1alpha1.BatchReleaseStatus) { s.Progress.WaitedSeconds = int32(d / time.Second) }
}

func TestCheckDeadline(t *testing.T) {
	t.Parallel()
	waiting := func() *scene { return held(10).sets(set("v1", 10), set("v2", 1, available(0))) }
	late := func(d time.Duration) *scene { return waiting().but(watchedFor(d)) }
	const (
		upgrading = "RollingUpdate 1/3 Upgrade StepUpgrading"
		failed    = "Failed 1/3 Upgrade ProgressDeadlineExceeded"
		stalled   = "ProgressDeadlineExceeded: batch 1/3: no progress for 10m0s: 1 pod can't pull its image"
	)
	jumped := func(by time.Duration) func(*Observation) { return func(o *Observation) { o.Now = o.Now.Add(by) } }
	checkPlans(t, map[string]planned{
		"before the deadline it is looked at again soon": {late(time.Minute), outcome{Is: upgrading, Wake: longestLook}},
		"and at the deadline":                            {late(tenMinutes - time.Second), outcome{Is: upgrading, Wake: time.Second}},
		"at the deadline it is asked what is wrong with the pods": {
			late(tenMinutes), outcome{Script: []string{"needs failing"}, Is: upgrading},
		},
		"and the sets are read live: a pod may have become available": {
			late(tenMinutes).cached(), outcome{Script: []string{"needs counts, failing"}, Is: upgrading},
		},
		"then the release fails and says why": {
			late(tenMinutes).but(failing("1 pod can't pull its image")), outcome{Is: failed, Stalled: stalled},
		},
		"what processes before this one have watched counts": {
			late(time.Minute).status(waitedBefore(9 * time.Minute)).but(failing("1 pod can't pull its image")), outcome{Is: failed, Stalled: stalled},
		},
		"a clock that jumps does not":                           {late(time.Minute).but(jumped(time.Hour)), outcome{Is: upgrading, Wake: longestLook}},
		"nor one that jumps back":                               {late(tenMinutes).but(jumped(-time.Hour)).but(failing("1 pod can't pull its image")), outcome{Is: failed, Stalled: stalled}},
		"nor the time in which there was no controller":         {waiting().but(jumped(time.Hour)), outcome{Is: upgrading, Wake: longestLook}},
		"what has come meanwhile is progress: the wait is anew": {late(tenMinutes).sets(set("v1", 10), set("v2", 1)), outcome{Is: upgrading, Script: []string{"scale v1 10 -> 9: batch 1/3"}, Wake: longestLook}},
		"a step that waits for a gate has no deadline": {
			late(time.Hour).sets(set("v1", 9), set("v2", 1)).gates(gate(1, 0, 0)).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.CurrentStepState = v1alpha1.StepBlocking
				s.Gates = []v1alpha1.GateReference{{Name: "web-v2-1-0-0", Type: v1alpha1.GateManual}}
				s.Progress.Available = 1
			}),
			outcome{Is: "RollingUpdate 1/3 Blocking StepBlocking"},
		},
	})
}

// TestWaitIsPutOnRecord: the watched time is recorded every quarter of the deadline, or every
// minute. At the end of a process no more is lost, and no more is written.
func TestWaitIsPutOnRecord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		deadline        int32
		before, watched time.Duration
		want            int32
	}{
		"not at each look":            {600, 0, 149 * time.Second, 0},
		"each quarter":                {600, 0, 150 * time.Second, 150},
		"with what there was":         {600, 150 * time.Second, 151 * time.Second, 301},
		"not more often than minutes": {100, 0, 59 * time.Second, 0},
		"but then":                    {100, 0, 60 * time.Second, 60},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := held(10).sets(set("v1", 10), set("v2", 1, available(0))).but(watchedFor(test.watched)).status(waitedBefore(test.before))
			s.Release.Spec.Strategy.ProgressDeadlineSeconds = &test.deadline
			if got := next(t, s).Status.Progress.WaitedSeconds; got != test.want {
				t.Errorf("want %d seconds on record, got %d", test.want, got)
			}
		})
	}
}

// TestWatches: Looks count a wait: the time between two of them, except that in which nobody
// looked.
func TestWatches(t *testing.T) {
	t.Parallel()
	status := func(available int32, since time.Time) *v1alpha1.BatchReleaseStatus {
		return &v1alpha1.BatchReleaseStatus{
			CurrentStepState: v1alpha1.StepUpgrade, Progress: &v1alpha1.Progress{Available: available, Since: metav1.NewTime(since)},
		}
	}
	first := status(0, noon)
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	var none Watches
	looked := none.Looked(first, at(0)).Looked(first, at(20))
	blocked := status(0, noon)
	blocked.CurrentStepState = v1alpha1.StepBlocking
	tests := map[string]struct {
		watches Watches
		status  *v1alpha1.BatchReleaseStatus
		now     time.Time
		want    time.Duration
	}{
		"a process that has not looked yet":        {none, first, at(50), 0},
		"the time between looks, and since":        {looked, first, at(50), 50 * time.Second},
		"a process that was stopped for an hour":   {looked, first, at(3620), 20*time.Second + longestLook},
		"a clock that goes back":                   {looked, first, at(-3600), 20 * time.Second},
		"one that could not look meanwhile":        {looked.Interrupted(), first, at(50), 20 * time.Second},
		"and looks again":                          {looked.Interrupted().Looked(first, at(50)), first, at(60), 30 * time.Second},
		"another pod has come":                     {looked, status(1, noon), at(50), 0},
		"the wait has begun anew":                  {looked, status(0, at(1)), at(50), 0},
		"the step waits for a gate":                {looked.Looked(blocked, at(30)), blocked, at(50), 0},
		"and for pods once more, from the present": {looked.Looked(blocked, at(30)), first, at(50), 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.watches.Watched(test.status, test.now).Progress; got != test.want {
				t.Errorf("want %s, got %s", test.want, got)
			}
		})
	}
}

func TestAFailedReleaseIsHeldWhereItStands(t *testing.T) {
	t.Parallel()
	failed := func(s *v1alpha1.BatchReleaseStatus) {
		s.Phase, s.Failure = v1alpha1.PhaseFailed, &v1alpha1.Failure{DeadlineSeconds: 60, Message: "too late"}
	}
	const stalled = "ProgressDeadlineExceeded: batch 1/3: no progress for 1m0s: too late"
	checkPlans(t, map[string]planned{
		"pods that become available late in an earlier step change nothing": {
			doneStep().status(failed), outcome{Is: "Failed 1/3 Upgrade ProgressDeadlineExceeded", Stalled: stalled},
		},
		"... nor do all of them, before the last step": {
			held(10).at(0, 1).status(failed).sets(set("v1", 0), set("v2", 10)), outcome{Is: "Failed 1/3 Upgrade ProgressDeadlineExceeded", Stalled: stalled},
		},
		"in the last step they complete it: there is nothing left to hold back": {
			held(10).at(2, 10).status(failed).sets(set("v1", 0), set("v2", 10)),
			outcome{Script: []string{"hand back: all pods run revision v2"}, Is: "Finalizing 3/3 Completed HandingBack"},
		},
		"but all of them, and as many as are wanted": {
			held(10).at(2, 10).status(failed).sets(set("v1", 1), set("v2", 9, available(10))),
			outcome{Is: "Failed 3/3 Upgrade ProgressDeadlineExceeded", Stalled: "ProgressDeadlineExceeded: batch 3/3: no progress for 1m0s: too late"},
		},
	})
}

// TestProgressOfPodsOnTheirWayOut: pods that are still available after their ReplicaSet was scaled
// down are no progress, or the mark would go up and down with every pass.
func TestProgressOfPodsOnTheirWayOut(t *testing.T) {
	t.Parallel()
	s := held(4).sets(set("v1", 4), set("v2", 0, available(1), current(1))).status(func(status *v1alpha1.BatchReleaseStatus) {
		status.Progress = &v1alpha1.Progress{Since: metav1.NewTime(noon)}
	})
	p := recordProgress(nothing(s.look()))
	if got := p.snap.record.Progress.Available; got != 0 {
		t.Errorf("want no progress by pods that are going, got %d", got)
	}
}
