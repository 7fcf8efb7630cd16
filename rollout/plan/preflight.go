package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// preflightRetry is after how long a release that does not fit is checked again: a quota may have
// been raised, or others have made room.
const preflightRetry = time.Minute

// checkRoom makes sure that it is known whether the namespace has room for a release, before its
// workload is taken over. The findings are recorded before the first write of the take-over. A
// rollback must not wait, and is not checked. It reports whether that is done.
func checkRoom(d Decision) (Decision, bool) {
	switch {
	case !fresh(d.snap) || d.snap.record.rollingBack():
		return d, true
	case d.snap.obs.Preflight == nil:
		return d.need(Needs{Preflight: shapeOf(d.snap)}), false
	case !preflightReported(d.snap):
		return d.first(), false
	default:
		return d, true
	}
}

// wontFit reports whether a release has to wait because the namespace has no room for it.
func wontFit(s *snapshot) bool {
	findings := s.obs.Preflight
	return !s.record.rollingBack() && findings != nil && findings.Fails() && s.release.Spec.Strategy.Preflight != v1alpha1.PreflightWarn
}

// shapeOf returns what the release needs of its namespace.
func shapeOf(s *snapshot) *Shape {
	b := s.steps().widest()
	made := s.workload.Mover.Count(s.record.Resolved.Digest).Updated.Known
	surge := max(b.Surge, trafficPeak(s)-s.workload.Replicas)
	return &Shape{
		Template: templateToWrite(s), Replicas: s.workload.Replicas, Surge: surge, Unavailable: b.Unavailable, NewVersion: !made, Shared: sharesTraffic(s),
	}
}
