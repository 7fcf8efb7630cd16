package show

import (
	"cmp"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/internal/plain"
)

// batches returns the steps of a release or rollback, each with its gates: as they are, or as they
// will be.
func batches(w *Whole) []Node {
	spec, rollback := &w.Release.Spec, w.Release.Status.Rollback != nil
	steps := spec.Steps(rollback)
	nodes := make([]Node, 0, len(steps))
	for i, step := range steps {
		node := Node{Name: fmt.Sprintf("batch %d/%d", i+1, len(steps)), Text: verb.ShareWords(step.Replicas)}
		if weight, shared := spec.TrafficOf(rollback, i); shared {
			node.Text += ", " + v1alpha1.RequestWords(weight, len(step.Matches))
		}
		node.State = BatchState(w.Release, i)
		if node.State == Moving || node.State == Bad {
			node.Text += ": " + progress(w)
		}
		node.Children = opened(w, i)
		if w.Release.Spec.Train == "" && (node.State == Plain || len(node.Children) == 0 && node.State != Good) {
			node.Children = announced(w, i, node.Name)
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// progress returns how far the current batch is, as the pods have it: the status of the release
// counts only every few seconds.
func progress(w *Whole) string {
	status := &w.Release.Status
	updated, good, word := status.UpdatedReplicas, status.UpdatedAvailableReplicas, "available"
	switch w.Workload.(type) {
	case *appsv1.Deployment:
		updated, good = 0, 0
		for i := range w.Sets {
			if revisionOf(&w.Sets[i]) == status.UpdateRevision {
				updated, good = w.Sets[i].Status.Replicas, w.Sets[i].Status.AvailableReplicas
			}
		}
	case *appsv1.StatefulSet, *appsv1.DaemonSet:
		updated, good = live(podsByHash(w)[status.UpdateRevision])
		if MinReadySeconds(w.Workload) > 0 { // when a pod that is ready counts as available, no status tells of each version
			word = "ready"
		}
	}
	return fmt.Sprintf("%d of %s updated, %d %s", updated, pods(status.TargetReplicas), good, word)
}

// live counts the pods that stay, and those of them that are ready.
func live(own []corev1.Pod) (staying, ready int32) {
	for i := range own {
		if own[i].DeletionTimestamp == nil {
			staying++
			if isReady(&own[i]) {
				ready++
			}
		}
	}
	return staying, ready
}

// BatchState returns the state of a step of a release, counted from 0.
func BatchState(release *v1alpha1.BatchRelease, step int) State {
	status := &release.Status
	current := int(status.CurrentStepIndex)
	switch {
	case status.ObservedGeneration < release.Generation: // it speaks of another template
		return Plain
	case step < current:
		return Good
	}
	now := currentState(status.CurrentStepState)
	switch status.Phase {
	case v1alpha1.PhaseCompleted, v1alpha1.PhaseFinalizing:
		return Good
	case "", v1alpha1.PhaseInitial:
		return Plain
	case v1alpha1.PhaseFailed:
		now = Bad
	case v1alpha1.PhaseRollingUpdate, v1alpha1.PhaseRollingBack:
	}
	if step > current || !status.Entered() {
		return Plain
	}
	return now
}

// currentState returns the state of the current step of a release in progress.
func currentState(step v1alpha1.StepState) State {
	switch step {
	case v1alpha1.StepBlocking:
		return Waiting
	case v1alpha1.StepCompleted:
		return Good
	case v1alpha1.StepInitial, v1alpha1.StepUpgrade:
	}
	return Moving
}

// opened returns the gates that stand after a step of this attempt.
func opened(w *Whole, step int) []Node {
	gates := OpenGates(w, step)
	nodes := make([]Node, 0, len(gates))
	for i := range gates {
		nodes = append(nodes, gateNode(&gates[i]))
	}
	return nodes
}

func gateNode(gate *v1alpha1.Gate) Node {
	node := Node{
		Name: "gate/" + gate.Name, State: Waiting, Since: gate.CreationTimestamp,
		Text: string(gate.Spec.Type) + ": " + cmp.Or(gate.Status.Message, "waits"),
	}
	if gate.Status.DecidedAt != nil {
		node.Since = *gate.Status.DecidedAt
	}
	node.Children = metricNodes(gate)
	switch gate.Status.Decision {
	case v1alpha1.DecisionPassed:
		node.State = Good
		return node
	case v1alpha1.DecisionRejected:
		node.State = Bad
	}
	node.Children = append(node.Children, Node{Name: "needs", Text: Needs(gate.Spec.Policy)})
	if pr := gate.Status.PullRequest; pr != nil && pr.URL != "" {
		node.Children = append(node.Children, Node{Name: fmt.Sprintf("pull request #%d", pr.Number), Text: pr.URL})
	}
	if record := gate.Status.Record; record != nil {
		node.Children = append(node.Children, Node{Name: "file", Text: record.Path + ", with the content that the Gate has in status.record"})
	}
	return node
}

// announced returns the gates that a step is going to have. A batch with none goes on at once.
func announced(w *Whole, step int, batch string) []Node {
	policies := w.Release.Spec.Gates(w.Release.Status.Rollback != nil, step)
	nodes := make([]Node, 0, len(policies))
	for i, policy := range policies {
		nodes = append(nodes, Node{Name: fmt.Sprintf("gate %d of %s", i+1, batch), Text: string(policy.Type()) + ": " + NeedsAt(w, step, policy)})
	}
	return nodes
}

// Needs says what passes a gate, and who can.
func Needs(policy v1alpha1.GatePolicy) string {
	switch {
	case policy.Manual != nil:
		return "approval by a person (role sluice-approver)"
	case policy.None != nil:
		return "nothing"
	case policy.Soak != nil:
		return policy.Soak.Duration.Duration.String()
	case policy.Window != nil:
		return fmt.Sprintf("an open window: %q, %s", policy.Window.Schedule, cmp.Or(policy.Window.TimeZone, "UTC"))
	case policy.PullRequest != nil:
		return pullRequestNeeds(policy.PullRequest)
	case policy.CommitStatus != nil:
		return fmt.Sprintf("status %s: success, posted by %s", policy.CommitStatus.Context, strings.Join(policy.CommitStatus.Creators, " or "))
	case policy.CheckRun != nil:
		return fmt.Sprintf("check %s: success, by %s", policy.CheckRun.Name, policy.CheckRun.App)
	case policy.Job != nil:
		return fmt.Sprintf("Job %s succeeds", policy.Job.Name)
	case policy.Metrics != nil:
		return metricNeeds(policy.Metrics)
	default:
		return "a type that this version does not know"
	}
}

func pullRequestNeeds(policy *v1alpha1.PullRequestGate) string {
	words := "the merge of a pull request"
	if policy.MinApprovals > 0 {
		words += ", " + plain.Count(policy.MinApprovals, "approval")
	}
	var who []string
	who = append(who, policy.Approvers...)
	for _, team := range policy.Teams {
		who = append(who, "team "+team)
	}
	if len(who) > 0 {
		words += " by " + strings.Join(who, " or ")
	}
	if policy.ForbidSelfApproval {
		words += ", not by an author"
	}
	return words
}
