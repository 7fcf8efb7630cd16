package plan

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// setTrafficStatus writes status.traffic.
func setTrafficStatus(d Decision, st traffic.Standing) Decision {
	if !st.Held && st.Problem == nil && st.Awaits == "" && d.snap.record.ending() == nil && !(st.GaveUp && goesAway(d.snap)) {
		return d.with(func(r *record) { r.Traffic = nil })
	}
	if before := d.snap.release.Status.Traffic; d.snap.obs.Traffic.Off != nil && before != nil { // nobody can say what has changed
		told := *before
		told.Problem, told.Ending = st.Problem, d.snap.record.ending()
		return d.with(func(r *record) { r.Traffic = &told })
	}
	told := v1alpha1.TrafficStatus{
		Weight: st.Weight, TargetWeight: st.Target, Matches: st.Matches, StableRevision: st.Stable, CanaryRevision: st.Canary,
		Awaits: st.Awaits, AwaitsObject: awaitedObject(st, d.snap.release.Namespace), Ending: d.snap.record.ending(),
		PendingParents: pending(st), GaveUp: st.GaveUp,
	}
	told.AcceptDeadline = acceptDeadline(d.snap, st)
	if st.Problem != nil {
		problem := *st.Problem
		problem.Message = bounded(problem.Message)
		told.Problem = &problem
	}
	if told.Ending != nil && told.Awaits == "" && d.snap.release.Spec.Strategy.Traffic != nil && !delayIsOver(d.snap) {
		told.Awaits = v1alpha1.AwaitedOldPodsDelay
	} else if told.Ending != nil && told.Awaits == "" {
		told.Awaits = v1alpha1.AwaitedOldPods
	}
	told.Since = d.snap.time()
	if before := d.snap.release.Status.Traffic; before != nil && before.Weight == told.Weight && before.Awaits == told.Awaits && before.Since != nil {
		told.Since = before.Since
	}
	return d.with(func(r *record) { r.Traffic = &told })
}

// awaitedObject names the route, or Service, that is awaited; empty if it is none of them.
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

// keepTrafficStatus copies the stored traffic status while routes can't be read: only it tells that
// some are held.
func keepTrafficStatus(d Decision) Decision {
	before, told := d.snap.release.Status.Traffic, d.snap.record.Traffic
	if d.snap.obs.Traffic == nil || d.snap.obs.Traffic.Off == nil || before == nil || before.StableRevision == "" || told != nil && told.StableRevision != "" {
		return d
	}
	kept := *before
	kept.Problem, kept.Ending = d.snap.obs.Traffic.Off, d.snap.record.ending()
	return d.with(func(r *record) { r.Traffic = &kept })
}

// persistentTraffic drops the fields of a traffic status that are only informational.
func persistentTraffic(t *v1alpha1.TrafficStatus) *v1alpha1.TrafficStatus {
	if t == nil || t.Ending == nil {
		return nil
	}
	return &v1alpha1.TrafficStatus{Ending: t.Ending}
}

// withoutEnding drops the end from the traffic status of a release that goes on.
func withoutEnding(t *v1alpha1.TrafficStatus) *v1alpha1.TrafficStatus {
	if t == nil || t.Ending == nil {
		return t
	}
	going := *t
	going.Ending = nil
	return &going
}

// awaited describes what requests wait for; empty if for nothing.
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

// shifting reports whether the pods of the step are there, and requests are awaited. It is
// reported, and decides nothing.
func shifting(s *snapshot) bool {
	t := s.record.Traffic
	return t != nil && t.Awaits != "" && (t.Ending != nil || s.pods.available() >= s.record.TargetReplicas && s.record.TargetReplicas > 0)
}

// gaveUpReported reports whether the stored status says that some Gateways are no longer awaited.
func gaveUpReported(s *snapshot) bool {
	told := s.release.Status.Traffic
	return told != nil && told.GaveUp
}

// noteGivenUp reports once that some Gateways are no longer awaited.
func noteGivenUp(d Decision, st traffic.Standing) Decision {
	if !st.GaveUp || gaveUpReported(d.snap) {
		return d
	}
	return d.tell(gaveUp{pending(st), statusPatience(d.snap).String()})
}

// mostPending limits the Gateways that a status names.
const mostPending = 8

// pending names the Gateways that have not reported, for the status.
func pending(st traffic.Standing) []string {
	var names []string
	for _, name := range st.Pending[:min(len(st.Pending), mostPending)] {
		names = append(names, bounded(name))
	}
	return names
}

// sameDeadline is how far a deadline may move, between the clock that counts and the one that
// reports, without a write of the status.
const sameDeadline = 5 * time.Second

// acceptDeadline returns until when Gateways are awaited; nil if there is no limit, or it is over.
func acceptDeadline(s *snapshot, st traffic.Standing) *metav1.Time {
	if st.GivesUp == 0 {
		return nil
	}
	at := metav1.NewTime(s.now.Add(st.GivesUp).UTC().Truncate(time.Second))
	if told := s.release.Status.Traffic; told != nil && told.AcceptDeadline != nil && told.AcceptDeadline.Sub(at.Time).Abs() <= sameDeadline {
		return told.AcceptDeadline
	}
	return &at
}
