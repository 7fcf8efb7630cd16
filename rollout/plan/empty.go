package plan

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// A workload that is scaled to 0 in mid-release has the stable template until it has pods again: where no
// ReplicaSet has any, the native controller makes all the pods that somebody asks for in the ReplicaSet of the workload's template
// (T1), and deletes others beyond revisionHistoryLimit (T4). The hold says that this is intended.

// emptied is the workload as it would be with the template that is released, if it is one that has the stable
// template because it was scaled to 0; nil if it is not.
func (l *look) emptied() *Workload {
	w, resolved := l.Workload, l.record.Resolved
	if w == nil || !l.held() || !w.Hold.Emptied || resolved == nil || l.completed() || !l.runsStable() {
		return nil
	}
	meant := *w
	meant.Digest, meant.Revision = resolved.Digest, l.record.UpdateRevision
	return &meant
}

// runsStable reports whether the workload has the stable template.
func (l *look) runsStable() bool {
	stable := l.stableRevision()
	kept := l.kept(stable)
	return stable != "" && (l.Workload.Revision == stable || kept != nil && kept.Digest == l.Workload.Digest)
}

func (l *look) stableRevision() string {
	if l.record.StableRevision != "" {
		return l.record.StableRevision
	}
	return l.Release.Annotations[v1alpha1.CurrentStableAnnotation]
}

// empties reports whether the workload is to have the stable template: it has no pods, and not all that it may
// be scaled to are approved. A rollback has no version that anybody has to approve.
func (l *look) empties() bool {
	stable := l.stableRevision()
	known := l.kept(stable) != nil || slices.ContainsFunc(l.Sets, func(s Set) bool { return s.Revision == stable })
	return l.Workload.Replicas == 0 && !l.isRollback() && len(l.steps()) > 0 && !l.share().all() && stable != "" && known &&
		stable != l.record.UpdateRevision
}

// emptying reports whether a workload that is otherwise as it should be gets another template because of how
// many pods it has.
func (l *look) emptying() bool { return l.heldAsMeant() && l.empty != l.empties() }

// stableTemplate is the template to write to a workload that is scaled to 0; nil if it has it already.
func (l *look) stableTemplate() *Template {
	if l.empty || l.runsStable() {
		return nil
	}
	return &Template{Revision: l.stableRevision()}
}

// refill reports whether the release may go on with its own template. Until the native controller has given the
// stable ReplicaSet the pods that the workload is scaled to, and has seen that itself, it might give them to the new one.
func refill(d Decision) (Decision, bool) {
	switch {
	case !d.empty || d.Workload.Replicas == 0:
		return d, true
	case !d.SetsLive:
		return d.need(Needs{Sets: true}), false
	}
	serves := func(s Set) bool { return s.Revision == d.stableRevision() && s.Replicas > 0 && s.Observed }
	several := deployment.Active(d.Sets) > 1 // of which the native controller gives none more pods
	if d.Workload.Behind == 0 && (several || slices.ContainsFunc(d.Sets, serves)) {
		return d, true
	}
	return makeStable(d), false
}

// makeStable makes the ReplicaSet of the stable template again, if somebody has deleted it: the workload has
// its template. If pods of another version are left, it gets a pod of its own: otherwise those would be alone.
func makeStable(d Decision) Decision {
	write := d.stableWrite()
	if write == nil {
		return d
	}
	if needs := (Needs{Workload: !d.Workload.Live, Sets: !d.SetsLive}); needs.Any() {
		return d.need(needs)
	}
	return d.do(write)
}

// stableWrite is the write that the stable ReplicaSet needs, nil if it needs none.
func (l *look) stableWrite() Action {
	stable, active, replicas := l.stableRevision(), deployment.Active(l.Sets), l.Workload.Replicas
	switch i := slices.IndexFunc(l.Sets, func(s Set) bool { return s.Revision == stable }); {
	case i >= 0 && active == 1 && l.Sets[i].Replicas == 0 && !l.Sets[i].Deleting && replicas > 0:
		return ScaleSet{Reason: besideReason, Set: l.Sets[i], To: 1}
	case i >= 0 || active > 1:
		return nil
	case active == 1:
		return CreateSet{Reason: besideReason, Revision: stable, Replicas: min(replicas, 1)}
	default:
		return CreateSet{Reason: "the stable ReplicaSet is gone", Revision: stable, Replicas: replicas}
	}
}

// rollEmpty takes a workload without pods through the steps: only the gates are left to ask.
func rollEmpty(d Decision) Decision {
	stops := d.stopped().any()
	if !stops {
		var entered bool
		if d, entered = enterFirstStep(d); !entered {
			return d
		}
	}
	d, t := follow(d)
	d = count(d).with(func(r *record) { r.Progress = nil }) // nothing can become available
	if last := t.Last(); len(last) > 0 {
		return takeLast(d, last)
	}
	d = makeStable(d)
	switch {
	case d.failed():
		d, _ = rollBackFailed(d)
		return d
	case stops && !d.entered():
		return d
	}
	d = rollOn(d)
	switch {
	case stops:
		d, _ = turnRound(d, len(d.record.Gates) > 0)
	case deployment.Settled(d.Sets) && !d.rescaling():
		d, _ = passStep(d, t)
	}
	return d
}

// takeLast takes the pods away that are left.
func takeLast(d Decision, last []deployment.Scale) Decision {
	if needs := (Needs{Workload: !d.Workload.Live, Sets: !d.SetsLive, Release: !d.ReleaseLive}); needs.Any() {
		return d.need(needs)
	}
	var shrink []Action
	for _, c := range last {
		shrink = append(shrink, ScaleSet{Reason: "follow spec.replicas", Set: c.Set, From: c.From})
	}
	return d.do(shrink...)
}

// emptiedReason says why a workload gets another template because of how many pods it has.
func (l *look) emptiedReason() Reason {
	if l.empties() {
		return Reason(fmt.Sprintf("scaled to 0: the next pods are of the stable revision %s", l.stableRevision()))
	}
	return Reason("the release of revision " + l.record.UpdateRevision + " goes on")
}
