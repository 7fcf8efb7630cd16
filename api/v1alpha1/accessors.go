package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
)

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

// CanSkip reports whether a jump goes over the gate.
func (p GatePolicy) CanSkip() bool { return p.Skippable || p.Manual != nil }

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
