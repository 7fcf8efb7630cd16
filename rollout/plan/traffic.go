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
func routed(s *snapshot) bool {
	t := s.obs.Traffic
	unknown := t != nil && t.Off != nil && s.release.Status.Traffic != nil
	return t != nil && (s.release.Spec.Strategy.Traffic != nil || t.Services || heldRoutes(t) || unknown)
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

// podsForTraffic returns how many pods the version that is rolled back to needs for the requests
// that routes give it: with 20% of one route and 60% of another, 6 of 10. A workload that was
// scaled up meanwhile may have them beside pods of the bad version that get none.
func podsForTraffic(s *snapshot) int32 {
	t := s.obs.Traffic
	if t == nil || t.Off != nil || len(t.Routes) == 0 || t.Stable.Revision != s.record.UpdateRevision {
		return 0
	}
	pods := int32(0)
	for i := range t.Routes {
		if !t.Routes[i].Held {
			return 0
		}
		pods = max(pods, traffic.PartOf(s.workload.Replicas, percent-t.Routes[i].Share.Weight))
	}
	return pods
}

// sharesTraffic reports whether the release shares requests between versions, by its present steps.
func sharesTraffic(s *snapshot) bool {
	return s.obs.Traffic != nil && s.release.Spec.Strategy.Traffic != nil && !s.record.isRollback()
}

// trafficWay returns which way the requests of the attempt go.
func trafficWay(s *snapshot) traffic.Way {
	switch {
	case s.record.isRollback():
		return traffic.Back
	case s.release.Spec.Strategy.Traffic == nil:
		return traffic.Leave
	case s.record.ending() != nil:
		return traffic.End
	case stopsProgress(s).any(), s.record.failed():
		return traffic.Stand
	default:
		return traffic.Forward
	}
}

// trafficGoal returns what the release asks of its traffic now, with a number of updated pods.
func trafficGoal(s *snapshot, way traffic.Way, target int32) traffic.Goal {
	g := traffic.Goal{Way: way, Stable: stableRevision(s), Canary: updatedRevision(s), ReadyFor: readyFor(nil), DrainFor: drainFor(nil)}
	if spec := s.release.Spec.Strategy.Traffic; spec != nil {
		g.ReadyFor, g.DrainFor = readyFor(spec.ReadySeconds), drainFor(spec.DrainSeconds)
		g.KeepOld, g.Overload = spec.KeepOldPods, spec.AllowOverload
	}
	g.Stage, g.Patience, g.Timed = traffic.StageOf(s.release, &s.record.BatchReleaseStatus), statusPatience(s), s.obs.Watched.Timed
	for _, side := range []traffic.SideName{traffic.StableSide, traffic.CanarySide} {
		if s.refusal(Traffic{Write: traffic.PointSide{Name: side}}) != nil {
			g.Unwritable = append(g.Unwritable, side)
		}
	}
	if s.workload == nil {
		return g
	}
	g.Replicas, g.Least = s.workload.Replicas, max(s.workload.Replicas-s.steps().bounds().Unavailable, 0)
	g.Pods, g.Available = target, s.pods.available() >= target
	g.Ready = s.pods.All.Ready
	g.Stable, g.Alone = servingRevision(s), s.pods.alone()
	if stable := s.obs.Traffic.Stable.Revision; stable != "" {
		g.Lost = !s.workload.Mover.Has(stable)
	}
	if s.record.isRollback() {
		g.Stable, g.Canary = s.record.RolledBackTo(), ""
	}
	if told := s.release.Status.Traffic; told != nil && told.CanaryRevision == g.Canary {
		g.Told = traffic.Told{Stable: told.StableRevision, Weight: told.Weight}
	}
	if sharesTraffic(s) && !s.steps().unreadable() && target > 0 {
		g.Worth = min(s.steps().share().entered(g.Replicas), target+1)
	}
	if (way == traffic.Forward || way == traffic.Stand) && target > 0 { // a step that comes to no pods, of few, has none to give requests to
		g.Share = s.steps().traffic()
		g.Share.Weight = affordableWeight(s, g.Share.Weight, target)
		if len(s.record.Gates) > 0 { // its pods were enough when they were opened, and no more come that it does not say
			g.Share.Weight = min(g.Share.Weight, g.Fits(max(target, g.Worth)))
		}
	}
	if way == traffic.End {
		g.Share, g.KeepOld = traffic.Share{Weight: percent}, g.KeepOld && !delayIsOver(s)
	}
	return g
}

// servingRevision returns the version that serves when a release begins: the one before it, unless
// another writer gave the workload another template meanwhile. That is no version to roll back to,
// and has the pods.
func servingRevision(s *snapshot) string {
	if s.record.Resolved == nil {
		return stableRevision(s)
	}
	return s.workload.Mover.Serving(s.record.Resolved.Digest, stableRevision(s))
}

// updatedRevision returns the revision that pods of the released version have by their native
// controller. It differs from the recorded one where the first step was entered without pods, and
// somebody has spelled the template in another way before the first pod came.
func updatedRevision(s *snapshot) string {
	if s.workload != nil && s.record.releases(s.workload.Digest) {
		return s.workload.Revision
	}
	return s.record.UpdateRevision
}

func readyFor(seconds *int32) time.Duration {
	return time.Duration(*cmp.Or(seconds, new(int32(v1alpha1.DefaultTrafficReadySeconds)))) * time.Second
}

func drainFor(seconds *int32) time.Duration {
	return time.Duration(*cmp.Or(seconds, new(int32(v1alpha1.DefaultTrafficDrainSeconds)))) * time.Second
}

// affordableWeight caps a weight where an old pod stays until the last step, so that the new pods
// are one too few for it. With 3 of 4 pods and none unavailable, 100% becomes 75%.
func affordableWeight(s *snapshot, weight, pods int32) int32 {
	least := s.workload.Replicas - s.steps().bounds().Unavailable
	if pods != s.workload.Replicas-1 || least <= pods || s.release.Spec.Strategy.Traffic.AllowOverload {
		return weight
	}
	return min(weight, int32(int64(pods)*percent/int64(least)))
}

// moveTraffic moves requests, and has as many pods stay, come and wait as that takes.
func moveTraffic(d Decision, t mover.Task) (Decision, mover.Task, traffic.Standing) {
	if !routed(d.snap) {
		return d, t, traffic.Standing{Done: true}
	}
	way := trafficWay(d.snap)
	goal := trafficGoal(d.snap, way, t.Target)
	st := traffic.Next(goal, *d.snap.obs.Traffic)
	if goal.Stuck = way == traffic.Forward && refusesPods(d.snap, withTraffic(d.snap, t, st)); goal.Stuck {
		st = traffic.Next(goal, *d.snap.obs.Traffic)
	}
	if way != traffic.Back { // which is done, however far the workload is (rollBackTraffic)
		d = noteGivenUp(writeTraffic(d, st), st)
	}
	d = setTrafficStatus(d, st)
	d.timed = st.Timed
	return d, withTraffic(d.snap, t, st), st
}

// withTraffic returns a task that has as many pods stay, come and wait as requests take.
func withTraffic(s *snapshot, t mover.Task, st traffic.Standing) mover.Task {
	t.Keep, t.KeepAll, t.Grow, t.Most = st.Keep, st.KeepAll, st.Grow, st.Most
	t.OldStays = st.KeepAll || keepsOldPods(s) || s.record.CurrentStepState != v1alpha1.StepUpgrade || max(st.Weight, st.Target) > percent/2
	if st.HoldsUp {
		t.Target = min(t.Target, max(s.pods.updated(), st.Grow[updatedRevision(s)]))
	}
	return t
}

// refusesPods reports whether more updated pods are refused now.
func refusesPods(s *snapshot, t mover.Task) bool {
	return len(s.obs.Refusals) > 0 && s.pods.hasUpdated() && slices.ContainsFunc(s.workload.Mover.Move(t).Grow, func(w mover.Write) bool {
		return w.Updates() && s.refusal(MovePods{Write: w}) != nil
	})
}

// writeTraffic plans the next writes to routes and Services.
func writeTraffic(d Decision, st traffic.Standing) Decision {
	if st.Wake > 0 {
		d = d.wakeAt(d.snap.now.Add(st.Wake), WakeTraffic)
	}
	for _, w := range st.Repairs {
		d = d.do(Traffic{trafficReason(d.snap), w})
	}
	if len(st.Writes) == 0 {
		return d
	}
	if st.Raises && !d.snap.live(ReadRelease) {
		return d.read(ReadRelease)
	}
	for _, w := range st.Writes {
		d = d.do(Traffic{trafficReason(d.snap), w})
	}
	return d
}

// trafficReason says why requests are moved.
func trafficReason(s *snapshot) Reason {
	switch {
	case s.release.DeletionTimestamp != nil:
		return "the release is deleted"
	case s.record.rollingBack():
		return Reason("rolling back to " + s.record.RolledBackTo())
	case s.record.idle():
		return "no release is in progress"
	default:
		return batchReason(s)
	}
}

// rollBackTraffic moves requests back to the stable Service in a rollback, in any state of the
// pods.
func rollBackTraffic(d Decision) Decision {
	if !d.snap.record.rollingBack() || !routed(d.snap) {
		return d
	}
	st := traffic.Next(trafficGoal(d.snap, traffic.Back, d.snap.record.TargetReplicas), *d.snap.obs.Traffic)
	return setTrafficStatus(noteGivenUp(writeTraffic(d, st), st), st)
}

// leaveTraffic gives the routes back, if any is held. It reports whether the Services are no longer
// needed.
func leaveTraffic(d Decision, way traffic.Way) (Decision, bool) {
	if !routed(d.snap) {
		return d, true
	}
	st := traffic.Next(trafficGoal(d.snap, way, 0), *d.snap.obs.Traffic)
	switch before := d.snap.release.Status.Traffic; {
	case d.snap.obs.Traffic.Off == nil:
	case before == nil || before.StableRevision == "": // no route was ever shared
		return d, true
	default:
		return setTrafficStatus(d, st), false
	}
	if way == traffic.Rest && !st.Held && st.Problem == nil {
		return writeTraffic(d, st), st.Done // people have nothing to wait for
	}
	if goesAway(d.snap) && st.GaveUp && !gaveUpReported(d.snap) { // nothing can be told once the release is gone
		return setTrafficStatus(noteGivenUp(d, st), st).first(), false
	}
	return setTrafficStatus(writeTraffic(d, st), st), st.Done
}

// endTraffic begins the end of a release whose gates have all passed, or goes on with it: old pods
// go, and then routes get back what they had. It reports whether that is done.
func endTraffic(d Decision, st traffic.Standing) (Decision, bool) {
	switch {
	case d.snap.record.ending() != nil && !d.snap.record.isRollback() && !d.snap.pods.alone(): // where traffic was taken out of the release, routes don't wait for old pods
		return waitDelay(d), false
	case !routed(d.snap) || d.snap.record.isRollback() || d.snap.record.ending() == nil && !st.Held:
		return d, !st.Held
	case d.snap.record.ending() == nil:
		d = d.with(func(r *record) {
			r.Traffic = &v1alpha1.TrafficStatus{Ending: &v1alpha1.TrafficEnding{Since: *d.snap.time()}}
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
func delayIsOver(s *snapshot) bool {
	waited, _ := addWatched(s, s.obs.Watched.Ending, s.record.ending().WaitedSeconds)
	return waited >= oldPodsDelay(s)
}

func oldPodsDelay(s *snapshot) time.Duration {
	if !keepsOldPods(s) {
		return 0
	}
	return time.Duration(s.release.Spec.Strategy.Traffic.OldPodsDelaySeconds) * time.Second
}

// keepsOldPods reports whether the release keeps all old pods until its end.
func keepsOldPods(s *snapshot) bool {
	spec := s.release.Spec.Strategy.Traffic
	return spec != nil && spec.KeepOldPods
}

// waitDelay records how long old pods were kept, and decides again when the delay is over.
func waitDelay(d Decision) Decision {
	ending := *d.snap.record.ending()
	waited, onRecord := addWatched(d.snap, d.snap.obs.Watched.Ending, ending.WaitedSeconds)
	if left := oldPodsDelay(d.snap) - waited; left > 0 {
		d = d.wakeAt(d.snap.now.Add(min(left, longestLook)), WakeOldPods)
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

// trafficProblem returns what keeps a release with traffic from beginning; nil if nothing does.
// Without pods there are no requests.
func trafficProblem(s *snapshot) *v1alpha1.TrafficProblem {
	if !sharesTraffic(s) || s.workload.Replicas == 0 {
		return nil
	}
	return traffic.Next(trafficGoal(s, traffic.Forward, 0), *s.obs.Traffic).Problem
}

// keptOthers returns how many pods of other versions stay for the requests that they get.
func keptOthers(s *snapshot, keep map[string]int32) int32 {
	var pods int32
	for revision, n := range keep {
		if revision != updatedRevision(s) {
			pods += n
		}
	}
	return pods
}

// trafficPeak returns how many pods a release may have at a time, in the step that needs most.
func trafficPeak(s *snapshot) int32 {
	replicas, peak := s.workload.Replicas, s.workload.Replicas
	if !sharesTraffic(s) || s.steps().unreadable() {
		return peak
	}
	before := int32(0)
	for i := range s.steps().list() {
		stays := replicas
		if !s.release.Spec.Strategy.Traffic.KeepOldPods {
			stays = int32((int64(replicas)*int64(percent-before) + percent - 1) / percent)
		}
		pods := s.steps().shareOf(int32(i)).entered(replicas)
		peak = max(peak, pods+stays)
		before = affordableWeight(s, v1alpha1.TrafficOf(s.steps().list(), i), pods)
	}
	return peak
}

// maxPatience limits how long the status of routes is awaited at the end and on the way back. A
// process that starts counts again, so it must not be long; Gateways of clouds take minutes.
const maxPatience = 5 * time.Minute

// statusPatience returns how long the status of routes is awaited. It is shorter than the progress
// deadline: a rollback goes on without a Gateway that does not report, and does not fail.
func statusPatience(s *snapshot) time.Duration {
	return min(progressDeadline(s)/2, maxPatience)
}
