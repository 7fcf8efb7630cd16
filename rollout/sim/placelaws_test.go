package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// placeLaws are those of workloads whose pods have places. A place counts as updated if its pod is,
// or if the native controller makes an updated one there as soon as it gets to it: where a pod is
// missing or going, and from an open partition up.
var placeLaws = []law{
	{"I2 no write takes available pods below replicas - maxUnavailable", staysServed},
	{"I3 updated pods stay within the step whose predecessors' gates have passed", reachesStep},
	{"a pod that is deleted comes back in the version that it is to have", comesBackReleased},
	{"what is lost comes back in the version that all pods ran", keepsCurrent},
	{"I3 a workload is handed back when all its pods are updated, or its release is deleted", handsBackAtEnd},
	{"I13 a workload that is let go of is left with the template that its policy names", leavesNamed},
	{"I5 the updated count never falls", neverTakesBack},
	{"I3 the gates of a step that is jumped back to are opened when its pods are there", asksWhenBack},
	{"I6 no write raises a revision that is rolled back", reachesNoBad},
	{"I6 what was rolled back goes first", undoneGoesFirst},
	{"I6 what was rolled back is not released again", keepsOut},
	{"I3 what goes without gates was stable", goesBackToStable},
	{"the history has what was released", recordsReleased},
	{"I6 what a rollback goes back to was stable", namesStable},
	{"I6 a release goes back only on request", turnsRound},
	{"I8 what is held is kept from its native controller", staysPaused},
	{"what somebody has changed of a workload is put back in one write", putsBackWhole},
	{"what is stopped stands", placesStand},
	{"I17 a write leaves the workload with a template that was approved", bringsApproved},
	{"what is queued waits", waitsItsTurn},
	{"what no commit has brought waits for a person", asksFirst},
}

func (lawsOfPlaces) laws() []law { return placeLaws }

// reached returns how many places have, or get without another write, a pod of a revision.
func (c change) reached(revision string) (before, after int32) {
	w := c.pass.world
	return w.Workload.places().reached(&c.workload, c.places, revision), w.Workload.places().reached(&w.Workload, w.Places, revision)
}

// moved returns the write of the mover that the change is.
func (c change) moved() (inplace.Write, bool) {
	action, is := c.action.(plan.MovePods)
	if !is {
		return nil, false
	}
	write, is := action.Write.(inplace.Write)
	return write, is
}

// replaced returns the pods that the change has deleted.
func (c change) replaced() []Place {
	write, _ := c.moved()
	replace, is := write.(inplace.Replace)
	if !is {
		return nil
	}
	var gone []Place
	for _, pod := range replace.Pods {
		before, now := findPlace(c.places, pod.UID), findPlace(c.pass.world.Places, pod.UID)
		if before.stands() && !now.stands() {
			gone = append(gone, *before)
		}
	}
	return gone
}

// updatedMoved reports whether the change takes updated pods back.
func (c change) takesBack() bool {
	write, is := c.moved()
	return is && write.Updates()
}

// staysServed checks I2. What an open partition reaches counts as gone: the native controller
// deletes it. Pods of a version that nobody has approved, after a scale-up from 0, are left to its
// own pace: one after the other, or maxUnavailable of the strategy.
func staysServed(w *World, c change) string {
	write, moves := c.moved()
	if !moves || opensToStable(write) {
		return ""
	}
	least, lost := checkerOf(c.pass.world).window.leastAvailable(w), checkerOf(c.pass.world).window.lost
	if n := int32(len(w.Nodes)); w.Leaving != PodsGo { // nobody counts the nodes that are left before the native controller has
		_, unavailable := w.Workload.bounds(n)
		least = min(least, n-unavailable)
	}
	was, is := w.Workload.places().serving(&c.workload, c.places), w.Workload.places().serving(&w.Workload, w.Places)
	switch write.(type) {
	case inplace.Window: // a pod that was not available when the partition was chosen may have become so since
		is += c.came()
	case inplace.Replace:
		was, is = serving(c.places, w.Workload.Replicas), serving(w.Places, w.Workload.Replicas)
		lost += c.uncounted()
	}
	if is < was && is+lost < least {
		return fmt.Sprintf("%d -> %d available, at least %d", was, is, least)
	}
	return ""
}

// came returns how many pods are available that were not when the pass saw them.
func (c change) came() int32 {
	n := int32(0)
	for i := range c.pass.places {
		p := &c.pass.places[i]
		n += one(!p.available() && findPlace(c.pass.world.Places, p.UID).available())
	}
	return n
}

// uncounted returns how many available pods the pass counted whose nodes have left: as the native
// controller had not seen that either, or in the stead of nodes that lack a pod which the process
// has never seen.
func (c change) uncounted() int32 {
	n, orphans := int32(0), int32(0)
	for i := range c.pass.places {
		p := &c.pass.places[i]
		n += one(p.available() && p.Uncounted)
		orphans += one(p.available() && p.Orphan && !p.Uncounted)
	}
	known := c.pass.process.vacant.Nodes()
	for _, node := range c.pass.world.Nodes {
		if orphans > 0 && !slices.ContainsFunc(c.pass.world.Places, func(p Place) bool { return p.Node == node }) && !slices.Contains(known, node) {
			n, orphans = n+1, orphans-1
		}
	}
	return n
}

// served returns how many pods that serve the write replaces, or lets the native controller
// replace.
func (c change) served() int32 {
	if gone := c.replaced(); len(gone) > 0 {
		return serving(gone, c.workload.Replicas)
	}
	k := c.workload.places()
	return max(k.serving(&c.workload, c.places)-k.serving(&c.pass.world.Workload, c.pass.world.Places), 0)
}

// serving counts the available pods that there are to be, one on a node.
func serving(places []Place, replicas int32) int32 {
	n, last := int32(0), ""
	for i := range places {
		if p := &places[i]; p.available() && p.inside(replicas) && p.belongs() && (p.Node == "" || p.Node != last) {
			n, last = n+1, p.Node
		}
	}
	return n
}

// keepsCurrent checks StatefulSets, whose native controller makes pods below the partition
// of the current revision. As long as it has not seen the workload, the status is about what all
// pods ran before.
func keepsCurrent(w *World, c change) string {
	now := &w.Workload
	if _, taken := c.action.(plan.TakeOver); !taken || past(w).Losses || now.Status.Current == "" || same(c.workload.Template, now.Template) {
		return ""
	}
	status := c.workload.Status
	if n := c.workload.Replicas; n == 0 && w.follows() || status.Replicas != n || status.Updated != n || status.Ready != n {
		return ""
	}
	if same(now.Status.Current, status.Update) || same(now.Status.Current, now.Template) { // or it is the one that is released
		return ""
	}
	return fmt.Sprintf("all pods run %s, and come back in %s", status.Update, now.Status.Current)
}

// reachesStep checks I3, with I4.
func reachesStep(w *World, c change) string {
	status := c.pass.intent
	if past(w).OutOfBand {
		return ""
	}
	if _, moves := c.moved(); !moves && !w.Workload.places().goesBack() {
		return "" // what lacks a pod when a DaemonSet is taken over gets an updated one, as it does at any time
	}
	if _, taken := c.action.(plan.TakeOver); taken && same(w.Workload.Status.Current, status.UpdateRevision) {
		return "" // pods come back in the current revision, whoever releases it
	}
	if _, handed := c.action.(plan.HandBack); handed {
		return "" // which is for handsBackAtEnd
	}
	if status.Rollback != nil && w.follows() && c.allUnapproved() {
		return "" // no step approves what others had applied when somebody scaled up from 0
	}
	was, is := c.reached(status.UpdateRevision)
	limit := c.share()
	if d := &w.Workload; status.Rollback == nil && d.Hold != nil && d.Strategy == OnDelete && w.Workload.places().goesBack() && limit < d.Replicas {
		return "every pod that is lost comes back updated"
	}
	if status.Rollback != nil { // what does not serve is replaced whatever the step says
		is = min(is, was+c.served())
	}
	if w.Kind() == DaemonSet {
		is = min(is, max(was, int32(len(w.Nodes)))) // nothing comes back on a node that has gone
	}
	if is > was && is-checkerOf(c.pass.world).window.grown-c.uncounted() > limit {
		return fmt.Sprintf("%d -> %d updated pods, at most %d", was, is, limit)
	}
	return ""
}

// comesBackReleased: what is deleted to be updated comes back updated, whatever the native
// controller has seen of the workload, and what is deleted to go back does not.
func comesBackReleased(w *World, c change) string {
	d := &w.Workload
	if len(checkerOf(c.pass.world).window.workloads) > 0 || past(w).OutOfBand {
		return ""
	}
	write, _ := c.moved()
	for _, p := range c.replaced() {
		if opensToStable(write) {
			if revision := d.places().comes(d, &d.Spec, &p); !past(w).isStable(revision) {
				return fmt.Sprintf("%s comes back with %s, which was never stable", p.Name, revision)
			}
			continue
		}
		if c.takesBack() {
			if same(d.places().comes(d, &d.Spec, &p), c.pass.intent.UpdateRevision) {
				return p.Name + " is to go back, and comes back as it was"
			}
			continue
		}
		if same(p.Revision, c.pass.intent.UpdateRevision) {
			return p.Name + " has that version already"
		}
		for _, spec := range append(slices.Clone(d.Earlier), d.Spec) {
			if revision := d.places().comes(d, &spec, &p); !same(revision, c.pass.intent.UpdateRevision) {
				return fmt.Sprintf("%s comes back with %s", p.Name, revision)
			}
		}
	}
	return ""
}

// asksWhenBack checks opensWhenBack.
func asksWhenBack(w *World, c change) string {
	step, back := steppedBack(w, c.pass.intent)
	if open, opens := c.action.(plan.OpenGate); !opens || open.Spec.Index >= v1alpha1.GuardIndex || !back || past(w).OutOfBand || w.Lag.Places != nil || !w.Workload.places().goesBack() || w.Workload.places().single(w) {
		return ""
	}
	target := past(w).Sizes.most(step, w.Workload.Replicas)
	if n := podsOf(w, c.pass.intent.UpdateRevision) - checkerOf(c.pass.world).window.grown; n > target {
		return fmt.Sprintf("there are %d updated pods, not %d", n, target)
	}
	return ""
}

// reachesNoBad checks I6.
func reachesNoBad(w *World, c change) string {
	if _, moves := c.moved(); !moves || past(w).Bad == "" {
		return ""
	}
	if was, is := c.reached(past(w).Bad); is > was+checkerOf(c.pass.world).window.grown {
		return past(w).Bad + " was rolled back"
	}
	return ""
}

// placesStand checks standsStill: no old pod is replaced, and no partition opened over one. In a
// rollback only steps that can't be read are a reason.
func placesStand(w *World, c change) string {
	intent := c.pass.intent
	stands := stopped(c.pass) && intent.Rollback == nil || intent.Rollback != nil && c.pass.release.unreadable(intent)
	switch {
	case !stands || past(w).OutOfBand:
		return ""
	case len(c.replaced()) > 0 && !c.takesBack():
		return "pods are updated"
	}
	if a, is := c.action.(plan.TakeOver); is && intent.Rollback == nil && a.Template != nil && c.workload.Hold == nil && c.pass.stored.Held == nil {
		return "the workload is taken over"
	}
	if write, moves := c.moved(); moves && !write.Updates() && !opensToStable(write) {
		if was, is := w.Workload.places().serving(&c.workload, c.places), w.Workload.places().serving(&w.Workload, w.Places); is < was {
			return fmt.Sprintf("pods are about to be updated: %d -> %d available ones stay", was, is)
		}
	}
	return ""
}

// noteOpened remembers for how many places a partition is open.
func (p *Past) noteOpened(w *World, c change) {
	switch _, moves := c.moved(); {
	case !w.Workload.isOpen():
		p.Opened = 0
	case moves:
		_, p.Opened = c.reached(c.pass.intent.UpdateRevision)
	}
}

// isOpen reports whether the hold says that the native controller may update pods.
func (d *Workload) isOpen() bool { return windowOf(d.Hold) != inplace.Held }

// judgeUpdated holds the native controller against I3 when it makes a pod while a workload is held:
// it must never be let make more updated pods than are approved, whoever scales or deletes pods,
// and whether or not there is a controller. Only pods that somebody scales to while others are
// being replaced may be more, and those that were about to be replaced when somebody jumped back.
// Pods of the current revision come whatever is released.
func judgeUpdated(w *World, revision string) {
	d, status := &w.Workload, w.Release.Status
	back := slices.ContainsFunc(status.Jumps(), func(j v1alpha1.EarlierJump) bool { return j.To <= j.From })
	if d.Hold == nil || past(w).OutOfBand || past(w).Let || back || status.Rollback != nil ||
		!same(revision, status.UpdateRevision) || past(w).isStable(revision) || d.places().single(w) || same(revision, d.Status.Current) {
		return
	}
	n := int32(0)
	for i := range w.Places {
		if p := &w.Places[i]; p.stands() && same(p.Revision, revision) && p.inside(d.Replicas) {
			n++
		}
	}
	limit := approvedPods(w, status, d.Replicas)
	if d.isOpen() { // who clears the status takes nothing back that was approved before
		limit = max(limit, past(w).Opened)
	}
	if n > limit {
		w.breach("I3 the native controller is let update no more pods than are approved", fmt.Sprintf("%s has %d pods, at most %d", revision, n, limit))
	}
}

// judgeRest has nothing to say of a pass that knows of refused writes.
func (lawsOfPlaces) judgeRest(*World, heldBack) {}

// judgeReturns: where a pass finds that an updated pod of a StatefulSet has ended or goes away, and
// leaves it at that, it comes back updated (S1, S7), unless a pod beyond it is to stay as it is.
func judgeReturns(w *World) {
	d, status := &w.Workload, w.Release.Status
	k := d.places()
	if w.Lag.any() || d.behind() > 0 || !k.goesBack() || k.single(w) || status.Rollback != nil || !status.Entered() || status.Held == nil {
		return
	}
	missing := status.TargetReplicas - k.reached(d, w.Places, status.UpdateRevision)
	for i := d.Replicas - 1; i >= 0 && missing > 0; i-- {
		p := podAt(w, i)
		switch {
		case p.stands() && same(p.Revision, status.UpdateRevision):
		case p == nil || p.stands():
			return
		case same(k.comes(d, &d.Spec, p), status.UpdateRevision):
		case same(p.Revision, status.UpdateRevision):
			w.breach("an updated pod that goes comes back updated", p.Name+" is "+p.String())
			return
		default:
			return
		}
	}
}

// judgeFollowed: once everybody has come to rest, no partition is open over pods that are not
// updated, and no more pods are updated than the steps allow.
func (lawsOfPlaces) judgeFollowed(w *World, back heldBack) {
	d, status := &w.Workload, w.Release.Status
	under := d.Hold != nil && !w.Release.Deleting && !past(w).OutOfBand && back == (heldBack{}) && status.Attempt == past(w).Attempt
	if !under {
		return
	}
	if judgeReturns(w); !allSettled(w) || d.places().lacks(w) {
		return
	}
	all := approvedPods(w, status, d.Replicas) >= d.Replicas && podsOf(w, status.UpdateRevision) >= d.Replicas
	if how := d.places().open(w); how != "" && !all { // where all pods are updated it holds nothing back: the hand-back closes it
		w.breach("at rest no partition is open", how)
	}
	if status.Rollback != nil || d.places().single(w) || !d.places().goesBack() {
		return
	}
	if _, back := steppedBack(w, status); back && (w.Release.Spec.Suspend || w.Release.unreadable(status)) {
		return
	}
	n, limit := podsOf(w, status.UpdateRevision), approvedPods(w, status, d.Replicas)
	if n > limit && mayLose(w) {
		w.breach("I3 updated pods come down to the share of what there is", fmt.Sprintf("%d updated pods, at most %d", n, limit))
	}
}

// judgeCompleted: a process that says that a release is completed knows of no pods that run
// anything else.
func (lawsOfPlaces) judgeCompleted(x *pass, status *v1alpha1.BatchReleaseStatus) {
	d := &x.workload
	if x.listed { // it has seen the pods, which a status may not count yet
		for i := range x.places {
			if p := &x.places[i]; p.stands() && p.inside(d.Replicas) && !same(p.Revision, status.UpdateRevision) {
				x.world.breach("what the status says of pods is true", status.UpdateRevision+" is completed, and "+p.Name+" is "+p.String())
			}
		}
		return
	}
	if s := d.Status; s.Updated < min(s.Replicas, d.Replicas) && d.behind() == 0 { // others are about to go
		x.world.breach("what the status says of pods is true",
			fmt.Sprintf("%s is completed, and %d of %d pods are updated", status.UpdateRevision, s.Updated, s.Replicas))
	}
}

func (lawsOfPlaces) tellEnd(w *World, text *strings.Builder) {
	for i := range w.Places {
		fmt.Fprintf(text, "pod %s %s\n", w.Places[i].Name, &w.Places[i])
	}
}

// key tells pods apart by their places, and what is seen of them by whether it is still so.
func (lawsOfPlaces) key(e *encoder, s *State) {
	p := s.Process.Clone()
	p.recall(s.World)
	for _, d := range []*Workload{&s.Workload, s.Lag.Workload, p.workload} {
		keyOfPlaced(e, d)
	}
	for i := range s.Workload.Earlier {
		e.number(int64(s.Workload.Earlier[i].Partition))
		e.number(int64(s.Workload.Earlier[i].AtOnce))
	}
	keyOfPlaces(e, s.Places)
	if e.flag(s.Lag.Places != nil); s.Lag.Places != nil {
		keyOfPlaces(e, *s.Lag.Places)
	}
	e.flag(past(s.World).Let)
	e.number(int64(past(s.World).Opened))
	e.number(int64(s.Start))
	for _, node := range s.Nodes {
		e.text(node)
	}
	for _, node := range p.vacant.Nodes() {
		e.text(node)
	}
	for _, uid := range p.gone {
		if at := findPlace(*s.Lag.Places, uid); at != nil {
			e.text(at.Name)
		}
	}
}

func keyOfPlaced(e *encoder, d *Workload) {
	if e.flag(d != nil); d == nil {
		return
	}
	e.number(int64(d.Partition))
	e.number(int64(d.AtOnce))
	for _, revision := range []string{d.Status.Current, d.Status.Update} {
		e.text(revision)
	}
	for _, n := range []int32{d.Status.Replicas, d.Status.Ready, d.Status.Available, d.Status.Updated, d.Status.Misscheduled} {
		e.number(int64(n))
	}
	if d.Hold != nil {
		e.text(d.Hold.Window)
		e.text(d.Hold.Foreign)
	}
}

func keyOfPlaces(e *encoder, places []Place) {
	e.number(int64(len(places)))
	for i := range places {
		p := &places[i]
		present := findPlace(e.world.Places, p.UID)
		e.flag(present != nil && present.Version == p.Version, p.Going, p.Orphan, p.Misplaced, p.Uncounted)
		e.text(p.Name)
		e.text(p.Revision)
		e.number(int64(p.Stage))
	}
}
