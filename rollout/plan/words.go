package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

const (
	unseenWords    = "waiting for the native controller to observe the latest change"
	takeOverWords  = "taking over the workload"
	handBackWords  = "handing the workload back"
	pastGitWords   = "spec.template differs from Git: somebody changed it out of band; its ReleaseSource will restore it"
	noTemplateText = "spec.template is missing: there is nothing to release"
	quarantineText = "spec.template was rolled back: a different template starts the next release"
)

// words are the reason and the message of the status.
func (t *telling) words() (reason, message string) {
	reason, message = t.stateWords()
	if t.refusalIsTold() {
		reason, message = v1alpha1.ReasonWriteRefused, refusalWords(t.refused)
	}
	if trouble := t.troubleWords(); trouble != "" {
		message += "; " + trouble
	}
	message = bounded(message)
	under := t.rollingBack() || t.entered() && !t.completed()
	if queued := t.record.Queued; queued != nil && queued.Awaits == "" && under {
		message += "; next: revision " + queued.Revision
	}
	return reason, message
}

// refusalIsTold reports whether the status speaks of a write that is refused, rather than of the state.
func (t *telling) refusalIsTold() bool {
	_, absent := t.state.(Absent)
	absent = absent && !t.goesAway() // what is refused then keeps the release from going away
	return t.refused != nil && !t.statusFirst && !t.failed() && !t.completed() && !absent
}

// stateWords put a state into words.
func (t *telling) stateWords() (reason, message string) {
	switch s := t.state.(type) {
	case Absent:
		if t.goesAway() {
			return v1alpha1.ReasonWorkloadNotFound, fmt.Sprintf("%s %q does not exist; the release is being deleted", s.Kind, s.Name)
		}
		return v1alpha1.ReasonWorkloadNotFound, fmt.Sprintf("%s %q does not exist; the release starts when it does", s.Kind, s.Name)
	case WorkloadHeld:
		return v1alpha1.ReasonWorkloadHeld, fmt.Sprintf("%s %q is taken over by BatchRelease %q: delete one of the two", t.kind(), s.Workload, s.Holder)
	case Idle:
		return t.idleWords(s.Because)
	case Completed:
		return t.completedWords(s.Rollback)
	case Drifted:
		return v1alpha1.ReasonDrifted, t.driftedWords()
	case Waiting:
		return s.Stop.reason(), "revision " + s.Revision + " waits: " + t.stopWords(s.Stop)
	case Preparing:
		return t.preparingWords(s)
	case PastGit:
		return v1alpha1.ReasonChangedPastGit, pastGitWords
	case Arriving:
		return t.arrivalWords(s.At)
	case Starting:
		return t.startWords(s.At)
	case Stopped:
		return s.Stop.reason(), t.standstillWords(s.At) + ": " + t.stopWords(s.Stop)
	case Failed:
		return v1alpha1.ReasonDeadlineExceeded, t.failureWords()
	case Blocked:
		return t.blockedWords(s.By)
	case Paused:
		return v1alpha1.ReasonPausePoint, t.pauseWords(&s.At)
	case Rolling:
		return t.upgradeReason(), t.rollingWords(s.Back)
	case Shifting:
		return v1alpha1.ReasonShiftingTraffic, t.shiftingWords()
	case Finishing:
		return v1alpha1.ReasonHandingBack, handBackWords
	case Entering, Leaving, Unsecured, Replaced:
		return t.beginWords()
	}
	return "", ""
}

func (t *telling) completedWords(rollback bool) (reason, message string) {
	if rollback {
		return v1alpha1.ReasonRolledBack, "revision " + t.record.UpdateRevision + " runs again"
	}
	return v1alpha1.ReasonCompleted, "all pods run revision " + t.record.UpdateRevision
}

func (t *telling) idleWords(because Idleness) (reason, message string) {
	switch because {
	case NoTemplate:
		return v1alpha1.ReasonNoTemplate, noTemplateText
	case RolledBack:
		return v1alpha1.ReasonRolledBack, quarantineText
	case Refused:
		return v1alpha1.ReasonInvalidTemplate, t.refusedTemplate().words()
	default:
		return "", ""
	}
}

// words say why a template can't be released.
func (r *Resolved) words() string {
	if r.Refused != "" {
		return "the API server refuses spec.template: " + r.Refused
	}
	return "spec.template can't be compared with what runs: " + r.Overlooked + ": install a newer version"
}

func (t *telling) arrivalWords(at Arrival) (reason, message string) {
	switch at {
	case Unseen:
		return v1alpha1.ReasonTakingOver, unseenWords
	case NativeRollout:
		return v1alpha1.ReasonNativeRollout, t.nativeRolloutWords()
	default:
		if t.record.Held != nil {
			return v1alpha1.ReasonHandingBack, handBackWords
		}
		return t.beginWords()
	}
}

// nativeRolloutWords say how far the workload's own rollout is, and what it waits for by the workload's own settings.
func (t *telling) nativeRolloutWords() string {
	w, native, namespace := t.Workload, t.Workload.native(), t.Release.Namespace
	run := fmt.Sprintf("%d of %s run revision %s", t.updated(), pods(w.Replicas), w.Revision)
	waits := func(why, until string) string {
		return fmt.Sprintf("the %s %s, and %s: the release completes once %s", t.kind(), why, run, until)
	}
	switch {
	case native.Own.Paused:
		return waits("is paused", "it is resumed and all of them run it; kubectl rollout resume deployment "+w.Name+" -n "+namespace)
	case native.OnDelete:
		return waits("has update strategy OnDelete",
			"all of them run it: delete the other pods, or give another template, which is released in batches")
	case native.Partition > 0 && t.updated() >= w.Replicas-native.Partition:
		return waits(fmt.Sprintf("has partition %d", native.Partition), fmt.Sprintf(
			`all of them run it; kubectl patch statefulset %s -n %s -p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'`, w.Name, namespace))
	default:
		return "the workload's own rollout is in progress: " + run
	}
}

func (t *telling) startWords(at Start) (reason, message string) {
	switch at {
	case Behind:
		return v1alpha1.ReasonTakingOver, unseenWords
	case WouldMixVersions:
		return v1alpha1.ReasonWouldMixVersions, "the workload is not taken over: " + t.mixingWords()
	case NotAsInGit:
		return t.notAsInGitWords()
	case WillNotFit:
		return v1alpha1.ReasonWillNotFit, "the workload is not taken over: " + joined(t.Preflight.WillNotFit)
	case NoTraffic:
		return v1alpha1.ReasonTrafficBlocked, "the workload is not taken over: " + t.trafficProblem().Words()
	default:
		if t.failed() {
			return v1alpha1.ReasonDeadlineExceeded, t.failureWords()
		}
		if t.entered() {
			return t.upgradeReason(), t.rollingWords(t.goingBack())
		}
		return t.beginWords()
	}
}

// beginWords are for a release that has begun, and is in no step yet.
func (t *telling) beginWords() (reason, message string) {
	switch {
	case t.record.Resolved == nil:
		return "", ""
	case t.isRollback():
		return v1alpha1.ReasonRollingBack, t.turnWords() + t.unobservedWords()
	default:
		return v1alpha1.ReasonTakingOver, takeOverWords + t.unobservedWords()
	}
}

// turnWords describes the beginning of a rollback.
func (t *telling) turnWords() string {
	return "rolling back to " + t.record.RolledBackTo() + ": " + t.record.Rollback.Message
}

// preparingWords say what a new template waits for.
func (t *telling) preparingWords(s Preparing) (reason, message string) {
	waits := "revision " + s.Revision + " waits"
	if s.Late {
		waits += fmt.Sprintf(", and there was no progress for %s", t.progressDeadline())
	}
	if s.Awaits == v1alpha1.AwaitedRoom {
		return v1alpha1.ReasonAwaitingRoom, waits + ": other pods must be deleted first, to make room for a pod of the stable version"
	}
	return v1alpha1.ReasonTakingOver, waits + ": the native controller has not observed the latest change, or has not created the pods of the stable version"
}

func (t *telling) mixingWords() string { return preflight.MixesVersions(t.Workload.Name) }

func (t *telling) standstillWords(at Standstill) string {
	switch at {
	case NotTakenOver:
		return "the workload is not taken over"
	case NotBegun:
		return "the release has not begun"
	default:
		return "batch " + t.status.Batch + " is on hold"
	}
}

// reason is that of the first cause.
func (s Stop) reason() string {
	if !s.any() {
		return ""
	}
	switch s[0].(type) {
	case UnreadableSteps:
		return v1alpha1.ReasonInvalidStrategy
	case Suspended:
		return v1alpha1.ReasonSuspended
	case Frozen:
		return v1alpha1.ReasonFrozen
	case Changed:
		return v1alpha1.ReasonDrifted
	case ChangedPastGit:
		return v1alpha1.ReasonChangedPastGit
	}
	return ""
}

// stopWords say what stops a release.
func (l *look) stopWords(s Stop) string {
	var words []string
	for _, cause := range s {
		words = append(words, l.causeWords(cause))
	}
	return joined(words)
}

func (l *look) causeWords(cause Cause) string {
	switch c := cause.(type) {
	case UnreadableSteps:
		return c.Problem.Error()
	case Suspended:
		return "spec.suspend is set"
	case Frozen:
		words := "frozen"
		if c.Until != nil {
			words += " until " + c.Until.UTC().Format(time.RFC3339)
		}
		return words + ": " + c.Reason
	case Changed:
		words := c.What.Message
		if c.PodsLost {
			words += "; pods were lost and are being replaced"
		}
		return fmt.Sprintf("%s; to continue: sluice retry %s -n %s", words, l.Release.Name, l.Release.Namespace)
	case ChangedPastGit:
		return pastGitWords
	}
	return ""
}

// failureWords say why the release has failed.
func (l *look) failureWords() string {
	what := "the release"
	if l.entered() {
		what = "batch " + l.batchWord()
	}
	failure := l.record.Failure
	if failure == nil { // on record since a version that kept no cause
		return fmt.Sprintf("%s: no progress for %s", what, l.progressDeadline())
	}
	return fmt.Sprintf("%s: no progress for %s: %s", what, time.Duration(failure.DeadlineSeconds)*time.Second, failure.Message)
}

func (t *telling) upgradeReason() string {
	if t.isRollback() {
		return v1alpha1.ReasonRollingBack
	}
	return v1alpha1.ReasonUpgrading
}

func (t *telling) rollingWords(back bool) string {
	what := "updating"
	if back {
		what = "going back"
	}
	return fmt.Sprintf("batch %s: %s to %s of %d", t.status.Batch, what, pods(t.record.TargetReplicas), t.record.Replicas)
}

// shiftingWords say that requests are moved. What they wait for is in status.traffic: it changes within seconds.
func (t *telling) shiftingWords() string {
	told := t.record.Traffic
	switch {
	case told.Ending != nil:
		return "batch " + t.status.Batch + " done: old pods go, and then the routes get back what they had"
	case t.isRollback():
		return fmt.Sprintf("batch %s: requests go back to revision %s", t.status.Batch, t.record.RolledBackTo())
	default:
		return fmt.Sprintf("batch %s: moving requests: %d%% to revision %s", t.status.Batch, told.TargetWeight, t.record.UpdateRevision)
	}
}

func (l *look) pauseWords(at *v1alpha1.PausePoint) string {
	return fmt.Sprintf("batch %s: paused before pod %s on node %s, which has a pause point; to continue: sluice approve %s -n %s",
		l.batchWord(), at.Pod, orWord(at.Node, "none"), l.Release.Name, l.Release.Namespace)
}

// blockedWords say what the step waits for.
func (t *telling) blockedWords(waiting []waitingGate) (reason, message string) {
	if rejected := rejectedOf(waiting); rejected != nil {
		message = t.rejectionWords(rejected)
		if change := t.change(); change != nil { // which stops what is given next
			message += "; " + t.causeWords(Changed{What: *change, PodsLost: change.takesPods() && t.short()})
		}
		return v1alpha1.ReasonGateRejected, message
	}
	reason = v1alpha1.ReasonBlocking
	if refusedOf(waiting) {
		reason = v1alpha1.ReasonApprovalRefused
	}
	message = fmt.Sprintf("batch %s done with %s of %d, waiting for %s",
		t.status.Batch, pods(t.record.TargetReplicas), t.record.Replicas, awaitedWords(waiting))
	if t.raised() {
		message += "; the step was edited since, and takes more once they have passed"
	}
	return reason, message
}

// rejectionWords say that a gate was rejected, and why.
func (l *look) rejectionWords(gate *v1alpha1.Gate) string {
	return fmt.Sprintf("batch %s: gate %s was rejected: %s", l.batchWord(), gate.Name, gate.Status.Message)
}

// awaitedWords names what is waited for: what people find on the forge by the name that it has there,
// and then the types of the other gates.
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

// onForge names what is waited for on the forge, and says so if it has come in vain.
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

// driftedWords say how the workload differs from what was released, and what happens to it.
func (l *look) driftedWords() string {
	message, again := l.driftWords(l.Drift.Fields), l.driftAgain()
	switch {
	case l.Release.Spec.Drift != v1alpha1.DriftRevert:
		message += fmt.Sprintf("; undo it ('kubectl rollout undo %s/%s -n %s'), or commit it to Git",
			strings.ToLower(l.kind()), l.Release.Spec.WorkloadRef.Name, l.Release.Namespace)
	case l.decider() == "" && l.Now.Before(again):
		message += "; it will be reverted at " + again.UTC().Format(time.RFC3339)
	}
	return message
}

func (l *look) driftWords(fields []string) string {
	return "the " + l.kind() + " was changed out of band: " + joined(fields)
}

// kind is what people call the workload.
func (l *look) kind() string { return l.Release.Spec.WorkloadRef.Kind }

// refusalWords say what is refused, and why.
func refusalWords(r *Refusal) string {
	if r.Rewritten {
		return "the API server changes the write to " + r.Write.Words + ": " + r.Why
	}
	if r.Unanswered {
		return "the API server can't decide whether to " + r.Write.Words + ", and is asked every few seconds: " + r.Why
	}
	return "the API server refuses to " + r.Write.Words + ": " + r.Why
}

// moveReason says why pods are moved.
func (l *look) moveReason(why mover.Why) Reason {
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
		return Reason("back to the target of batch " + l.batchWord())
	case mover.FewerReplicas:
		return "fewer replicas: the batch shrinks in proportion"
	case mover.MoreReplicas:
		return "more replicas: the added pods run the old version"
	case mover.Cleared:
		return "follow spec.replicas"
	default:
		return l.batchReason()
	}
}

func (l *look) batchReason() Reason {
	if !l.entered() {
		return "follow spec.replicas"
	}
	return Reason("batch " + l.batchWord())
}

// batchWord is the current step, counted from 1; empty before the first. Of steps that can't be read it is what was told last.
func (l *look) batchWord() string {
	switch {
	case !l.entered():
		return ""
	case l.unreadable != nil:
		return l.Release.Status.Batch
	default:
		return l.batch(l.stepIndex())
	}
}

func pods(n int32) string {
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
