package plan

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// Observation is everything that a decision depends on.
type Observation struct {
	Now time.Time
	// Release is the object itself; its status is what the last pass wrote, or a user's patch of it.
	Release *v1alpha1.BatchRelease
	// Given is the digest of Release.Spec.Template as given, empty if there is none.
	Given string
	// Workload is nil if it does not exist.
	Workload *Workload
	// Gates are those of this release, of any attempt.
	Gates []v1alpha1.Gate
	// Refusals are the writes of this process that were refused.
	Refusals Refusals
	// Watched is how long this process has watched the release wait for what its status says that it waits for.
	Watched Watched
	// PodLook is after how long updated pods that are not available are read, at the latest after slowestLook the first time; 0 is never. PodLooks is what the plan before said of that.
	PodLook  time.Duration
	PodLooks PodLooks
	// LastScale is when this process last changed how many pods a version of this workload has, not counting this pass; zero if
	// it has not.
	LastScale time.Time
	// NativeSince is when this process first saw that the native controller had seen the latest change of the workload; zero if it
	// has not seen that.
	NativeSince time.Time
	// Begun says that this pass has begun the attempt of Release: what is stored tells of another yet.
	Begun bool
	// Wrote says that this process has written the status of the release: it knows what the process before this one has.
	Wrote bool
	Facts
}

// Workload is what a release moves the pods of.
type Workload struct {
	UID  types.UID
	Name string
	// Behind is how many of the latest changes of its spec the native controller has not seen
	// (generation - status.observedGeneration). Until it has, it may act on an earlier one.
	Behind   int64
	Deleting bool
	Replicas int32
	// MaxSurge and MaxUnavailable are those of the workload, of what it gets back if it is
	// taken over; nil where its strategy has none.
	MaxSurge, MaxUnavailable *intstr.IntOrString
	ProgressDeadlineSeconds  *int32
	// Digest and Revision are the digest and the pod template hash of spec.template.
	Digest, Revision string
	// Images lists the images of the containers of spec.template.
	Images []string
	// ChangedBy is who else has changed the workload since it was taken over, and when; empty if that
	// is unknown.
	ChangedBy string
	// Hold is the hold annotation; nil if the workload is nobody's.
	Hold *Hold
	// Mover is the workload with its pods as its kind has them; never nil.
	Mover mover.Mover
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
	// Stable is the revision that the workload goes back to if the release is gone and the workload
	// still held; empty if it keeps what it has. In a rollback it is the one that is rolled back to.
	Stable string `json:"stable,omitempty"`
	// Emptied says that the workload has the stable template because it was scaled to 0.
	Emptied bool `json:"emptied,omitempty"`
	// Window is the partition of a StatefulSet, as text, while pods from it on are replaced; empty while none are.
	Window string `json:"window,omitempty"`
	// Change is what somebody else changed meanwhile, as long as nobody has acknowledged it.
	Change ExternalChange `json:"meddling,omitzero"`
	// Foreign is the revision of the last template that somebody else gave the workload meanwhile. Pods of it are replaced first.
	Foreign string `json:"foreign,omitempty"`
	v1alpha1.HeldWorkload
}

// Resolved is what the API server makes of a template.
type Resolved struct {
	v1alpha1.ResolvedTemplate
	// Refused is why the API server does not accept the template; empty if it does.
	Refused string
	// Overlooked is how the template differs from the workload's in fields alone that we can't compare; empty
	// if it does not.
	Overlooked string
}

// Shape is what a release needs from its namespace.
type Shape struct {
	Template Template
	// Replicas are the pods; Surge and Unavailable, how many there may be beyond, or fewer.
	Replicas, Surge, Unavailable int32
	// NewVersion says that there is nothing yet for updated pods to be in.
	NewVersion bool
	// Shared says that routes share requests between two versions.
	Shared bool
}

// Drift is how the workload's template differs from one that was released.
type Drift struct {
	// Digest is that of the released template, with the API server's defaults of today.
	Digest string
	// Fields name what differs; there are none if it is nothing that counts.
	Fields []string
}

// heldBy reports whether the workload is held by this release, or by an earlier object of its name.
func (w *Workload) heldBy(release *v1alpha1.BatchRelease) bool {
	return w.Hold != nil && (w.Hold.UID == release.UID || w.Hold.Release == release.Name)
}

// native is how the workload stands to its native controller.
func (w *Workload) native() mover.Native { return w.Mover.Native() }

// secured reports whether the native controller is kept from rolling the workload.
func (w *Workload) secured() bool { return w.native().Secured }

// DefaultProgressDeadline is what a workload has by default.
const DefaultProgressDeadline = 600 * time.Second
