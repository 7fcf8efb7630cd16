package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// Stop is why a release does not advance now, empty if nothing stops it. While there is a cause no template is released, no
// workload taken over, and no step entered or continued. What keeps the workload whole continues: it is paused again
// if somebody unpauses it, spec.replicas is followed, and a rollback is begun and continued.
type Stop []Cause

func (s Stop) any() bool { return len(s) > 0 }

// Cause is one thing that stops a release. The set of causes is closed: those of this file.
//
//sumtype:decl
type Cause interface{ isCause() }

type (
	// UnreadableSteps says that the steps can't be read.
	UnreadableSteps struct{ Problem error }
	// Suspended says that spec.suspend is set.
	Suspended struct{}
	// Frozen says that a freeze is in effect.
	Frozen struct{ v1alpha1.Freeze }
	// Changed says that somebody changed the workload while it was held, and nobody has acknowledged it.
	Changed struct {
		What ExternalChange
		// PodsLost says that fewer pods are available for it than maxUnavailable allows.
		PodsLost bool
	}
	// ChangedPastGit says that spec.template is not what Git gives.
	ChangedPastGit struct{}
)

func (UnreadableSteps) isCause() {}
func (Suspended) isCause()       {}
func (Frozen) isCause()          {}
func (Changed) isCause()         {}
func (ChangedPastGit) isCause()  {}

// stop is what stops a release now; the first cause gives its reason to the status.
func (l *look) stop() Stop {
	var causes Stop
	if l.standsStill() {
		causes = append(causes, UnreadableSteps{l.unreadable})
	}
	if l.Release.Spec.Suspend {
		causes = append(causes, Suspended{})
	}
	if freeze := l.Release.Frozen(l.Now); freeze != nil {
		causes = append(causes, Frozen{*freeze})
	}
	if change := l.change(); change != nil {
		causes = append(causes, Changed{*change, change.takesPods() && l.short()})
	}
	if l.pastGit {
		causes = append(causes, ChangedPastGit{})
	}
	return causes
}

// stopped is stop for what is in progress: only steps of its own that can't be read stop a rollback.
func (l *look) stopped() Stop {
	switch {
	case !l.rollingBack():
		return l.stop()
	case l.standsStill():
		return Stop{UnreadableSteps{l.unreadable}}
	default:
		return nil
	}
}

// standsStill reports whether the steps of what is in progress can't be read. A release that is being handed back has passed them.
func (l *look) standsStill() bool { return l.unreadable != nil && !l.handingBack && l.underWay() }

// short reports whether fewer pods are available than maxUnavailable allows.
func (l *look) short() bool {
	return l.pods.All.Staying < l.Workload.Replicas-l.bounds().Unavailable
}

// stand leaves a release that is taken over where it is. Gates that are open may be decided meanwhile.
// The progress deadline does not run, and starts again when the release goes on.
func stand(d Decision) Decision {
	var t mover.Task
	switch {
	case d.failed():
		d, t = follow(d)
	case d.entered():
		d, t = follow(d)
		d = d.with(func(r *record) { r.Progress = nil })
		d = rollOn(d)
	default:
		// A pass that died before it said so may have begun, or what is given has pods left from before.
		t = d.task(max(min(d.updated(), d.share().most(d.Workload.Replicas)), d.only()))
	}
	// Pods that go beyond the step go back: where somebody had unpaused the workload, those may be all. Where only the
	// annotation was taken off, the native controller has added none.
	change := d.change()
	t.Blocked = d.awaitsGates() || change != nil && change.Kind != v1alpha1.ReasonHoldRemoved
	d, turns := turnRound(d, t.Blocked)
	if turns {
		return d
	}
	d, t, _ = steer(d, t)
	if d.hasUpdated() {
		return keepScale(count(d), t)
	}
	if d.pods.Self {
		return d
	}
	return makeRoom(d, t)
}

// turnRound begins the rollback of a stopped release, if it has failed, or a gate was rejected, and
// the strategy or the gate says so. It reports whether it does.
func turnRound(d Decision, blocked bool) (Decision, bool) {
	switch {
	case d.failed():
		return rollBackFailed(d)
	case blocked:
		return rollBackRejected(d)
	default:
		return d, false
	}
}

// awaitsGates reports whether a gate that was opened in the step has not passed, according to the record: whether the step
// still asks for it can't be read while the steps are invalid.
func (l *look) awaitsGates() bool {
	if !l.standsStill() {
		return len(l.record.Gates) > 0 && !l.letThrough()
	}
	return slices.ContainsFunc(l.record.Gates, func(open v1alpha1.GateReference) bool {
		return !slices.ContainsFunc(l.Gates, func(g v1alpha1.Gate) bool {
			return g.Name == open.Name && g.Spec.Attempt == l.record.Attempt && g.Status.Decision == v1alpha1.DecisionPassed
		})
	})
}
