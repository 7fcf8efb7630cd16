package plan

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// Decision is what a release does next, before it is put into words. It is a value: what is added to one makes another.
type Decision struct {
	// look is the release with the record that holds once the actions are done.
	*look
	actions     []Action
	needs       Needs
	statusFirst bool
	// records are written to the history before the status, if that is written first.
	records  []Action
	wake     time.Duration
	happened []happening
	// refused is the first action that is left out because it is known to be refused.
	refused *Refusal
	// timed is how much is left of a time for which traffic waits because the release says so (traffic.Standing).
	timed time.Duration
	// looks are those at updated pods that are not available.
	looks PodLooks
}

// nothing is the decision to leave a release as it is.
func nothing(l *look) Decision { return Decision{look: l} }

// with is the decision with another record.
func (d Decision) with(change func(*record)) Decision {
	next := *d.look
	change(&next.record)
	d.look = &next
	return d
}

// first makes the record durable before anything else is done.
func (d Decision) first() Decision {
	d.statusFirst = true
	return d
}

// need requests what is to be observed before the release can go on.
func (d Decision) need(more Needs) Decision {
	if known := d.notNow(more.Trying()); known != nil {
		more.Resolve, more.Drift = nil, nil
		d = d.without(known)
	}
	d.needs = d.needs.and(more)
	return d
}

// read requests a live read of what was not read yet in this pass.
func (d Decision) read(what Reads) Decision { return d.need(Needs{Reads: what &^ d.Live}) }

// wakeAt asks to look again at a time.
func (d Decision) wakeAt(t time.Time) Decision {
	wait := max(t.Sub(d.Now), time.Millisecond)
	if d.wake == 0 || wait < d.wake {
		d.wake = wait
	}
	return d
}

// tell adds to what has happened.
func (d Decision) tell(what happening) Decision {
	d.happened = append(slices.Clip(d.happened), what)
	return d
}

// try plans actions. It reports whether they all are to be carried out now: one that is known to be refused is left
// out, and reported. What depends on it must not be planned then.
func (d Decision) try(actions ...Action) (Decision, bool) {
	all := true
	for _, action := range actions {
		known := d.refusal(action)
		if known == nil {
			d.actions = append(slices.Clip(d.actions), action)
			continue
		}
		all, d = false, d.without(known)
	}
	return d, all
}

// without leaves a write out that is known to be refused, and reports it.
func (d Decision) without(known *Refusal) Decision {
	if !known.Until.IsZero() {
		d = d.wakeAt(known.Until)
	}
	d.refused = cmp.Or(d.refused, known)
	return d
}

// do plans actions that nothing else depends on.
func (d Decision) do(actions ...Action) Decision {
	d, _ = d.try(actions...)
	return d
}

// refusal is why an action is not to be sent now; nil if it is. It is sent again when its time has come.
func (l *look) refusal(action Action) *Refusal { return l.notNow(WriteOf(action)) }

// notNow is refusal for what is no action.
func (l *look) notNow(write mover.Name) *Refusal {
	known := l.Refusals.of(write.Key, l.Release.Generation)
	if known == nil || !known.Until.IsZero() && !l.Now.Before(known.Until) {
		return nil
	}
	return known
}

// time is the moment of the look as the API keeps it: in whole seconds.
func (l *look) time() *metav1.Time { return new(metav1.NewTime(l.Now.UTC().Truncate(time.Second))) }

// happening is what has happened, to report to people once.
//
//sumtype:decl
type happening interface{ happening() }

type (
	// retried: somebody asked a failed release to go on.
	retried struct{}
	// notFound: the target of a rollback is missing.
	notFound struct{ problem noTargetError }
	// jumpMade: the release went from one step to another.
	jumpMade struct {
		from, to int32
		by       string
		steps    int
	}
	// jumpRefused: the release can't go to the requested step.
	jumpRefused struct {
		to    int32
		by    string
		why   JumpProblem
		steps int
	}
	// pausedBefore: the release has come to a pod with a pause point.
	pausedBefore struct{ at v1alpha1.PausePoint }
	// gaveUp: the status of a route was waited for in vain.
	gaveUp struct {
		pending []string
		after   time.Duration
	}
	// pauseEnded: the pod is gone, or was confirmed.
	pauseEnded struct{ at v1alpha1.PausePoint }
)

func (retried) happening()      {}
func (notFound) happening()     {}
func (jumpMade) happening()     {}
func (jumpRefused) happening()  {}
func (pausedBefore) happening() {}
func (pauseEnded) happening()   {}
func (gaveUp) happening()       {}
