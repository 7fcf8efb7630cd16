package daemonset

import (
	"cmp"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// tally holds the pods of the nodes that are not lost.
type tally struct {
	// others and updated are pods that are not going, by version; going reports whether pods are.
	others, updated []inplace.Place
	going           bool
	// wanted counts the nodes that are to have a pod. Together with misscheduled pods (D6) the status
	// counts them as counted. There are slots: the wanted nodes, or more if more have a pod. In old of
	// the slots, all pods are of other versions.
	wanted, counted, slots, old int32
}

// tally counts the pods. There are updated ones only if the workload has the version with this
// digest, and the native controller has seen that.
func (m Mover) tally(digest string) tally {
	t := tally{wanted: max(m.Replicas, 0), counted: max(m.Replicas+m.Status.Misscheduled, 0)}
	known, beside, old := m.released(digest), m.beside(), map[string]bool{}
	for i := range m.Pods {
		pod := &m.Pods[i]
		p := inplace.Place{Pod: pod, Updated: known && pod.Revision == m.Update, Crowded: beside[nodeOf(pod)] != 1}
		switch {
		case pod.Lost:
		case pod.Terminating:
			t.going = true
		case p.Updated:
			t.updated = append(t.updated, p)
		default:
			t.others = append(t.others, p)
			old[nodeOf(pod)] = true
		}
	}
	for _, p := range t.updated {
		delete(old, nodeOf(p.Pod))
	}
	t.slots, t.old = max(t.counted, int32(len(beside))), int32(len(old))
	return t
}

// beside returns how many pods each node has that are not going: natively one, or two for a moment
// (D7). A vacant node has none.
func (m Mover) beside() map[string]int32 {
	beside := map[string]int32{}
	for _, vacant := range m.Vacant {
		beside[vacant] = 0
	}
	for i := range m.Pods {
		switch pod := &m.Pods[i]; {
		case pod.Lost:
		case pod.Terminating:
			beside[nodeOf(pod)] += 0
		default:
			beside[nodeOf(pod)]++
		}
	}
	return beside
}

// released reports whether the workload has the version with this digest, and the native controller
// has seen that.
func (m Mover) released(digest string) bool {
	return m.Observed && m.Update != "" && digest == m.Digest
}

// comes returns how many nodes have an updated pod, or will: all but those that have another one.
func (t tally) comes() int32 { return t.slots - t.old }

// nodeOf returns the node of a pod. A pod that can't be scheduled has none, and counts as one of
// its own.
func nodeOf(pod *inplace.Pod) string { return cmp.Or(pod.Node, "the place of "+string(pod.UID)) }

// available returns how many nodes have an available pod that stays.
func (t tally) available() int32 { return inplace.Available(t.others) + inplace.Available(t.updated) }

// Count implements mover.Mover. A missing pod comes back in the version of the template.
func (m Mover) Count(digest string) mover.Counts {
	c := mover.Counts{Unseen: !m.Observed, Self: true, Final: true, Failure: m.failure()}
	known := m.released(digest)
	if m.Listed {
		m.countPods(&c, m.tally(digest), known)
	} else {
		m.countStatus(&c, known)
	}
	c.Updated.Known, c.Others.Known, c.All.Known = known, true, true
	c.Updated.Observed, c.Others.Observed = m.Observed, m.Observed
	c.All.Observed = m.Observed && !m.NameComes // or a release would begin under a name that is foretold
	return c
}

func (m Mover) countPods(c *mover.Counts, t tally, known bool) {
	c.Updated, c.Others = inplace.Count(t.updated), inplace.Count(t.others)
	c.Settled = m.Observed && !t.going && c.Others.Current+c.Updated.Current == t.counted
	c.All = c.Updated.And(c.Others)
	c.All.Wanted = t.wanted
	if known {
		c.Updated.Wanted = min(t.comes(), t.wanted)
	}
	c.Others.Wanted = t.rest(c.Updated.Wanted)
}

// countStatus counts by the status (D10).
func (m Mover) countStatus(c *mover.Counts, known bool) {
	wanted, s, updated := max(m.Replicas, 0), m.Status, int32(0)
	c.Settled = m.Observed && s.Current >= wanted
	s.Current, s.Ready, s.Available = min(s.Current, wanted), min(s.Ready, wanted), min(s.Available, wanted)
	if known {
		updated = min(s.Updated, wanted)
	}
	c.Updated, c.Others = inplace.CountStatus(s, wanted, updated)
	_, c.All = inplace.CountStatus(s, wanted, 0)
}

// rest returns how many others are wanted beside so many updated ones. Where none is, and yet
// others run, it is one: a misscheduled pod, which goes too before the workload is handed back
// (D6).
func (t tally) rest(updated int32) int32 {
	return max(t.wanted-updated, min(t.wanted, int32(len(t.others)), 1))
}
