package sim

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// carryOut does one action, if what it was decided on is still so.
func carryOut(x *pass, action plan.Action) {
	x.request()
	if refuses(x.world, action) {
		refuseAction(x, action, false, false)
		return
	}
	x.world.see(actionSent{x, action})
	switch a := action.(type) {
	case plan.Annotate:
		writeAnnotations(x, a)
	case plan.RecordRevision:
		keepTemplate(x, a)
	case plan.UpdateRevision:
		markTemplate(x, a)
	case plan.PruneRevision:
		pruneTemplate(x, a)
	case plan.TakeOver:
		takeOverWorkload(x, a)
	case plan.HandBack:
		handBackWorkload(x, a)
	case plan.MovePods:
		x.world.Workload.kind.move(x, a.Write)
	case plan.Follow:
		followWorkload(x, a)
	case plan.CopyTemplate:
		copyTemplate(x, a)
	case plan.OpenGate:
		openGate(x, a)
	case plan.CloseGate:
		closeGate(x, a)
	case plan.RetryMember:
		retryMember(x, a)
	case plan.Traffic:
		moveTraffic(x, a)
	}
	done := x.report.Ended == "" && !x.refused
	if done {
		x.process.refusals = x.process.refusals.After(action)
		if _, moves := action.(plan.MovePods); moves && x.refusedEver {
			x.partly = true
		}
	}
	x.world.see(actionDone{x})
	if done {
		x.wrote(Write{Action: action})
	}
}

func writeAnnotations(x *pass, a plan.Annotate) {
	w := x.world
	if w.Release.Version != x.release.Version {
		x.rememberRelease()
		x.outdated("the release")
		return
	}
	w.updateRelease(func(r *Release) {
		changes := maps.Clone(a.Set)
		if changes == nil {
			changes = map[string]string{}
		}
		for _, key := range a.Remove {
			changes[key] = ""
		}
		r.Annotations = annotate(r.Annotations, changes)
		if a.Finalizer != nil {
			r.Finalizer = *a.Finalizer
		}
	})
	x.sawRelease()
}

// keepTemplate records a template: another one, or that of the workload if the plan decided on it.
func keepTemplate(x *pass, a plan.RecordRevision) {
	w := x.world
	switch {
	case a.Template != nil:
		x.request()
	case w.Workload.Absent || Digest(w.Workload.Template) != a.Digest:
		x.sawWorkload()
		x.outdated("the template of the workload")
		return
	}
	kept := plan.Kept{
		Name: Name + "-" + a.Revision, Revision: a.Revision, Digest: a.Digest, Number: a.Number, Record: a.Record,
	}
	for _, k := range w.Kept {
		if k.Revision == a.Revision {
			x.facts.Kept = append(x.facts.Kept, k)
			return
		}
	}
	w.Kept = append(w.Kept, kept)
	x.facts.Kept = append(x.facts.Kept, kept)
}

// markTemplate writes the record of a kept template.
func markTemplate(x *pass, a plan.UpdateRevision) {
	i := slices.IndexFunc(x.world.Kept, func(k plan.Kept) bool { return k.Name == a.Name })
	if i < 0 {
		x.outdated("the template " + a.Name)
		return
	}
	x.world.Kept[i].Number, x.world.Kept[i].Record = a.Number, a.Record
	x.facts.Kept = slices.Clone(x.world.Kept)
}

func pruneTemplate(x *pass, a plan.PruneRevision) {
	named := func(k plan.Kept) bool { return k.Name == a.Name }
	x.world.Kept = slices.DeleteFunc(x.world.Kept, named)
	x.facts.Kept = slices.DeleteFunc(x.facts.Kept, named)
}

// writeWorkload writes the workload if spec and hold are still what was decided on.
func writeWorkload(x *pass, write func(*Workload)) {
	if now := &x.world.Workload; now.Absent || now.UID != x.workload.UID ||
		now.Generation != x.workload.Generation || !sameHold(now.Hold, x.workload.Hold) {
		x.rememberWorkload()
		x.outdated("the workload")
		return
	}
	x.world.updateWorkload(write)
	x.sawWorkload()
}

func sameHold(a, b *plan.Hold) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// takeOverWorkload writes the hold and the template. It tries the write first, unless the native
// controller is about to remove pods.
func takeOverWorkload(x *pass, a plan.TakeOver) {
	free := a.Template == nil && x.workload.Hold != nil && (x.workload.Hold.Window != "" || !x.workload.kind.secured(&x.workload))
	asked := askedOf(x, a.Template, a.Digest, a.Revision)
	if !free && !asked.by(x.world) {
		refuseAction(x, a, true, false)
		return
	}
	if triedWrite(x); x.report.Ended != "" {
		return
	}
	write := func(d *Workload) {
		hold := a.Hold
		d.kind.secure(d)
		d.Hold, d.Waiting = &hold, false
		if a.Template != nil {
			d.Template = templateOf(x, *a.Template)
		}
	}
	dry, urgent := x.world.Workload, a.PutBack != "" && a.Template == nil
	if write(&dry); !urgent && rewrites(x.world, &dry, true) {
		refuseAction(x, a, true, false)
		return
	}
	rewritten := false
	writeWorkload(x, func(d *Workload) {
		write(d)
		rewritten = rewrites(x.world, d, false)
	})
	if x.report.Ended == "" && (rewritten || !free && !asked.is(x.world.Workload.Template)) {
		refuseAction(x, a, true, true)
	}
}

func handBackWorkload(x *pass, a plan.HandBack) {
	asked := askedOf(x, a.Template, a.Digest, "")
	if !asked.by(x.world) {
		refuseAction(x, a, true, false)
		return
	}
	if triedWrite(x); x.report.Ended != "" {
		return
	}
	writeWorkload(x, func(d *Workload) {
		d.kind.giveBack(d, a.Hold.HeldWorkload)
		d.Hold, d.Waiting = nil, false
		if a.Unfollow {
			d.Follower = ""
		}
		if a.Template != nil {
			d.Template = templateOf(x, *a.Template)
		}
	})
	if x.report.Ended == "" && !asked.is(x.world.Workload.Template) {
		refuseAction(x, a, true, true)
		secureAgain(x, a.Hold)
		return
	}
	if x.process.handed = x.report.Ended == ""; x.process.handed {
		x.world.noted = false
	}
}

// move does one write of the mover.
func (deployments) move(x *pass, write mover.Write) {
	switch w := write.(deployment.Write).(type) {
	case deployment.Create:
		createSet(x, w)
	case deployment.Scale:
		scaleSet(x, w)
	case deployment.OrderPods: // no release here has an order
	}
}

// scaleOf returns the scaling that an action is, if it is one.
func scaleOf(action plan.Action) (deployment.Scale, bool) {
	moved, _ := action.(plan.MovePods)
	scale, is := moved.Write.(deployment.Scale)
	return scale, is
}

// createSet makes a ReplicaSet, or finds it made before the cache knew. One of a workload that
// is gone would have no owner.
func createSet(x *pass, a deployment.Create) {
	w := x.world
	if w.Workload.Absent || w.Workload.UID != x.workload.UID {
		x.outdated("the workload")
		return
	}
	if existing := w.Set(a.Revision); existing != nil {
		x.sawSet(*existing)
		return
	}
	x.sawSet(*w.addSet(Set{Revision: a.Revision, Number: w.native().number(), Replicas: a.Replicas, Desired: -1}))
	x.process.scaled = w.Now
}

// scaleSet changes the size of a ReplicaSet if its size has not changed since. Where unavailable
// pods were to go, its available and ready pods must not have changed either.
func scaleSet(x *pass, a deployment.Scale) {
	seen, now := findSet(x.sets, a.Set.UID), x.world.setByUID(a.Set.UID)
	switch {
	case now == nil:
		forgetSet(x, a.Set.UID)
		x.outdated("the ReplicaSet " + a.Set.Revision)
	case now.Generation != seen.Generation, seen.Replicas != a.From,
		a.To < a.From && seen.Status.Available < a.From &&
			(now.Status.Available != seen.Status.Available || now.Status.Ready != seen.Status.Ready):
		x.rememberSet(*now)
		x.outdated("the ReplicaSet " + a.Set.Revision)
	default:
		x.world.resize(now, a.To)
		now.Desired = -1
		x.sawSet(*now)
		x.process.scaled = x.world.Now
	}
}

// forgetSet takes a ReplicaSet that does not exist out of the memory and out of the cache, which
// hears of the deletion next.
func forgetSet(x *pass, uid types.UID) {
	x.process.sets = slices.DeleteFunc(x.process.sets, func(s Set) bool { return s.UID == uid })
	x.world.Lag.Sets = slices.DeleteFunc(x.world.Lag.Sets, func(l SetLag) bool { return l.UID == uid })
}

func openGate(x *pass, a plan.OpenGate) {
	w := x.world
	if existing := findGate(w.Gates, a.Name); existing != nil {
		x.process.gates = append(x.process.gates, *existing)
		x.outdated("the gate " + a.Name)
		return
	}
	spec := a.Spec
	gate := Gate{Name: a.Name, Spec: &spec, Made: w.Now}
	w.Gates = append(w.Gates, gate)
	x.gates = append(x.gates, gate)
	x.process.gates = append(x.process.gates, gate)
}

func closeGate(x *pass, a plan.CloseGate) {
	named := func(g Gate) bool { return g.Name == a.Name }
	x.world.Gates = slices.DeleteFunc(x.world.Gates, named)
	x.gates = slices.DeleteFunc(x.gates, named)
	x.process.gates = slices.DeleteFunc(x.process.gates, named)
}

func findGate(gates []Gate, name string) *Gate {
	for i := range gates {
		if gates[i].Name == name {
			return &gates[i]
		}
	}
	return nil
}
