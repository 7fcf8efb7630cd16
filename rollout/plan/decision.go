package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Decision holds the next actions of a release. It is a value: each method returns another one.
type Decision struct {
	// snap is the release with the record that holds once the actions are done.
	snap        *snapshot
	actions     []Action
	needs       Needs
	statusFirst bool
	// records are written to the history before the status, if that is written first.
	records  []Action
	wakes    []Wake
	happened []happening
	// refused is the first action that is left out because it is known to be refused.
	refused *Refusal
	// timed is how much is left of a time for which traffic waits because the release says so
	// (traffic.Standing).
	timed time.Duration
	// looks is the record of checks of updated pods that are not available.
	looks PodLooks
}

// nothing returns the decision to leave a release as it is.
func nothing(s *snapshot) Decision { return Decision{snap: s} }

// with changes the record.
func (d Decision) with(change func(*record)) Decision {
	next := *d.snap
	change(&next.record)
	d.snap = &next
	return d
}

// first makes the record durable before anything else is done.
func (d Decision) first() Decision {
	d.statusFirst = true
	return d
}

// recordFirst makes the record durable before anything else is done, and some entries of the
// history before that: nothing else has them if the status is lost.
func (d Decision) recordFirst(entries []Action) Decision {
	d.records = entries
	return d.first()
}

// need requests what must be observed before the release can go on.
func (d Decision) need(more Needs) Decision {
	if known := d.snap.notNow(more.Trying()); known != nil {
		more.Resolve, more.Drift = nil, nil
		d = d.without(known)
	}
	d.needs = d.needs.and(more)
	return d
}

// read requests live reads that were not made in this pass.
func (d Decision) read(what Reads) Decision { return d.need(Needs{Reads: what &^ d.snap.obs.Live}) }

// wakeAt decides again at a time.
func (d Decision) wakeAt(t time.Time, why WakeReason) Decision {
	d.wakes = append(slices.Clip(d.wakes), Wake{max(t.Sub(d.snap.now), time.Millisecond), why})
	return d
}

// tell adds to what has happened.
func (d Decision) tell(what happening) Decision {
	d.happened = append(slices.Clip(d.happened), what)
	return d
}

// try plans actions, except those that are known to be refused. It reports whether it plans all of
// them. Writes that depend on them must not be planned otherwise.
func (d Decision) try(actions ...Action) (Decision, bool) {
	all := true
	for _, action := range actions {
		known := d.snap.refusal(action)
		if known == nil {
			d.actions = append(slices.Clip(d.actions), action)
			continue
		}
		all, d = false, d.without(known)
	}
	return d, all
}

// without leaves out a write that is known to be refused, and reports it.
func (d Decision) without(known *Refusal) Decision {
	if !known.Until.IsZero() {
		d = d.wakeAt(known.Until, WakeRefused)
	}
	d.refused = cmp.Or(d.refused, known)
	return d
}

// do plans actions that nothing else depends on.
func (d Decision) do(actions ...Action) Decision {
	d, _ = d.try(actions...)
	return d
}

// removes reports whether an action removes an annotation.
func (d Decision) removes(annotation string) bool {
	return slices.ContainsFunc(d.actions, func(action Action) bool {
		a, is := action.(Annotate)
		return is && slices.Contains(a.Remove, annotation)
	})
}

// batchNow returns the current step, counted from 1. A completed release keeps the number of steps
// that it had.
func (d Decision) batchNow() string {
	stored := &d.snap.release.Status
	if d.snap.record.completed() && stored.Phase == v1alpha1.PhaseCompleted && stored.Attempt == d.snap.record.Attempt {
		return stored.Batch
	}
	return batchNumber(d.snap)
}
