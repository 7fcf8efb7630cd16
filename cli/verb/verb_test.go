package verb

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// standing is a release that waits at a manual gate of its second batch.
func standing() Situation {
	now := Situation{Release: &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "r1"},
		Spec:       v1alpha1.BatchReleaseSpec{Strategy: v1alpha1.ReleaseStrategy{Steps: make([]v1alpha1.Step, 3)}},
		Status: v1alpha1.BatchReleaseStatus{
			Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateBlocked, CurrentStepState: v1alpha1.StepBlocking, CurrentStepIndex: 1,
			Attempt: 4, StepStartedAt: &metav1.Time{}, UpdateRevision: "v2", StableRevision: "v1", Message: "waits",
		},
	}}
	now.Gates = []v1alpha1.Gate{{
		ObjectMeta: metav1.ObjectMeta{Name: "web-g", UID: "g1"},
		Spec:       v1alpha1.GateSpec{Type: v1alpha1.GateManual, Policy: v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}, Step: 1},
		Status:     v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting},
	}}
	now.All = now.Gates
	return now
}

// TestAnswersCountOnceEach: what has been answered by the same person is not answered again.
func TestAnswersCountOnceEach(t *testing.T) {
	t.Parallel()
	ada := Request{By: "ada", Gates: []string{"g1"}}
	said := func(by string, verdict v1alpha1.Verdict) Situation {
		now := standing()
		now.Release.Status.Answers = []v1alpha1.Answer{{Gate: types.UID("g1"), By: by, Verdict: verdict}}
		return now
	}
	passed := standing()
	passed.Gates[0].Status = v1alpha1.GateStatus{Decision: v1alpha1.DecisionPassed, Evidence: []v1alpha1.Evidence{{Actor: "ada"}}}
	cases := map[string]struct {
		now  Situation
		want bool
	}{
		"nothing said":      {standing(), false},
		"said":              {said("ada", v1alpha1.VerdictApprove), true},
		"said the opposite": {said("ada", v1alpha1.VerdictReject), false},
		"said by another":   {said("grace", v1alpha1.VerdictApprove), false},
		"taken up":          {passed, true},
	}
	for name, c := range cases {
		if got := Named("approve").Done(c.now, ada); got != c.want {
			t.Errorf("%s: want %t, got %t", name, c.want, got)
		}
	}
	if Named("approve").Done(passed, Request{By: "ada"}) {
		t.Error("want a form without gates to have answered none")
	}
}

// TestNobodyAnswersWithoutName: a person without a name is offered no answer to a gate, and none is written for them.
func TestNobodyAnswersWithoutName(t *testing.T) {
	t.Parallel()
	now := standing()
	for _, verb := range []string{"approve", "reject", "force"} {
		what := Named(verb)
		if !what.Possible(now, "ada") || what.Possible(now, "") {
			t.Errorf("%s: ada can: %v, nobody can: %v", verb, what.Possible(now, "ada"), what.Possible(now, ""))
		}
		changes, err := what.Decide(now, Request{Text: "well", Gates: []string{"g1"}})
		if len(changes) > 0 || !apierrors.IsForbidden(err) {
			t.Errorf("%s in nobody's name: %v, %v", verb, changes, err)
		}
	}
	if !Named("pause").Possible(now, "") {
		t.Error("want a verb that carries no name possible")
	}
}

// TestEveryRowIsWhole: each verb has all that commands and pages need of it.
func TestEveryRowIsWhole(t *testing.T) {
	t.Parallel()
	for _, v := range All {
		if Named(v.Name) != v || v.Needs.Resource == "" || v.Button.Text == "" || v.Written == "" || v.Again == "" || v.decide == nil || v.done == nil {
			t.Errorf("%s: want a name of its own, a right, a button, words, and decisions, got %+v", v.Name, v)
		}
		if (v.Asks == Answer) != (v.Text != nil) || (v.Asks == Answer) != (v.undecided != nil) || (v.choices != nil) != (v.Asks == Batch || v.Asks == Version) {
			t.Errorf("%s: want the input that it asks for", v.Name)
		}
		if v.Taken == nil && v.undecided == nil {
			t.Errorf("%s: want to know when the controller has acted", v.Name)
		}
	}
}
