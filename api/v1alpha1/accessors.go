package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// KeptFor returns the UID of the BatchRelease for which a ControllerRevision is kept; empty if
// there is none. It must see every owner that the policy in config/policy/revisions.yaml sees: any
// user could write a ControllerRevision with another owner.
func KeptFor(revision metav1.Object) types.UID {
	owner := metav1.GetControllerOfNoCopy(revision)
	if owner == nil || owner.Kind != "BatchRelease" {
		return ""
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil || version.Group != GroupVersion.Group {
		return ""
	}
	return owner.UID
}

// Type returns the type whose field is set in the policy; empty if none is.
func (p GatePolicy) Type() GateType {
	switch {
	case p.Manual != nil:
		return GateManual
	case p.None != nil:
		return GateNone
	case p.Soak != nil:
		return GateSoak
	case p.Window != nil:
		return GateWindow
	case p.PullRequest != nil:
		return GatePullRequest
	case p.CommitStatus != nil:
		return GateCommitStatus
	case p.CheckRun != nil:
		return GateCheckRun
	case p.Job != nil:
		return GateJob
	case p.Metrics != nil:
		return GateMetrics
	default:
		return ""
	}
}

// AwaitedOnForge names the object on the forge for which the gate waits: a pull request, a status
// or a check. The number is 0 while there is no pull request. The result is empty if the gate waits
// for nothing on a forge.
func (p GatePolicy) AwaitedOnForge(number int64) string {
	switch {
	case p.PullRequest != nil && number == 0:
		return "approval"
	case p.PullRequest != nil:
		return fmt.Sprintf("approval #%d", number)
	case p.CommitStatus != nil:
		return p.CommitStatus.Context
	case p.CheckRun != nil:
		return "check " + p.CheckRun.Name
	default:
		return ""
	}
}

// PullRequestNumber returns the number of the gate's pull request; 0 if none is known.
func (g *Gate) PullRequestNumber() int64 {
	if g.Status.PullRequest == nil {
		return 0
	}
	return g.Status.PullRequest.Number
}

// EvidenceForced is the kind of evidence of an overridden gate policy.
const EvidenceForced = "Forced"

// GuardIndex is the index of the first guard: no gate of a step has it.
const GuardIndex = 2000

// IsGuard reports whether the gate watches the whole release.
func (g *Gate) IsGuard() bool { return g.Spec.Index >= GuardIndex }

// TakesAnswers reports whether users answer the gate by name: a manual gate, or one that its
// metrics can't decide.
func (g *Gate) TakesAnswers() bool { return g.Spec.Type == GateManual || g.Status.Undecided }

// Forced returns the user who overrode the gate's policy, and the reason; nil if the gate passed by
// its policy, or has not passed. It reads the evidence, which is final: users can change
// status.force at any time.
func (g *Gate) Forced() *Force {
	if g.Status.Decision != DecisionPassed {
		return nil
	}
	for _, fact := range g.Status.Evidence {
		if fact.Kind == EvidenceForced {
			return &Force{By: fact.Actor, Reason: fact.Detail}
		}
	}
	return nil
}

// CanSkip reports whether a jump skips the gate.
func (p GatePolicy) CanSkip() bool { return p.Skippable || p.Manual != nil }

// defaultRollback is the fast plan: one pod as a check, then all.
var defaultRollback = []Step{
	{Replicas: intstr.FromInt32(1)},
	{Replicas: intstr.FromString("100%")},
}

// Steps returns the steps of a rollback or of a release.
func (s *BatchReleaseSpec) Steps(rollback bool) []Step {
	switch {
	case !rollback:
		return s.Strategy.Steps
	case s.Rollback != nil:
		return s.Rollback.Steps
	default:
		return defaultRollback
	}
}

// Gates returns the gates after a step, counted from 0. A release step without gates has a manual
// gate. Rollback steps and the last step have none by default.
func (s *BatchReleaseSpec) Gates(rollback bool, step int) []GatePolicy {
	steps := s.Steps(rollback)
	switch {
	case len(steps[step].Gates) > 0:
		return steps[step].Gates
	case rollback || step == len(steps)-1:
		return nil
	default:
		return []GatePolicy{{Manual: &ManualGate{}}}
	}
}

// defaultBranch is the CRD's default, for sources created without it.
const defaultBranch = "main"

// Branch returns the branch that the source follows.
func (s *ReleaseSource) Branch() string {
	if s.Spec.Ref.Branch == "" {
		return defaultBranch
	}
	return s.Spec.Ref.Branch
}

// maxLabel is the maximum length of a label value.
const maxLabel = 63

// LabelIn returns the value of SourceLabel on the source's releases in a namespace: the source's
// name, after its own namespace and "_" if the namespaces differ. Names can't have underscores, so
// the two forms stay distinct.
func (s *ReleaseSource) LabelIn(namespace string) string {
	if s.Namespace == namespace {
		return s.Name
	}
	value := s.Namespace + "_" + s.Name
	if len(value) <= maxLabel {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return value[:maxLabel-17] + "_" + hex.EncodeToString(sum[:8])
}

// IsTrain reports whether the release has members in place of a workload.
func (r *BatchRelease) IsTrain() bool { return len(r.Spec.Members) > 0 }

// HasFailed reports whether the release made no progress within its deadline. A train of which a
// member has failed stays in its phase.
func (s *BatchReleaseStatus) HasFailed() bool {
	return s.Phase == PhaseFailed || s.State == StateFailed
}

// OfRun reports whether c stops all members of a train's run, which the train tells for them.
func (c StopCause) OfRun() bool {
	switch c {
	case StopFrozen, StopTrainReturns, StopTooManyMembers:
		return true
	case StopInvalidStrategy, StopSuspended, StopWorkloadChanged, StopChangedPastGit, StopGuardRejected:
		return false
	default:
		return false
	}
}

// WaitsForTrain reports whether the release waits until its train lets it go on: its step is done,
// its template waits to be released, or it is not its turn to return.
func (r *BatchRelease) WaitsForTrain() bool {
	status := &r.Status
	switch {
	case r.Spec.Train == "":
		return false
	case status.State == StateWaiting:
		return len(status.StoppedBy) == 0 && status.Queued != nil && status.Queued.Awaits == ""
	default:
		return status.State == StateWaitingForTrain || status.Stops() == StopTrainReturns
	}
}
