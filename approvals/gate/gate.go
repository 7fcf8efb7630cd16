// Package gate turns a Gate, the facts and the time into a decision; pure.
//
// Evaluate is a pure function: a Gate, what is known of its release and the time go in, the
// Gate's complete new status and the time to look again come out. The shell in package
// approvals gathers the facts and writes the status:
//
//	Gate ──┐
//	Facts ─┼──► Evaluate ──► status (decision, evidence, message), wake-up
//	now ───┘
//
// What must hold:
//
//   - Passed is final; so is Rejected, except for a pull request that is opened again;
//   - a gate is decided only while its release waits for exactly this gate: same UID, attempt,
//     revision and step, and named in the release's status. Any other gate is left as it is;
//   - a soak never passes early, and a window gate only while the window is open, whatever
//     the clock did before;
//   - a policy that can't be read keeps its gate closed and says why;
//   - a forced gate passes without regard to its policy, and its evidence holds who forced it and
//     why;
//   - metrics that can't be measured neither pass nor reject a gate;
//   - a forge's answer opens a gate only if every rule of the policy holds; a fact that was not
//     read, or is not known, breaks its rule.
package gate

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Kinds of evidence that a decision of this package rests on.
const (
	// EvidenceStatusPatch: a user set the release's status.currentStepState to Completed.
	EvidenceStatusPatch = "StatusPatch"
	// EvidenceAnswer: a user has answered the gate, by name.
	EvidenceAnswer = "Answer"
	// EvidenceForced: a user has passed the gate despite its policy.
	EvidenceForced = v1alpha1.EvidenceForced
	// EvidenceSoakElapsed: the time to soak has gone by.
	EvidenceSoakElapsed = "SoakElapsed"
	// EvidenceWindowOpen: a window was open.
	EvidenceWindowOpen = "WindowOpen"
	// EvidenceNoGate: the policy asks for nothing.
	EvidenceNoGate = "NoGate"
	// EvidencePullRequestMerged: a user merged the gate's pull request.
	EvidencePullRequestMerged = v1alpha1.EvidencePullRequestMerged
	// EvidencePullRequestClosed: the gate's pull request was closed and not merged.
	EvidencePullRequestClosed = "PullRequestClosed"
	// EvidenceReview: an allowed reviewer has approved the merged commit.
	EvidenceReview = "Review"
	// EvidenceRecordMerged: Git has the gate's record on the tracked branch.
	EvidenceRecordMerged = "RecordMerged"
	// EvidenceCommitStatus: a commit status is success.
	EvidenceCommitStatus = "CommitStatus"
	// EvidenceCheckRun: a check run is completed with a conclusion that the gate accepts.
	EvidenceCheckRun = "CheckRun"
	// EvidenceJobSucceeded: the Job of the gate has succeeded.
	EvidenceJobSucceeded = "JobSucceeded"
	// EvidenceJobFailed: the Job of the gate has failed.
	EvidenceJobFailed = "JobFailed"
	// EvidenceMetricPassed: a metric of the gate has passed.
	EvidenceMetricPassed = "MetricPassed"
	// EvidenceMetricFailed: a metric of the gate has failed.
	EvidenceMetricFailed = "MetricFailed"
)

// Decision holds the status to record on a gate, and the time of the next pass.
type Decision struct {
	// Status is the complete status of the gate; equal to what it was where nothing is to be said.
	Status v1alpha1.GateStatus
	// WakeUp is when the decision may change by time alone; zero where only a change of the
	// gate or of its release can change it.
	WakeUp time.Time
}

// Evaluate decides g by the facts, as of now. Gates that are decided already, that the release
// does not wait for, or whose type belongs to another controller, are left as they are.
func Evaluate(g *v1alpha1.Gate, facts Facts, now time.Time) Decision {
	check := checkOf(g.Spec.Type)
	if check == nil || Decided(g) || !Awaited(g, facts.Release) {
		return unchanged(g)
	}
	if force := g.Status.Force; force != nil {
		return forced(force, now).keeping(g)
	}
	if problem := unreadable(&g.Spec); problem != nil {
		return waiting("can't pass until the release's strategy is corrected: "+problem.Error(), time.Time{}).keeping(g)
	}
	return check(g, facts, now).keeping(g)
}

// Decided reports whether g has its final decision. A pull request that was closed can be opened
// again.
func Decided(g *v1alpha1.Gate) bool {
	switch g.Status.Decision {
	case v1alpha1.DecisionPassed:
		return true
	case v1alpha1.DecisionRejected:
		return g.Spec.Type != v1alpha1.GatePullRequest
	default:
		return false
	}
}

// Asks reports whether gates of a type wait for something on a forge.
func Asks(gateType v1alpha1.GateType) bool {
	switch gateType {
	case v1alpha1.GatePullRequest, v1alpha1.GateCommitStatus, v1alpha1.GateCheckRun:
		return true
	default:
		return false
	}
}

// check decides a gate of one type whose policy is valid and whose release waits for it.
type check func(g *v1alpha1.Gate, facts Facts, now time.Time) Decision

// checkOf returns nil for a type that another controller decides.
func checkOf(gateType v1alpha1.GateType) check {
	switch gateType {
	case v1alpha1.GateManual:
		return checkManual
	case v1alpha1.GateNone:
		return checkNone
	case v1alpha1.GateSoak:
		return checkSoak
	case v1alpha1.GateWindow:
		return checkWindow
	case v1alpha1.GatePullRequest:
		return checkPullRequest
	case v1alpha1.GateCommitStatus:
		return checkCommitStatus
	case v1alpha1.GateCheckRun:
		return checkCheckRun
	case v1alpha1.GateJob:
		return checkJob
	case v1alpha1.GateMetrics:
		return checkMetrics
	default:
		return nil
	}
}

// Awaited reports whether release waits for exactly g, or g guards it.
func Awaited(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) bool {
	if release == nil || release.UID != g.Spec.ReleaseRef.UID {
		return false
	}
	status := &release.Status
	if g.IsGuard() {
		return status.Attempt == g.Spec.Attempt && status.UpdateRevision == g.Spec.Revision && lists(status.Guards, g)
	}
	return status.Attempt == g.Spec.Attempt &&
		status.UpdateRevision == g.Spec.Revision &&
		status.CurrentStepIndex == g.Spec.Step &&
		lists(status.Gates, g)
}

func lists(references []v1alpha1.GateReference, g *v1alpha1.Gate) bool {
	return slices.ContainsFunc(references, func(r v1alpha1.GateReference) bool { return r.Name == g.Name && r.Type == g.Spec.Type })
}

// unreadable says what is wrong with the policy of a gate.
func unreadable(spec *v1alpha1.GateSpec) error {
	path := field.NewPath("spec", "policy")
	if problems := Validate(&spec.Policy, path); len(problems) > 0 {
		return problems.ToAggregate()
	}
	if set := spec.Policy.Type(); set != spec.Type {
		return fmt.Errorf("spec.type is %s but %s is set", spec.Type, path.Child(string(set)))
	}
	if job := spec.Policy.Job; job != nil && job.Template == nil {
		return field.Required(path.Child("job", "template"), "Sluice takes it from a Job manifest only for releases from Git")
	}
	return nil
}

// checkNone passes at once.
func checkNone(_ *v1alpha1.Gate, _ Facts, now time.Time) Decision {
	return passed("nothing to wait for", evidence(EvidenceNoGate, "the step goes on at once", now), now)
}

// forced passes because somebody who may says so, and for no other reason.
func forced(force *v1alpha1.Force, now time.Time) Decision {
	fact := evidence(EvidenceForced, force.Reason, now)
	fact.Actor = force.By
	return passed(fmt.Sprintf("forced by %s: %s", force.By, force.Reason), fact, now)
}
