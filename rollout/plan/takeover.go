package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// takeOverStages are the parts of the take-over of a workload, or of giving it the template that is
// released, in this order. Each reports whether the next one follows.
var takeOverStages = []func(Decision) (Decision, bool){
	forgetNotAsInGit,
	checkRoom,
	askDrift,
	keepStable,
	readRelease,
	addFinalizer,
	givePods,
	takeOver,
}

// start takes the workload over: nothing is in the way.
func start(d Decision) Decision {
	for _, stage := range takeOverStages {
		var done bool
		if d, done = stage(d); !done {
			break
		}
	}
	return failIfRefused(d)
}

// refillFirst gives a workload that has the stable template, because it was scaled to 0, the stable
// pods that it is scaled to. It reports whether that is done, or not needed.
func refillFirst(d Decision) (Decision, bool) {
	if !d.snap.hold().asMeant() { // apart from how many pods it has
		return d, true
	}
	return refill(d)
}

// followHeld follows spec.replicas of a workload that is held with the template of the release
// before: the one that supersedes it is stopped before it has given the workload its own. The
// native controller does not follow. The version that was released gets no more pods.
func followHeld(d Decision) Decision {
	s := d.snap
	w := s.workload
	if !s.hold().held() || !w.secured() || s.empty || nativeMayAct(s) || s.pods.Leaving || !s.pods.hasUpdated() {
		return d
	}
	t := taskOf(s, min(s.pods.updated(), share{}.most(w.Replicas)))
	t.Revision, t.Rescaling, t.Grown = w.Revision, true, false
	if w.Revision == stableRevision(s) {
		t.Rollback, t.Target = true, w.Replicas
	}
	return keepScale(d, t)
}

// rollBackIfFailed begins the rollback of a failed release, if its strategy says so.
func rollBackIfFailed(d Decision) Decision {
	d, _ = rollBackFailed(d)
	return d
}

// checkRoomLater checks again whether the namespace has room.
func checkRoomLater(d Decision) Decision {
	return d.wakeAt(d.snap.now.Add(preflightRetry), WakePreflight)
}

// showTraffic reports what keeps routes from sharing requests.
func showTraffic(d Decision) Decision {
	return setTrafficStatus(d, traffic.Next(trafficGoal(d.snap, traffic.Forward, 0), *d.snap.obs.Traffic))
}

// mixesVersions reports whether a release is not started because its workload must run one version
// at a time. It counts before the take-over alone: from then on the workload may have such a
// strategy by our doing. A rollback always starts.
func mixesVersions(s *snapshot) bool {
	w := *s.workload
	if w.secured() && w.Digest == s.record.Resolved.Digest {
		return false // taken over already, by a release whose annotation and status are lost
	}
	if s.pods.All.Most > 0 {
		w.Replicas = max(w.Replicas, 1) // scaled to 0, and not there yet
	}
	return !s.record.rollingBack() && MixesVersions(&s.release.Spec.Strategy, &w)
}

// MixesVersions reports whether a release must not start on a workload that is not taken over: the
// workload's own strategy never runs two versions at once.
func MixesVersions(strategy *v1alpha1.ReleaseStrategy, w *Workload) bool {
	return w.native().OneVersion && w.Replicas > 0 && !strategy.AllowMixedVersions
}

// notAsInGit reports whether the workload runs a template that Git is not known to have had, and no
// person has allowed the one in Git to replace it. It counts before the first release of a
// workload: the template may come from outside the repository, such as variables of Flux, and no
// commit has changed it.
func notAsInGit(s *snapshot) bool {
	known := s.record.StableRevision != "" || s.release.Annotations[v1alpha1.CurrentStableAnnotation] != ""
	return s.release.Labels[v1alpha1.SourceLabel] != "" && !known && !s.record.isRollback() && !s.record.failed() && s.gates().notAsInGit().policy.Manual != nil
}

// askFirst opens the gate of NotAsInGit, and changes nothing else.
func askFirst(d Decision) Decision {
	d = openGates(d, []indexed{notAsInGitGate()})
	if d.refused != nil {
		return failIfRefused(d.with(func(r *record) { r.Gates = nil }))
	}
	return block(d, []waitingGate{d.snap.gates().notAsInGit()})
}

// forgetNotAsInGit removes the gate of NotAsInGit, which has passed, from the record.
func forgetNotAsInGit(d Decision) (Decision, bool) {
	name := d.snap.gates().name(notAsInGitGate())
	if d.snap.record.entered() || !slices.ContainsFunc(d.snap.record.Gates, func(g v1alpha1.GateReference) bool { return g.Name == name }) {
		return d, true
	}
	return d.with(func(r *record) { r.Gates, r.Answers, r.CurrentStepState = nil, nil, v1alpha1.StepInitial }), true
}

// keepStable makes durable what a rollback needs, before the workload's template is overwritten. It
// reports whether that is done, or planned.
func keepStable(d Decision) (Decision, bool) {
	if !fresh(d.snap) {
		return d, true
	}
	stable, ready := d.snap.workload.Revision, true
	if drifted(d.snap) {
		stable = stableRevision(d.snap)
		d = d.with(func(r *record) { r.StableRevision = stable })
	} else {
		d, ready = keepBefore(d.with(func(r *record) { r.StableRevision = stable }))
	}
	annotations, finalized := d.snap.release.Annotations, slices.Contains(d.snap.release.Finalizers, v1alpha1.Finalizer)
	current := annotations[v1alpha1.CurrentStableAnnotation]
	if !ready || finalized && current == stable { // the annotations name only what is kept
		return d, ready
	}
	change := Annotate{
		Reason:    guardReason,
		Set:       map[string]string{v1alpha1.CurrentStableAnnotation: stable},
		Finalizer: new(true),
	}
	return d.try(change.withLast(lastStable(d.snap, current, stable), annotations))
}

// readRelease makes sure that the release is as it was observed: it was read live, or a write of
// this pass to it proves that.
func readRelease(d Decision) (Decision, bool) {
	writes := slices.ContainsFunc(d.actions, func(a Action) bool {
		change, is := a.(Annotate)
		return is && change.Finalizer != nil
	})
	if fresh(d.snap) && writes || d.snap.live(ReadRelease) {
		return d, true
	}
	return d.read(ReadRelease), false
}

const guardReason Reason = "the workload is handed back before the release goes away"

// addFinalizer keeps a release that holds a workload from going away before it has handed it back.
// Where a person wrote the hold, or a release object of the same name was there before, the
// finalizer is missing. It reports whether that is done.
func addFinalizer(d Decision) (Decision, bool) {
	if slices.Contains(d.snap.release.Finalizers, v1alpha1.Finalizer) || !d.snap.hold().held() {
		return d, true
	}
	return d.do(Annotate{Reason: guardReason, Finalizer: new(true)}), false
}

// givePods writes what must be written before the workload gets the template that is released. A
// rollback leaves no other version its pods, unless they get requests until routes have taken them
// back. A workload without pods gets the stable template. It reports whether that is done, or
// planned.
func givePods(d Decision) (Decision, bool) {
	s := d.snap
	if s.record.isRollback() && !routed(s) || s.workload.Replicas == 0 {
		return d, true
	}
	return writeAll(d, s.workload.Mover.Give(s.record.Resolved.Digest), ReadWorkload|ReadCounts)
}

// writeAll plans writes that need live reads. It reports whether there are none, or all are
// planned.
func writeAll(d Decision, writes []mover.Write, reads Reads) (Decision, bool) {
	switch {
	case len(writes) == 0:
		return d, true
	case !d.snap.live(reads):
		return d.read(reads), false
	default:
		return d.try(moveActions(d.snap, writes)...)
	}
}

// takeOver writes the hold, with the template that is released, to the workload.
func takeOver(d Decision) (Decision, bool) {
	w, held, template := d.snap.workload, d.snap.hold().held(), templateToWrite(d.snap)
	if held && w.Digest != d.snap.record.Resolved.Digest {
		var settled bool
		if d, settled = settleDigest(d, template); settled {
			return d, true
		}
	}
	d = keepLeft(d)
	s := d.snap
	change, hold := externalChange(s), holdValue(s)
	hold.Change = s.hold().onRecord(change)
	take := TakeOver{
		Reason: takeOverReason(s), Template: &template, Digest: s.record.Resolved.Digest, Revision: s.record.UpdateRevision, Hold: hold, PutBack: change,
	}
	switch native := w.native(); {
	case hold.Emptied:
		take.Template, take.Digest, take.Revision = stableTemplate(s), "", ""
	case !held && native.OnDelete && native.Stale: // a lost pod comes back in the present template, then
		take.Template, take.Digest, take.Revision, take.AsItIs = nil, "", "", true
	}
	d, done := d.try(take)
	switch {
	case done:
		d = recordHold(d, hold)
	case held && w.Hold.Window != "": // the native controller updates no more pods meanwhile
		d = d.do(TakeOver{Reason: closedReason, Hold: hold})
	}
	return d, done
}

const closedReason Reason = "the workload can't get the template that it is to have: no more pods are updated"

// recordHold records what a workload that is taken over now gets back.
func recordHold(d Decision, hold Hold) Decision {
	return d.with(func(r *record) { r.Held, r.WorkloadUID = &hold.HeldWorkload, d.snap.workload.UID })
}

// takenOver reports whether the workload is as the release holds it, so that its pods can be moved.
func takenOver(s *snapshot) bool { return s.hold().asMeant() && s.empty == empties(s) }

// templateToWrite returns the source of the template: the release's spec if it is being released,
// else its kept template.
func templateToWrite(s *snapshot) Template {
	if s.record.Resolved.Given == s.given && s.given != "" && !isQuarantined(s) {
		return Template{Given: true}
	}
	return Template{Revision: s.record.UpdateRevision}
}

// settleDigest records the workload's digest if the API server gives the template other defaults
// than before: to the native controller that is the same version (I15). A template that a person,
// or admission, changed is another one. It reports whether there is nothing to write, or to be
// known first.
func settleDigest(d Decision, template Template) (Decision, bool) {
	before, w, resolved := d.snap.release.Status.Resolved, d.snap.workload, d.snap.obs.Resolved
	switch {
	case before == nil || !equality.Semantic.DeepEqual(before, d.snap.record.Resolved):
		return d, false // the template is a new one
	case resolved == nil:
		return d.need(Needs{Resolve: &template}), true
	case (resolved.Given != "") != template.Given:
		return d, false // the pass has resolved another one, to see whether to begin with it
	case resolved.Refused == "" && resolved.Digest == w.Digest && w.Revision == d.snap.record.UpdateRevision:
		return d.with(func(r *record) { r.Resolved = withDigest(r.Resolved, w.Digest) }), true
	default:
		return d, false
	}
}

// withDigest returns a resolved template with another digest.
func withDigest(resolved *v1alpha1.ResolvedTemplate, digest string) *v1alpha1.ResolvedTemplate {
	now := *resolved
	now.Digest = digest
	return &now
}

func takeOverReason(s *snapshot) Reason {
	revision := s.record.UpdateRevision
	switch {
	case fresh(s):
		return Reason("release " + revision)
	case emptying(s):
		return emptiedReason(s)
	case s.record.Phase == v1alpha1.PhaseInitial || s.record.Phase == v1alpha1.PhaseRollingBack:
		return Reason("release " + revision + " instead")
	case !s.workload.secured():
		return unpausedReason
	case s.workload.Digest == s.record.Resolved.Digest:
		return holdStrippedReason
	default:
		return Reason("put back: the template of revision " + revision)
	}
}

// holdValue returns the hold to write. The workload gets back what it had at the first take-over.
func holdValue(s *snapshot) Hold {
	w := s.workload
	hold := Hold{Release: s.release.Name, UID: s.release.UID, Emptied: empties(s), Stable: fallbackRevision(s), Foreign: foreignRevision(s)}
	switch {
	case s.hold().held():
		hold.HeldWorkload = w.Hold.HeldWorkload
	case s.record.Held != nil:
		hold.HeldWorkload = *s.record.Held
	default:
		hold.HeldWorkload = w.native().Own
	}
	return hold
}
