package mover

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/order"
)

// Mover is a workload with its pods as they were seen, and knows how they move.
type Mover interface {
	// Native says how the workload stands to its native controller.
	Native() Native
	// Bounds makes pods of maxSurge and maxUnavailable, each nil for the default of the kind, as the
	// native controller does.
	Bounds(surge, unavailable *intstr.IntOrString, replicas int32) Bounds
	// Count counts the pods. The digest tells which version is the updated one.
	Count(digest string) Counts
	// Has reports whether the cluster still has the template of a revision.
	Has(revision string) bool
	// Serving returns the revision that serves beside the version with this digest: the one that is
	// given or, where that has no pods, the one that most of the other pods have.
	Serving(digest, revision string) string
	// Runs returns how many pods of a revision there are that are not being deleted.
	Runs(revision string) int32
	// Make returns what must be written before there can be updated pods; nil if nothing.
	Make(Task) Write
	// Move takes the pods nearer to the target of a task, and to the rest of spec.replicas in other
	// versions.
	Move(Task) Moves
	// Keep follows spec.replicas and otherwise leaves the pods as they are: the release is stopped, or
	// has failed.
	Keep(Task) Moves
	// Now moves nothing. It says in which order pods would go.
	Now(Task) Moves
	// MayAct reports whether the native controller may still act on what the workload was before, so
	// that no pod is to be moved. It has not seen the latest changes of the workload, as many as behind
	// says.
	MayAct(digest string, replicas int32, behind int64) bool
	// Prepare returns what must be written before the release of another template may begin on a
	// workload that is held, and what that has to wait for besides; empty if for nothing.
	Prepare(Beginning) ([]Write, v1alpha1.Awaited)
	// Finish returns what must be written before the workload, whose pods are all updated, is handed
	// back.
	Finish(digest string) []Write
	// Restore gives pods back what an Order wrote to them; nil if there is nothing.
	Restore([]order.Pod) Write
	// Give returns what must be written before the workload, held or not, is given the template of this
	// digest.
	Give(digest string) []Write
	// Clear takes all pods away.
	Clear(Task) []Write
	// Refill returns what the stable revision needs to serve the pods of a workload that is, or was,
	// scaled to 0 and has its template meanwhile (Native.EmptyTakesTemplate); nil if nothing, or
	// nothing that there is room for yet.
	Refill(Beginning) Write
	// Refilled reports whether the pods that such a workload was scaled to are, or will be, of the
	// stable revision, whatever template it gets.
	Refilled(stable string, behind int64) bool
}

// Native says how a workload stands to its native controller.
type Native struct {
	// Secured says that the native controller is kept from rolling the workload.
	Secured bool
	// Unsecured is how somebody let it loose, as the reason of the condition Drifted. It counts for a
	// workload that was secured.
	Unsecured string
	// Free says that nothing restrains the native controller: a user has taken the workload back.
	Free bool
	// Ours says that the strategy is the one with which a workload is held. Its user may have chosen
	// the same.
	Ours bool
	// Opened says that the strategy may be one with which Sluice has pods of a workload that is held
	// updated: only the hold tells.
	Opened bool
	// Own holds the values that the workload would get back, if it were taken over as it is.
	Own v1alpha1.HeldWorkload
	// Contained says that the native controller replaces no pod for a new template: the Deployment is
	// paused, the StatefulSet has the partition with which it is held, or the DaemonSet has OnDelete.
	Contained bool
	// OnDelete says that the native controller updates no pod until somebody deletes it, and Partition
	// below which ordinal it updates none. They count for a workload that is not held.
	OnDelete  bool
	Partition int32
	// Stale says that a pod that is lost would come back in a version before the one that all pods run.
	// The native controller changes that as soon as the workload is held with the template that it has
	// (S10).
	Stale bool
	// InPlaces says that pods go by their places, whatever version they have, and that one which is
	// lost in a rollback may come back in the version that is rolled back: a rollback is finished
	// before another version begins.
	InPlaces bool
	// OneVersion says that, by the workload's strategy, two versions never run at once.
	OneVersion bool
	// EmptyTakesTemplate says that the workload, when it is scaled up from 0, gets pods of the template
	// that it has, whatever was approved.
	EmptyTakesTemplate bool
	// LostTakesTemplate says so of a pod that is lost, and of one on a new node.
	LostTakesTemplate bool
}

// Bounds are how far the pods may stray from spec.replicas: Surge beyond, Unavailable short of it.
type Bounds struct{ Surge, Unavailable int32 }

// Counts are the pods of a workload by version.
type Counts struct {
	// Updated counts the version that is released, and Others all other versions.
	Updated, Others Count
	// All counts all versions, with pods that are being deleted.
	All Count
	// Settled says that there are no pods beyond those that are wanted: people find exactly as many.
	Settled bool
	// Unseen says that the native controller has not seen the template of the workload.
	Unseen bool
	// Leaving says that what the updated pods were in is being deleted. Until it is gone they have no
	// place.
	Leaving bool
	// Self says that the native controller may itself change the number of pods, so that the known
	// number may be outdated.
	Self bool
	// Final says that updated pods stay updated, however they came to be: only a rollback takes them
	// back.
	Final bool
	// Uncounted says that nobody counts the pods that are terminating.
	Uncounted bool
	// Failure to make or delete pods; nil if there is none.
	Failure *Failure
}

// Count is of pods of one version, or several.
type Count struct {
	// Known says that there is something for such pods to be in.
	Known bool
	// Wanted is how many there are to be, Current how many there are, and Most how many there may be
	// until it is as wanted.
	Wanted, Current, Most int32
	// Ready and Available are of those there are. Staying are the available ones less those that are to
	// go, and StayingReady the ready ones less those.
	Ready, Available, Staying, StayingReady int32
	// Observed says that the numbers are about the present wish. Parts that want no pods count as
	// observed in All.
	Observed bool
}

// And adds up two counts.
func (c Count) And(more Count) Count {
	return Count{
		Known: c.Known || more.Known, Observed: c.Observed && more.Observed,
		Wanted: c.Wanted + more.Wanted, Current: c.Current + more.Current, Most: c.Most + more.Most,
		Ready: c.Ready + more.Ready, Available: c.Available + more.Available,
		Staying: c.Staying + more.Staying, StayingReady: c.StayingReady + more.StayingReady,
	}
}

// Failure holds the native controllers' reason why they can't make or delete pods.
type Failure struct {
	Reason, Message string
	// Since is when it began.
	Since time.Time
}

// Beginning is the start of the release of another template, or that of the stable revision in a
// workload that was scaled to 0.
type Beginning struct {
	// Template is the digest of the new template, and Digest that of the workload's.
	Template, Digest string
	// Stable is the revision to go back to, and AtHand says that the workload has its template.
	Stable string
	AtHand bool
	// Left is the revision that is being rolled back; empty if none is.
	Left string
	// Replicas is spec.replicas.
	Replicas int32
	Bounds
	Mode
}

// Write is one write to what the pods of a workload are in, or to the pods. Each kind has writes of
// its own, which its shell carries out.
type Write interface {
	// String is what is done.
	fmt.Stringer
	// Name returns what is written. Writes of one name are refused for the same reason: it has no
	// numbers.
	Name() Name
	// Reason returns why it is done.
	Reason() Why
	// Updates reports whether it changes how many updated pods there are.
	Updates() bool
}

// Name tells a write from others.
type Name struct {
	// Key is compared, and kept in the status.
	Key string
	// Words say it to people, and follow "to".
	Words string
}

// Why is the reason for a Write.
type Why int

// The reasons.
const (
	// Forward is towards the target.
	Forward Why = iota
	// BackToTarget undoes what went beyond it, or makes up for pods that are missing.
	BackToTarget
	// FewerReplicas and MoreReplicas follow spec.replicas.
	FewerReplicas
	MoreReplicas
	// KeepOthers keeps the native controller from emptying other versions.
	KeepOthers
	// KeepOthersAtStart does so before a release begins.
	KeepOthersAtStart
	// FinishScaling keeps the native controller from waiting for the end of a scaling that is over.
	FinishScaling
	// Beside gives the stable version a pod, so that the new version is never alone.
	Beside
	// StableGone makes what the stable pods were in again.
	StableGone
	// Cleared takes all pods away: spec.replicas is 0.
	Cleared
	// PutInOrder writes to pods which of them go first, and Restored takes that away.
	PutInOrder
	Restored
)
