package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

// prepareToBegin makes sure that the release of a template may begin on a workload that is held: what its mover asks for is
// written before anything shows the release. It reports whether that is so. Until then the template is queued.
func prepareToBegin(d Decision, template *v1alpha1.ResolvedTemplate) (Decision, bool) {
	if w := d.Workload; !d.held() || !w.secured() || w.Replicas == 0 || d.returns(template) {
		return d, true
	}
	writes, awaited := d.Workload.Mover.Prepare(d.beginning(template))
	if len(writes) > 0 && d.nativeMayAct() {
		writes, awaited = nil, v1alpha1.AwaitedNativeController
	}
	if awaited != "" {
		d = await(d, template, awaited)
	}
	switch reads := ReadWorkload | ReadCounts | ReadRelease; {
	case len(writes) == 0:
		return d, awaited == ""
	case !d.Live.Has(reads):
		return d.read(reads), false
	}
	return failIfRefused(d.do(d.moves(writes)...)), false
}

// prepareQueued does so for a template that waits after the release before it has completed.
func prepareQueued(d Decision, waiting *v1alpha1.ResolvedTemplate) (Decision, bool) {
	if waiting == nil || d.record.Queued == nil || !d.completed() || d.sameAsCurrent(waiting) {
		return d, true
	}
	return prepareToBegin(d, waiting)
}

// beginning is the start of the release of a template.
func (l *look) beginning(template *v1alpha1.ResolvedTemplate) mover.Beginning {
	b := mover.Beginning{
		Template: template.Digest, Digest: l.Workload.Digest, Stable: l.stableRevision(),
		Replicas: l.Workload.Replicas, Bounds: l.bounds(), Mode: mover.Mode{AwaitTermination: l.awaitsTermination()},
	}
	if l.rollingBack() {
		b.Stable, b.Left = l.record.RolledBackTo(), l.left()
	}
	b.AtHand = l.empty || l.Workload.Revision == b.Stable
	return b
}

// await records that a template waits for something on the workload, and runs the progress deadline. There is nothing yet that could fail
// or be rolled back: once it is over, people are told, and the release begins all the same when it can.
func await(d Decision, template *v1alpha1.ResolvedTemplate, awaited v1alpha1.Awaited) Decision {
	d = enqueue(d, *template)
	queued := *d.record.Queued
	queued.Awaits = awaited
	before, deadline := d.Release.Status.Queued, d.progressDeadline()
	waited := time.Duration(0)
	if queueMark(&d.Release.Status) != (mark{}) && before.Given == queued.Given {
		waited, queued.WaitedSeconds = d.waited(d.Watched.Queue, before.WaitedSeconds)
	}
	d, late := overdue(d, waited)
	if late {
		queued.WaitedSeconds = int32(deadline / time.Second)
	}
	return d.with(func(r *record) { r.Queued = &queued })
}

// notAwaiting is a template that waits, without what an earlier pass found of that: each finds it out by itself.
func notAwaiting(queued *v1alpha1.QueuedTemplate) *v1alpha1.QueuedTemplate {
	if queued == nil || queued.Awaits == "" {
		return queued
	}
	waits := *queued
	waits.Awaits, waits.WaitedSeconds = "", 0
	return &waits
}

// preparing is the state of a template that waits for something on the workload; false if none does.
func (l *look) preparing() (Preparing, bool) {
	queued := l.record.Queued
	if queued == nil || queued.Awaits == "" {
		return Preparing{}, false
	}
	late := time.Duration(queued.WaitedSeconds)*time.Second >= l.progressDeadline()
	return Preparing{Revision: queued.Revision, Awaits: queued.Awaits, Late: late}, true
}
