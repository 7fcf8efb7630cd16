package plan

import (
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// stop is why a release does not advance now. While there is one no template is released, no workload
// taken over, and no step entered or carried on. What keeps the workload whole goes on: it is paused again
// if somebody unpauses it, spec.replicas is followed, and a rollback is begun and carried on.
type stop struct {
	// reason is one word, for status.reason.
	reason string
	// message is a clause for people.
	message string
}

// stops are what can stop a release; each returns nil if it does not. The first gives its reason to the status.
var stops = []func(*pass) *stop{
	(*pass).invalidStrategy,
	(*pass).suspended,
	(*pass).frozen,
	(*pass).meddled,
	(*pass).changedPastGit,
}

// stopReasons are the reasons of all stops.
var stopReasons = []string{
	v1alpha1.ReasonInvalidStrategy, v1alpha1.ReasonSuspended, v1alpha1.ReasonFrozen, v1alpha1.ReasonDrifted, v1alpha1.ReasonChangedPastGit,
}

// stop joins the reasons that there are now, nil if there are none.
func (p *pass) stop() *stop {
	var all *stop
	for _, ask := range stops {
		switch s := ask(p); {
		case s == nil:
		case all == nil:
			all = s
		default:
			all.message += "; " + s.message
		}
	}
	return all
}

// stopped is stop for what is under way: a rollback is stopped by nothing but steps of its own that can't be read.
func (p *pass) stopped() *stop {
	if p.rollingBack() {
		return p.invalid
	}
	return p.stop()
}

// rollingBack reports whether a rollback is under way.
func (p *pass) rollingBack() bool {
	return p.status.RollbackTo != "" && p.status.Phase != v1alpha1.PhaseCompleted
}

func (p *pass) suspended() *stop {
	if !p.Release.Spec.Suspend {
		return nil
	}
	return &stop{v1alpha1.ReasonSuspended, "spec.suspend is set"}
}

func (p *pass) frozen() *stop {
	freeze := p.Release.Frozen(p.Now)
	if freeze == nil {
		return nil
	}
	var words strings.Builder
	words.WriteString("frozen")
	if freeze.Until != nil {
		words.WriteString(" until " + freeze.Until.UTC().Format(time.RFC3339))
	}
	words.WriteString(": " + freeze.Reason)
	return &stop{v1alpha1.ReasonFrozen, words.String()}
}

// setSuspended keeps the condition Suspended while it is true, in a rollback too, and looks again when
// a freeze ends.
func (p *pass) setSuspended() {
	asked, frozen := p.suspended(), p.frozen()
	if asked == nil {
		asked = frozen
	}
	if asked == nil {
		p.drop(v1alpha1.ConditionSuspended)
		return
	}
	message := asked.message
	if frozen != nil && asked != frozen {
		message += "; " + frozen.message
	}
	p.setCondition(v1alpha1.ConditionSuspended, true, message, asked.reason)
	if freeze := p.Release.Frozen(p.Now); freeze != nil && freeze.Until != nil {
		p.wakeAt(freeze.Until.Time)
	}
}

// stand leaves a release that is taken over where it stands. Gates that are open may be decided meanwhile.
// The progress deadline does not run, and starts anew when the release goes on.
func (p *pass) stand(why *stop) {
	switch {
	case p.status.Phase == v1alpha1.PhaseFailed:
		p.follow()
		p.sayFailed()
	case p.status.Batch == "":
		// A pass that died before it said so may have begun, or what is given has pods left from before.
		p.target = max(min(p.updated(), p.share().most(p.Workload.Replicas)), p.only())
		p.sayStopped("the release has not begun", why)
	default:
		p.follow()
		p.status.Phase, p.status.Progress = p.rollingPhase(), nil
		p.normaliseState()
		p.sayStopped("batch "+p.status.Batch+" is on hold", why)
	}
	// Pods that go beyond the step go back: where somebody had unpaused the workload, those may be all. Where only the
	// annotation was taken off, the native controller has added none.
	meddling := p.meddling()
	p.blocked = p.awaitsGates() || meddling != nil && meddling.Reason != v1alpha1.ReasonHoldRemoved
	if p.turnsRound() {
		return
	}
	if p.updateSet() != nil {
		p.count()
		p.keepScale()
	} else if p.task().Now().Active() > 1 { // a lone one is the native controller's to scale
		p.createSet()
	}
}

// turnsRound begins the rollback of a release that stands, if it has failed, or a gate was rejected, and
// that says so. It reports whether it does.
func (p *pass) turnsRound() bool {
	if p.status.Phase == v1alpha1.PhaseFailed {
		return p.rollBackFailed()
	}
	if p.blocked {
		p.rollBackRejected()
	}
	return p.out.StatusFirst
}

// updated is how many of spec.replicas are to run the update revision by what its ReplicaSet says.
func (p *pass) updated() int32 {
	if update := p.updateSet(); update != nil {
		return min(update.Replicas, p.Workload.Replicas)
	}
	return 0
}

// notTakenOver reports whether a release has yet to take its workload over, which it does not do while
// it is stopped.
func (p *pass) notTakenOver() bool {
	why := p.stopped()
	if why == nil || p.rollingBack() || p.status.Batch != "" || p.status.Held != nil && !p.Workload.heldBy(p.Release) {
		return false
	}
	p.sayStopped("the workload is not taken over", why)
	return true
}

func (p *pass) sayStopped(what string, why *stop) {
	p.say(why.reason, what+": "+why.message)
}
