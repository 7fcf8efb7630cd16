package story

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Kind is the kind of a fact.
type Kind string

// What happens to a release, roughly in order.
const (
	// ReleaseStarted: a new template is being released, or rolled back to.
	ReleaseStarted Kind = "ReleaseStarted"
	// BatchStarted: a batch was entered.
	BatchStarted Kind = "BatchStarted"
	// BatchDone: all pods of a batch are available, and get their requests.
	BatchDone Kind = "BatchDone"
	// GateOpened: a batch waits for a gate.
	GateOpened Kind = "GateOpened"
	// GatePassed and GateRejected: a gate was decided.
	GatePassed   Kind = "GatePassed"
	GateRejected Kind = "GateRejected"
	// GateUndecided: metrics can't decide a gate, and an approver does.
	GateUndecided Kind = "GateUndecided"
	// ApprovalRefused: an approval was given that does not count.
	ApprovalRefused Kind = "ApprovalRefused"
	// ReleaseStopped and ReleaseResumed: the release does not advance until somebody acts, and advances
	// again.
	ReleaseStopped Kind = "ReleaseStopped"
	ReleaseResumed Kind = "ReleaseResumed"
	// ReleaseFailed: the release made no progress within its deadline.
	ReleaseFailed Kind = "ReleaseFailed"
	// ReleaseCompleted: all pods run what was released, and nothing was rolled back.
	ReleaseCompleted Kind = "ReleaseCompleted"
	// ReleaseAdopted: the workload runs the template, and Sluice moved no pods: the workload ran it
	// already, or its own rolling update brought it. It is the only fact of such a release.
	ReleaseAdopted Kind = "ReleaseAdopted"
	// ReleaseSuperseded: another template superseded the one in progress.
	ReleaseSuperseded Kind = "ReleaseSuperseded"
	// JumpedBack: the release jumped back to an earlier batch, which is another attempt at the same
	// release.
	JumpedBack Kind = "JumpedBack"
	// RollbackStarted: the release goes back to an earlier template.
	RollbackStarted Kind = "RollbackStarted"
	// RolledBack: all pods run the earlier template.
	RolledBack Kind = "RolledBack"
	// Drifted: the released fields were changed.
	Drifted Kind = "Drifted"
	// ReleaseDeleted: the object of a release in progress is gone.
	ReleaseDeleted Kind = "ReleaseDeleted"
)

// Fact is something that happened to a release. Its texts come from Git, the forge and people: each
// Teller has to bound and escape them.
type Fact struct {
	Kind Kind
	// Release is the name of the BatchRelease, UID its identity, Attempt counts what it has released.
	Release types.NamespacedName
	UID     types.UID
	Attempt int64
	// Train is the name of the release's train; empty if it has none.
	Train string
	// Workload is the released workload, none of a train.
	Workload v1alpha1.WorkloadReference
	// Revision is the pod template hash that is released, or rolled back to; From the one that a
	// rollback leaves.
	Revision, From string
	// Commit is the released commit; in a rollback, the one that is rolled back. Author and Subject
	// are the commit's own.
	Commit, Author, Subject string
	// CommittedAt is when the commit was made, as its committer claims; zero if that is not known.
	CommittedAt time.Time
	// Batch counts from 1; 0 if the fact is not about a batch. Batches is the number of batches.
	Batch, Batches int
	// Gate is the gate, in facts about gates.
	Gate *Gate
	// Failed says that the release before had failed, when it was superseded or a rollback began.
	Failed bool
	// Trigger is the cause of the rollback, in all facts about a rollback.
	Trigger v1alpha1.RollbackTrigger
	// StoppedBy and StalledBy are the causes that stop or stall the release.
	StoppedBy v1alpha1.StopCause
	StalledBy v1alpha1.StallCause
	// Message is a sentence for people; it decides nothing.
	Message string
	// Since is the beginning of what ended: of the batch, the wait at a gate or the release; when a
	// rollback begins, of the release that it rolls back. It is zero if that is not known.
	Since time.Time
	// Time is when it happened.
	Time time.Time
}

// Gate is the gate of a fact.
type Gate struct {
	Name string
	UID  types.UID
	Type v1alpha1.GateType
	// By names the user who decided the gate, if known; Forced means that its policy was overridden.
	By     string
	Forced bool
	// URL is the pull request, status or check, for people.
	URL string
}

// ID identifies a fact: every process gives the same fact the same ID.
func (f *Fact) ID() string {
	id := fmt.Sprintf("%s/%d/%s/%d", f.UID, f.Attempt, f.Kind, f.Batch)
	if f.Gate != nil {
		id += "/" + string(f.Gate.UID)
	}
	return id
}

// Own reports whether a fact is about the release alone. A train tells what its members do in a
// run: a commit that changes a hundred of them is one release.
func (f *Fact) Own() bool {
	if f.Train == "" {
		return true
	}
	switch f.Trigger {
	case v1alpha1.TriggerAnnotation, v1alpha1.TriggerDrift, v1alpha1.TriggerHistory:
		return true
	case v1alpha1.TriggerGitRevert, v1alpha1.TriggerDeadline, v1alpha1.TriggerGateRejected, v1alpha1.TriggerTrain, v1alpha1.TriggerMember:
	}
	switch f.Kind {
	case ReleaseStopped:
		return f.StalledBy != "" || f.StoppedBy != "" && !f.StoppedBy.OfRun()
	case Drifted, ReleaseDeleted:
		return true
	default:
		return false
	}
}

// Took returns the time from Since to Time; 0 if that is not known.
func (f *Fact) Took() time.Duration {
	if f.Since.IsZero() || f.Time.Before(f.Since) {
		return 0
	}
	return f.Time.Sub(f.Since)
}
