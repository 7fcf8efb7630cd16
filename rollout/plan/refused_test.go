package plan

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// refusing says that a write was refused just now.
func refusing(write string) func(*Observation) {
	return func(o *Observation) {
		o.Refusals = Refusals{}.With(Refusal{Write: write, Why: "no cost centre", Generation: o.Release.Generation}, o.Now, 0)
	}
}

// heldUp says that a write has been refused for a time.
func heldUp(write string, d time.Duration) func(*Observation) {
	return func(o *Observation) {
		refusing(write)(o)
		o.Watched = Watched{Progress: d, Refusal: d}
		since := metav1.NewTime(o.Now.Add(-d))
		o.Release.Status.RefusedWrite = &v1alpha1.RefusedWrite{Write: write, Message: "no cost centre", Since: since}
		if o.Release.Status.Progress != nil {
			o.Release.Status.Progress.Since = since
		}
	}
}

func turning(o *Observation) { o.Release.Spec.Strategy.OnFailure = v1alpha1.FailureRollback }

const (
	takeOverV2 = "take over the Deployment with the template of the release"
	createV2   = "create the ReplicaSet of revision v2"
)

func TestAWriteThatIsRefusedIsToldAndHasADeadline(t *testing.T) {
	t.Parallel()
	stalled := func(write string) string {
		return "WriteRefused: the API server refuses to " + write + ": no cost centre"
	}
	begun := func() *scene {
		return held(10).sets(set("v1", 10)).status(func(s *v1alpha1.BatchReleaseStatus) { s.Progress.Since.Time = noon })
	}
	ended := func() *scene { return held(10).at(2, 10).sets(set("v1", 0), set("v2", 10)) }
	checkPlans(t, map[string]planned{
		"the take-over": {
			completed(10).but(refusing(takeOverV2)),
			outcome{Is: "Initial - Initial WriteRefused", Stalled: stalled(takeOverV2), Wake: firstRetry},
		},
		"what a rollback needs, before the take-over": {
			running(10).but(refusing("keep template v1 (Adopted)")), outcome{
				Script:  []string{"annotate release finalizer=true current-stable-revision=v1: the workload is handed back before the release goes away"},
				Is:      "Initial - Initial WriteRefused",
				Stalled: stalled("keep template v1 (Adopted)"), Wake: firstRetry,
			},
		},
		"the take-over, at the deadline": {
			completed(10).but(heldUp(takeOverV2, tenMinutes)), outcome{
				Is: "Failed - Initial ProgressDeadlineExceeded", Wake: firstRetry,
				Stalled: "ProgressDeadlineExceeded: the release: no progress for 10m0s: the API server refuses to " + takeOverV2 + ": no cost centre",
			},
		},
		"the ReplicaSet": {
			begun().but(refusing(createV2)),
			outcome{Is: "RollingUpdate 1/3 Upgrade WriteRefused", Stalled: stalled(createV2), Wake: firstRetry},
		},
		"the ReplicaSet, at the deadline": {
			begun().but(heldUp(createV2, tenMinutes)), outcome{
				Is: "Failed 1/3 Upgrade ProgressDeadlineExceeded", Wake: firstRetry,
				Stalled: "ProgressDeadlineExceeded: batch 1/3: no progress for 10m0s: the API server refuses to " + createV2 + ": no cost centre",
			},
		},
		"the ReplicaSet, and onFailure is Rollback": {
			begun().but(heldUp(createV2, tenMinutes)).but(turning),
			outcome{StatusFirst: true, Is: "RollingBack - Initial RollingBack"},
		},
		"more pods": {
			held(10).sets(set("v1", 10), set("v2", 0)).but(refusing("add pods to ReplicaSet web-v2")),
			outcome{Is: "RollingUpdate 1/3 Upgrade WriteRefused", Stalled: stalled("add pods to ReplicaSet web-v2"), Wake: firstRetry},
		},
		"a gate: nobody could pass it, and the deadline runs": {
			held(10).sets(set("v1", 9), set("v2", 1)).but(refusing("create Gate web-v2-1-0-0")),
			outcome{Is: "RollingUpdate 1/3 Upgrade WriteRefused", Stalled: stalled("create Gate web-v2-1-0-0"), Wake: firstRetry},
		},
		"the hand-back of what is done does not fail the release": {
			ended().but(heldUp("hand back the Deployment", time.Hour)),
			outcome{Is: "Finalizing 3/3 Completed WriteRefused", Stalled: stalled("hand back the Deployment"), Wake: firstRetry},
		},
		"it is sent again when its time has come": {
			begun().but(refusing(createV2)).but(func(o *Observation) { o.Now = o.Now.Add(firstRetry) }),
			outcome{Script: []string{"create v2 with 1: batch 1/3"}, Is: "RollingUpdate 1/3 Upgrade StepUpgrading"},
		},
		"and at once if people ask for something else": {
			begun().but(refusing(createV2)).but(func(o *Observation) { o.Release.Generation++ }),
			outcome{Script: []string{"create v2 with 1: batch 1/3"}, Is: "RollingUpdate 1/3 Upgrade StepUpgrading"},
		},
	})
}

// A release that is deleted stays until its Deployment is handed back.
func TestARefusedHandBackKeepsTheRelease(t *testing.T) {
	t.Parallel()
	const write = "hand back the Deployment with template v1"
	p := next(t, held(10).sets(set("v1", 10)).deleted().but(refusing(write)))
	if len(p.Actions) > 0 || p.Status.RefusedWrite == nil || p.Status.RefusedWrite.Write != write {
		t.Errorf("the plan does %q and tells %+v", script(p), p.Status.RefusedWrite)
	}
}

// What the API server says may differ each time; people are told once.
func TestARefusalIsOneEvent(t *testing.T) {
	t.Parallel()
	s := completed(10).but(refusing(takeOverV2))
	p := next(t, s)
	if len(p.Events) != 1 || !p.Events[0].Warning || p.Events[0].Reason != v1alpha1.ReasonWriteRefused {
		t.Errorf("the first time: events %+v", p.Events)
	}
	s.Release.Status, s.Refusals[0].Why = p.Status, "used 7 of 8"
	p = next(t, s)
	if len(p.Events) != 0 || !strings.Contains(p.Status.Message, "used 7 of 8") {
		t.Errorf("the second time: events %+v, message %q", p.Events, p.Status.Message)
	}
	if p.Status.RefusedWrite.Since != s.Release.Status.RefusedWrite.Since {
		t.Errorf("it is refused since %s, at first since %s", p.Status.RefusedWrite.Since, s.Release.Status.RefusedWrite.Since)
	}
}

func TestRefusalsAreSentAgainLaterAndLater(t *testing.T) {
	t.Parallel()
	var known Refusals
	var waits []time.Duration
	for range 9 {
		known = known.With(Refusal{Write: "x", Generation: 1}, noon, 0)
		waits = append(waits, known[0].Until.Sub(noon))
	}
	for i, wait := range waits {
		if want := min(firstRetry<<i, lastRetry); wait != want {
			t.Errorf("after try %d it waits %s, want %s", i+1, wait, want)
		}
	}
	if spread := known.With(Refusal{Write: "y", Generation: 1}, noon, 1); spread[1].Until.Sub(noon) != 6*time.Second {
		t.Errorf("the widest spread is %s, want 6s", spread[1].Until.Sub(noon))
	}
	if other := known.With(Refusal{Write: "x", Generation: 2}, noon, 0); len(other) != 1 || other[0].Tries != 1 {
		t.Errorf("another spec does not start anew: %+v", other)
	}
	known = known.With(Refusal{Write: createV2, Generation: 1}, noon, 0)
	if left := known.After(MovePods{Write: deployment.Create{Revision: "v2"}}); len(left) != 1 || left[0].Write != "x" {
		t.Errorf("a write that was taken is still known as refused: %+v", left)
	}
	if left := known.After(Annotate{Remove: []string{v1alpha1.RetryAnnotation}}); len(left) != 0 {
		t.Errorf("a retry leaves refusals: %+v", left)
	}
}

// A write that changes an object to something else is not sent for ever.
func TestRewrittenWritesEnd(t *testing.T) {
	t.Parallel()
	var known Refusals
	for range maxWritten {
		known = known.With(Refusal{Write: createV2, Why: "x", Generation: 3, Rewritten: true, Written: true}, noon, 0)
	}
	p := next(t, held(10).sets(set("v1", 10)).but(func(o *Observation) {
		o.Refusals, o.Now = known, noon.Add(time.Minute)
	}))
	if len(p.Actions) > 0 || p.Status.Reason != v1alpha1.ReasonWriteRefused || p.Wake != longestLook {
		t.Errorf("the plan does %q, %s, and wakes after %s: nothing but the deadline is left", script(p), p.Status.Reason, p.Wake)
	}
}

// Where pods are to come in the place of others that can't be taken away, none come: there would be more than the surge.
func TestNoPodsComeWhereNoneMayGo(t *testing.T) {
	t.Parallel()
	s := held(6).bounds("1", "1").at(2, 6).sets(set("v1", 3), set("v2", 3)).but(refusing("take pods from ReplicaSet web-v1"))
	if got := script(next(t, s)); len(got) > 0 && got[0] != "scale v2 3 -> 4: batch 3/3" || len(got) > 1 {
		t.Errorf("planned is %q, want no more than one pod", got)
	}
	full := held(6).bounds("0", "1").at(2, 6).sets(set("v1", 3), set("v2", 3)).but(refusing("take pods from ReplicaSet web-v1"))
	if got := script(next(t, full)); len(got) > 0 {
		t.Errorf("planned is %q, want nothing: there is no room", got)
	}
}
