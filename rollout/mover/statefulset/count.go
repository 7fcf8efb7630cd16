package statefulset

import (
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// Count implements mover.Mover. A place whose pod is missing counts as the version in which it
// comes back. Until the native controller has seen the template no pod counts as updated: the
// update revision may be that of an earlier one.
func (m Mover) Count(digest string) mover.Counts {
	known := m.Observed && digest == m.Digest
	c := mover.Counts{Unseen: !m.Observed, Self: true, Final: known && m.oneRevision()}
	switch {
	case !m.listed():
		c.Updated, c.Others = m.countStatus(known)
		c.Settled = m.Observed && m.closed() && m.Status.Replicas <= m.Replicas
	default:
		c.Updated, c.Others = m.countPods(known)
		c.Settled = m.Observed && m.closed() && !slices.ContainsFunc(m.Pods, m.beyond)
	}
	c.Updated.Known = known
	c.Others.Known = m.Current != m.Update || c.Others.Wanted+c.Others.Current > 0
	c.Updated.Observed, c.Others.Observed = m.Observed, m.Observed
	c.All = c.Updated.And(c.Others)
	return c
}

// countPods counts the pods. Where it is not known which ones are updated, all are others.
func (m Mover) countPods(known bool) (updated, others mover.Count) {
	of := func(isUpdated bool) *mover.Count {
		if known && isUpdated {
			return &updated
		}
		return &others
	}
	for _, s := range m.slots() {
		c := of(s.updated)
		c.Wanted++
		if !s.stands() {
			continue
		}
		c.Current++
		if s.pod.Ready {
			c.Ready, c.StayingReady = c.Ready+1, c.StayingReady+1
		}
		if s.pod.Available {
			c.Available, c.Staying = c.Available+1, c.Staying+1
		}
	}
	for i := range m.Pods {
		if pod := &m.Pods[i]; m.beyond(*pod) {
			of(pod.Revision == m.Update).Current++
		}
	}
	updated.Most, others.Most = max(updated.Wanted, updated.Current), max(others.Wanted, others.Current)
	return updated, others
}

// beyond reports whether the pod is one that spec.replicas does not ask for, and that is still to
// go.
func (m Mover) beyond(pod inplace.Pod) bool { return !pod.Terminating && !m.inside(&pod) }

// countStatus makes the best of the status, which does not say in which version pods are ready
// (S8): the others are taken to be first.
func (m Mover) countStatus(known bool) (updated, others mover.Count) {
	if known {
		updated.Wanted = min(m.Status.Updated, m.Replicas)
	}
	others.Wanted = m.Replicas - updated.Wanted
	updated.Current = updated.Wanted
	others.Current = max(m.Status.Replicas-updated.Wanted, 0)
	split := func(all int32) (ofUpdated, ofOthers int32) {
		ofUpdated = min(max(all-others.Current, 0), updated.Wanted)
		return ofUpdated, min(max(all-ofUpdated, 0), others.Wanted)
	}
	updated.Ready, others.Ready = split(m.Status.Ready)
	updated.Available, others.Available = split(m.Status.Available)
	for _, c := range []*mover.Count{&updated, &others} {
		c.Most, c.Staying, c.StayingReady = max(c.Wanted, c.Current), c.Available, c.Ready
	}
	return updated, others
}
