package plan

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// Action is one write. The set of actions is closed: Traffic, and the types of this file.
//
//sumtype:decl
type Action interface {
	action()
	// Why returns the reason in one line: the event, the log line and the golden trace.
	Why() string
	// String describes the write, without the reason.
	String() string
}

// Reason is embedded in every action.
type Reason string

// Why returns the reason.
func (r Reason) Why() string { return string(r) }

func (Reason) action() {}

// Annotate changes annotations of the release, and adds or removes its finalizer.
type Annotate struct {
	Reason
	// Set and Remove are annotations.
	Set    map[string]string
	Remove []string
	// Finalizer adds the finalizer if true and removes it if false; nil leaves it as it is.
	Finalizer *bool
}

// RecordRevision records a template as a ControllerRevision.
type RecordRevision struct {
	Reason
	// Template is the workload's current one if nil.
	Template *Template
	// Given is the digest of spec.template for which Template stands: no other is recorded in its
	// place.
	Given string
	// Revision is the pod template hash under which it is kept.
	Revision string
	Digest   string
	Number   int64
	Record   Record
}

// UpdateRevision rewrites the record of a kept template.
type UpdateRevision struct {
	Reason
	// Name of the ControllerRevision.
	Name   string
	Number int64
	Record Record
}

// PruneRevision deletes a ControllerRevision.
type PruneRevision struct {
	Reason
	Name string
}

// Template names a pod template to be written.
type Template struct {
	// Given means the release's spec.template.
	Given bool
	// Revision is, without Given, the pod template hash of a kept template or, if none is kept, of
	// the workload.
	Revision string
}

// TakeOver keeps the native controller from rolling the workload, and writes template and hold, in
// one write.
type TakeOver struct {
	Reason
	// Template is the one to write. If nil, the workload keeps its own, or gets back the one that
	// is released if admission changed it. Digest is the digest that the template is known to
	// result in, and Revision its version, if known.
	Template *Template
	Digest   string
	Revision string
	// AsItIs holds a free workload with its own template, until its native controller has seen
	// that (mover.Native.Stale).
	AsItIs bool
	Hold   Hold
	// PutBack is the external change that this undoes; empty if there is none.
	PutBack string
}

// HandBack gives the workload back to its native controller, as the hold says it was, and removes
// the hold, in one write.
type HandBack struct {
	Reason
	Hold Hold
	// Template is written too if not nil. Digest is the digest that it is known to result in;
	// empty if unknown.
	Template *Template
	Digest   string
	// Unfollow ends that the release follows the workload.
	Unfollow bool
}

// Follow labels the workload as followed by the release. It is refused where no admission policy
// acts on the label.
type Follow struct{ Reason }

// CopyTemplate copies the workload's template, which has this digest, to spec.template.
type CopyTemplate struct {
	Reason
	Digest string
}

// MovePods is a write of the workload's mover.
type MovePods struct {
	Reason
	Write mover.Write
}

// OpenGate creates a Gate; the shell draws the nonce.
type OpenGate struct {
	Reason
	Name string
	Spec v1alpha1.GateSpec
}

// RetryMember lets a member of a train go on that has failed, if it still is as decided on.
type RetryMember struct {
	Reason
	Name, Version string
}

// CloseGate deletes a Gate that no longer counts.
type CloseGate struct {
	Reason
	Name string
}

func (a Annotate) String() string {
	text := "annotate release"
	if a.Finalizer != nil {
		text += fmt.Sprintf(" finalizer=%t", *a.Finalizer)
	}
	for _, key := range sortedKeys(a.Set) {
		text += fmt.Sprintf(" %s=%s", key, a.Set[key])
	}
	for _, key := range a.Remove {
		text += " -" + key
	}
	return text
}

func (a RecordRevision) String() string {
	return fmt.Sprintf("keep template %s (%s)", a.Revision, a.Record.Outcome)
}

func (a UpdateRevision) String() string {
	return fmt.Sprintf("mark template %s (%s)", a.Name, a.Record.Outcome)
}
func (a PruneRevision) String() string { return "forget template " + a.Name }

func (a TakeOver) String() string {
	switch {
	case a.AsItIs:
		return "take over with the template that it has"
	case a.Template == nil:
		return "take over"
	default:
		return "take over with " + a.Template.String()
	}
}

func (a HandBack) String() string {
	if a.Template == nil {
		return "hand back"
	}
	return "hand back with " + a.Template.String()
}

func (Follow) String() string { return "follow the workload" }

func (CopyTemplate) String() string { return "copy the template that was applied to spec.template" }

func (t Template) String() string {
	if t.Given {
		return "the template of the release"
	}
	return "template " + t.Revision
}

func (a MovePods) String() string  { return a.Write.String() }
func (a OpenGate) String() string  { return fmt.Sprintf("open gate %s (%s)", a.Name, a.Spec.Type) }
func (a CloseGate) String() string { return "close gate " + a.Name }

func (a RetryMember) String() string { return "retry member " + a.Name }
