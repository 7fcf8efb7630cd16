package gate

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Words returns in a line what a gate of a valid policy waits for, and who can let it pass.
func Words(policy *v1alpha1.GatePolicy) string {
	words := "at once"
	switch {
	case policy.Manual != nil:
		words = "manual: a person confirms"
	case policy.Soak != nil:
		words = "soak: " + brief(policy.Soak.Duration.Duration)
	case policy.Window != nil:
		words = fmt.Sprintf("window: %q for %s", policy.Window.Schedule, brief(openFor(policy.Window)))
		if zone := policy.Window.TimeZone; zone != "" {
			words += " in " + zone
		}
	case policy.PullRequest != nil:
		words = "pull request: " + wordsOfApproval(policy.PullRequest)
	case policy.CommitStatus != nil:
		words = fmt.Sprintf("status %s: success, posted by %s", policy.CommitStatus.Context, anyOf(policy.CommitStatus.Creators, nil, "nobody"))
	case policy.CheckRun != nil:
		words = fmt.Sprintf("check %s: success, by app %s", policy.CheckRun.Name, policy.CheckRun.App)
	case policy.Job != nil:
		words = fmt.Sprintf("job %s: it succeeds within %s", policy.Job.Name, brief(jobDeadline(policy.Job, specOf(policy.Job))))
	case policy.Metrics != nil:
		words = "metrics: " + wordsOfPolicies(policy.Metrics)
	}
	if policy.OnReject == v1alpha1.RejectRollback {
		words += "; rolled back if rejected"
	}
	return words
}

// wordsOfPolicies names the metrics of a gate.
func wordsOfPolicies(policy *v1alpha1.MetricsGate) string {
	words := make([]string, len(policy.Metrics))
	for i, metric := range policy.Metrics {
		words[i] = metric.Name
		if metric.DryRun {
			words[i] += " (dry run)"
		}
	}
	return strings.Join(words, ", ") + " of " + policy.Provider
}

func wordsOfApproval(policy *v1alpha1.PullRequestGate) string {
	who := anyOf(policy.Approvers, policy.Teams, "anyone with write access")
	words := "merged by " + who
	switch {
	case policy.MinApprovals == 1:
		words = "merged, with 1 approval by " + who
	case policy.MinApprovals > 1:
		words = fmt.Sprintf("merged, with %d approvals by %s", policy.MinApprovals, who)
	}
	if policy.ForbidSelfApproval {
		words += ", except by those who contributed to it"
	}
	return words
}

// anyOf names people and teams; others if there are none.
func anyOf(people, teams []string, others string) string {
	names := append([]string{}, people...)
	for _, team := range teams {
		names = append(names, "team "+team)
	}
	if len(names) == 0 {
		return others
	}
	return strings.Join(names, " or ")
}

// brief returns a duration without units that are 0: 10m, not 10m0s.
func brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
