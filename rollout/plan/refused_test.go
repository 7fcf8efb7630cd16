package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// refusing says that a write was refused just now.
func refusing(write mover.Name) func(*Observation) {
	return func(o *Observation) {
		o.Refusals = Refusals{}.With(Refusal{Write: write, Why: "no cost centre", Generation: o.Release.Generation}, o.Now, 0)
	}
}

// TestWhatARollbackLeavesIsRecordedAfterANewSpec checks that only a refusal of the present spec
// holds back the record of the version that a rollback leaves.
func TestWhatARollbackLeavesIsRecordedAfterANewSpec(t *testing.T) {
	t.Parallel()
	left := RecordRevision{Reason: "left", Revision: "v2", Digest: "digest-v2", Template: &Template{Given: true}, Given: "given-v2"}
	refusedAt := func(generation int64) *scene {
		return rollingBack(10).sets(set("v2", 9), set("v1", 1, available(0))).but(func(o *Observation) {
			o.Kept = o.Kept[:1] // v1
			o.Refusals = Refusals{}.With(Refusal{Why: "no cost centre"}.To(left, generation), o.Now, 0)
		})
	}
	checkScripts(t, map[string]scripted{
		"refused for this spec":         {refusedAt(3), nil},
		"refused for the one before it": {refusedAt(2), []string{left.String() + ": left"}},
		"another template is given":     {refusedAt(2).but(func(o *Observation) { o.Given = "given-v3" }), []string{"needs to resolve the template of the release"}},
	})
}

// heldUp says that a write has been refused for a time.
func heldUp(write mover.Name, d time.Duration) func(*Observation) {
	return func(o *Observation) {
		refusing(write)(o)
		o.Watched = Watched{Progress: d, Refusal: d}
		since := metav1.NewTime(o.Now.Add(-d))
		o.Release.Status.RefusedWrite = &v1alpha1.RefusedWrite{Key: write.Key, Write: write.Words, Message: "no cost centre", Since: since}
		if o.Release.Status.Progress != nil {
			o.Release.Status.Progress.Since = since
		}
	}
}

// beginning returns a release of v2 whose workload is not taken over yet.
func beginning(replicas int32) *scene {
	return completed(replicas).status(notEntered).status(func(s *v1alpha1.BatchReleaseStatus) {
		s.Phase, s.Attempt, s.CurrentStepIndex = v1alpha1.PhaseInitial, 2, 0
		s.UpdateRevision, s.Resolved = "v2", resolved("v2")
	})
}

func turning(o *Observation) { o.Release.Spec.Strategy.OnFailure = v1alpha1.FailureRollback }

var (
	takeOverV2 = WriteOf(TakeOver{Template: &Template{Given: true}})
	createV2   = WriteOf(MovePods{Write: deployment.Create{Revision: "v2"}})
	addToV2    = WriteOf(MovePods{Write: deployment.Scale{Set: deployment.Set{Name: "web-v2"}, To: 1}})
	takeFromV1 = WriteOf(MovePods{Write: deployment.Scale{Set: deployment.Set{Name: "web-v1"}, From: 1}})
	keepV1     = WriteOf(RecordRevision{Revision: "v1", Record: Record{Outcome: v1alpha1.OutcomeAdopted}})
	openGate   = WriteOf(OpenGate{Name: "web-v2-1-0-0"})
	handBack   = WriteOf(HandBack{})
)

func TestAWriteThatIsRefusedIsToldAndHasADeadline(t *testing.T) {
	t.Parallel()
	stalled := func(write mover.Name) string {
		return "WriteRefused: the API server refuses to " + write.Words + ": no cost centre"
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
			running(10).but(refusing(keepV1)), outcome{
				Is: "Initial - Initial WriteRefused", Stalled: stalled(keepV1), Wake: firstRetry,
			},
		},
		"the take-over, which was refused for the release before: this one has waited for nothing yet": {
			completed(10).but(heldUp(takeOverV2, tenMinutes)).status(func(s *v1alpha1.BatchReleaseStatus) { s.RefusedWrite.WaitedSeconds = 300 }),
			outcome{Is: "Initial - Initial WriteRefused", Stalled: stalled(takeOverV2), Wake: firstRetry},
		},
		"the take-over, at the deadline": {
			beginning(10).but(heldUp(takeOverV2, tenMinutes)), outcome{
				Is: "Failed - Initial ProgressDeadlineExceeded", Wake: firstRetry,
				Stalled: "ProgressDeadlineExceeded: the release: no progress for 10m0s: the API server refuses to " + takeOverV2.Words + ": no cost centre",
			},
		},
		"the ReplicaSet": {
			begun().but(refusing(createV2)),
			outcome{Is: "RollingUpdate 1/3 Upgrade WriteRefused", Stalled: stalled(createV2), Wake: firstRetry},
		},
		"the ReplicaSet, at the deadline": {
			begun().but(heldUp(createV2, tenMinutes)), outcome{
				Is: "Failed 1/3 Upgrade ProgressDeadlineExceeded", Wake: firstRetry,
				Stalled: "ProgressDeadlineExceeded: batch 1/3: no progress for 10m0s: the API server refuses to " + createV2.Words + ": no cost centre",
			},
		},
		"the ReplicaSet, and onFailure is Rollback": {
			begun().but(heldUp(createV2, tenMinutes)).but(turning),
			outcome{StatusFirst: true, Is: "RollingBack - Initial RollingBack"},
		},
		"more pods": {
			held(10).sets(set("v1", 10), set("v2", 0)).but(refusing(addToV2)),
			outcome{Is: "RollingUpdate 1/3 Upgrade WriteRefused", Stalled: stalled(addToV2), Wake: firstRetry},
		},
		"a gate: nobody could pass it, and the deadline runs": {
			held(10).sets(set("v1", 9), set("v2", 1)).but(refusing(openGate)),
			outcome{Is: "RollingUpdate 1/3 Upgrade WriteRefused", Stalled: stalled(openGate), Wake: firstRetry},
		},
		"the hand-back of what is done does not fail the release": {
			ended().but(heldUp(handBack, time.Hour)),
			outcome{Is: "Finalizing 3/3 Completed WriteRefused", Stalled: stalled(handBack), Wake: firstRetry},
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

// TestARefusedHandBackKeepsTheRelease: a release that is deleted stays until its Deployment is
// handed back.
func TestARefusedHandBackKeepsTheRelease(t *testing.T) {
	t.Parallel()
	write := WriteOf(HandBack{Template: &Template{Revision: "v1"}})
	p := next(t, held(10).sets(set("v1", 10)).deleted().but(refusing(write)))
	if len(p.Actions) > 0 || p.Status.RefusedWrite == nil || p.Status.RefusedWrite.Key != write.Key {
		t.Errorf("the plan does %q and tells %+v", script(p), p.Status.RefusedWrite)
	}
}

// TestARefusalIsOneEvent: a refusal becomes one event, though the API server's message may differ
// each time.
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
		known = known.With(Refusal{Write: mover.Name{Key: "x"}, Generation: 1}, noon, 0)
		waits = append(waits, known[0].Until.Sub(noon))
	}
	for i, wait := range waits {
		if want := min(firstRetry<<i, lastRetry); wait != want {
			t.Errorf("after try %d it waits %s, want %s", i+1, wait, want)
		}
	}
	if spread := known.With(Refusal{Write: mover.Name{Key: "y"}, Generation: 1}, noon, 1); spread[1].Until.Sub(noon) != 6*time.Second {
		t.Errorf("the widest spread is %s, want 6s", spread[1].Until.Sub(noon))
	}
	if other := known.With(Refusal{Write: mover.Name{Key: "x"}, Generation: 2}, noon, 0); len(other) != 1 || other[0].Tries != 1 {
		t.Errorf("another spec does not start anew: %+v", other)
	}
	known = known.With(Refusal{Write: createV2, Generation: 1}, noon, 0)
	if left := known.After(MovePods{Write: deployment.Create{Revision: "v2"}}); len(left) != 1 || left[0].Write.Key != "x" {
		t.Errorf("a write that was taken is still known as refused: %+v", left)
	}
	if left := known.After(Annotate{Remove: []string{v1alpha1.RetryAnnotation}}); len(left) != 0 {
		t.Errorf("a retry leaves refusals: %+v", left)
	}
}

// TestNoPodsComeWhereNoneMayGo: where pods are to come in the place of others that can't be taken
// away, none come: there would be more than the surge.
func TestNoPodsComeWhereNoneMayGo(t *testing.T) {
	t.Parallel()
	s := held(6).bounds("1", "1").at(2, 6).sets(set("v1", 3), set("v2", 3)).but(refusing(takeFromV1))
	if got := script(next(t, s)); len(got) > 0 && got[0] != "scale v2 3 -> 4: batch 3/3" || len(got) > 1 {
		t.Errorf("planned is %q, want no more than one pod", got)
	}
	full := held(6).bounds("0", "1").at(2, 6).sets(set("v1", 3), set("v2", 3)).but(refusing(takeFromV1))
	if got := script(next(t, full)); len(got) > 0 {
		t.Errorf("planned is %q, want nothing: there is no room", got)
	}
}

// sentNoMore says that a write was made something else of until it is sent no more.
func sentNoMore(action Action) func(*Observation) {
	return func(o *Observation) {
		o.Refusals = nil
		for range maxWritten {
			refused := Refusal{Why: "x", Rewritten: true, Written: true}.To(action, o.Release.Generation)
			o.Refusals = o.Refusals.With(refused, o.Now, 0)
		}
	}
}

// TestARetrySendsAgainWhatIsSentNoMore: a retry sends a refused write again, at any place of the
// release, because nothing else would.
func TestARetrySendsAgainWhatIsSentNoMore(t *testing.T) {
	t.Parallel()
	const forgets = "annotate release -retry: the retry is recorded"
	take := TakeOver{Reason: unpausedReason}
	batch := func() *scene { return held(10).at(0, 1).sets(set("v1", 9), set("v2", 1)) }
	unpaused := func(o *Observation) { deploymentOf(o.Workload).Paused = false }
	stripped := func(o *Observation) {
		o.Release.Status.Held, o.Workload.Hold = &o.Workload.Hold.HeldWorkload, nil
	}
	for name, s := range map[string]*scene{
		"to pause it again":                       batch().but(unpaused),
		"to acknowledge what was put back":        batch().but(onRecord),
		"to put our annotation back, at deletion": batch().but(stripped).deleted(),
	} {
		s.but(sentNoMore(take))
		if got := script(next(t, s)); len(got) > 0 {
			t.Errorf("%s, without a retry: planned is %q, want nothing", name, got)
		}
		if got := script(next(t, s.but(retry))); !slices.Equal(got, []string{forgets}) {
			t.Errorf("%s: planned is %q, want %q", name, got, forgets)
		}
	}
}

// TestARetryAcknowledgesLater: a retry of a write that is refused for a time only is acknowledged
// in the end.
func TestARetryAcknowledgesLater(t *testing.T) {
	t.Parallel()
	s := held(10).at(0, 1).sets(set("v1", 9), set("v2", 1)).but(onRecord).but(retry)
	if got := script(next(t, s.but(refusing(WriteOf(TakeOver{}))))); len(got) > 0 {
		t.Errorf("planned is %q, want nothing: the retry stays for when the write is sent again", got)
	}
}

// TestUnansweredWritesAreSentAgainSoon: a write that is not answered is sent again every few
// seconds, however long that lasts, and another API server is tried first.
func TestUnansweredWritesAreSentAgainSoon(t *testing.T) {
	t.Parallel()
	var known Refusals
	for try := range 9 {
		known = known.With(Refusal{Write: createV2, Generation: 3, Unanswered: true}, noon, 1)
		want := unansweredRetry + unansweredRetry/5
		if try == 0 {
			want = AgainSoon
		}
		if wait := known[0].Until.Sub(noon); wait != want {
			t.Errorf("after try %d it waits %s, want %s", try+1, wait, want)
		}
	}
}

// TestATemplateThatCanNotBeTried: a template that can't be tried begins nothing, and is reported; a
// rollback does not wait for it.
func TestATemplateThatCanNotBeTried(t *testing.T) {
	t.Parallel()
	unasked := func(o *Observation) {
		trying := Needs{Resolve: &Template{Given: true}}.Trying()
		refused := Refusal{Why: "no answer", Unanswered: true, Tries: 2, Until: o.Now.Add(time.Minute)}.ToTry(trying, o.Release.Generation)
		o.Refusals, o.Given, o.Resolved = Refusals{refused}, "given-v3", nil
	}
	p := next(t, completed(10).but(unasked))
	if told := p.Status.RefusedWrite; len(p.Actions) > 0 || p.Needs.Resolve != nil || told == nil || p.Status.StalledBy != v1alpha1.StallWriteRefused {
		t.Errorf("planned is %q with needs %+v, told is %+v", script(p), p.Needs, told)
	}
	onItsWay := func() *scene { return rollingBack(10).at(1, 10).sets(set("v2", 9), set("v1", 1)) }
	if want, have := script(next(t, onItsWay())), script(next(t, onItsWay().but(unasked))); len(want) == 0 || !slices.Equal(want, have) {
		t.Errorf("the rollback does %q, want %q", have, want)
	}
}
