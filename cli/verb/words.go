package verb

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// BatchWords returns the batch that a release is at, or its start where it waits before the first
// one.
func BatchWords(release *v1alpha1.BatchRelease) string {
	if !release.Status.Entered() {
		return "the start of the release"
	}
	return fmt.Sprintf("batch %d of %d", release.Status.CurrentStepIndex+1, len(release.Spec.Steps(release.Status.Rollback != nil)))
}

// ShareWords returns the share of a step in words, as in the strategy.
func ShareWords(replicas intstr.IntOrString) string {
	if replicas.Type == intstr.Int {
		return plain.Count(replicas.IntVal, "pod")
	}
	return replicas.StrVal
}

// AtPausePoint reports whether a release waits at a pause point until a person confirms the pod.
func AtPausePoint(release *v1alpha1.BatchRelease) bool {
	at := release.Status.PausePoint
	return at != nil && release.Status.State == v1alpha1.StatePausePoint && at.Confirmed != at.Pod
}

func batch(release *v1alpha1.BatchRelease, _ Request) string { return BatchWords(release) }

func passed(release *v1alpha1.BatchRelease, _ Request) string {
	if AtPausePoint(release) {
		return "continuing past pod " + release.Status.PausePoint.Pod
	}
	return BatchWords(release)
}

func chosenBatch(_ *v1alpha1.BatchRelease, r Request) string { return strconv.Itoa(int(r.Batch)) }

func chosenVersion(release *v1alpha1.BatchRelease, r Request) string {
	if release.IsTrain() {
		return "what its members ran before"
	}
	if r.To == "" {
		return "the previous version"
	}
	return "revision " + r.To
}

func always(effects ...string) func(*v1alpha1.BatchRelease, []v1alpha1.Gate) []string {
	return func(*v1alpha1.BatchRelease, []v1alpha1.Gate) []string { return effects }
}

func approveEffects(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate) []string {
	if AtPausePoint(release) {
		return []string{fmt.Sprintf("The release continues past pod %s. It pauses again at the next pause point.", release.Status.PausePoint.Pod)}
	}
	pass := "pass"
	if len(gates) == 1 {
		pass = "passes"
	}
	effects := []string{fmt.Sprintf("%s of %s %s, with your name in the evidence.", plain.Count(len(gates), "manual gate"), BatchWords(release), pass)}
	if !release.Status.Entered() {
		effects = []string{"The template in Git replaces the one that the workload runs, in batches. Your name is in the evidence."}
	}
	if release.Spec.Suspend {
		effects = append(effects, "The release is paused: nothing else happens until somebody resumes it.")
	}
	return append(effects, nextBatch(release))
}

// nextBatch returns what happens when the gates of the batch have passed.
func nextBatch(release *v1alpha1.BatchRelease) string {
	rollback, next, when := release.Status.Rollback != nil, int(release.Status.CurrentStepIndex)+1, "When all gates of this batch have passed"
	if !release.Status.Entered() {
		next, when = 0, "Next"
	}
	steps := release.Spec.Steps(rollback)
	if next >= len(steps) {
		return "This is the last batch: the release completes when all of its gates have passed."
	}
	words := fmt.Sprintf("%s, batch %d of %d begins: %s", when, next+1, len(steps), ShareWords(steps[next].Replicas))
	if weight, shared := release.Spec.TrafficOf(rollback, next); shared {
		words += ", " + v1alpha1.RequestWords(weight, len(steps[next].Matches))
	}
	return words + "."
}

func rejectEffects(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate) []string {
	for i := range gates {
		if gates[i].Spec.Policy.OnReject == v1alpha1.RejectRollback {
			return []string{
				"This is final for " + BatchWords(release) + ".",
				"The release rolls back at once: the gate says onReject: Rollback.",
			}
		}
	}
	return []string{
		"This is final for " + BatchWords(release) + ": nobody can approve it afterwards.",
		"The release stays where it is until there is a new template, or a rollback. No pod is replaced now.",
	}
}

func retryEffects(release *v1alpha1.BatchRelease, _ []v1alpha1.Gate) []string {
	status := &release.Status
	switch {
	case release.IsTrain():
		return []string{"The members that failed continue from the batch where they failed, with a new deadline. Fix the cause first, or they fail again."}
	case status.RefusedWrite != nil:
		return []string{"Sluice repeats the write that the API server refuses: " + status.RefusedWrite.Write + "."}
	case status.StoppedFor(v1alpha1.StopWorkloadChanged):
		return []string{"Somebody has changed the workload. The release continues with its own template, from the batch where it stopped."}
	default:
		return []string{"The release continues from the batch where it failed, with a new deadline. Fix the cause first, or it fails again."}
	}
}

func jumpEffects(release *v1alpha1.BatchRelease, _ []v1alpha1.Gate) []string {
	back := "Back, the gates from that batch on must pass again. No pod is removed."
	if release.Spec.Strategy.StepBack == v1alpha1.StepBackRemovePods {
		back = "Back, the gates from that batch on must pass again, and pods beyond its share go back to the previous version."
	}
	return []string{
		"Forward, the release goes through the batches in between without waiting for their manual and skippable gates. Other gates must pass.", back,
	}
}

// rollbackEffects says what else a rollback takes back: that of a train, or of a member in a run.
func rollbackEffects(release *v1alpha1.BatchRelease, _ []v1alpha1.Gate) []string {
	switch {
	case release.IsTrain() && release.Status.Run != nil:
		return []string{
			plain.Count(len(release.Status.Run.Members), "member") + " of the last run go back to what each of them ran before, those that come after others first.",
			"Git is not changed: revert the commit there. Until then the members stay as they are.",
		}
	case release.Spec.Train != "" && (release.Status.Phase != v1alpha1.PhaseCompleted || release.Status.Queued != nil):
		return []string{"The members of train " + release.Spec.Train + " that are released together with this one return too."}
	default:
		return nil
	}
}
