package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// watchDrift looks whether the workload of a completed release still has the template that was
// released. How it differs is asked only when the digests do, so that it costs nothing otherwise.
func (p *pass) watchDrift() {
	if p.Workload.Digest == p.status.Resolved.Digest {
		p.endDrift()
		return
	}
	template := p.template()
	switch {
	case !template.Given && p.kept(template.Revision) == nil:
		p.endDrift() // nobody knows any more what was released
	case p.Drift == nil:
		p.out.Needs.Drift = &template
	case len(p.Drift.Fields) == 0:
		p.status.Resolved.Digest = p.Drift.Digest
		p.endDrift()
	case p.revertsDrift():
		p.revertDrift()
	default:
		p.sayDrifted()
	}
}

// driftPause is how long a template stays reverted before it is reverted again: somebody, or something, that
// changes it over and over must not have all pods replaced over and over.
const driftPause = 10 * time.Minute

// revertsDrift reports whether the released template is to be brought back now. One that the API server would
// not take any more can't be.
func (p *pass) revertsDrift() bool {
	if p.Release.Spec.Drift != v1alpha1.DriftRevert || p.Drift.Digest == "" || p.stop() != nil || p.elder() != "" {
		return false
	}
	again := p.driftAgain()
	if p.Now.Before(again) {
		p.wakeAt(again)
		return false
	}
	return true
}

// elder is the oldest of the other releases of the workload, if it is older than this one: where nobody holds the workload, that
// one alone may say what it runs, or each would take what the other has released for drift, for ever. It is empty if there is none.
func (p *pass) elder() string {
	oldest := Sibling{Name: p.Release.Name, Created: p.Release.CreationTimestamp.Time}
	for _, s := range p.Siblings {
		if before := s.Created.Compare(oldest.Created); before < 0 || before == 0 && s.Name < oldest.Name {
			oldest = s
		}
	}
	if oldest.Name == p.Release.Name {
		return ""
	}
	return oldest.Name
}

// driftAgain is the earliest time at which drift is reverted.
func (p *pass) driftAgain() time.Time {
	if ended := p.status.LastUpdateTime; p.revertingDrift() && ended != nil {
		return ended.Add(driftPause)
	}
	return time.Time{}
}

// revertDrift goes back to what was released. That Git gave it, and gives it still, is why nothing is
// quarantined.
func (p *pass) revertDrift() {
	if needs := (Needs{Workload: !p.Workload.Live, Release: !p.ReleaseLive}); needs.Any() {
		p.need(needs)
		return
	}
	p.begin(*p.status.Resolved, &v1alpha1.RollbackRecord{
		Trigger: v1alpha1.TriggerDrift, From: p.Workload.Revision, Message: p.driftWords(),
	})
	p.out.StatusFirst, p.out.Actions = true, nil
}

// revertingDrift reports whether the rollback that is under way, or was the last, is from a template that somebody gave the workload by hand.
func (p *pass) revertingDrift() bool {
	return p.status.Rollback != nil && p.status.Rollback.Trigger == v1alpha1.TriggerDrift
}

func (p *pass) driftWords() string {
	return "the Deployment was changed out of band: " + strings.Join(p.Drift.Fields, "; ")
}

func (p *pass) sayDrifted() {
	message := p.driftWords()
	switch elder, again := p.elder(), p.driftAgain(); {
	case p.Release.Spec.Drift != v1alpha1.DriftRevert:
		message += fmt.Sprintf("; put it back ('kubectl rollout undo deployment/%s -n %s'), or bring it to Git",
			p.Release.Spec.WorkloadRef.Name, p.Release.Namespace)
	case elder != "":
		p.stall(v1alpha1.ReasonWorkloadShared, fmt.Sprintf(
			"Deployment %q has another release too, BatchRelease %q, which is older and alone may revert what is changed: delete one of the two",
			p.Workload.Name, elder))
	case p.Now.Before(again):
		message += "; it is reverted at " + again.UTC().Format(time.RFC3339)
	}
	p.countReleased()
	p.setCondition(v1alpha1.ConditionDrifted, true, message, v1alpha1.ReasonTemplateChanged)
	if p.status.Queued == nil { // or people are told first what waits
		p.say(v1alpha1.ReasonDrifted, message)
	}
}

// countReleased counts the pods that still run what was released, and not what somebody has put in its place.
func (p *pass) countReleased() {
	var released Set
	for i := range p.Sets {
		if set := &p.Sets[i]; set.Digest == p.status.Resolved.Digest && !set.Deleting {
			released = *set
		}
	}
	p.status.UpdatedReplicas = released.Current
	p.status.UpdatedReadyReplicas, p.status.UpdatedAvailableReplicas = released.Ready, released.Available
	p.countAll()
}

func (p *pass) endDrift() {
	if p.status.UpdatedReplicas < p.status.Replicas { // drift has taken pods away, and its end brings them back
		p.countReleased()
	}
	p.drop(v1alpha1.ConditionDrifted)
	if p.status.Reason == v1alpha1.ReasonDrifted {
		p.sayCompleted()
	}
}

// driftUnknown asks whether a workload that is about to be taken over runs what was last
// released, if its template is another one: what somebody else put there is no version to go back to.
func (p *pass) driftUnknown() bool {
	if stable := p.kept(p.status.StableRevision); stable == nil || stable.Digest == p.Workload.Digest || p.Drift != nil {
		return false
	}
	p.out.Needs.Drift = &Template{Revision: p.status.StableRevision}
	return true
}

// drifted reports whether the workload, which is not taken over yet, runs something else than what
// was last released.
func (p *pass) drifted() bool {
	stable := p.kept(p.status.StableRevision)
	return stable != nil && stable.Digest != p.Workload.Digest && p.Drift != nil && len(p.Drift.Fields) > 0
}
