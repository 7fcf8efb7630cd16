package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// preflightRetry is after how long a release that does not fit is checked again: a quota may have been
// raised, or others have made room.
const preflightRetry = time.Minute

// preflighted reports whether it is known that the namespace has room for a release, before its workload is taken over. What
// was found is on record before the first write of the take-over. A rollback is not asked: it must not wait.
func preflighted(d Decision) (Decision, bool) {
	switch {
	case d.rollingBack():
		return d, true
	case d.Preflight == nil:
		return d.need(Needs{Preflight: d.shape()}), false
	case !preflightIsTold(d.look):
		return d.first(), false
	default:
		return d, true
	}
}

// wontFit reports whether a release has to wait because the namespace has no room for it.
func (l *look) wontFit() bool {
	return !l.rollingBack() && l.Preflight != nil && l.Preflight.Fails() &&
		l.Release.Spec.Strategy.Preflight != v1alpha1.PreflightWarn
}

// shape is what the release wants of its namespace.
func (l *look) shape() *Shape {
	b := l.widest()
	made := l.Workload.Mover.Count(l.record.Resolved.Digest).Updated.Known
	surge := max(b.Surge, l.trafficPeak()-l.Workload.Replicas)
	return &Shape{
		Template: l.template(), Replicas: l.Workload.Replicas, Surge: surge, Unavailable: b.Unavailable, NewVersion: !made, Shared: l.shares(),
	}
}
