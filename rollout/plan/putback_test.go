package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// onRecord has somebody's change on record, put back already.
func onRecord(o *Observation) {
	o.Workload.Hold.Change = ExternalChange{v1alpha1.ReasonTemplateChanged, "the template was changed"}
}

func inShop(o *Observation) { o.Release.Namespace = "shop" }

func unpausedByBob(o *Observation) {
	o.Workload.Hold.Change = ExternalChange{v1alpha1.ReasonWorkloadUnpaused, "the workload was unpaused by bob"}
}

// TestLostPodsAreToldOfWhatTakesThem: the message on lost pods names unpausing as the cause, never
// the change of the template.
func TestLostPodsAreToldOfWhatTakesThem(t *testing.T) {
	t.Parallel()
	short := func() *scene { return held(10).at(0, 1).sets(set("v1", 4)) }
	for change, want := range map[string]struct {
		on   func(*Observation)
		text string
	}{
		"unpaused":   {unpausedByBob, "batch 1/3 is on hold: the workload was unpaused by bob; pods were lost and are being replaced; to continue: sluice retry web -n shop"},
		"a template": {onRecord, "batch 1/3 is on hold: the template was changed; to continue: sluice retry web -n shop"},
	} {
		if got := next(t, short().but(want.on).but(inShop)).Status.Message; got != want.text {
			t.Errorf("%s: want %q, got %q", change, want.text, got)
		}
	}
}

func TestWhatIsPutBackGoesOnRecordInTheSameWrite(t *testing.T) {
	t.Parallel()
	ada := func(o *Observation) { o.Workload.ChangedBy = "ada at noon" }
	tests := map[string]struct {
		scene *scene
		want  ExternalChange
	}{
		"unpaused": {
			takenFrom(func(w *Workload) { deploymentOf(w).Paused = false }),
			ExternalChange{"WorkloadUnpaused", "the workload was unpaused by somebody else; Sluice restored it"},
		},
		"another strategy, by whom is known": {
			takenFrom(func(w *Workload) { deploymentOf(w).Recreate = false }).but(ada),
			ExternalChange{"StrategyChanged", "the workload's strategy was changed by ada at noon; Sluice restored it"},
		},
		"another template": {
			takenFrom(func(w *Workload) { w.Digest = "digest-v9" }).but(resolvedAs("digest-v2")),
			ExternalChange{"TemplateChanged", "the workload's template was changed by somebody else; Sluice restored it"},
		},
		"no annotation": {
			takenFrom(func(w *Workload) { w.Hold = nil }),
			ExternalChange{"HoldRemoved", "the annotation that says who holds the workload was changed by somebody else; Sluice restored it"},
		},
		"what is on record stays there": {
			takenFrom(func(w *Workload) { deploymentOf(w).Recreate = false }).but(onRecord).but(ada),
			ExternalChange{"TemplateChanged", "the template was changed"},
		},
		"but for what takes pods away": {
			takenFrom(func(w *Workload) { deploymentOf(w).Paused = false }).but(onRecord).but(ada),
			ExternalChange{"WorkloadUnpaused", "the workload was unpaused by ada at noon; Sluice restored it"},
		},
		"of which the first stays": {
			takenFrom(func(w *Workload) { deploymentOf(w).Paused = false }).but(onRecord).but(unpausedByBob).but(ada),
			ExternalChange{"WorkloadUnpaused", "the workload was unpaused by bob"},
		},
		"a take-over is no change of somebody else": {running(10), ExternalChange{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			takeOver := takeOverOf(t, next(t, test.scene))
			if diff := cmp.Diff(test.want, takeOver.Hold.Change); diff != "" {
				t.Errorf("on record (-want +got):\n%s", diff)
			}
			if put := takeOver.PutBack != ""; put != (test.want != ExternalChange{}) {
				t.Errorf("is a put-back: %t", put)
			}
		})
	}
}

func resolvedAs(digest string) func(*Observation) {
	return func(o *Observation) {
		o.Resolved = &Resolved{ResolvedTemplate: v1alpha1.ResolvedTemplate{Given: "given-v2", Digest: digest, Revision: "v2"}}
	}
}

func TestReleaseStandsUntilTheChangeIsAcknowledged(t *testing.T) {
	t.Parallel()
	passedStep := func() *scene { return doneStep().gates(gate(1, 0, 0, passed)) }
	checkScripts(t, map[string]scripted{
		"no step is entered":     {passedStep().but(onRecord), nil},
		"a new template waits":   {passedStep().resolved("v3").but(onRecord), nil},
		"it goes on when told":   {passedStep().but(onRecord).but(retry), []string{"take over: the change that was put back is acknowledged"}},
		"a rollback is begun":    {passedStep().but(onRecord).but(rollback("true")), script(Next(passedStep().but(rollback("true")).Observation))},
		"a rollback goes on":     {rollingBack(10).sets(set("v1", 5), set("v2", 5)).but(onRecord), script(Next(rollingBack(10).sets(set("v1", 5), set("v2", 5)).Observation))},
		"a release can be ended": {held(10).but(onRecord).deleted(), script(Next(held(10).deleted().Observation))},
	})
}

func TestDriftedIsToldOnce(t *testing.T) {
	t.Parallel()
	s := held(10).at(0, 1).sets(set("v1", 10)).but(onRecord)
	first := next(t, s)
	told := func(events []Event) (n int) {
		for _, event := range events {
			if event.Reason == v1alpha1.ReasonDrifted {
				n++
			}
		}
		return n
	}
	condition := meta.FindStatusCondition(first.Status.Conditions, v1alpha1.ConditionDrifted)
	if condition == nil || condition.Reason != v1alpha1.ReasonTemplateChanged || first.Status.Reason != v1alpha1.ReasonDrifted || told(first.Events) != 1 {
		t.Errorf("condition %+v, reason %s, events %v", condition, first.Status.Reason, first.Events)
	}
	s.Release.Status = first.Status
	if n := told(next(t, s).Events); n != 0 {
		t.Errorf("it is told %d times more", n)
	}
	s.Workload.Hold.Change = ExternalChange{}
	if meta.FindStatusCondition(next(t, s).Status.Conditions, v1alpha1.ConditionDrifted) != nil {
		t.Error("the condition stays when it is acknowledged")
	}
}

// TestRequestsGoBackThoughAWorkloadStaysUnpaused: in a rollback routes send requests back, also
// where the API server refuses to pause the workload again.
func TestRequestsGoBackThoughAWorkloadStaysUnpaused(t *testing.T) {
	t.Parallel()
	unpaused := func(o *Observation) { deploymentOf(o.Workload).Paused = false }
	back := "share HTTPRoute web: 0% to the canary Service: rolling back to v1"
	paused := "take over: " + string(unpausedReason)
	again := func() *scene {
		return rollingBack(10).but(shared).but(func(o *Observation) { o.Traffic.Stable.Ready = 10 }).but(unpaused)
	}
	checkScripts(t, map[string]scripted{
		"it is paused first":                 {again(), []string{paused, back}},
		"requests go back without the pause": {again().but(refusing(WriteOf(TakeOver{Reason: unpausedReason}))), []string{back}},
		"a release that goes on waits": {
			held(10).but(shared).but(unpaused).but(refusing(WriteOf(TakeOver{Reason: unpausedReason}))), nil,
		},
	})
}
