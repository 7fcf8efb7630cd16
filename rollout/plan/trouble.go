package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A pod that can't start costs the release its progress deadline. To report it within seconds,
// updated pods that are not available are read after a short time, and again in growing intervals.
// Nothing else is decided by it.

// Trouble is a problem of updated pods. The zero value is none.
type Trouble struct {
	Reason  v1alpha1.PodTroubleReason
	Pods    int32
	Message string
}

// PodLooks is a process's record of its checks of the updated pods of one step. The zero value is
// none.
type PodLooks struct {
	attempt int64
	step    int32
	// missing is since when updated pods are not available, and whole since when all are; one of
	// them is zero.
	missing, whole time.Time
	// most is how many were available at most, and grown since when.
	most  int32
	grown time.Time
	// last is the last look, and taken how many there were.
	last  time.Time
	taken int
	// found is how often trouble began, and foundAt what most was then.
	found   int
	foundAt int32
}

// longestUnseen is the longest time between two checks of pods that are in trouble, and the longest
// for which trouble that comes and goes is held. A kubelet waits as long at most before it starts a
// container again.
const longestUnseen = 5 * time.Minute

// watchPods finds out what keeps updated pods from being available, and records it.
func watchPods(d Decision) Decision {
	told := reportedTrouble(d.snap)
	switch {
	case !inBatch(d.snap) || d.snap.obs.PodLook == 0 && told == nil:
		return d
	case d.statusFirst || d.snap.record.failed() || !d.snap.hold().asMeant():
		return d.troubled(d.snap.obs.PodLooks, told)
	}
	looks := d.snap.obs.PodLooks.in(d.snap.record.Attempt, d.snap.record.CurrentStepIndex).seen(d.snap.now, d.snap.pods.available(), d.snap.pods.Updated.Wanted)
	if told != nil && looks.found == 0 { // before this process, or in the step before
		looks.found, looks.foundAt = 1, looks.most
	}
	if looks.missing.IsZero() {
		return endTrouble(d, looks, told)
	}
	due := looks.due(d.snap.obs.PodLook, told != nil)
	switch {
	case d.snap.obs.PodLook == 0:
		return d.troubled(looks, told)
	case d.snap.live(ReadTrouble):
		looks, told = judge(d, looks, told)
		return d.troubled(looks, told).wakeAt(looks.due(d.snap.obs.PodLook, told != nil), WakePodsChecked)
	case d.snap.now.Before(due):
		return d.troubled(looks, told).wakeAt(due, WakePodsChecked)
	default:
		return d.troubled(looks, told).read(ReadTrouble)
	}
}

// inBatch reports whether the release is in a step, with updated pods to check.
func inBatch(s *snapshot) bool {
	w := s.workload
	return w != nil && !w.Deleting && s.record.underWay() && s.record.entered() && s.record.Phase != v1alpha1.PhaseFinalizing && !s.empty
}

// reportedTrouble returns the stored trouble of the pods of the same revision; nil if there is
// none.
func reportedTrouble(s *snapshot) *v1alpha1.PodTrouble {
	told := s.release.Status.PodTrouble
	if told == nil || told.Revision != s.record.UpdateRevision {
		return nil
	}
	return told
}

func (d Decision) troubled(looks PodLooks, trouble *v1alpha1.PodTrouble) Decision {
	d.looks = looks
	if trouble == nil {
		return d
	}
	return d.with(func(r *record) { r.PodTrouble = trouble })
}

// endTrouble ends trouble when all pods are available, the first time at once. A container that
// crashes after it was ready does so again: the next time it has to be well for longer.
func endTrouble(d Decision, looks PodLooks, told *v1alpha1.PodTrouble) Decision {
	if ends := looks.whole.Add(looks.hold(d.snap.obs.PodLook)); told != nil && d.snap.now.Before(ends) {
		return d.troubled(looks, told).wakeAt(ends, WakePodsChecked)
	}
	return d.troubled(looks, nil)
}

// judge takes over what a check found. The trouble is nil if that could not be read.
func judge(d Decision, looks PodLooks, told *v1alpha1.PodTrouble) (PodLooks, *v1alpha1.PodTrouble) {
	looks.last, looks.taken = d.snap.now, looks.taken+1
	if d.snap.obs.Trouble == nil {
		return looks, told
	}
	found := *d.snap.obs.Trouble
	found.Pods = min(found.Pods, d.snap.pods.Updated.Wanted) // pods that failed, and have been replaced, count as well
	switch {
	case found.Pods == 0 && told != nil && told.Reason == v1alpha1.PodsCrash && looks.most <= looks.foundAt:
		return looks, told // a container that crashes runs in between
	case found.Pods == 0:
		return looks, nil
	case told == nil || told.Reason != found.Reason:
		if told == nil { // from here the looks are ever further apart; more so where trouble comes and goes
			looks.found++
			looks.taken = min(looks.taken, looks.found)
		}
		looks.foundAt = looks.most
		return looks, &v1alpha1.PodTrouble{
			Reason: found.Reason, Revision: d.snap.record.UpdateRevision, Pods: found.Pods, Message: troubleText(found.Message), Since: *d.snap.time(),
		}
	case found.Pods <= told.Pods:
		return looks, told
	}
	more := *told
	more.Pods, more.Message = found.Pods, troubleText(found.Message)
	return looks, &more
}

// maxTrouble limits the runes of a PodTrouble.
const maxTrouble = 300

func troubleText(text string) string { return boundedTo(text, maxTrouble-1) }

// in returns the checks in a step of an attempt: none if they were in another one.
func (k PodLooks) in(attempt int64, step int32) PodLooks {
	if k.attempt == attempt && k.step == step && !k.grown.IsZero() {
		return k
	}
	return PodLooks{attempt: attempt, step: step, most: -1}
}

// seen records how many updated pods are available, and how many are wanted.
func (k PodLooks) seen(now time.Time, available, wanted int32) PodLooks {
	if available > k.most {
		k.most, k.grown = available, now
		if k.found > 0 { // trouble may be over
			k.taken = min(k.taken, 1)
		}
	}
	switch missing := available < wanted; {
	case missing && k.missing.IsZero():
		k.missing, k.whole = now, time.Time{}
	case !missing && k.whole.IsZero():
		k.missing, k.whole = time.Time{}, now
	}
	return k
}

// due returns when to check next: the first time once no more pods have come for a while, or not
// all of them for longer. Until trouble is reported the checks stay close: an image may take
// minutes to come, and what runs it may crash then. All but the first are as far apart as their
// cost asks for: n releases that check every n/4 seconds or less often make four requests in a
// second.
func (k PodLooks) due(every time.Duration, told bool) time.Time {
	const patience, untold = 4, 2
	switch {
	case k.taken > 0 && told:
		return k.last.Add(backoff(every, k.taken))
	case k.taken > 0:
		return k.last.Add(backoff(every, min(k.taken, untold)))
	}
	first := min(every, slowestLook)
	idle, slow := later(k.grown, k.missing).Add(first), k.missing.Add(patience*first)
	if slow.Before(idle) {
		return slow
	}
	return idle
}

// hold returns how long all pods must be available before trouble is over.
func (k PodLooks) hold(every time.Duration) time.Duration {
	if k.found <= 1 {
		return 0
	}
	return backoff(min(every, slowestLook), k.found-1) // it costs nothing
}

// backoff doubles a time so often, up to longestUnseen.
func backoff(every time.Duration, times int) time.Duration {
	const most = 10
	return min(every<<min(times, most), max(longestUnseen, every))
}

// troubleBegins returns the event of trouble that was not reported before; nil if there is none.
func troubleBegins(r *report) *Event {
	is, was := r.s.record.PodTrouble, r.before.PodTrouble
	if is == nil || was != nil && was.Revision == is.Revision && was.Reason == is.Reason {
		return nil
	}
	return &Event{Warning: true, Reason: v1alpha1.ReasonPodTrouble, Message: bounded("batch " + r.status.Batch + ": " + is.Words(r.s.record.TargetReplicas))}
}
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
