package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// snapshot holds a release at one moment, in parts. It is a value: once made, it never changes. A
// record that moves on makes another snapshot (Decision.with).
type snapshot struct {
	now     time.Time
	release *v1alpha1.BatchRelease
	// record holds the durable part of the status, with what was decided in this pass.
	record record
	// workload is nil if it does not exist. It has the release's template where it has the stable
	// one only because it is scaled to 0 (empty).
	workload *Workload
	// given is the digest of spec.template; empty if there is none, or if it differs from Git's
	// (pastGit).
	given   string
	pods    podCounts
	history history
	// obs holds all else that was observed.
	obs Observation

	empty, pastGit bool
	// problem is the error in the steps; nil if they are valid.
	problem error
	// handingBack marks a release with invalid steps that has passed them already.
	handingBack bool
}

// snapshotOf interprets an observation. Only here, and in recordOf, is anything recovered that a
// pass left unfinished or a person wrote out of band.
func snapshotOf(o Observation) *snapshot {
	s := snapshotWith(o, recordOf(o.Release))
	if pastGit(&o) {
		s.pastGit, s.given, s.obs.Resolved = true, "", nil
	}
	if anotherWorkload(s) && o.Live.Has(ReadWorkload) {
		s.record = startedOver(s.record)
	}
	if meant := emptied(s); meant != nil {
		s.workload, s.empty = meant, true
	}
	if s.workload != nil {
		s.pods = podCounts{s.workload.Mover.Count(s.workload.Digest), s.workload.Replicas}
	}
	if err := validate(s); err != nil {
		s.problem, s.handingBack = err, s.record.underWay() && s.record.Phase == v1alpha1.PhaseFinalizing
	}
	return s
}

// snapshotWith returns a snapshot of an observation as it is, without counts of pods.
func snapshotWith(o Observation, r record) *snapshot {
	return &snapshot{now: o.Now, release: o.Release, record: r, workload: o.Workload, given: o.Given, history: o.Kept, obs: o}
}

// time returns the moment of the snapshot in whole seconds, as the API keeps it.
func (s *snapshot) time() *metav1.Time { return new(metav1.NewTime(s.now.UTC().Truncate(time.Second))) }

// live reports whether reads were made live, or answered to a write, in this pass.
func (s *snapshot) live(reads Reads) bool { return s.obs.Live.Has(reads) }

// steps returns the steps of the release or rollback that is recorded.
func (s *snapshot) steps() steps {
	return steps{
		spec: &s.release.Spec, record: &s.record, workload: s.workload, problem: s.problem, handingBack: s.handingBack,
		shared: sharesTraffic(s), final: s.pods.Final,
	}
}

// gates returns the gates of the attempt that is recorded.
func (s *snapshot) gates() gates {
	return gates{all: s.obs.Gates, release: s.release, record: &s.record, steps: s.steps(), history: s.history, ride: s.ride()}
}

// hold returns the workload as the release holds it.
func (s *snapshot) hold() holding { return holding{s.workload, s.release, &s.record} }

// refusal returns why an action must not be sent now; nil if it may be.
func (s *snapshot) refusal(action Action) *Refusal { return s.notNow(WriteOf(action)) }

// notNow returns why a write must not be sent now; nil if it may be. A refused write is sent again
// at Refusal.Until.
func (s *snapshot) notNow(write mover.Name) *Refusal {
	known := s.obs.Refusals.of(write.Key, s.release.Generation)
	if known == nil || !known.Until.IsZero() && !s.now.Before(known.Until) {
		return nil
	}
	return known
}

// podCounts holds the pods of the workload by version; there are none without a workload.
type podCounts struct {
	mover.Counts
	replicas int32
}

// hasUpdated reports whether there is a place for updated pods, such as a ReplicaSet.
func (p podCounts) hasUpdated() bool { return p.Updated.Known }

// updated returns how many of spec.replicas are wanted of the update revision.
func (p podCounts) updated() int32 { return min(p.Updated.Wanted, p.replicas) }

// available returns how many updated pods are available and stay.
func (p podCounts) available() int32 { return p.Updated.Staying }

// old returns how many pods are wanted of all versions but the update revision.
func (p podCounts) old() int32 { return p.Others.Wanted }

// alone reports whether only the update revision has pods.
func (p podCounts) alone() bool { return p.old() == 0 && p.Others.Current == 0 }
