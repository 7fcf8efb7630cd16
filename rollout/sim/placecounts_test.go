package sim

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

func (lawsOfPlaces) has(w *World, revision string) bool {
	return w.Workload.behind() <= 0 && same(w.Workload.Template, revision)
}

// running returns how many places have a pod of a revision, or get one.
func (lawsOfPlaces) running(w *World, revision string) int32 {
	d := &w.Workload
	closed := *d
	d.places().closes(&closed)
	return d.places().reached(&closed, w.Places, revision)
}

// comingPods returns running with the pods that are missing, and come back updated through an open
// partition.
func comingPods(w *World, revision string) int32 {
	n, d := podsOf(w, revision), &w.Workload
	if !d.isOpen() {
		return n
	}
	closed := *d
	d.places().closes(&closed)
	for i := range d.Replicas {
		p := &Place{Index: i}
		if !podAt(w, i).stands() && same(d.places().comes(d, &d.Spec, p), revision) && !same(d.places().comes(d, &closed.Spec, p), revision) {
			n++
		}
	}
	return n
}

// letPods returns coming with the pods that are updated through an open partition.
func letPods(w *World, revision string) int32 {
	n, d := comingPods(w, revision), &w.Workload
	if d.isOpen() {
		n = max(n, d.places().reached(d, w.Places, revision))
	}
	return n
}

func (lawsOfPlaces) wanted(w *World) int32 { return w.Workload.Replicas }

func (lawsOfPlaces) passed(before, after *World) (grown, lost int32) {
	update := after.Workload.Template // which the status may not tell of yet
	k := after.Workload.places()
	grown = max(k.reached(&after.Workload, after.Places, update)-k.reached(&before.Workload, before.Places, update), 0)
	lost = max(k.serving(&before.Workload, before.Places)-k.serving(&after.Workload, after.Places), 0)
	return grown, lost
}

// allUpdated: no pod is replaced by the hand-back.
func (lawsOfPlaces) allUpdated(c change) bool {
	d := &c.pass.world.Workload
	for i := range c.pass.world.Places {
		if p := &c.pass.world.Places[i]; p.stands() && p.inside(d.Replicas) && !same(p.Revision, d.Template) {
			return false
		}
	}
	return true
}

// counts returns those of the pods while the workload is held, and of its status otherwise.
func (lawsOfPlaces) counts(w *World, _ string) counts {
	d := &w.Workload
	if d.Hold == nil {
		return counts{ready: min(d.Status.Ready, d.Replicas), available: min(d.Status.Available, d.Replicas)}
	}
	var is counts
	for i := range w.Places {
		p := &w.Places[i]
		if !p.stands() {
			continue
		}
		inside := p.inside(d.Replicas)
		ready, available := one(p.ready()), one(p.Stage == Available)
		if same(p.Revision, d.Template) && d.behind() <= 0 {
			is.updated++
			is.updatedReady += ready * one(inside)
			is.updatedAvailable += available * one(inside)
		}
		is.ready += ready * one(inside)
		is.available += available * one(inside)
	}
	return is
}

// left wants a pod of the template in each place, available, and no more.
func (lawsOfPlaces) left(w *World) []string {
	d := &w.Workload
	switch {
	case d.Hold != nil:
		return []string{"the workload is held"}
	case w.Release.Purged && d.Strategy == OnDelete:
		return nil // what runs then is up to its user
	}
	belong := int32(0)
	for i := range w.Places {
		belong += one(w.Places[i].belongs())
	}
	if belong != d.Replicas {
		return []string{fmt.Sprintf("there are %d pods, wanted %d", belong, d.Replicas)}
	}
	want := d.Template
	if keptOut(w) {
		want = w.Release.Status.UpdateRevision
	}
	for i := range w.Places {
		if p := &w.Places[i]; !p.available() || !same(p.Revision, want) {
			return []string{p.Name + " is " + p.String()}
		}
	}
	return nil
}

// allUnapproved reports whether no pod runs a version that was approved, and the write makes such
// ones: the native controller made all pods of what others had applied while there were none.
func (c change) allUnapproved() bool {
	write, _ := c.moved()
	approved := func(p Place) bool { return p.stands() && past(c.pass.world).isStable(p.Revision) }
	return opensToStable(write) && !slices.ContainsFunc(c.places, approved)
}

// opensToStable reports whether a write lets pods become stable, after a scale-up from 0.
func opensToStable(write inplace.Write) bool {
	switch write := write.(type) {
	case inplace.Window:
		return write.Why == mover.StableGone
	case inplace.Replace:
		return write.Why == mover.StableGone
	}
	return false
}

// neverTakesBack checks I5: within an attempt updated pods go back only with spec.replicas, where
// somebody has scaled the workload up while pods were replaced, by a jump back that is to take them
// away, and one of them where there was no old pod left.
func neverTakesBack(w *World, c change) string {
	p, status := past(w), c.pass.intent
	if p.OutOfBand || len(c.replaced()) == 0 || !c.takesBack() {
		return ""
	}
	if write, _ := c.moved(); opensToStable(write) && w.follows() && w.Workload.Hold.Emptied {
		return "" // what others had applied when somebody scaled up from 0 does not serve
	}
	if !w.Workload.places().goesBack() {
		return "there is no way back"
	}
	was, is := c.reached(status.UpdateRevision)
	if step, back := steppedBack(w, status); back && is >= p.Sizes.least(step, w.Workload.Replicas) {
		return ""
	}
	least := min(was, checkerOf(c.pass.world).window.least(w)-1)
	switch {
	case p.Sizes.Fell || c.pass.stored.Replicas > w.Workload.Replicas:
		step := stepsOf(w, status)[status.CurrentStepIndex]
		least = -checkerOf(c.pass.world).window.extreme(w, func(d *Workload) int32 { return -p.Sizes.least(step, d.Replicas) })
	case p.Let:
		least = min(least, -checkerOf(c.pass.world).window.extreme(w, func(d *Workload) int32 { return -approvedPods(w, status, d.Replicas) }))
	}
	if is >= least {
		return ""
	}
	return fmt.Sprintf("%d -> %d updated pods, at least %d", was, is, least)
}
