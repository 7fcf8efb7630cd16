package story

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Kind is what happened.
type Kind string

// What happens to a release, in about the order in which it does.
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
	// ApprovalRefused: an approval was given that does not count.
	ApprovalRefused Kind = "ApprovalRefused"
	// ReleaseStopped and ReleaseResumed: the release does not advance until somebody acts, and advances again.
	ReleaseStopped Kind = "ReleaseStopped"
	ReleaseResumed Kind = "ReleaseResumed"
	// ReleaseFailed: the release made no progress within its deadline.
	ReleaseFailed Kind = "ReleaseFailed"
	// ReleaseCompleted: all pods run what was released, and nothing was rolled back.
	ReleaseCompleted Kind = "ReleaseCompleted"
	// ReleaseAdopted: the workload runs the template, and Sluice has moved no pods for that: it ran it already, or its own rolling update
	// has brought it. It is the only fact of such a release.
	ReleaseAdopted Kind = "ReleaseAdopted"
	// ReleaseSuperseded: another template took the place of the one that was being released.
	ReleaseSuperseded Kind = "ReleaseSuperseded"
	// JumpedBack: somebody has taken the release back to an earlier batch, which is another attempt at the same release.
	JumpedBack Kind = "JumpedBack"
	// RollbackStarted: the release goes back to an earlier template.
	RollbackStarted Kind = "RollbackStarted"
	// RolledBack: all pods run the earlier template.
	RolledBack Kind = "RolledBack"
	// Drifted: somebody has changed what was released.
	Drifted Kind = "Drifted"
	// ReleaseDeleted: the object of a release in progress is gone.
	ReleaseDeleted Kind = "ReleaseDeleted"
)

// Fact is something that happened to a release. Texts in it come from Git, the forge and people: whoever tells it makes
// them fit.
type Fact struct {
	Kind Kind
	// Release is the name of the BatchRelease, UID its identity, Attempt counts what it has released.
	Release types.NamespacedName
	UID     types.UID
	Attempt int64
	// Workload is what is released.
	Workload v1alpha1.WorkloadReference
	// Revision is the pod template hash that is released, or rolled back to; From the one that a rollback leaves.
	Revision, From string
	// Commit brought what is released; of a rollback, it is the one that is rolled back from. Author and Subject are what it says of itself.
	Commit, Author, Subject string
	// CommittedAt is when the commit was made, by its own account; zero where that is not known.
	CommittedAt time.Time
	// Batch counts from 1; 0 where the fact is of no batch. Batches is how many there are.
	Batch, Batches int
	// Gate is what was decided, of facts about gates.
	Gate *Gate
	// Failed says, where a release was superseded or a rollback began, that the release which it leaves had failed.
	Failed bool
	// Trigger is what began a rollback; of all facts of a rollback.
	Trigger v1alpha1.RollbackTrigger
	// StoppedBy and StalledBy are why the release does not advance.
	StoppedBy v1alpha1.StopCause
	StalledBy v1alpha1.StallCause
	// Message is a sentence for people; it decides nothing.
	Message string
	// Since is when what has ended here began: the batch, the wait at a gate, the release, of the begin of a rollback the release that
	// it leaves; zero where that is not known.
	Since time.Time
	// Time is when it happened.
	Time time.Time
}

// Gate is the gate of a fact.
type Gate struct {
	Name string
	UID  types.UID
	Type v1alpha1.GateType
	// By is who decided it, where that is known; Forced says that its policy was overridden.
	By     string
	Forced bool
	// URL is the pull request, status or check, for people.
	URL string
}

// ID tells a fact from all others, whichever process tells it.
func (f *Fact) ID() string {
	id := fmt.Sprintf("%s/%d/%s/%d", f.UID, f.Attempt, f.Kind, f.Batch)
	if f.Gate != nil {
		id += "/" + string(f.Gate.UID)
	}
	return id
}

// Took is how long what has ended here took; 0 where that is not known.
func (f *Fact) Took() time.Duration {
	if f.Since.IsZero() || f.Time.Before(f.Since) {
		return 0
	}
	return f.Time.Sub(f.Since)
}
