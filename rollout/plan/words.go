package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

const (
	unseenWords    = "waiting for the native controller to observe the latest change"
	takeOverWords  = "taking over the workload"
	handBackWords  = "handing the workload back"
	notTakenOver   = "the workload is not taken over: "
	pastGitWords   = "spec.template differs from Git: somebody changed it out of band; its ReleaseSource will restore it"
	noTemplateText = "spec.template is missing: there is nothing to release; to release what others apply to the workload, set spec.follow: Workload"
	followsIt      = "follows it"
	quarantineText = "spec.template was rolled back: a different template starts the next release"
)

// words returns the reason and the message of the status.
func words(r *report) (reason, message string) {
	reason, message = r.state.reason(r), r.state.message(r)
	if refusalHides(r) {
		reason, message = v1alpha1.ReasonWriteRefused, refusalWords(r.d.refused)
		if r.d.refused.Unguarded {
			reason = v1alpha1.ReasonUnguarded
		}
	}
	if trouble := r.s.record.PodTrouble; trouble != nil && r.state.traits.has(showsPods) {
		message += "; " + trouble.Words(r.s.record.TargetReplicas)
	}
	message = bounded(message)
	under := r.s.record.rollingBack() || r.s.record.entered() && !r.s.record.completed()
	if queued := r.s.record.Queued; queued != nil && queued.Awaits == "" && under {
		message += "; next: revision " + queued.Revision
	}
	return reason, message
}

// refusalHides reports whether the status describes a refused write in place of the state.
func refusalHides(r *report) bool {
	return r.d.refused != nil && !r.d.statusFirst && !r.s.record.failed() && !r.s.record.completed() && !r.state.traits.has(calm)
}

// absentWords says that there is no workload, and what that means for the release.
func absentWords(then string) func(*report) string {
	return func(r *report) string {
		ref := r.s.release.Spec.WorkloadRef
		return fmt.Sprintf("%s %q does not exist; %s", ref.Kind, ref.Name, then)
	}
}

func heldWords(r *report) string {
	w := r.s.workload
	return fmt.Sprintf("%s %q is taken over by BatchRelease %q: delete one of the two", kindOf(r.s), w.Name, w.Hold.Release)
}

func waitingWords(r *report) string {
	return "revision " + r.s.record.Queued.Revision + " waits: " + stopCauses(r.s).words(r.s)
}

func stopReason(r *report) string { return stopsProgress(r.s).reason() }

func stoppedWords(where string) func(*report) string {
	return func(r *report) string { return where + ": " + stopsProgress(r.s).words(r.s) }
}

func stoppedInBatchWords(r *report) string {
	return stoppedWords("batch " + r.status.Batch + " is on hold")(r)
}

// words says why a template can't be released.
func (r *Resolved) words() string {
	if r.Refused != "" {
		return "the API server refuses spec.template: " + r.Refused
	}
	return "spec.template can't be compared with what runs: " + r.Overlooked + ": install a newer version"
}

// nativeRolloutWords says how far the workload's own rollout is, and what it waits for by the
// workload's own settings.
func nativeRolloutWords(r *report) string {
	w, native, namespace, updated := r.s.workload, r.s.workload.native(), r.s.release.Namespace, r.s.pods.updated()
	run := fmt.Sprintf("%d of %s run revision %s", updated, podsWord(w.Replicas), w.Revision)
	waits := func(why, until string) string {
		return fmt.Sprintf("the %s %s, and %s: the release completes once %s", kindOf(r.s), why, run, until)
	}
	switch {
	case native.Own.Paused:
		return waits("is paused", "it is resumed and all of them run it; kubectl rollout resume deployment "+w.Name+" -n "+namespace)
	case native.OnDelete:
		return waits("has update strategy OnDelete",
			"all of them run it: delete the other pods, or give another template, which is released in batches")
	case native.Partition > 0 && updated >= w.Replicas-native.Partition:
		return waits(fmt.Sprintf("has partition %d", native.Partition), fmt.Sprintf(
			`all of them run it; kubectl patch statefulset %s -n %s -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'`, w.Name, namespace))
	default:
		return "the workload's own rollout is in progress: " + run
	}
}

// runsAgainWords describes the end of a rollback, with the words of a gate that was rejected: the
// Gate is gone then. It also says if others have applied the template again that was rolled back.
func runsAgainWords(r *report) string {
	message := "revision " + r.s.record.UpdateRevision + " runs again"
	if back := r.s.record.Rollback; back != nil && back.Trigger == v1alpha1.TriggerGateRejected {
		message = strings.TrimSuffix(message+"; "+back.Message, "; ")
	}
	if appliedWaits(r.s) && isQuarantined(r.s) && !r.s.record.releases(r.s.workload.Digest) {
		message += "; revision " + r.s.workload.Revision + " was rolled back and applied again, and is not released: apply another template"
	}
	return message
}

func beginReason(r *report) string {
	if r.s.record.isRollback() {
		return v1alpha1.ReasonRollingBack
	}
	return v1alpha1.ReasonTakingOver
}

// beginWords describes a release that has begun, and is in no step yet.
func beginWords(r *report) string {
	if r.s.record.isRollback() {
		return turnWords(r) + unobservedWords(r)
	}
	return takeOverWords + unobservedWords(r)
}

// turnWords describes the beginning of a rollback.
func turnWords(r *report) string {
	return "rolling back to " + r.s.record.RolledBackTo() + ": " + r.s.record.Rollback.Message
}

// unobservedWords says where to look if the native controller keeps a release from its first step
// for long: it may be unable to write what it needs, as a webhook does not answer. Otherwise it is
// empty.
func unobservedWords(r *report) string {
	since := r.before.LastUpdateTime
	if !nativeUnseen(r.s) || since == nil || r.s.now.Sub(since.Time) < slowestLook {
		return ""
	}
	return "; " + unseenWords + ": look at the log of kube-controller-manager, and for a webhook that stops its writes"
}

func preparingReason(r *report) string {
	if r.s.record.Queued.Awaits == v1alpha1.AwaitedRoom {
		return v1alpha1.ReasonAwaitingRoom
	}
	return v1alpha1.ReasonTakingOver
}

// preparingWords says what a new template waits for.
func preparingWords(r *report) string {
	waits := "revision " + r.s.record.Queued.Revision + " waits"
	if preparedLate(r.s) {
		waits += fmt.Sprintf(", and there was no progress for %s", progressDeadline(r.s))
	}
	if r.s.record.Queued.Awaits == v1alpha1.AwaitedRoom {
		return waits + ": other pods must be deleted first, to make room for a pod of the stable version"
	}
	return waits + ": the native controller has not observed the latest change, or has not created the pods of the stable version"
}

func mixingWords(r *report) string { return preflight.MixesVersions(r.s.workload.Name) }

func notAsInGitRejectedWords(r *report) string {
	return "the workload keeps a template that is not in Git: a person has rejected the one in Git (" +
		r.s.gates().notAsInGit().gate.Status.Message + "); bring Git to what runs, or commit another template"
}

func notAsInGitWords(r *report) string {
	return "the workload runs another template than the one in Git, and no commit has brought the difference: " +
		"compare them ('sluice plan --cluster'), then commit what runs, or let Git replace it: 'sluice approve " +
		r.s.release.Name + " -n " + r.s.release.Namespace + "'"
}

func failedWords(r *report) string { return failureWords(r.s) }

// failureWords says why the release has failed.
func failureWords(s *snapshot) string {
	what, failure := "the release", s.record.Failure
	if s.record.entered() {
		what = "batch " + batchNumber(s)
	}
	if failure == nil { // a user wrote the phase
		return fmt.Sprintf("%s: no progress for %s", what, progressDeadline(s))
	}
	return fmt.Sprintf("%s: no progress for %s: %s", what, time.Duration(failure.DeadlineSeconds)*time.Second, failure.Message)
}

func upgradeReason(r *report) string {
	if r.s.record.isRollback() {
		return v1alpha1.ReasonRollingBack
	}
	return v1alpha1.ReasonUpgrading
}

func rollingWords(r *report) string {
	what := "updating"
	if goingBack(r.s) {
		what = "going back"
	}
	return fmt.Sprintf("batch %s: %s to %s of %d", r.status.Batch, what, podsWord(r.s.record.TargetReplicas), r.s.record.Replicas)
}

// shiftingWords says that requests are moved. The object that they wait for is in status.traffic:
// it changes within seconds.
func shiftingWords(r *report) string {
	traffic := r.s.record.Traffic
	switch {
	case traffic.Ending != nil:
		return "batch " + r.status.Batch + " done: old pods go, and then the routes get back what they had"
	case r.s.record.isRollback():
		return fmt.Sprintf("batch %s: requests go back to revision %s", r.status.Batch, r.s.record.RolledBackTo())
	default:
		return fmt.Sprintf("batch %s: moving requests: %d%% to revision %s", r.status.Batch, traffic.TargetWeight, r.s.record.UpdateRevision)
	}
}

func pauseWords(s *snapshot, at *v1alpha1.PausePoint) string {
	return fmt.Sprintf("batch %s: paused before pod %s on node %s, which has a pause point; to continue: sluice approve %s -n %s",
		batchNumber(s), at.Pod, orWord(at.Node, "none"), s.release.Name, s.release.Namespace)
}

func rejectedWords(r *report) string {
	message := rejectionWords(r.s, rejectedOf(openGatesOf(r.s)))
	if r.s.hold().change() != nil { // it stops the template that is given next
		message += "; " + changedWords(r.s)
	}
	return message
}

// rejectionWords says that a gate was rejected, and why.
func rejectionWords(s *snapshot, gate *v1alpha1.Gate) string {
	return strings.TrimSuffix(fmt.Sprintf("batch %s: gate %s was rejected: %s", batchNumber(s), gate.Name, gate.Status.Message), ": ")
}

// blockedWords says what the step waits for.
func blockedWords(r *report) string {
	message := fmt.Sprintf("batch %s done with %s of %d, waiting for %s",
		r.status.Batch, podsWord(r.s.record.TargetReplicas), r.s.record.Replicas, awaitedWords(openGatesOf(r.s)))
	if r.s.steps().raised() {
		message += "; the step was edited since, and takes more once they have passed"
	}
	return message
}

// awaitedWords names the gates as people find them on the forge, and then the types of the other
// gates.
func awaitedWords(waiting []waitingGate) string {
	var words, types []string
	for _, w := range waiting {
		if name := w.onForge(); name != "" {
			words = append(words, name)
		} else {
			types = append(types, string(w.policy.Type()))
		}
	}
	if len(types) > 0 {
		words = append(words, "gate: "+strings.Join(types, ", "))
	}
	return strings.Join(words, ", ")
}

// onForge names a gate as the forge does, with the reason why an approval does not count; empty for
// a gate that is not on a forge.
func (w waitingGate) onForge() string {
	if w.gate == nil {
		return w.policy.AwaitedOnForge(0)
	}
	words := w.policy.AwaitedOnForge(w.gate.PullRequestNumber())
	if w.refused() {
		words += ", which was merged and refused: " + w.gate.Status.Refusal.Message
	}
	return words
}

// driftedWords says how the workload differs from what was released, and what happens to it.
func driftedWords(r *report) string {
	s := r.s
	message, again := driftWords(s, driftFields(s)), nextRevert(s)
	switch {
	case s.release.Spec.Drift != v1alpha1.DriftRevert:
		message += fmt.Sprintf("; undo it ('kubectl rollout undo %s/%s -n %s'), or commit it to Git",
			strings.ToLower(kindOf(s)), s.release.Spec.WorkloadRef.Name, s.release.Namespace)
	case driftOwner(s) == "" && s.now.Before(again):
		message += "; it will be reverted at " + again.UTC().Format(time.RFC3339)
	}
	return message
}

func driftWords(s *snapshot, fields []string) string {
	return "the " + kindOf(s) + " was changed out of band: " + joined(fields)
}

func sharedWords(s *snapshot, does string) string {
	return fmt.Sprintf(
		"%s %q also belongs to BatchRelease %q, and only that one %s (the one created first, or of the same second the first by name); delete one of the two",
		kindOf(s), s.workload.Name, driftOwner(s), does)
}

// kindOf returns the kind of the workload.
func kindOf(s *snapshot) string { return s.release.Spec.WorkloadRef.Kind }

// refusalWords says which write is refused, and why.
func refusalWords(r *Refusal) string {
	if r.Unguarded {
		return r.Why
	}
	if r.Rewritten {
		return "the API server changes the write to " + r.Write.Words + ": " + r.Why
	}
	if r.Unanswered {
		return "the API server can't decide whether to " + r.Write.Words + ", and is asked every few seconds: " + r.Why
	}
	return "the API server refuses to " + r.Write.Words + ": " + r.Why
}

// UnguardedWords says that no admission policy acts on a followed workload, and what to do.
func UnguardedWords(kind, name string) string {
	return fmt.Sprintf("no admission policy holds the templates that others apply to %s %q: install config/follow, which needs Kubernetes 1.34 "+
		"and must name the controller's account, or keep its controller from rolling by %s in its manifest", kind, name, containing[kind])
}

// containing is the field that keeps the native controller of a kind from rolling.
var containing = map[string]string{
	kinds.Deployment:  "spec.paused: true",
	kinds.StatefulSet: "spec.updateStrategy.rollingUpdate.partition: 2147483647",
	kinds.DaemonSet:   "spec.updateStrategy.type: OnDelete",
}

// moveReason says why pods are moved.
func moveReason(s *snapshot, why mover.Why) Reason {
	switch why {
	case mover.KeepOthers:
		return "otherwise the native controller empties the others again"
	case mover.KeepOthersAtStart:
		return "otherwise the native controller takes it for complete, and empties the others"
	case mover.FinishScaling:
		return "otherwise the native controller may wait for the end of a scaling that is over"
	case mover.Beside:
		return "a pod of the stable version, so that the new version is never alone"
	case mover.StableGone:
		return "the stable ReplicaSet is gone"
	case mover.BackToTarget:
		return Reason("back to the target of batch " + batchNumber(s))
	case mover.FewerReplicas:
		return "fewer replicas: the batch shrinks in proportion"
	case mover.MoreReplicas:
		if !hasGrown(s) {
			return Reason("back to the target of batch " + batchNumber(s))
		}
		return "more replicas: the added pods run the old version"
	case mover.Cleared:
		return "follow spec.replicas"
	default:
		return batchReason(s)
	}
}

func batchReason(s *snapshot) Reason {
	if !s.record.entered() {
		return "follow spec.replicas"
	}
	return Reason("batch " + batchNumber(s))
}

// batchNumber returns the current step, counted from 1, such as "2/4"; empty before the first. With
// invalid steps it returns the stored one.
func batchNumber(s *snapshot) string {
	switch {
	case !s.record.entered():
		return ""
	case s.problem != nil:
		return s.release.Status.Batch
	default:
		return s.steps().number(s.steps().index())
	}
}

func podsWord(n int32) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

func orWord(reason, otherwise string) string {
	if reason == "" {
		return otherwise
	}
	return reason
}

func joined(words []string) string { return strings.Join(words, "; ") }
