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

// KeptFor is the UID of the BatchRelease that a ControllerRevision is kept for; empty if it is not kept for any. It must see no
// owner that the policy in config/policy/revisions.yaml overlooks: anybody could write that ControllerRevision.
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

// Type names the one field of the policy that is set; empty if none is.
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
	default:
		return ""
	}
}

// AwaitedOnForge names what the gate of a policy waits for, as people find it on the forge: the pull request with this number, 0 where
// there is none yet, a status or a check. It is empty for a gate that waits for nothing on a forge.
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

// PullRequestNumber is the number of the pull request that was opened for a gate; 0 where none is known.
func (g *Gate) PullRequestNumber() int64 {
	if g.Status.PullRequest == nil {
		return 0
	}
	return g.Status.PullRequest.Number
}

// EvidenceForced is the kind of the evidence of a gate whose policy somebody overrode.
const EvidenceForced = "Forced"

// Forced is who has passed the gate past its policy, and why; nil where it passed by it, or has not passed. It is of the
// evidence, which is final: status.force can be written by people at any time, and asks for no more than it.
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

// CanSkip reports whether a jump goes over the gate.
func (p GatePolicy) CanSkip() bool { return p.Skippable || p.Manual != nil }

// defaultRollback is the fast plan: one pod to see that it works, then all.
var defaultRollback = []Step{
	{Replicas: intstr.FromInt32(1)},
	{Replicas: intstr.FromString("100%")},
}

// Steps are those of a rollback, or else those of a release.
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

// Gates are what is waited for after a step of a rollback or a release, counted from 0. A step of a release that
// names none waits for a person, one of a rollback for nobody, and the last for nobody either.
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

// defaultBranch is the CRD's, for sources that were made without it.
const defaultBranch = "main"

// Branch is the branch that the source follows.
func (s *ReleaseSource) Branch() string {
	if s.Spec.Ref.Branch == "" {
		return defaultBranch
	}
	return s.Spec.Ref.Branch
}

// maxLabel is the longest that the value of a label may be.
const maxLabel = 63

// LabelIn is the value of SourceLabel on the source's releases in a namespace: its name, with its
// own namespace in front where that is another. Names can't have underscores, so the two can't be
// mistaken for each other.
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
