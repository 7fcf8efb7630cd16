package daemonset

import (
	"cmp"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// tally are the pods of the nodes that are not lost.
type tally struct {
	// others and updated are pods that are not going, by version, and going says that pods are.
	others, updated []inplace.Pod
	going           bool
	// beside is how many pods each node has that are not going: natively one, or two for a moment (D7).
	beside map[string]int32
	// wanted counts the nodes that are to have a pod. Together with misscheduled pods (D6) the status
	// counts them as counted. There are slots: the wanted nodes, or more if more have a pod. In old of
	// the slots, all pods are of other versions.
	wanted, counted, slots, old int32
}

// tally counts the pods. There are updated ones only if the workload has the version with this
// digest, and the native controller has seen that.
func (m Mover) tally(digest string) tally {
	t := tally{wanted: max(m.Replicas, 0), counted: max(m.Replicas+m.Status.Misscheduled, 0), beside: map[string]int32{}}
	known := m.released(digest)
	for i := range m.Pods {
		switch pod := m.Pods[i]; {
		case pod.Lost:
			continue
		case pod.Terminating:
			t.going = true
		case known && pod.Revision == m.Update:
			t.updated = append(t.updated, pod)
		default:
			t.others = append(t.others, pod)
		}
		t.beside[place(m.Pods[i])] += one(!m.Pods[i].Terminating)
	}
	for _, node := range m.Vacant {
		t.beside[node] += 0 // it is a place, with or without a pod
	}
	old := map[string]bool{}
	for i := range t.others {
		old[place(t.others[i])] = true
	}
	for i := range t.updated {
		delete(old, place(t.updated[i]))
	}
	t.slots, t.old = max(t.counted, int32(len(t.beside))), int32(len(old))
	return t
}

// released reports whether the workload has the version with this digest, and the native controller
// has seen that.
func (m Mover) released(digest string) bool {
	return m.Observed && m.Update != "" && digest == m.Digest
}

// comes returns how many nodes have an updated pod, or will: all but those that have another one.
func (t tally) comes() int32 { return t.slots - t.old }

// stays reports whether a pod is alone on its node. Of two, nobody but the native controller knows
// which one stays.
func (t tally) stays(pod inplace.Pod) bool { return t.beside[place(pod)] == 1 }

// place returns where a pod is: its node, or one of its own as long as nobody knows that. A pod
// that can't be scheduled has none yet.
func place(pod inplace.Pod) string { return cmp.Or(pod.Node, "the place of "+string(pod.UID)) }

// available returns how many nodes have an available pod that stays.
func (t tally) available() int32 {
	return t.count(t.others).Staying + t.count(t.updated).Staying
}

// Count implements mover.Mover. A missing pod comes back in the version of the template.
func (m Mover) Count(digest string) mover.Counts {
	if !m.Listed {
		return m.countStatus(digest)
	}
	t := m.tally(digest)
	c := mover.Counts{
		Updated: t.count(t.updated), Others: t.count(t.others),
		Settled: m.Observed && !t.going && length(t.others)+length(t.updated) == t.counted,
		Unseen:  !m.Observed, Self: true, Final: true, Failure: m.failure(),
	}
	c.All = c.Updated.And(c.Others)
	c.All.Known, c.All.Wanted = true, t.wanted
	c.Updated.Observed, c.Others.Observed, c.All.Observed = m.Observed, m.Observed, m.Observed
	if m.released(digest) {
		c.Updated.Known, c.Updated.Wanted = true, min(t.comes(), t.wanted)
	}
	c.Others.Known, c.Others.Wanted = true, t.rest(c.Updated.Wanted)
	return c
}

// rest returns how many others are wanted beside so many updated ones. Where none is, and yet
// others run, it is one: a misscheduled pod, which goes too before the workload is handed back
// (D6).
func (t tally) rest(updated int32) int32 {
	return max(t.wanted-updated, min(t.wanted, length(t.others), 1))
}

// count counts pods that are not going.
func (t tally) count(pods []inplace.Pod) mover.Count {
	n := length(pods)
	c := mover.Count{Current: n, Most: n}
	for i := range pods {
		ready, available, stays := one(pods[i].Ready), one(pods[i].Available), one(t.stays(pods[i]))
		c.Ready += ready
		c.Available += available
		c.StayingReady += ready * stays
		c.Staying += available * stays
	}
	return c
}

func one(is bool) int32 {
	if is {
		return 1
	}
	return 0
}

// countStatus counts by the status, which does not say of which version the pods are that are
// ready: so many updated ones are, at least, as there are ready ones beyond the others.
func (m Mover) countStatus(digest string) mover.Counts {
	wanted, s := max(m.Replicas, 0), m.Status
	all := tallied(wanted, min(s.Current, wanted), min(s.Ready, wanted), min(s.Available, wanted))
	c := mover.Counts{Unseen: !m.Observed, Self: true, Final: true, Settled: m.Observed && s.Current >= wanted, Failure: m.failure()}
	if m.released(digest) {
		updated := min(s.Updated, wanted)
		others := max(all.Current-updated, 0)
		c.Updated = tallied(updated, updated, max(min(all.Ready-others, updated), 0), max(min(all.Available-others, updated), 0))
	}
	u := c.Updated
	c.Others = tallied(wanted-u.Wanted, max(all.Current-u.Current, 0), all.Ready-u.Ready, all.Available-u.Available)
	c.All = all
	c.Updated.Known = m.released(digest)
	c.Updated.Observed, c.Others.Observed, c.All.Observed = m.Observed, m.Observed, m.Observed
	return c
}

func tallied(wanted, current, ready, available int32) mover.Count {
	return mover.Count{
		Known: true, Wanted: wanted, Current: current, Most: max(wanted, current), Ready: ready, Available: available,
		Staying: available, StayingReady: ready,
	}
}

func length(pods []inplace.Pod) int32 { return int32(len(pods)) }
