package statefulset

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// Mover is a StatefulSet with its pods. It implements mover.Mover.
type Mover struct {
	inplace.Workload

	// RollingUpdate says that spec.updateStrategy.type is RollingUpdate, and Partition is its
	// partition, 0 if it has none.
	RollingUpdate bool
	Partition     int32
	// AtOnce is maxUnavailable of the strategy, as far as the API server keeps it (S3); 0 if there is
	// none.
	AtOnce int32
	// Window is the partition that the hold says was set to update pods: inplace.Held if none was,
	// inplace.Anywhere if it was the strategy OnDelete.
	Window int32
	// OrderedReady is spec.podManagementPolicy.
	OrderedReady bool
	// Current is the revision of status.currentRevision, without the name of the StatefulSet. That of
	// status.updateRevision is Update.
	Current string
}

var _ mover.Mover = Mover{}

// Native implements mover.Mover. A StatefulSet that is held has a partition that no ordinal
// reaches, or the one that Sluice has opened (S1).
func (m Mover) Native() mover.Native {
	secured := m.secured()
	return mover.Native{
		Secured:   secured,
		Unsecured: v1alpha1.ReasonStrategyChanged,
		Free:      !secured,
		Ours:      secured,
		Opened:    !secured && (m.partition() != 0 || m.AtOnce > 0),
		Own:       v1alpha1.HeldWorkload{Strategy: m.Strategy},
		OnDelete:  !m.RollingUpdate,
		Partition: m.Partition,
		Contained: m.RollingUpdate && m.Partition >= inplace.Held,
		Stale:     m.stale(),

		EmptyTakesTemplate: true, // S5
		InPlaces:           true, // S1, S5
	}
}

// stale reports whether the current revision is not the one that all pods run: with OnDelete the
// native controller never changes it, and with RollingUpdate it is about to (completeRollingUpdate
// in pkg/controller/statefulset of Kubernetes). It is until the native controller has written that:
// a status from before the last change says the same.
func (m Mover) stale() bool {
	status, n := m.Status, m.Replicas
	return m.Current != m.Update && n > 0 && status.Current == n && status.Updated == n && status.Ready == n
}

// secured reports whether the native controller updates no more than Sluice has let it.
func (m Mover) secured() bool {
	if now := m.partition(); m.Window == inplace.Anywhere || now == inplace.Anywhere {
		return now == m.Window || now == inplace.Held
	}
	return m.Partition >= m.Window
}

// partition returns the one that there is; inplace.Anywhere for the strategy OnDelete.
func (m Mover) partition() int32 {
	if !m.RollingUpdate {
		return inplace.Anywhere
	}
	return m.Partition
}

// Has implements mover.Mover: the native controller keeps the revisions that it makes pods of.
func (m Mover) Has(revision string) bool { return revision == m.Update || revision == m.Current }

// Bounds makes pods of maxUnavailable as the native controller does (getStatefulSetMaxUnavailable):
// rounded down, and at least one. A StatefulSet has no surge.
func (Mover) Bounds(_, unavailable *intstr.IntOrString, replicas int32) mover.Bounds {
	return mover.Bounds{Unavailable: min(max(inplace.Unavailable(unavailable, replicas, false), 1), replicas)}
}

// Move implements mover.Mover.
func (m Mover) Move(t mover.Task) mover.Moves {
	if !m.acts(t) {
		return mover.Moves{}
	}
	return m.task(t).move()
}

// Keep implements mover.Mover.
func (m Mover) Keep(t mover.Task) mover.Moves {
	if !m.acts(t) {
		return mover.Moves{}
	}
	return m.task(t).keep()
}

// Refilled implements mover.Mover. The StatefulSet has the stable template. Once that is the
// current revision too, pods come back in it below the partition, whatever template follows (S5).
func (m Mover) Refilled(_ string, behind int64) bool {
	return behind == 0 && m.Observed && m.Current == m.Update
}

// Refill implements mover.Mover. A StatefulSet that is scaled up before the native controller has
// seen that it has no pods and the stable template gets pods of the version before. The native
// controller replaces them itself: everything may be stable. One that does not serve goes at once,
// as it may stop the native controller (S4).
func (m Mover) Refill(mover.Beginning) mover.Write {
	switch {
	case !m.Observed || m.Current == m.Update:
		return nil
	case m.partition() > 0:
		return inplace.Window{Partition: 0, Why: mover.StableGone}
	case !m.listed():
		return nil
	}
	down := slices.DeleteFunc(m.places(), func(p inplace.Place) bool { return p.Updated || p.Available() })
	if writes := inplace.Replacing(down, mover.StableGone, true); len(writes) > 0 {
		return writes[0]
	}
	return nil
}
