package gate

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestUnpassable(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		policy v1alpha1.PullRequestGate
		want   bool
	}{
		"Anybody": {"whoever may write may approve", v1alpha1.PullRequestGate{MinApprovals: 10}, false},
		"Enough":  {"all of them may be needed", v1alpha1.PullRequestGate{MinApprovals: 2, Approvers: []string{"ada", "bob"}}, false},
		"Team":    {"a team has members", v1alpha1.PullRequestGate{MinApprovals: 2, Approvers: []string{"ada"}, Teams: []string{"sre"}}, false},
		"TooFew":  {"one person approves once", v1alpha1.PullRequestGate{MinApprovals: 2, Approvers: []string{"ada"}}, true},
		"Twice":   {"however often they are named", v1alpha1.PullRequestGate{MinApprovals: 2, Approvers: []string{"ada", "Ada"}}, true},
	}
	for name, tc := range cases {
		policy := v1alpha1.GatePolicy{PullRequest: &tc.policy}
		if got := Unpassable(&policy, field.NewPath("gate")); (len(got) > 0) != tc.want {
			t.Errorf("%s: %s: want refused %t, got %v", name, tc.reason, tc.want, got)
		}
	}
	if got := Unpassable(&v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}, field.NewPath("gate")); got != nil {
		t.Errorf("somebody can always confirm by hand, got %v", got)
	}
}
