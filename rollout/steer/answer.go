package steer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Words are the answer of a person to gates.
type Words struct {
	// By is the user, as the API server knows it.
	By string
	// Text is a sentence for people; a reason where one is needed.
	Text string
	// Only names a gate, or a type of gates; empty for all that the release waits for.
	Only string
}

// Approve passes the manual gates that a release waits for, or the pause point that it holds at.
func Approve(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, words Words) ([]Change, error) {
	if at := release.Status.PausePoint; at != nil && release.Status.State == v1alpha1.StatePausePoint && at.Confirmed != at.Pod {
		return []Change{{
			Status: true, Patch: to(at.Pod, "status", "pausePoint", "confirmed"), Done: "may go on past pod " + at.Pod,
		}}, nil
	}
	manual, err := unanswered(release, gates, words, "approve")
	if err != nil {
		return nil, err
	}
	return []Change{answer(release, manual, v1alpha1.VerdictApprove, words)}, nil
}

// Reject answers the manual gates that a release waits for with a no.
func Reject(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, words Words) ([]Change, error) {
	manual, err := unanswered(release, gates, words, "reject")
	if err != nil {
		return nil, err
	}
	return []Change{answer(release, manual, v1alpha1.VerdictReject, words)}, nil
}

// Force passes gates that a release waits for past their policies.
func Force(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, words Words) ([]Change, error) {
	open, err := openGates(release, gates, words.Only, "force")
	if err != nil {
		return nil, err
	}
	changes := make([]Change, 0, len(open))
	for i := range open {
		changes = append(changes, Change{
			Gate: &open[i], Decides: open[i : i+1], Status: true, Done: "forced",
			Patch: to(v1alpha1.Force{By: words.By, Reason: words.Text}, "status", "force"),
		})
	}
	return changes, nil
}

// answer adds a verdict to what was said to gates before.
func answer(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, verdict v1alpha1.Verdict, words Words) Change {
	answers := slices.Clone(release.Status.Answers)
	done := "approved"
	if verdict == v1alpha1.VerdictReject {
		done = "rejected"
	}
	for i := range gates {
		uid := gates[i].UID
		answers = slices.DeleteFunc(answers, func(a v1alpha1.Answer) bool { return a.Gate == uid })
		answers = append(answers, v1alpha1.Answer{Gate: uid, Verdict: verdict, By: words.By, Message: words.Text})
	}
	return Change{Decides: gates, Status: true, Patch: to(answers, "status", "answers"), Done: done}
}

// unanswered returns the manual gates that a release waits for, unless somebody else has just
// answered one: that counts.
func unanswered(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, words Words, verb string) ([]v1alpha1.Gate, error) {
	manual, err := manualGates(release, gates, words, verb)
	if err != nil {
		return nil, err
	}
	for i := range manual {
		for _, before := range release.Status.Answers {
			if before.Gate == manual[i].UID && before.By != words.By {
				return nil, refuse("%s has answered gate %s already (%s): the controller is about to take it up", before.By, manual[i].Name, before.Verdict)
			}
		}
	}
	return manual, nil
}

// manualGates returns the manual ones among those that the release waits for.
func manualGates(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, words Words, verb string) ([]v1alpha1.Gate, error) {
	open, err := openGates(release, gates, words.Only, verb)
	if err != nil {
		return nil, err
	}
	var manual, others []v1alpha1.Gate
	for _, gate := range open {
		if gate.TakesAnswers() {
			manual = append(manual, gate)
		} else {
			others = append(others, gate)
		}
	}
	if len(manual) == 0 {
		return nil, refuse("there is no manual gate to %s: %s", verb, Waits(others))
	}
	return manual, nil
}

// openGates returns those that a release waits for and that are not decided; with only, one of them
// or those of one type.
func openGates(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, only, verb string) ([]v1alpha1.Gate, error) {
	var open, rejected []v1alpha1.Gate
	for _, gate := range gates {
		switch {
		case gate.Status.Decision == v1alpha1.DecisionPassed:
		case only != "" && only != gate.Name && only != string(gate.Spec.Type):
		case gate.Status.Decision == v1alpha1.DecisionRejected && gate.Spec.Type != v1alpha1.GatePullRequest:
			rejected = append(rejected, gate)
		default:
			open = append(open, gate)
		}
	}
	switch {
	case len(open) > 0:
		return open, nil
	case len(rejected) > 0:
		return nil, refuse("gate %s is final: %s; release another template, or roll back", rejected[0].Name, rejected[0].Status.Message)
	case only != "" && len(gates) > 0:
		return nil, refuse("no gate %q is open; the release waits for %s", only, names(gates))
	case release.Spec.Train != "":
		return nil, refuse("there is nothing to %s: the gates of %s are those of its train: sluice %s %s -n %s", verb, release.Name, verb, release.Spec.Train, release.Namespace)
	default:
		return nil, refuse("there is nothing to %s: %s", verb, standing(release))
	}
}

// standing says how a release stands.
func standing(release *v1alpha1.BatchRelease) string {
	return cmp.Or(release.Status.Message, "the controller has not looked at the release yet")
}

func names(gates []v1alpha1.Gate) string {
	words := make([]string, 0, len(gates))
	for i := range gates {
		words = append(words, fmt.Sprintf("%s (%s)", gates[i].Name, gates[i].Spec.Type))
	}
	return strings.Join(words, ", ")
}

// Waits says what gates wait for, and who or what can pass them.
func Waits(gates []v1alpha1.Gate) string {
	words := make([]string, 0, len(gates))
	for i := range gates {
		words = append(words, wait(&gates[i]))
	}
	return strings.Join(words, "; ")
}

func wait(gate *v1alpha1.Gate) string {
	status := &gate.Status
	text := string(gate.Spec.Type) + " gate: " + cmp.Or(status.Message, "not looked at yet")
	if pull := status.PullRequest; pull != nil && pull.URL != "" && status.Refusal == nil {
		text = fmt.Sprintf("%s gate: waits for pull request #%d: %s", gate.Spec.Type, pull.Number, pull.URL)
	}
	if policy := gate.Spec.Policy.PullRequest; policy != nil {
		text += approvers(policy)
	}
	return text
}

// approvers says who may approve a pull request, where the policy names somebody.
func approvers(policy *v1alpha1.PullRequestGate) string {
	var words []string
	if policy.MinApprovals > 0 {
		words = append(words, "needs "+plain.Count(policy.MinApprovals, "approval"))
	}
	if who := append(slices.Clone(policy.Approvers), policy.Teams...); len(who) > 0 {
		words = append(words, "of "+strings.Join(who, ", "))
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, " ") + ")"
}
