package plan

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/order"
	"github.com/sluice-dev/sluice/rollout/preflight"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// Observation is everything that a decision depends on.
type Observation struct {
	Now time.Time
	// Release is the object; its status is the last one written, or a user's patch of that.
	Release *v1alpha1.BatchRelease
	// Given is the digest of Release.Spec.Template as given; empty if there is none.
	Given string
	// Workload is nil if it does not exist.
	Workload *Workload
	// Gates include those of earlier attempts.
	Gates []v1alpha1.Gate
	// Refusals are the refused writes that this process knows of.
	Refusals Refusals
	// Watched is how long this process has watched the release wait for what its status says.
	Watched Watched
	// PodLook is after how long updated pods that are not available are read, the first time at
	// most slowestLook; 0 is never. PodLooks is the one of the plan before.
	PodLook  time.Duration
	PodLooks PodLooks
	// LastScale is when this process last changed how many pods a version of this workload has,
	// before this pass; zero if it has not.
	LastScale time.Time
	// NativeSince is when this process first saw that the native controller had seen the latest
	// change of the workload; zero if it has not seen that.
	NativeSince time.Time
	// Begun marks a pass that has begun the attempt of Release: the stored status is about another
	// one.
	Begun bool
	// Wrote marks a process that has written the status of the release: it knows what the process
	// before it had.
	Wrote bool
	Facts
}

// Workload is the Deployment, StatefulSet or DaemonSet whose pods a release moves.
type Workload struct {
	UID  types.UID
	Name string
	// Behind is how many of the latest changes of its spec the native controller has not seen
	// (generation - status.observedGeneration). Until it has, it may act on an earlier one.
	Behind   int64
	Deleting bool
	Replicas int32
	// MaxSurge and MaxUnavailable are the workload's, or of what it gets back if it is taken over;
	// nil if its strategy has none.
	MaxSurge, MaxUnavailable *intstr.IntOrString
	ProgressDeadlineSeconds  *int32
	// Digest and Revision are the digest and the pod template hash of spec.template.
	Digest, Revision string
	// Images lists the images of the containers of spec.template.
	Images []string
	// ChangedBy names the other writer that changed the workload since it was taken over, and
	// when; empty if unknown.
	ChangedBy string
	// Hold is the hold annotation; nil if the workload is free.
	Hold *Hold
	// Follower names the release that follows the workload; empty if none does. Waiting marks a
	// template that others have applied to it since Sluice last wrote it.
	Follower string
	Waiting  bool
	// Guarded says that an admission policy acts on the label of a followed workload, as of the last
	// write of this controller.
	Guarded bool
	// Mover is the workload with its pods as its kind has them; never nil.
	Mover mover.Mover
}

// Member is a release of a train.
type Member struct {
	Release *v1alpha1.BatchRelease
	// Given is the digest of its spec.template as given.
	Given string
}

// Sibling is another release of the same workload.
type Sibling struct {
	Name    string
	Created time.Time
}

// Hold is the value of the annotation on a workload that is taken over, as JSON.
type Hold struct {
	Release string    `json:"release"`
	UID     types.UID `json:"uid"`
	// Stable is the revision that the workload goes back to if the release is gone and the
	// workload still held; empty if it keeps what it has. In a rollback it is the target.
	Stable string `json:"stable,omitempty"`
	// Emptied marks a workload that has the stable template because it was scaled to 0.
	Emptied bool `json:"emptied,omitempty"`
	// Window is the partition of a StatefulSet, as text, while pods from it on are replaced; empty
	// while none are.
	Window string `json:"window,omitempty"`
	// Change is the external change that is not acknowledged.
	Change ExternalChange `json:"meddling,omitzero"`
	// Foreign is the revision of the last template that another writer gave the workload. Its pods
	// are replaced first.
	Foreign string `json:"foreign,omitempty"`
	v1alpha1.HeldWorkload
}

// Resolved is the API server's answer to a dry run of a template.
type Resolved struct {
	v1alpha1.ResolvedTemplate
	// Refused is the API server's reason for not accepting the template; empty if it does.
	Refused string
	// Overlooked describes the difference to the workload's template if it is only in fields that
	// we can't compare; empty otherwise.
	Overlooked string
}

// Shape describes the needs of a release in its namespace.
type Shape struct {
	Template Template
	// Replicas are the pods; Surge and Unavailable are how many there may be beyond, or fewer.
	Replicas, Surge, Unavailable int32
	// NewVersion marks a version that has no place for its pods yet.
	NewVersion bool
	// Shared marks requests that routes share between two versions.
	Shared bool
}

// Drift is the difference between the workload's template and a released one.
type Drift struct {
	// Digest is that of the released template, with the API server's defaults of today.
	Digest string
	// Fields name what differs; empty if nothing that counts does.
	Fields []string
}

// heldBy reports whether the workload is held by this release, or by an earlier object of its name.
func (w *Workload) heldBy(release *v1alpha1.BatchRelease) bool {
	return w.Hold != nil && (w.Hold.UID == release.UID || w.Hold.Release == release.Name)
}

// native returns how the workload stands to its native controller.
func (w *Workload) native() mover.Native { return w.Mover.Native() }

// secured reports whether the native controller is kept from rolling the workload.
func (w *Workload) secured() bool { return w.native().Secured }

// DefaultProgressDeadline is the progress deadline of a workload without one.
const DefaultProgressDeadline = 600 * time.Second

// Facts are passed on by a shell as it has read them. To observe something new takes a field here
// and, in each shell, the function that reads it: a live read is one of Reads, the answer to a
// question one of Needs.
type Facts struct {
	// Live holds the reads that were made live, or answered to a write, in this pass.
	Live Reads
	// Siblings are the other releases that name the workload, except deleted ones.
	Siblings []Sibling
	// Kept are the templates that are kept to roll back to.
	Kept []Kept
	// Pods are the workload's that are not going away; none before ReadPods.
	Pods []order.Pod
	// Failing describes the problems of the updated pods; empty before ReadFailing.
	Failing string
	// Trouble is the problem of updated pods; nil before ReadTrouble, and if it could not be read.
	Trouble *Trouble
	// Train is the train of a member; nil if the release is in none, or its train does not exist.
	Train *v1alpha1.BatchRelease
	// Members are the releases that spec.memberTemplates of a train names, except missing ones.
	Members []Member
	// Traffic holds the routes and Services of the release; nil if it has no traffic.
	Traffic *traffic.Seen
	// Resolved is the answer to Needs.Resolve, Drift to Needs.Drift and Preflight to
	// Needs.Preflight; nil if it was not requested.
	Resolved  *Resolved
	Drift     *Drift
	Preflight *preflight.Findings
}

// Reads is a set of what can be read live, past the caches.
type Reads uint16

// The reads.
const (
	// ReadRelease and ReadWorkload read the objects themselves.
	ReadRelease Reads = 1 << iota
	ReadWorkload
	// ReadCounts counts the pods of the workload by version, of all versions that there are.
	ReadCounts
	// ReadPods lists the pods one by one.
	ReadPods
	ReadGates
	ReadKept
	// ReadFailing finds out what is wrong with the updated pods.
	ReadFailing
	// ReadTrouble is as ReadFailing, for people alone: it may find out nothing.
	ReadTrouble
	// ReadTrain reads the train of a member, and ReadMembers the members of a train.
	ReadTrain
	ReadMembers
)

// Has reports whether all of some reads are in the set.
func (r Reads) Has(all Reads) bool { return r&all == all }

// Needs must be observed before the planner is asked again.
type Needs struct {
	Reads
	// Resolve asks for the API server's answer to a template.
	Resolve *Template
	// Drift asks how the workload's template differs from this one.
	Drift *Template
	// Preflight asks what in the namespace conflicts with a release.
	Preflight *Shape
}

// Any reports whether anything is needed.
func (n Needs) Any() bool { return n != Needs{} }

// and returns the needs of both.
func (n Needs) and(more Needs) Needs {
	return Needs{
		Reads: n.Reads | more.Reads, Resolve: cmp.Or(n.Resolve, more.Resolve), Drift: cmp.Or(n.Drift, more.Drift),
		Preflight: cmp.Or(n.Preflight, more.Preflight),
	}
}
