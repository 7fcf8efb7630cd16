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
		c.Updated, c.Others = inplace.CountStatus(m.Status, m.Replicas, m.updatedByStatus(known)) // S8
		c.Settled = m.Observed && m.closed() && m.Status.Current <= m.Replicas
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

func (m Mover) updatedByStatus(known bool) int32 {
	if !known {
		return 0
	}
	return min(m.Status.Updated, m.Replicas)
}

// countPods counts the pods. Where it is not known which ones are updated, all are others.
func (m Mover) countPods(known bool) (updated, others mover.Count) {
	var mine, rest []inplace.Place
	for _, p := range m.places() {
		if known && p.Updated {
			mine = append(mine, p)
		} else {
			rest = append(rest, p)
		}
	}
	updated, others = inplace.Count(mine), inplace.Count(rest)
	updated.Wanted, others.Wanted = int32(len(mine)), int32(len(rest))
	for i := range m.Pods {
		switch pod := m.Pods[i]; {
		case !m.beyond(pod):
		case known && pod.Revision == m.Update:
			updated.Current++
		default:
			others.Current++
		}
	}
	updated.Most, others.Most = max(updated.Wanted, updated.Current), max(others.Wanted, others.Current)
	return updated, others
}

// beyond reports whether spec.replicas does not ask for the pod, and it is still to go.
func (m Mover) beyond(pod inplace.Pod) bool { return !pod.Terminating && !m.inside(&pod) }
