package gate

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestWords(t *testing.T) {
	t.Parallel()
	rejected := manualPolicy()
	rejected.OnReject = v1alpha1.RejectRollback
	pull := func(policy v1alpha1.PullRequestGate) v1alpha1.GatePolicy {
		return v1alpha1.GatePolicy{PullRequest: &policy}
	}
	for want, policy := range map[string]v1alpha1.GatePolicy{
		"manual: a person confirms":                          manualPolicy(),
		"manual: a person confirms; rolled back if rejected": rejected,
		"at once":     {None: &v1alpha1.NoGate{}},
		"soak: 10m":   soakPolicy(10 * time.Minute),
		"soak: 1h30m": soakPolicy(90 * time.Minute),
		"soak: 24h":   soakPolicy(24 * time.Hour),
		`window: "0 9-17 * * 1-5" for 1h in Europe/Berlin`:                                                         windowPolicy("0 9-17 * * 1-5", "Europe/Berlin"),
		"pull request: merged by anyone with write access":                                                         pull(v1alpha1.PullRequestGate{}),
		"pull request: merged by ada or team sre":                                                                  pull(v1alpha1.PullRequestGate{Approvers: []string{"ada"}, Teams: []string{"sre"}}),
		"pull request: merged, with 1 approval by anyone with write access, except by those who contributed to it": pull(v1alpha1.PullRequestGate{MinApprovals: 1, ForbidSelfApproval: true}),
		"pull request: merged, with 2 approvals by ada or bob":                                                     pull(v1alpha1.PullRequestGate{MinApprovals: 2, Approvers: []string{"ada", "bob"}}),
		"status ci/smoke: success, posted by ci":                                                                   {CommitStatus: &v1alpha1.CommitStatusGate{Context: "ci/smoke", Creators: []string{"ci"}}},
		"check e2e: success, by app github-actions":                                                                {CheckRun: &v1alpha1.CheckRunGate{Name: "e2e", App: "github-actions"}},
	} {
		if got := Words(&policy); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}
