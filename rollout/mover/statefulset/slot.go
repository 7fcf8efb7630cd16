package statefulset

import "github.com/sluice-dev/sluice/rollout/mover/inplace"

// maxSlots is more pods than a cluster runs. Of a StatefulSet that asks for more nobody lists each.
const maxSlots = 1 << 17

// slot is the place of a pod: an ordinal that spec.replicas asks for.
type slot struct {
	// pod is nil if there is none.
	pod *inplace.Pod
	// updated says that it has, or will have, a pod of the update revision.
	updated bool
}

// stands reports whether there is a pod that is not going away.
func (s slot) stands() bool { return s.pod != nil && !s.pod.Terminating }

// missing reports whether there is no pod, or one that is going away.
func missing(s slot) bool { return !s.stands() }

// available reports whether the pod serves.
func (s slot) available() bool { return s.stands() && s.pod.Available }

// listed reports whether the pods say what there is.
func (m Mover) listed() bool { return m.Listed && m.Replicas <= maxSlots }

// slots returns the places that spec.replicas asks for, by their index.
func (m Mover) slots() []slot {
	slots := make([]slot, m.Replicas)
	for i := range m.Pods {
		if pod := &m.Pods[i]; m.inside(pod) {
			slots[pod.Index].pod = pod
		}
	}
	for i := range slots {
		s := &slots[i]
		if s.stands() {
			s.updated = s.pod.Revision == m.Update
		} else {
			s.updated = m.returnsUpdated(int32(i))
		}
	}
	return slots
}

// inside reports whether spec.replicas asks for the pod.
func (m Mover) inside(pod *inplace.Pod) bool { return pod.Index >= 0 && pod.Index < m.Replicas }

// returnsUpdated reports whether the native controller makes a missing pod of the update revision
// (S1).
func (m Mover) returnsUpdated(index int32) bool {
	return m.oneRevision() || index >= m.partition()
}

// oneRevision reports whether pods come back updated wherever they are: below the partition too
// (S5, S6).
func (m Mover) oneRevision() bool { return m.Current == m.Update }

// closed reports whether the native controller updates no pod.
func (m Mover) closed() bool {
	return m.oneRevision() || m.RollingUpdate && m.Partition == inplace.Held
}
