package sim

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// change is a write of the process, with what was before it.
type change struct {
	action   plan.Action
	pass     *pass
	sets     []Set
	places   []Place
	workload Workload
	// traffic is who got requests before, seen what the pass had seen of it, and view who may have got
	// some.
	traffic *Traffic
	seen    *traffic.Seen
	view    View
}

// before and after are a ReplicaSet's size; -1 if it did not exist.
func (c change) before(s *Set) int32 {
	for i := range c.sets {
		if c.sets[i].UID == s.UID {
			return c.sets[i].Replicas
		}
	}
	return -1
}

// grown and shrunk are the ReplicaSet that the write has changed, nil if there is none.
func (c change) grown() *Set { return c.changed(func(d int32) bool { return d > 0 }) }

func (c change) shrunk() *Set { return c.changed(func(d int32) bool { return d < 0 }) }

func (c change) changed(is func(difference int32) bool) *Set {
	sets := c.pass.world.Sets
	for i := range sets {
		if is(sets[i].Replicas - max(c.before(&sets[i]), 0)) {
			return &sets[i]
		}
	}
	return nil
}

// law says how a write breaks it; empty if it does not.
type law struct {
	name  string
	holds func(*World, change) string
}

// deploymentLaws are what each write of the process is checked against.
var deploymentLaws = []law{
	{"I1 there are, and will be, at most replicas + maxSurge pods", withinSurge},
	{"I2 no write takes available pods below replicas - maxUnavailable", staysAvailable},
	{"I3 updated pods stay within the step whose predecessors' gates have passed", withinStep},
	{"I3 the version before keeps the pods that the step leaves it", keepsOld},
	{"I3 a workload is handed back when all its pods are updated, or its release is deleted", handsBackAtEnd},
	{"I13 a workload that is let go of is left with the template that its policy names", leavesNamed},
	{"I5 the updated count never falls", neverFalls},
	{"I3 the gates of a step that is jumped back to are opened when its pods are there", opensWhenBack},
	{"I6 no write raises a revision that is rolled back", leavesBad},
	{"I6 what was rolled back is not released again", keepsOut},
	{"I3 what goes without gates was stable", goesBackToStable},
	{"the history has what was released", recordsReleased},
	{"pods are ordered only where a release says so, and none here does", ordersNothing},
	{"I6 what a rollback goes back to was stable", namesStable},
	{"I6 a release goes back only on request", turnsRound},
	{"I8 what is held is paused", staysPaused},
	{"what must run one version at a time is not released in batches", keepsOneVersion},
	{"what is stopped stands", standsStill},
	{"I17 a write leaves the workload with a template that was approved", bringsApproved},
	{"what is queued waits", waitsItsTurn},
	{"what no commit has brought waits for a person", asksFirst},
}

// judgeAction checks a write against the laws.
func judgeAction(w *World, c change) {
	k := checkerOf(w)
	k.begin(c.pass, c.pass.intent, !k.judged)
	k.judged = true
	k.wrote(w, c)
	laws := byKind(&w.Workload).laws()
	if w.Traffic != nil {
		laws = slices.Concat(laws, trafficLaws)
	}
	for _, l := range laws {
		if how := l.holds(w, c); how != "" {
			w.breach(l.name, fmt.Sprintf("%s (%s): %s", c.action, c.action.Why(), how))
		}
	}
	k.forgive(w, c)
	k.noteOpened(w, c)
}

// podsOf returns how many pods there are to be of a revision.
func podsOf(w *World, revision string) int32 { return byKind(&w.Workload).running(w, revision) }

// withinSurge checks I1, and I14: where a write adds pods, those that run, except those that are
// going away, and those that are yet to be made are within the surge. What a write before has taken
// away counts until the ReplicaSet controller has deleted it, so that there are never more, however
// late that controller is. Where maxSurge is 0 one pod beyond is allowed if a ReplicaSet goes from
// 0 to 1 beside the only active one, or beside two that have one pod each: in any other order there
// would be a lone one, which the native controller would scale to all replicas (T1). So it is where
// the lone one itself gets the last pod.
func withinSurge(w *World, c change) string {
	s := c.grown()
	if s == nil {
		return ""
	}
	serving := c.mostServing()
	limit := max(checkerOf(c.pass.world).window.mostPods(w), serving)
	alone := s.Replicas == total(w.Sets) && s.Replicas == w.Workload.Replicas
	if alone || s.Replicas == 1 && c.before(s) <= 0 && pinned(w.Sets, s) {
		limit = max(limit, checkerOf(c.pass.world).window.extreme(w, func(d *Workload) int32 { return d.Replicas + 1 }))
		if serving > 0 { // beside those that requests need, too, a version may have to come before another one can make room (T1)
			limit = max(limit, serving+1)
		}
	}
	if peak := peakPods(w) - checkerOf(c.pass.world).window.grown; peak > limit {
		return fmt.Sprintf("%d pods, at most %d", peak, limit)
	}
	return ""
}

// peakPods returns how many pods there may be until every ReplicaSet has its size. Those that are going
// away count only for code that waits for them to be gone.
func peakPods(w *World) int32 {
	var n int32
	for i := range w.Sets {
		s := &w.Sets[i]
		n += max(s.Replicas, s.Pods.total())
		if w.Release.Spec.Strategy.PodReplacement == v1alpha1.ReplaceWhenTerminated {
			n += s.Pods.Going
		}
	}
	return n
}

// pinned reports whether the ReplicaSets beside one are a lone one, or two of one pod each.
func pinned(sets []Set, beside *Set) bool {
	active, single := 0, true
	for i := range sets {
		if s := &sets[i]; s.UID != beside.UID && s.Replicas > 0 {
			active++
			single = single && s.Replicas == 1
		}
	}
	return active == 1 || active == 2 && single
}

// staysAvailable checks I2, evaluated as if of each ReplicaSet the unavailable pods go first.
// Where no pod was lost, the pods that the statuses count must really be there.
func staysAvailable(w *World, c change) string {
	if c.shrunk() == nil {
		return ""
	}
	least, lost := checkerOf(c.pass.world).window.leastAvailable(w), checkerOf(c.pass.world).window.lost
	was, is := effective(c.sets), effective(w.Sets)
	if is < was && is+lost < least {
		return fmt.Sprintf("%d -> %d available, at least %d", was, is, least)
	}
	was, truly := trulyEffective(c.sets), trulyEffective(w.Sets)
	if !past(w).Losses && truly < is && truly < was && truly+lost < least {
		return fmt.Sprintf("%d -> %d really available, at least %d", was, truly, least)
	}
	return ""
}

// withinStep checks I3, and I4 with it: only gates of this very attempt count. In a rollback what
// spec.replicas asks for beyond the pods there are may run the revision that is rolled back to.
func withinStep(w *World, c change) string {
	s := c.grown()
	status := c.pass.intent
	if s == nil || !same(s.Revision, status.UpdateRevision) {
		return ""
	}
	limit := c.share()
	if c.beside() { // the status still names the stable version as what is rolled back to
		limit = max(limit, 1)
	}
	if status.Rollback != nil && past(w).OutOfBand {
		return "" // good pods that were there when the step began are made up for
	}
	if status.Rollback != nil {
		limit = max(limit, w.Workload.Replicas-(total(w.Sets)-s.Replicas), goodNeeds(w, c))
	}
	if s.Replicas <= limit {
		return ""
	}
	return fmt.Sprintf("%d updated pods, at most %d", s.Replicas, limit)
}

// goodNeeds returns the pods that requests need of a version that is rolled back to: none, unless
// every route shares them with it.
func goodNeeds(w *World, c change) int32 {
	bad := int32(0)
	if c.traffic == nil || c.traffic.Off || !same(c.traffic.Stable.Revision, c.pass.intent.UpdateRevision) {
		return 0
	}
	for i := range c.traffic.Routes {
		r := &c.traffic.Routes[i]
		if !r.Shared || !r.Held {
			return 0
		}
		bad = max(bad, r.Weight)
	}
	return percentOf(w.Workload.Replicas, 100-bad)
}

// beside reports whether the stable version gets a pod before another release begins, so that the
// new version is never alone.
func (c change) beside() bool {
	move, is := c.action.(plan.MovePods)
	return is && move.Write.Reason() == mover.Beside
}

// keepsOld checks I3 seen from the other side: where old pods go so that more of what is left is
// updated than the steps allow, it is the same as if updated pods had come.
func keepsOld(w *World, c change) string {
	s, status := c.shrunk(), c.pass.intent
	if s == nil || same(s.Revision, status.UpdateRevision) || status.Rollback != nil || past(w).OutOfBand {
		return ""
	}
	old := total(w.Sets)
	if update := w.setOf(status.UpdateRevision); update != nil {
		old -= update.Replicas
	}
	least := -checkerOf(c.pass.world).window.extreme(w, func(d *Workload) int32 { return approvedPods(w, status, d.Replicas) - d.Replicas })
	if old >= least {
		return ""
	}
	return fmt.Sprintf("%d old pods are left, at least %d", old, least)
}

// share returns how many pods may run the update revision, at most, by what the pass can have seen
// of spec.replicas.
func (c change) share() int32 {
	w := c.pass.world
	limit := checkerOf(c.pass.world).window.extreme(w, func(d *Workload) int32 { return approvedPods(w, c.pass.intent, d.Replicas) })
	if w.Leaving != PodsGo { // a node that is deleted counts as long as it has a pod
		limit = max(limit, approvedPods(w, c.pass.intent, w.Workload.kind.size(&c.workload, c.places)))
	}
	return limit
}

// approvedPods returns the largest target of the steps up to the last one whose predecessors' gates have
// all passed. A percentage is rounded up for the replicas that there were when the step was
// entered, and down for all others.
func approvedPods(w *World, status *v1alpha1.BatchReleaseStatus, replicas int32) int32 {
	limit := int32(0)
	for i, step := range allowedSteps(w, status) {
		target := Target(step, replicas)
		if int32(i) <= status.CurrentStepIndex {
			target = past(w).Sizes.most(step, replicas)
		}
		limit = max(limit, target)
	}
	return limit
}

// allowedSteps returns the steps up to the last one whose predecessors' gates have all passed. Where
// they mix pods and percentages, a step may come to less than one before it.
func allowedSteps(w *World, status *v1alpha1.BatchReleaseStatus) []v1alpha1.Step {
	steps := stepsOf(w, status)
	return steps[:min(stepsPassed(w, status)+1, len(steps))]
}

// stepsPassed returns how many steps' gates have all passed, one step after the other.
func stepsPassed(w *World, status *v1alpha1.BatchReleaseStatus) int {
	steps := stepsOf(w, status)
	for i := range steps {
		if !gatesPassed(w, status, i) {
			return i
		}
	}
	return len(steps)
}

// most returns the largest target of some steps.
func most(steps []v1alpha1.Step, replicas int32) int32 {
	n := int32(0)
	for _, step := range steps {
		n = max(n, Target(step, replicas))
	}
	return n
}

// stepsOf returns those that were approved, however somebody has changed them since.
func stepsOf(w *World, status *v1alpha1.BatchReleaseStatus) []v1alpha1.Step {
	if status.Rollback == nil {
		return w.Sound.Strategy.Steps
	}
	if w.Sound.Rollback != nil {
		return w.Sound.Rollback.Steps
	}
	return Steps("1 none", "100%")
}

// gatesPassed reads the Gate objects of a step by what they are bound to, not by their names.
func gatesPassed(w *World, status *v1alpha1.BatchReleaseStatus, index int) bool {
	steps := stepsOf(w, status)
	if jumpedBack(status, index) {
		return true
	}
	step, wanted := steps[index], len(steps[index].Gates)
	if wanted == 0 && status.Rollback == nil && index < len(steps)-1 && !jumpedOver(status, index) {
		wanted = 1
	}
	for _, policy := range step.Gates {
		if policy.None != nil || policy.CanSkip() && jumpedOver(status, index) {
			wanted--
		}
	}
	for i := range w.Gates {
		spec := w.Gates[i].Spec
		if spec.Attempt == status.Attempt && spec.Revision == status.UpdateRevision && spec.Step == int32(index) &&
			w.Gates[i].Decision == v1alpha1.DecisionPassed {
			wanted--
		}
	}
	return wanted <= 0
}

// handsBackAtEnd checks I3 for what the native controller would do with the workload.
func handsBackAtEnd(w *World, c change) string {
	if _, is := c.action.(plan.HandBack); !is || w.Release.Deleting {
		return ""
	}
	rests, now := c.pass.intent.Phase == v1alpha1.PhaseCompleted, w.Workload.Template
	if w.follows() && (rests && runsAlone(w, now) || c.workload.Hold == nil && past(w).isStable(now)) {
		return "" // the template that was applied runs already, or one that was approved is back
	}
	if rests && past(w).isStable(now) && (runsAlone(w, now) || w.Workload.Replicas == 0) {
		return "" // it was scaled to or from 0 before its release was on record, and Git has taken that back
	}
	if w.follows() && w.Lag.Places != nil && c.pass.intent.Rollback != nil && past(w).isStable(now) {
		return "" // the native controller takes what the cache does not show to the stable version
	}
	return notDone(w, c)
}

// runsAlone reports whether no pod runs another version.
func runsAlone(w *World, revision string) bool {
	ofSet := func(s Set) bool { return !same(s.Revision, revision) && max(s.Replicas, s.Pods.total()) > 0 }
	stands := func(p Place) bool { return !same(p.Revision, revision) && p.stands() }
	return !slices.ContainsFunc(w.Sets, ofSet) && !slices.ContainsFunc(w.Places, stands)
}

// notDone says what is left to be done of what the workload's template began; empty if nothing is.
func notDone(w *World, c change) string {
	if !byKind(&w.Workload).allUpdated(c) {
		return "not all pods are updated"
	}
	if status := c.pass.intent; stepsPassed(w, status) < len(stepsOf(w, status)) {
		return "gates have not passed"
	}
	return ""
}

// neverFalls checks I5: within an attempt updated pods go only with spec.replicas, down to the
// step's share of them and no further; by a jump back that is to take them away; and one of them
// where there was no old pod left.
func neverFalls(w *World, c change) string {
	s, p, status := c.shrunk(), past(w), c.pass.intent
	if s == nil || !same(s.Revision, status.UpdateRevision) || p.OutOfBand {
		return ""
	}
	if step, back := steppedBack(w, status); back && s.Replicas >= p.Sizes.least(step, w.Workload.Replicas) {
		return ""
	}
	least := min(c.before(s), checkerOf(c.pass.world).window.least(w)-1)
	if p.Sizes.Fell || c.pass.stored.Replicas > w.Workload.Replicas { // or so says the status, if a later one was lost
		step := stepsOf(w, status)[status.CurrentStepIndex]
		least = -checkerOf(c.pass.world).window.extreme(w, func(d *Workload) int32 { return -p.Sizes.least(step, d.Replicas) })
	}
	if s.Replicas >= least {
		return ""
	}
	return fmt.Sprintf("%d -> %d updated pods", c.before(s), s.Replicas)
}

// staysPaused checks I8 for what we write to the workload. That somebody else has unpaused it a
// write to something else can't know; TestWalks checks that it is paused again.
func staysPaused(w *World, c change) string {
	_, taken := c.action.(plan.TakeOver)
	if _, handed := c.action.(plan.HandBack); !taken && !handed {
		return ""
	}
	if d := &w.Workload; d.exposed() {
		return "it would lose its pods"
	}
	return ""
}

// judge is I4: a manual gate passes once a person has confirmed this very gate.
func (p *Past) judge(w *World, gate *Gate) {
	if gate.Spec.Type == v1alpha1.GateManual && !slices.Contains(p.Confirmed, gate.Name) {
		w.breach("I4 an approval counts for one gate", gate.Name+" was never confirmed")
	}
}

// recordsReleased refuses a record of another template than that of its revision.
func recordsReleased(w *World, c change) string {
	a, is := c.action.(plan.RecordRevision)
	if !is || a.Template == nil || w.API.Policied {
		return ""
	}
	if given := templateOf(c.pass, *a.Template); Digest(given) != a.Digest {
		return fmt.Sprintf("%s is recorded as %s", given, a.Revision)
	}
	return ""
}

// ordersNothing refuses an order of pods: no release here has one.
func ordersNothing(_ *World, c change) string {
	a, _ := c.action.(plan.MovePods)
	if order, is := a.Write.(deployment.OrderPods); is {
		return order.String()
	}
	return ""
}

// unobserved returns a copy without an observer.
func unobserved(w *World) *World {
	c := *w
	c.observer = nil
	return c.Clone()
}

// effective returns how many pods are available if each set lets go of what it has too many of.
func effective(sets []Set) int32 {
	var n int32
	for i := range sets {
		status := sets[i].Status
		n += spared(status.Ready, status.Available, sets[i].Replicas)
	}
	return n
}

// trulyEffective returns effective for the pods as they really are. Which of them have come up
// since the status was written nobody can know.
func trulyEffective(sets []Set) int32 {
	var n int32
	for i := range sets {
		pods := sets[i].Pods
		n += spared(min(pods.ready(), max(sets[i].Status.Ready, pods.Available)), pods.Available, sets[i].Replicas)
	}
	return n
}

// spared returns how many available pods are left of so many ready ones, at the worst: those that
// are not ready go first, but whether a ready one is available the ReplicaSet controller does not
// ask.
func spared(ready, available, replicas int32) int32 {
	return max(available-max(ready-replicas, 0), 0)
}
