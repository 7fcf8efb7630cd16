package plan

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// preflightRetry is after how long a release that does not fit is looked at again: a quota may have been
// raised, or others have made room.
const preflightRetry = time.Minute

// willNotFit reports whether a release has to wait before its workload is taken over, because the
// namespace has no room for it. What was found is on record before the first write of the take-over. A
// rollback is not asked: it must not wait.
func (p *pass) willNotFit() bool {
	if p.rollingBack() {
		return false
	}
	if p.Preflight == nil {
		p.out.Needs.Preflight = p.shape()
		return true
	}
	p.setPreflight()
	switch {
	case len(p.Preflight.WillNotFit) > 0 && p.Release.Spec.Strategy.Preflight != v1alpha1.PreflightWarn:
		p.say(v1alpha1.ReasonWillNotFit, "the workload is not taken over: "+strings.Join(p.Preflight.WillNotFit, "; "))
		p.wakeAt(p.Now.Add(preflightRetry))
		return true
	case p.status.Reason == v1alpha1.ReasonWillNotFit:
		p.say(v1alpha1.ReasonTakingOver, "taking over the workload")
	}
	p.out.StatusFirst = !p.preflightRecorded()
	return p.out.StatusFirst
}

// shape is what the release wants of its namespace.
func (p *pass) shape() *Shape {
	f := p.fence()
	made := slices.ContainsFunc(p.Sets, func(s Set) bool { return s.Digest == p.status.Resolved.Digest })
	return &Shape{
		Template: p.template(), Replicas: p.Workload.Replicas, Surge: f.Surge, Unavailable: f.Unavailable, NewSet: !made,
	}
}

// setPreflight keeps the condition only while there is something to say.
func (p *pass) setPreflight() {
	all := p.Preflight.All()
	switch fits := len(p.Preflight.WillNotFit) == 0; {
	case len(all) == 0:
		p.drop(v1alpha1.ConditionPreflight)
	case fits:
		p.setCondition(v1alpha1.ConditionPreflight, true, strings.Join(all, "; "), v1alpha1.ReasonWarnings)
	default:
		p.setCondition(v1alpha1.ConditionPreflight, false, strings.Join(all, "; "), v1alpha1.ReasonWillNotFit)
	}
}

// preflightRecorded reports whether the stored status says what was found, if there is something.
func (p *pass) preflightRecorded() bool {
	said := func(conditions []metav1.Condition) string {
		if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionPreflight); c != nil {
			return c.Reason + c.Message
		}
		return ""
	}
	now := said(p.status.Conditions)
	return now == "" || now == said(p.Release.Status.Conditions)
}
