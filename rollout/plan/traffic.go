package plan

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// Traffic is a write to a route, or to the Services that it refers to in a release.
type Traffic struct {
	Reason
	Write traffic.Write
}

func (a Traffic) String() string { return a.Write.String() }

// routed reports whether routes share the requests of the release, or are to.
func (l *look) routed() bool {
	t := l.Traffic
	unknown := t != nil && t.Off != nil && l.Release.Status.Traffic != nil
	return t != nil && (l.Release.Spec.Strategy.Traffic != nil || t.Services || heldRoutes(t) || unknown)
}

// heldRoutes reports whether the release holds a route.
func heldRoutes(t *traffic.Seen) bool {
	for i := range t.Routes {
		if t.Routes[i].Held {
			return true
		}
	}
	return false
}

// serves returns the pods that the version that is rolled back to needs for the requests that routes give it: a workload that is scaled up
// meanwhile has them beside pods of the bad version that get none.
func (l *look) serves() int32 {
	t := l.Traffic
	if t == nil || t.Off != nil || len(t.Routes) == 0 || t.Stable.Revision != l.record.UpdateRevision {
		return 0
	}
	weight := int32(0)
	for i := range t.Routes {
		if !t.Routes[i].Held {
			return 0
		}
		weight = max(weight, t.Routes[i].Share.Weight)
	}
	return traffic.PartOf(l.Workload.Replicas, percent-weight)
}

// shares reports whether the release shares requests between versions, in its present steps.
func (l *look) shares() bool {
	return l.Traffic != nil && l.Release.Spec.Strategy.Traffic != nil && !l.isRollback()
}

// allTraffic reports whether the current step gives the new version all requests, as a step does of a release without traffic.
func (l *look) allTraffic() bool {
	return !l.shares() || l.standsStill() || l.trafficShare().Weight == percent
}

// way is which way the traffic of what is in progress goes.
func (l *look) way() traffic.Way {
	switch {
	case l.isRollback():
		return traffic.Back
	case l.Release.Spec.Strategy.Traffic == nil:
		return traffic.Leave
	case l.ending() != nil:
		return traffic.End
	case l.stopped().any(), l.failed():
		return traffic.Stand
	default:
		return traffic.Forward
	}
}

// ending is the end of a release with traffic on record; nil if it is not at its end.
func (l *look) ending() *v1alpha1.TrafficEnding {
	if l.record.Traffic == nil {
		return nil
	}
	return l.record.Traffic.Ending
}

// goal is what the release asks of its traffic now, with so many pods of the version that is released.
func (l *look) goal(way traffic.Way, target int32) traffic.Goal {
	g := traffic.Goal{Way: way, Stable: l.stableRevision(), Canary: l.record.UpdateRevision, ReadyFor: readyFor(nil), DrainFor: drainFor(nil)}
	if spec := l.Release.Spec.Strategy.Traffic; spec != nil {
		g.ReadyFor, g.DrainFor = readyFor(spec.ReadySeconds), drainFor(spec.DrainSeconds)
		g.KeepOld, g.Overload = spec.KeepOldPods, spec.AllowOverload
	}
	g.Stage, g.Patience, g.Timed = traffic.StageOf(l.Release, &l.record), l.patience(), l.Watched.Timed
	for _, side := range []traffic.SideName{traffic.StableSide, traffic.CanarySide} {
		if l.refusal(Traffic{Write: traffic.PointSide{Name: side}}) != nil {
			g.Unwritable = append(g.Unwritable, side)
		}
	}
	if l.Workload == nil {
		return g
	}
	g.Replicas, g.Least = l.Workload.Replicas, max(l.Workload.Replicas-l.bounds().Unavailable, 0)
	g.Pods, g.Available = target, l.updatedAvailable() >= target
	g.Ready = l.pods.All.Ready
	g.Stable, g.Alone = l.servingRevision(), l.alone()
	if stable := l.Traffic.Stable.Revision; stable != "" {
		g.Lost = !l.Workload.Mover.Has(stable)
	}
	if l.isRollback() {
		g.Stable, g.Canary = l.record.RolledBackTo(), ""
	}
	if told := l.Release.Status.Traffic; told != nil && told.CanaryRevision == g.Canary {
		g.Told = traffic.Told{Stable: told.StableRevision, Weight: told.Weight}
	}
	if l.shares() && !l.standsStill() && target > 0 {
		g.Worth = min(l.share().entered(g.Replicas), target+1)
	}
	if (way == traffic.Forward || way == traffic.Stand) && target > 0 { // a step that comes to no pods, of few, has none to give requests to
		g.Share = l.trafficShare()
		g.Share.Weight = l.borne(g.Share.Weight, target)
		if len(l.record.Gates) > 0 { // its pods were enough when they were opened, and no more come that it does not say
			g.Share.Weight = min(g.Share.Weight, g.Fits(max(target, g.Worth)))
		}
	}
	if way == traffic.End {
		g.Share, g.KeepOld = traffic.Share{Weight: percent}, g.KeepOld && !l.delayIsOver()
	}
	return g
}

// servingRevision is the version that serves when a release begins: the one before it, unless somebody has given the workload another template
// meanwhile, which is no version to go back to, and has the pods.
func (l *look) servingRevision() string {
	if l.record.Resolved == nil {
		return l.stableRevision()
	}
	return l.Workload.Mover.Serving(l.record.Resolved.Digest, l.stableRevision())
}

// alone reports whether only the version that is released, or rolled back to, has pods.
func (l *look) alone() bool { return l.oldReplicas() == 0 && l.pods.Others.Current == 0 }

func readyFor(seconds *int32) time.Duration {
	return time.Duration(*cmp.Or(seconds, new(int32(v1alpha1.DefaultTrafficReadySeconds)))) * time.Second
}

func drainFor(seconds *int32) time.Duration {
	return time.Duration(*cmp.Or(seconds, new(int32(v1alpha1.DefaultTrafficDrainSeconds)))) * time.Second
}

// borne is as much of a share as the pods of a step are enough for that are fewer than it says only because an old pod stays until the
// last step: no more of them would come.
func (l *look) borne(weight, pods int32) int32 {
	least := l.Workload.Replicas - l.bounds().Unavailable
	if pods != l.Workload.Replicas-1 || least <= pods || l.Release.Spec.Strategy.Traffic.AllowOverload {
		return weight
	}
	return min(weight, int32(int64(pods)*percent/int64(least)))
}

// trafficShare is how the current step shares requests.
func (l *look) trafficShare() traffic.Share {
	if l.standsStill() || int(l.stepIndex()) >= len(l.steps()) {
		return traffic.Share{}
	}
	now := l.saysNow()
	share := traffic.Share{Weight: now.Traffic, Matches: now.Matches}
	if said := l.record.EnteredStep; said != nil {
		share.Weight = min(share.Weight, said.Traffic)
		share.Matches = slices.DeleteFunc(slices.Clone(share.Matches), func(m v1alpha1.RequestMatch) bool { return !among(said.Matches, m) })
	}
	return share
}

// steer moves requests, and has as many pods stay, come and wait as that takes.
func steer(d Decision, t mover.Task) (Decision, mover.Task, traffic.Standing) {
	if !d.routed() {
		return d, t, traffic.Standing{Done: true}
	}
	way := d.way()
	goal := d.goal(way, t.Target)
	st := traffic.Next(goal, *d.Traffic)
	if goal.Stuck = way == traffic.Forward && d.refusesPods(d.serving(t, st)); goal.Stuck {
		st = traffic.Next(goal, *d.Traffic)
	}
	if way != traffic.Back { // which is done, however far the workload is (turnTraffic)
		d = noteGivenUp(writeTraffic(d, st), st)
	}
	d = tellTraffic(d, st)
	d.timed = st.Timed
	return d, d.serving(t, st), st
}

// serving returns a task that has as many pods stay, come and wait as requests take.
func (l *look) serving(t mover.Task, st traffic.Standing) mover.Task {
	t.Keep, t.KeepAll, t.Grow, t.Most = st.Keep, st.KeepAll, st.Grow, st.Most
	t.OldStays = st.KeepAll || l.keepsOldPods() || l.record.CurrentStepState != v1alpha1.StepUpgrade || max(st.Weight, st.Target) > percent/2
	if st.HoldsUp {
		t.Target = min(t.Target, max(l.updated(), st.Grow[l.record.UpdateRevision]))
	}
	return t
}

// refusesPods reports whether more pods of the version that is released are refused now.
func (l *look) refusesPods(t mover.Task) bool {
	return len(l.Refusals) > 0 && l.hasUpdated() && slices.ContainsFunc(l.Workload.Mover.Move(t).Grow, func(w mover.Write) bool {
		return w.Updates() && l.refusal(MovePods{Write: w}) != nil
	})
}

// writeTraffic plans what is next.
func writeTraffic(d Decision, st traffic.Standing) Decision {
	if st.Wake > 0 {
		d = d.wakeAt(d.Now.Add(st.Wake))
	}
	for _, w := range st.Repairs {
		d = d.do(Traffic{d.trafficReason(), w})
	}
	if len(st.Writes) == 0 {
		return d
	}
	if st.Raises && !d.Live.Has(ReadRelease) {
		return d.read(ReadRelease)
	}
	for _, w := range st.Writes {
		d = d.do(Traffic{d.trafficReason(), w})
	}
	return d
}

// trafficReason says why requests are moved.
func (l *look) trafficReason() Reason {
	switch {
	case l.Release.DeletionTimestamp != nil:
		return "the release is deleted"
	case l.rollingBack():
		return Reason("rolling back to " + l.record.RolledBackTo())
	case l.idle():
		return "no release is in progress"
	default:
		return l.batchReason()
	}
}

// turnTraffic moves the requests back of a rollback, however far its workload is.
func turnTraffic(d Decision) Decision {
	if !d.rollingBack() || !d.routed() {
		return d
	}
	st := traffic.Next(d.goal(traffic.Back, d.record.TargetReplicas), *d.Traffic)
	return tellTraffic(noteGivenUp(writeTraffic(d, st), st), st)
}

// leaveTraffic gives the routes back, if any is held. It reports whether nobody needs the Services any more.
func leaveTraffic(d Decision, way traffic.Way) (Decision, bool) {
	if !d.routed() {
		return d, true
	}
	st := traffic.Next(d.goal(way, 0), *d.Traffic)
	switch before := d.Release.Status.Traffic; {
	case d.Traffic.Off == nil:
	case before == nil || before.StableRevision == "": // no route was ever shared
		return d, true
	default:
		return tellTraffic(d, st), false
	}
	if way == traffic.Rest && !st.Held && st.Problem == nil {
		return writeTraffic(d, st), st.Done // people have nothing to wait for
	}
	if d.deleted() && st.GaveUp && !d.toldGivenUp() { // nothing can be told once the release is gone
		return tellTraffic(noteGivenUp(d, st), st).first(), false
	}
	return tellTraffic(writeTraffic(d, st), st), st.Done
}

// endTraffic begins the end of a release whose gates have all passed, or goes on with it: old pods go, and then routes get back what they
// had. It reports whether that is done.
func endTraffic(d Decision, st traffic.Standing) (Decision, bool) {
	switch {
	case d.ending() != nil && !d.isRollback() && !d.alone(): // where traffic was taken out of the release, routes don't wait for old pods
		return waitDelay(d), false
	case !d.routed() || d.isRollback() || d.ending() == nil && !st.Held:
		return d, !st.Held
	case d.ending() == nil:
		d = d.with(func(r *record) {
			r.Traffic = &v1alpha1.TrafficStatus{Ending: &v1alpha1.TrafficEnding{Since: *d.time()}}
			r.Gates, r.Answers, r.CurrentStepState = nil, nil, v1alpha1.StepCompleted
		})
		return d.first(), false
	case !st.Done:
		return waitDelay(d), false
	default:
		return d, true
	}
}

// delayIsOver reports whether old pods have been kept for as long as the release asks.
func (l *look) delayIsOver() bool {
	waited, _ := l.waited(l.Watched.Ending, l.ending().WaitedSeconds)
	return waited >= l.oldPodsDelay()
}

func (l *look) oldPodsDelay() time.Duration {
	if !l.keepsOldPods() {
		return 0
	}
	return time.Duration(l.Release.Spec.Strategy.Traffic.OldPodsDelaySeconds) * time.Second
}

// keepsOldPods reports whether the release keeps all old pods until its end.
func (l *look) keepsOldPods() bool {
	spec := l.Release.Spec.Strategy.Traffic
	return spec != nil && spec.KeepOldPods
}

// waitDelay records how long old pods were kept, and looks again when that is over.
func waitDelay(d Decision) Decision {
	ending := *d.ending()
	waited, onRecord := d.waited(d.Watched.Ending, ending.WaitedSeconds)
	if left := d.oldPodsDelay() - waited; left > 0 {
		d = d.wakeAt(d.Now.Add(min(left, longestLook)))
	}
	if onRecord == ending.WaitedSeconds {
		return d
	}
	return d.with(func(r *record) {
		told := *r.Traffic
		ending.WaitedSeconds = onRecord
		told.Ending = &ending
		r.Traffic = &told
	})
}

// tellTraffic has the status say where the traffic stands.
func tellTraffic(d Decision, st traffic.Standing) Decision {
	if !st.Held && st.Problem == nil && st.Awaits == "" && d.ending() == nil && !(st.GaveUp && d.deleted()) {
		return d.with(func(r *record) { r.Traffic = nil })
	}
	if before := d.Release.Status.Traffic; d.Traffic.Off != nil && before != nil { // nobody can say what has changed
		told := *before
		told.Problem, told.Ending = st.Problem, d.ending()
		return d.with(func(r *record) { r.Traffic = &told })
	}
	told := v1alpha1.TrafficStatus{
		Weight: st.Weight, TargetWeight: st.Target, Matches: st.Matches, StableRevision: st.Stable, CanaryRevision: st.Canary,
		Awaits: st.Awaits, AwaitsObject: awaitedObject(st, d.Release.Namespace), Ending: d.ending(),
		PendingParents: pending(st), GaveUp: st.GaveUp,
	}
	told.AcceptDeadline = d.acceptDeadline(st)
	if st.Problem != nil {
		problem := *st.Problem
		problem.Message = bounded(problem.Message)
		told.Problem = &problem
	}
	if told.Ending != nil && told.Awaits == "" && d.Release.Spec.Strategy.Traffic != nil && !d.delayIsOver() {
		told.Awaits = v1alpha1.AwaitedOldPodsDelay
	} else if told.Ending != nil && told.Awaits == "" {
		told.Awaits = v1alpha1.AwaitedOldPods
	}
	told.Since = d.time()
	if before := d.Release.Status.Traffic; before != nil && before.Weight == told.Weight && before.Awaits == told.Awaits && before.Since != nil {
		told.Since = before.Since
	}
	return d.with(func(r *record) { r.Traffic = &told })
}

// awaitedObject names what of several routes, or Services, is waited for; empty if it is no one of them.
func awaitedObject(st traffic.Standing, namespace string) string {
	switch {
	case st.Route != nil:
		return traffic.WordsIn(namespace, *st.Route)
	case st.Service != "":
		return "Service " + namespace + "/" + st.Service
	default:
		return ""
	}
}

// rememberTraffic keeps what the status says of requests that are shared while nobody can read routes: it is all that tells that some are held.
func rememberTraffic(d Decision) Decision {
	before, told := d.Release.Status.Traffic, d.record.Traffic
	if d.Traffic == nil || d.Traffic.Off == nil || before == nil || before.StableRevision == "" || told != nil && told.StableRevision != "" {
		return d
	}
	kept := *before
	kept.Problem, kept.Ending = d.Traffic.Off, d.ending()
	return d.with(func(r *record) { r.Traffic = &kept })
}

// notTelling is what is durable of the traffic: the rest of the status tells people where it stands.
func notTelling(t *v1alpha1.TrafficStatus) *v1alpha1.TrafficStatus {
	if t == nil || t.Ending == nil {
		return nil
	}
	return &v1alpha1.TrafficStatus{Ending: t.Ending}
}

// trafficProblem is what keeps a release with traffic from beginning; nil if nothing does. Without pods there are no requests.
func (l *look) trafficProblem() *v1alpha1.TrafficProblem {
	if !l.shares() || l.Workload.Replicas == 0 {
		return nil
	}
	return traffic.Next(l.goal(traffic.Forward, 0), *l.Traffic).Problem
}

// notEnding is where the traffic of a release stands that goes on.
func notEnding(t *v1alpha1.TrafficStatus) *v1alpha1.TrafficStatus {
	if t == nil || t.Ending == nil {
		return t
	}
	going := *t
	going.Ending = nil
	return &going
}

// others is how many pods of other versions than the one released stay for the requests that they get.
func (l *look) others(keep map[string]int32) int32 {
	var pods int32
	for revision, n := range keep {
		if revision != l.record.UpdateRevision {
			pods += n
		}
	}
	return pods
}

// trafficPeak is how many pods a release may have at a time, in the step that needs most.
func (l *look) trafficPeak() int32 {
	replicas, peak := l.Workload.Replicas, l.Workload.Replicas
	if !l.shares() || l.standsStill() {
		return peak
	}
	before := int32(0)
	for i := range l.steps() {
		stays := replicas
		if !l.Release.Spec.Strategy.Traffic.KeepOldPods {
			stays = int32((int64(replicas)*int64(percent-before) + percent - 1) / percent)
		}
		pods := l.shareOf(int32(i)).entered(replicas)
		peak = max(peak, pods+stays)
		before = l.borne(v1alpha1.TrafficOf(l.steps(), i), pods)
	}
	return peak
}

// awaited says what requests wait for; empty if for nothing.
func awaited(told *v1alpha1.TrafficStatus) string {
	switch told.Awaits {
	case v1alpha1.AwaitedServices:
		return "the stable and canary Services are being written"
	case v1alpha1.AwaitedEndpoints:
		return "endpoints of " + orWord(told.AwaitsObject, "the version that gets more requests") + " are not ready yet, or not for long enough"
	case v1alpha1.AwaitedRoutes:
		return "the status of " + orWord(told.AwaitsObject, "a route") + " does not say yet that the route is in effect"
	case v1alpha1.AwaitedCapacity:
		return "more pods must be ready for this share of the requests"
	case v1alpha1.AwaitedDrain:
		return "pods that get fewer requests stay for drainSeconds"
	case v1alpha1.AwaitedOldPodsDelay:
		return "the old pods are kept for a while"
	case v1alpha1.AwaitedOldPods:
		return "the old pods are being deleted"
	}
	return ""
}

// shifts reports whether the pods of the step are there, and requests are waited for. It is told, and nothing is decided by it.
func (l *look) shifts() bool {
	t := l.record.Traffic
	return t != nil && t.Awaits != "" && (t.Ending != nil || l.updatedAvailable() >= l.record.TargetReplicas && l.record.TargetReplicas > 0)
}
