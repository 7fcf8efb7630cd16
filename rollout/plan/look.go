package plan

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// record is what is durable of a release: its status without what that tells others. The state with its causes, the reason, the
// message and the conditions are blank here, so that nothing can be decided by them. What it points to is never changed, only replaced.
type record = v1alpha1.BatchReleaseStatus

// look is a release at one moment: what was observed of it, and what is on record. It is a value: once made, it never
// changes, and a record that has moved on makes another look (Decision.with).
type look struct {
	Observation
	record record
	// pods are counted by version; there are none without a workload.
	pods mover.Counts
	// empty says that the workload has the stable template because it was scaled to 0. Workload is then as it is meant to be.
	empty bool
	// pastGit says that spec.template is not Git's, and counts as not given.
	pastGit bool
	// unreadable says why the steps can't be read; nil if they can.
	unreadable error
	// handingBack says that the steps can't be read, and that the release has passed them.
	handingBack bool
}

// lookAt interprets what was observed. What a pass that died has left behind, and what somebody wrote out of
// band, is recovered here and in recover.go, and nowhere else.
func lookAt(o Observation) *look {
	l := &look{Observation: o, record: recordOf(o.Release)}
	if pastGit(&o) {
		l.pastGit, l.Given, l.Resolved = true, "", nil
	}
	if l.anotherWorkload() && o.Live.Has(ReadWorkload) {
		l.record = startedOver(l.record)
	}
	if meant := l.emptied(); meant != nil {
		l.Workload, l.empty = meant, true
	}
	if l.Workload != nil {
		l.pods = l.Workload.Mover.Count(l.Workload.Digest)
	}
	if err := l.validate(); err != nil {
		l.unreadable, l.handingBack = err, l.underWay() && l.record.Phase == v1alpha1.PhaseFinalizing
	}
	return l
}

// recordOf is what is on record of a release.
func recordOf(release *v1alpha1.BatchRelease) record {
	r := release.Status
	if r.State == "" {
		r = writtenEarlier(r, release)
	}
	r.State, r.StoppedBy, r.StalledBy = "", nil, ""
	r.PodTrouble = nil // watchPods tells it again
	r.Queued, r.Traffic = notAwaiting(r.Queued), notTelling(r.Traffic)
	r.Reason, r.Message, r.Batch, r.Conditions = "", "", "", nil
	r.ObservedGeneration = release.Generation
	return r
}

// writtenEarlier is the record in a status that a version without states wrote, or none.
func writtenEarlier(r record, release *v1alpha1.BatchRelease) record {
	if r.StepStartedAt == nil && midStep(&r) { // it did not record when
		r.StepStartedAt = cmp.Or(r.LastUpdateTime, r.StartedAt, &release.CreationTimestamp)
	}
	if r.UpdateRevision == "" { // it kept the rollback of a workload that was replaced since
		r.Rollback = nil
	}
	return r
}

// midStep reports whether a release is in a step, by what every version has recorded.
func midStep(r *record) bool {
	return r.Phase != "" && r.CurrentStepState != "" && r.CurrentStepState != v1alpha1.StepInitial
}

// validate says what is wrong with the steps that the release is to go. A rollback has its own, and goes on whatever is wrong
// with those of the release.
func (l *look) validate() error {
	spec := l.Release.Spec
	if l.rollingBack() {
		spec.Strategy.Steps, spec.Strategy.Traffic = spec.Steps(true), nil
	}
	problems := Validate(&spec, field.NewPath("spec"))
	problems = append(problems, l.uncounted()...)
	return append(problems, l.surgeLost()...).ToAggregate()
}

// uncounted refuses to wait for pods that are going away where the cluster does not count them. A rollback goes on without.
func (l *look) uncounted() field.ErrorList {
	policy := l.Release.Spec.Strategy.PodReplacement
	if policy != v1alpha1.ReplaceWhenTerminated || l.rollingBack() || !l.pods.Uncounted {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "strategy", "podReplacement"), policy,
		"the cluster does not count the pods that are terminating (status.terminatingReplicas of ReplicaSets): upgrade to Kubernetes 1.35, "+
			"enable the feature gate DeploymentReplicaSetTerminatingReplicas, or take the field out")}
}

// surgeLost refuses to replace pods in place, without a word, of a workload whose own strategy surges. A rollback goes on without.
func (l *look) surgeLost() field.ErrorList {
	w := l.Workload
	if w == nil || l.rollingBack() || l.Release.Spec.Strategy.MaxUnavailable != nil || !some(w.MaxSurge) ||
		w.Mover.Bounds(w.MaxSurge, w.MaxUnavailable, max(w.Replicas, 1)).Surge > 0 {
		return nil
	}
	return field.ErrorList{field.Required(field.NewPath("spec", "strategy", "maxUnavailable"),
		"the workload's own strategy has maxSurge "+w.MaxSurge.String()+", but a release replaces its pods in place: "+
			"say how many of them may be unavailable at a time")}
}

// some reports whether a limit is more than 0.
func some(limit *intstr.IntOrString) bool {
	if limit == nil {
		return false
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(limit, percent, true)
	return err == nil && n > 0
}

// anotherWorkload reports whether the workload is not the one that the record is about.
func (l *look) anotherWorkload() bool {
	return l.Workload != nil && l.record.WorkloadUID != "" && l.record.WorkloadUID != l.Workload.UID
}

// startedOver is the record of a release whose workload is another one now. What was reported to a forge is not ours to forget.
func startedOver(r record) record {
	return record{
		Attempt:            r.Attempt,
		Quarantined:        r.Quarantined,
		ObservedGeneration: r.ObservedGeneration,
		Ended:              r.Ended,
		Superseded:         r.Superseded,
		Log:                r.Log,
		Report:             r.Report,
		Refusal:            r.Refusal,
		Revert:             r.Revert,
	}
}

// rollingBack reports whether a rollback is in progress.
func (l *look) rollingBack() bool {
	return l.isRollback() && l.record.Phase != v1alpha1.PhaseCompleted
}

// isRollback reports whether what is in progress, or was the last, is a rollback.
func (l *look) isRollback() bool { return l.record.Rollback != nil }

// completed reports whether the last release, or rollback, has completed.
func (l *look) completed() bool { return l.record.Phase == v1alpha1.PhaseCompleted }

// failed reports whether the release has failed.
func (l *look) failed() bool { return l.record.Phase == v1alpha1.PhaseFailed }

// idle reports whether no release is in progress.
func (l *look) idle() bool { return l.record.Resolved == nil || l.completed() }

// underWay reports whether it is on record that the workload is taken over for a release, or a rollback.
func (l *look) underWay() bool {
	r := &l.record
	return r.Resolved != nil && r.Held != nil && r.Phase != "" && !l.completed()
}

// entered reports whether a step was entered: the first pods may be moved.
func (l *look) entered() bool { return l.record.StepStartedAt != nil }

// held reports whether the workload is held by this release, or by an earlier object of its name.
func (l *look) held() bool { return l.Workload.heldBy(l.Release) }

// heldAsMeant reports whether the workload is held by this very release, with the template that is released.
func (l *look) heldAsMeant() bool {
	w := l.Workload
	return l.held() && w.Hold.UID == l.Release.UID && w.secured() && w.Digest == l.record.Resolved.Digest
}
