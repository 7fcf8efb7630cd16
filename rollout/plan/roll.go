package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// stages are the parts of a pass of a release that holds its workload, in this order. Each reports
// whether the next one follows.
var stages = []func(rolling) (rolling, bool){
	readAttempt,
	keepFinalizer,
	recordWorkload,
	openGuards,
	awaitNative,
	rollWithoutPods,
	standStill,
	enterFirst,
	followReplicas,
	moveRequests,
	makePlace,
	stayFailed,
	countProgress,
	passGatesOfStep,
	movePods,
}

// rolling holds what the stages pass on.
type rolling struct {
	d Decision
	// task is the goal for the pods, with what requests need.
	task mover.Task
	// target is how many updated pods the step says.
	target int32
	// traffic is how far the requests are.
	traffic traffic.Standing
}

// goOn goes on with a workload that is taken over.
func goOn(d Decision) Decision {
	r := rolling{d: d}
	for _, stage := range stages {
		var done bool
		if r, done = stage(r); !done {
			break
		}
	}
	return r.d
}

// end ends a pass with a decision.
func (r rolling) end(d Decision) (rolling, bool) {
	r.d = d
	return r, false
}

// on goes on with a decision.
func (r rolling) on(d Decision) (rolling, bool) {
	r.d = d
	return r, true
}

// readAttempt reads the release live before another attempt goes on with a workload that was taken
// over before it: the status was lost, or an old one was read.
func readAttempt(r rolling) (rolling, bool) {
	s := r.d.snap
	if s.record.Attempt != s.release.Status.Attempt && !s.live(ReadRelease) {
		return r.end(r.d.read(ReadRelease))
	}
	return r, true
}

func keepFinalizer(r rolling) (rolling, bool) {
	d, done := addFinalizer(r.d)
	r.d = d
	return r, done
}

// recordWorkload records what the workload gets back, and deletes the gates of earlier attempts.
func recordWorkload(r rolling) (rolling, bool) {
	s := r.d.snap
	d := r.d.with(func(r *record) {
		if r.StableRevision == "" {
			r.StableRevision = s.release.Annotations[v1alpha1.CurrentStableAnnotation]
		}
		r.Held, r.WorkloadUID = &s.workload.Hold.HeldWorkload, s.workload.UID
	})
	if s.record.Attempt == s.release.Status.Attempt && !s.obs.Begun {
		// Not before the attempt is stored: after a crash the one before may go on, and its gates
		// are the evidence for how far it is.
		d = closeGates(d, "a new attempt voids the gates of the one before")
	}
	return r.on(d)
}

// openGuards opens the guards of a release in its first step, and keeps them as the strategy says.
func openGuards(r rolling) (rolling, bool) { return r.on(guard(r.d)) }

// awaitNative moves no pods while the native controller may still act on what the workload was
// before: its write of the status goes on from here.
func awaitNative(r rolling) (rolling, bool) {
	if s := r.d.snap; nativeMayAct(s) || s.pods.Leaving {
		return r.end(awaitObserved(r.d))
	}
	return r, true
}

// nativeMayAct reports whether the native controller may still act on what the workload was before.
func nativeMayAct(s *snapshot) bool {
	w := s.workload
	return w.Mover.MayAct(w.Digest, w.Replicas, w.Behind)
}

// nativeUnseen reports whether the native controller has not observed a workload that is taken
// over, and in no step yet.
func nativeUnseen(s *snapshot) bool {
	return !s.record.entered() && s.hold().held() && (s.workload.Behind > 0 || s.pods.Unseen)
}

// awaitObserved decides again later, as the native controller may never observe the workload.
func awaitObserved(d Decision) Decision {
	if !nativeUnseen(d.snap) {
		return d
	}
	return d.wakeAt(d.snap.now.Add(slowestLook), WakeUnobserved)
}

func rollWithoutPods(r rolling) (rolling, bool) {
	if r.d.snap.empty {
		return r.end(rollEmpty(r.d))
	}
	return r, true
}

func standStill(r rolling) (rolling, bool) {
	if stopsProgress(r.d.snap).any() {
		return r.end(stand(r.d))
	}
	return r, true
}

func enterFirst(r rolling) (rolling, bool) {
	d, entered := enterFirstStep(r.d)
	if !entered {
		return r.end(awaitObserved(d))
	}
	return r.on(d)
}

func followReplicas(r rolling) (rolling, bool) {
	r.d, r.task = follow(r.d)
	r.target = r.task.Target
	return r, true
}

func moveRequests(r rolling) (rolling, bool) {
	r.d, r.task, r.traffic = moveTraffic(r.d, r.task)
	return r, !r.d.needs.Any()
}

// makePlace creates the place of updated pods, such as a ReplicaSet, and runs the progress deadline
// until it is there.
func makePlace(r rolling) (rolling, bool) {
	if r.d.snap.pods.hasUpdated() {
		return r, true
	}
	d := makeRoom(r.d, inLockstep(r.d.snap, r.task))
	switch {
	case d.refused == nil && !d.snap.pods.Final:
		return r.end(d)
	case d.snap.record.failed():
		return r.end(rollBackIfFailed(d))
	default:
		return r.end(inTime(d))
	}
}

// stayFailed leaves a failed release where it is, unless all its pods are available by now, or it
// is to be rolled back.
func stayFailed(r rolling) (rolling, bool) {
	s := r.d.snap
	if !s.record.failed() || s.steps().last() && s.pods.available() >= s.workload.Replicas {
		return r, true
	}
	d := count(r.d)
	if back, turns := rollBackFailed(d); turns {
		return r.end(back)
	}
	return r.end(keepScale(d, r.task))
}

func countProgress(r rolling) (rolling, bool) { return r.on(recordProgress(rollOn(count(r.d)))) }

// passGatesOfStep goes on from a step that is done: to its gates, the next step, or the end.
func passGatesOfStep(r rolling) (rolling, bool) {
	switch {
	case r.d.snap.record.ending() != nil:
		r.d = finish(r.d, r.traffic)
	case r.traffic.Done && stepDone(r.d.snap, r.target, keptOthers(r.d.snap, r.task.Keep)):
		r.d, r.task = passStep(r.d, r.task, r.traffic)
	default: // a rejected gate counts, though pods of the step have failed since it was opened
		d, turned := rollBackRejected(rideOn(r.d, r.d.snap.steps().index()))
		if turned || d.needs.Any() {
			return r.end(d)
		}
		r.d = d
	}
	return r, r.d.snap.record.Phase != v1alpha1.PhaseFinalizing && !r.d.statusFirst
}

func movePods(r rolling) (rolling, bool) {
	return r.end(inTime(move(r.d, inLockstep(r.d.snap, r.task))))
}

// stepDone reports whether the updated pods that the step says are available. At the end, and where
// a gate follows, the counts must be about what is wanted, and no more old pods may be left than
// the step says; elsewhere the next step removes them, in one write with its own. After a jump
// back a step is done when no updated pod is surplus and no old one is missing. Old pods may stay
// for the requests that they get.
func stepDone(s *snapshot, target, kept int32) bool {
	least := s.workload.Replicas - target
	rest := max(least, kept)
	switch {
	case s.pods.available() < target:
		return false
	case s.steps().steppingBack():
		return s.pods.Updated.Observed && s.pods.Updated.Wanted <= target && s.pods.old() >= least && s.pods.old() <= rest
	case !s.steps().last() && len(s.gates().toPass()) == 0 && !s.ride().holds(s.steps().index(), false):
		return true
	default:
		return s.pods.Updated.Observed && s.pods.old() <= rest
	}
}

// makeRoom creates the place of updated pods, with as many pods of the first step as there is room
// for. If no version has pods, the stable ones come first.
func makeRoom(d Decision, t mover.Task) Decision {
	switch {
	case nothingLeft(d.snap) && !d.snap.live(ReadKept): // a cache may not have the stable template yet
		return d.read(ReadKept)
	case empties(d.snap):
		return d.first()
	}
	if d.snap.record.failed() || stopsProgress(d.snap).any() {
		t.Target = 0
	}
	if now := d.snap.workload.Mover.Now(t).Order; now != nil && t.Target > 0 && ordered(d.snap) {
		var done bool
		if d, done = putInOrder(d, now); !done {
			return d
		}
	}
	d, may := mayGrow(d, mover.Moves{})
	if !may {
		return d
	}
	if write := d.snap.workload.Mover.Make(t); write != nil {
		d = d.do(moveActions(d.snap, []mover.Write{write})...)
	}
	return d
}

// slowestLook is after how long a workload that the native controller has not observed, and pods
// that are not available, are checked for the first time at the latest.
const slowestLook = 30 * time.Second
