package verb_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/cli/verb/verbtest"
)

// TestAnswersCountOnceEach: an answer is not repeated for the same person.
func TestAnswersCountOnceEach(t *testing.T) {
	t.Parallel()
	ada := verb.Request{By: "ada", Gates: []string{"g1"}}
	said := func(by string, verdict v1alpha1.Verdict) verb.Situation {
		now := verbtest.AtGate()
		now.Release.Status.Answers = []v1alpha1.Answer{{Gate: types.UID("g1"), By: by, Verdict: verdict}}
		return now
	}
	passed := verbtest.AtGate()
	passed.Gates[0].Status = v1alpha1.GateStatus{Decision: v1alpha1.DecisionPassed, Evidence: []v1alpha1.Evidence{{Actor: "ada"}}}
	cases := map[string]struct {
		now  verb.Situation
		want bool
	}{
		"nothing said":      {verbtest.AtGate(), false},
		"said":              {said("ada", v1alpha1.VerdictApprove), true},
		"said the opposite": {said("ada", v1alpha1.VerdictReject), false},
		"said by another":   {said("grace", v1alpha1.VerdictApprove), false},
		"taken up":          {passed, true},
	}
	for name, c := range cases {
		if got := verb.Named("approve").Done(c.now, ada); got != c.want {
			t.Errorf("%s: want %t, got %t", name, c.want, got)
		}
	}
	if verb.Named("approve").Done(passed, verb.Request{By: "ada"}) {
		t.Error("want a form without gates to have answered none")
	}
}

// TestNobodyAnswersWithoutName: a person without a name is offered no answer to a gate, and none is
// written for them.
func TestNobodyAnswersWithoutName(t *testing.T) {
	t.Parallel()
	now := verbtest.AtGate()
	for _, name := range []string{"approve", "reject", "force"} {
		what := verb.Named(name)
		if !what.Possible(now, "ada") || what.Possible(now, "") {
			t.Errorf("%s: ada can: %v, nobody can: %v", name, what.Possible(now, "ada"), what.Possible(now, ""))
		}
		changes, err := what.Decide(now, verb.Request{Text: "well", Gates: []string{"g1"}})
		if len(changes) > 0 || !apierrors.IsForbidden(err) {
			t.Errorf("%s in nobody's name: %v, %v", name, changes, err)
		}
	}
	if !verb.Named("pause").Possible(now, "") {
		t.Error("want a verb that carries no name possible")
	}
}
