package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// blocked returns how a release stands that waits for gates. While a pull request is still to be
// opened there is nothing to say: with its number it would have to be said again.
func blocked(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate) (standing, bool) {
	status := &release.Status
	var waits []string
	url := ""
	for _, reference := range status.Gates {
		g := find(gates, reference, status)
		switch {
		case g == nil:
			return standing{}, false
		case g.Status.Decision == v1alpha1.DecisionPassed:
			continue
		case g.Status.Decision == v1alpha1.DecisionRejected:
			return atGate(release, g, v1alpha1.ReportRejected, g.Status.Message), true
		case asking(g):
			return standing{}, false
		}
		waits = append(waits, wait(g))
		if url == "" {
			url = pullURL(g)
		}
	}
	if len(waits) == 0 {
		return standing{}, false
	}
	for i := range gates {
		if g := &gates[i]; g.Status.Refusal != nil && g.Spec.Attempt == status.Attempt && g.DeletionTimestamp == nil {
			return atGate(release, g, v1alpha1.ReportApprovalRefused, fmt.Sprintf("approval #%d was refused: %s", g.PullRequestNumber(), g.Status.Refusal.Message)), true
		}
	}
	now := inRelease(release, v1alpha1.ReportWaiting, strings.Join(waits, ", "))
	now.url = url
	return now, true
}

// atGate returns how a release stands that does not go on before somebody does something about a
// gate.
func atGate(release *v1alpha1.BatchRelease, g *v1alpha1.Gate, kind v1alpha1.ReportKind, detail string) standing {
	now := inRelease(release, kind, detail)
	now.url = pullURL(g)
	return now
}

// find returns the gate of a reference as it is for the present attempt; nil if it is not known.
func find(gates []v1alpha1.Gate, reference v1alpha1.GateReference, status *v1alpha1.BatchReleaseStatus) *v1alpha1.Gate {
	for i := range gates {
		g := &gates[i]
		if g.Name == reference.Name && g.Spec.Attempt == status.Attempt && g.DeletionTimestamp == nil {
			return g
		}
	}
	return nil
}

// asking reports whether a pull request is being opened, and nothing is known to keep it from
// being: a gate that has been looked at is decided, or waits.
func asking(g *v1alpha1.Gate) bool {
	return g.Spec.Type == v1alpha1.GatePullRequest && g.PullRequestNumber() == 0 && g.Status.Decision == ""
}

// maxReason limits the length of the reason for which an approval is refused.
const maxReason = 600

// Refused returns the comment on a pull request that was merged and does not pass its gate, or
// closed and does not reject it.
func Refused(g *v1alpha1.Gate) string {
	again := fmt.Sprintf("kubectl delete gate %s -n %s", g.Name, g.Namespace)
	lines := []string{
		"**This answer does not count**: " + CodeUpTo(g.Status.Refusal.Message, maxReason) + ".", "",
		fmt.Sprintf("- %s opens another pull request for the same step.", Code(again)),
	}
	if policy := g.Spec.Policy.PullRequest; policy != nil && policy.MinApprovals > 0 {
		lines = append(lines, "- If this one was merged and only approvals are missing, an approving review of it still counts.")
	}
	lines = append(lines, fmt.Sprintf("- %s overrides the gate's policy, for those who may use it.", Code(pastPolicy(g))))
	return strings.Join(lines, "\n")
}

// pastPolicy returns the command that passes a gate whatever its policy says.
func pastPolicy(g *v1alpha1.Gate) string {
	return fmt.Sprintf("sluice approve %s -n %s --force --reason=...", g.Spec.ReleaseRef.Name, g.Namespace)
}

// wait says what a gate waits for, in words that stay the same while it does.
func wait(g *v1alpha1.Gate) string {
	policy := &g.Spec.Policy
	if name := policy.AwaitedOnForge(g.PullRequestNumber()); name != "" {
		return "for " + name
	}
	switch {
	case policy.Soak != nil:
		return "until " + soaked(g).Format("2006-01-02 15:04 MST")
	case policy.Window != nil:
		return "for the window"
	case policy.Manual != nil:
		return "for confirmation"
	case policy.Job != nil:
		return "for Job " + policy.Job.Name
	case g.Status.Undecided:
		return "for a person: metrics undecided"
	case policy.Metrics != nil:
		return "for metrics"
	default:
		return "for gate " + string(g.Spec.Type)
	}
}

// soaked returns the minute by which the time to soak has gone by.
func soaked(g *v1alpha1.Gate) time.Time {
	over := g.CreationTimestamp.Add(g.Spec.Policy.Soak.Duration.Duration)
	return over.UTC().Truncate(time.Minute).Add(time.Minute)
}

// pullURL returns where the pull request of a gate is; empty where that is nothing to send people
// to.
func pullURL(g *v1alpha1.Gate) string {
	if g.Status.PullRequest == nil {
		return ""
	}
	return forge.Link(g.Status.PullRequest.URL)
}
