package statefulset

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// native is the StatefulSet controller, as updateStatefulSet of Kubernetes has it: no volumes, no
// adoption, and ready is available.
type native struct {
	// spec is the API server's object, and seen the controller's cached one.
	spec, seen spec
	observed   int64
	// current and update are the revisions of the status.
	current, update string
	pods            []inplace.Pod
	made            int
	ordered         bool
	// atOnce is maxUnavailable with the feature gate MaxUnavailableStatefulSet; 0 without it.
	atOnce int32
	// deletes is called for a pod that the controller is about to delete to update it, and creates
	// for one that it has made.
	deletes, creates func(inplace.Pod)
}

type spec struct {
	generation int64
	replicas   int32
	// partition is inplace.Anywhere for the strategy OnDelete.
	partition int32
	template  string
}

// write changes the spec.
func (n *native) write(change func(*spec)) {
	change(&n.spec)
	n.spec.generation++
}

// at returns the pod of an ordinal; nil if there is none.
func (n *native) at(index int32) *inplace.Pod {
	i := slices.IndexFunc(n.pods, func(p inplace.Pod) bool { return p.Index == index })
	if i < 0 {
		return nil
	}
	return &n.pods[i]
}

func (n *native) create(index int32, revision string) {
	n.made++
	n.pods = append(n.pods, inplace.Pod{
		Name: fmt.Sprintf("db-%d", index), UID: types.UID(fmt.Sprintf("pod-%d", n.made)), Index: index, Revision: revision,
	})
}

// finish lets a pod end that is going away.
func (n *native) finish(uid types.UID) {
	n.pods = slices.DeleteFunc(n.pods, func(p inplace.Pod) bool { return p.UID == uid && p.Terminating })
}

func unavailable(p *inplace.Pod) bool { return p == nil || p.Terminating || !p.Available }

// sync mirrors updateStatefulSet with updateStatefulSetStatus.
func (n *native) sync() {
	n.update = n.seen.template // getStatefulSetRevisions: the current revision exists
	updated, ready, all := int32(0), int32(0), int32(len(n.pods))
	for i := range n.pods { // computeReplicaStatus
		if n.pods[i].Ready {
			ready++
		}
		if n.pods[i].Revision == n.update && !n.pods[i].Terminating {
			updated++
		}
	}
	onDelete := n.seen.partition == inplace.Anywhere
	if n.replicas() && n.condemned() && !onDelete {
		n.roll()
	}
	if r := n.seen.replicas; !onDelete && updated == r && ready == r && all == r { // completeRollingUpdate
		n.current = n.update
	}
	n.observed = n.seen.generation
}

// replicas calls processReplica for each. It reports whether the controller continues.
func (n *native) replicas() bool {
	for i := range n.seen.replicas {
		pod := n.at(i)
		if pod == nil {
			revision := n.update
			if i < n.seen.partition { // newVersionedStatefulSetPod
				revision = n.current
			}
			n.create(i, revision)
			n.creates(*n.at(i))
			if n.ordered {
				return false
			}
			continue
		}
		if n.ordered && unavailable(pod) {
			return false
		}
	}
	return true
}

// condemned calls processCondemned for each. It reports whether the controller continues.
func (n *native) condemned() bool {
	var pods []*inplace.Pod
	for i := range n.pods {
		if n.pods[i].Index >= n.seen.replicas {
			pods = append(pods, &n.pods[i])
		}
	}
	slices.SortFunc(pods, func(a, b *inplace.Pod) int { return int(b.Index - a.Index) })
	var first *inplace.Pod // the first unavailable one; in order, all replicas are available
	for _, pod := range pods {
		if unavailable(pod) {
			first = pod
		}
	}
	for _, pod := range pods {
		switch {
		case !n.ordered:
			pod.Terminating, pod.Available = true, false
		case pod.Terminating, unavailable(pod) && pod != first:
			return false
		default:
			pod.Terminating, pod.Available = true, false
			return false
		}
	}
	return true
}

// roll mirrors the end of updateStatefulSet, or updateStatefulSetAfterInvariantEstablished.
func (n *native) roll() {
	room := n.atOnce
	for i := range n.seen.replicas {
		if unavailable(n.at(i)) {
			room--
		}
	}
	for i := n.seen.replicas - 1; i >= 0 && i >= n.seen.partition; i-- {
		pod := n.at(i)
		outdated := pod.Revision != n.update && !pod.Terminating
		switch {
		case n.atOnce > 0 && room <= 0:
			return
		case outdated:
			n.deletes(*pod)
			pod.Terminating, pod.Available = true, false
			room--
			if n.atOnce == 0 {
				return
			}
		case n.atOnce == 0 && unavailable(pod):
			return
		}
	}
}
