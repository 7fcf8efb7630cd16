package deployment

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// Set is a ReplicaSet of the Deployment.
type Set struct {
	Name string
	UID  types.UID
	// Live says that it was read live, or answered to a write, in this pass.
	Live     bool
	Deleting bool
	// Digest is the digest of its template, the pod-template-hash label aside.
	Digest string
	// Revision is its pod-template-hash label.
	Revision string
	Created  time.Time
	// Replicas is spec.replicas.
	Replicas int32
	// Observed says that its status is about its current spec.
	Observed bool
	// Noted says that it bears the native controller's note of the replicas it was scaled for, which
	// makes a new set that has them all a reason to empty the old ones (T2). A scale takes it off.
	Noted bool
	// Failure of its controller to make or delete pods, for want of quota for example; nil if there is
	// none.
	Failure *mover.Failure
	// Current, Ready and Available are status.replicas, readyReplicas and availableReplicas.
	Current, Ready, Available int32
	// Terminating is status.terminatingReplicas, the pods that are going away, which Current does not
	// count; nil if the cluster does not tell (Kubernetes before 1.35).
	Terminating *int32
}

// shrinking reports whether pods are still to go that the status may count as available:
// once such a set grows again nobody could tell them from new ones.
func (s *Set) shrinking() bool { return s.Current > s.Replicas }

// New returns the ReplicaSet that is the new one to the native controller (FindNewReplicaSet): the
// oldest of the Deployment's template, nil if there is none. It may be one that is being deleted.
func New(sets []Set, digest string) *Set {
	return oldest(sets, func(s *Set) bool { return s.Digest == digest })
}

// updated returns the ReplicaSet whose pods are the updated ones: the oldest of the Deployment's
// template that is not being deleted, nil if there is none.
func updated(sets []Set, digest string) *Set {
	return oldest(sets, func(s *Set) bool { return s.Digest == digest && !s.Deleting })
}

// old returns all the others that are not being deleted, the oldest first.
func old(sets []Set, digest string) []*Set {
	updated := updated(sets, digest)
	var old []*Set
	for i := range sets {
		if set := &sets[i]; set != updated && !set.Deleting {
			old = append(old, set)
		}
	}
	slices.SortFunc(old, func(a, b *Set) int {
		if older(a, b) {
			return -1
		}
		return 1
	})
	return old
}

// older orders ReplicaSets by creation, then by name.
func older(a, b *Set) bool {
	if !a.Created.Equal(b.Created) {
		return a.Created.Before(b.Created)
	}
	return a.Name < b.Name
}

func oldest(sets []Set, counts func(*Set) bool) *Set {
	var found *Set
	for i := range sets {
		if set := &sets[i]; counts(set) && (found == nil || older(set, found)) {
			found = set
		}
	}
	return found
}

// active counts the ReplicaSets that are to have pods.
func active(sets []Set) int {
	n := 0
	for i := range sets {
		if sets[i].Replicas > 0 {
			n++
		}
	}
	return n
}

// lone returns the only ReplicaSet that is to have pods; nil if there is none, or more than one.
func lone(sets []Set) *Set {
	i := slices.IndexFunc(sets, func(s Set) bool { return s.Replicas > 0 })
	if i < 0 || active(sets) > 1 {
		return nil
	}
	return &sets[i]
}

// newestFailure returns the one that began last; of two, that of the newer ReplicaSet. It is nil if
// there is none.
func newestFailure(sets []Set) *mover.Failure {
	var newest *Set
	for i := range sets {
		set := &sets[i]
		if set.Failure == nil {
			continue
		}
		if newest == nil || set.Failure.Since.After(newest.Failure.Since) ||
			set.Failure.Since.Equal(newest.Failure.Since) && older(newest, set) {
			newest = set
		}
	}
	if newest == nil {
		return nil
	}
	return newest.Failure
}
