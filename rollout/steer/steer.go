package steer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// RollBack goes back to the template that is named by its revision or its commit; to the one
// before, if none is.
func RollBack(release *v1alpha1.BatchRelease, kept []plan.Kept, asked string) (Change, error) {
	switch {
	case asked == "":
		return rollBackOne(release)
	case release.IsTrain():
		return Change{}, refuse(wholeTrain)
	}
	target, err := plan.Target(release, kept, asked)
	if err != nil {
		return Change{}, refuse("%v", err)
	}
	return rollBackTo(release, target)
}

const wholeTrain = "the members of a train go back to what each of them ran before: name no revision"

// Undo goes back to the template with a number; to the one before, if that is 0.
func Undo(release *v1alpha1.BatchRelease, kept []plan.Kept, number int64) (Change, error) {
	switch {
	case number == 0:
		return rollBackOne(release)
	case release.IsTrain():
		return Change{}, refuse(wholeTrain)
	}
	i := slices.IndexFunc(kept, func(k plan.Kept) bool { return k.Number == number })
	if i < 0 {
		return Change{}, refuse("revision %d is not in the history; %s; name it with --to-revision", number, choices(kept))
	}
	return RollBack(release, kept, kept[i].Revision)
}

func rollBackOne(release *v1alpha1.BatchRelease) (Change, error) {
	if release.IsTrain() {
		return rollBackTrain(release)
	}
	if going := plan.RollsBackTo(release); going != "" {
		return Change{}, refuse("it is rolling back to %s already; a revision that is named takes its place", going)
	}
	to := plan.Before(release)
	if to == "" && release.Status.Phase == v1alpha1.PhaseCompleted {
		return Change{}, refuse("there is no earlier template to go back to")
	}
	return annotate(v1alpha1.RollbackAnnotation, plan.Previous, strings.TrimSuffix("rolling back to "+to, " to ")+withTrain(release)), nil
}

// rollBackTrain has the members of the last run go back to what they ran before it.
func rollBackTrain(train *v1alpha1.BatchRelease) (Change, error) {
	status := &train.Status
	switch {
	case status.Run == nil || len(status.Run.Members) == 0:
		return Change{}, refuse("it has no run to take back: %s", standing(train))
	case status.Rollback != nil && status.Phase == v1alpha1.PhaseCompleted:
		return Change{}, refuse("its members have returned already")
	case status.Rollback != nil:
		return Change{}, refuse("its members are returning already")
	}
	return annotate(v1alpha1.RollbackAnnotation, plan.Previous, "returning: "+plain.Count(len(status.Run.Members), "member")), nil
}

// withTrain says that the rollback of a member takes the others of its run along.
func withTrain(member *v1alpha1.BatchRelease) string {
	if member.Spec.Train == "" || member.Status.Phase == v1alpha1.PhaseCompleted && member.Status.Queued == nil {
		return ""
	}
	return ", and with it the members of train " + member.Spec.Train + " that are released together"
}

func rollBackTo(release *v1alpha1.BatchRelease, target *plan.Kept) (Change, error) {
	if target.Revision == plan.RollsBackTo(release) {
		return Change{}, refuse("it is rolling back to %s already", target)
	}
	return annotate(v1alpha1.RollbackAnnotation, target.Revision, "rolling back to "+target.Revision+withTrain(release)), nil
}

// choices lists the templates for a rollback by their numbers, the newest first.
func choices(kept []plan.Kept) string {
	stable := plan.Stable(kept)
	if len(stable) == 0 {
		return "no stable revision is in the history"
	}
	words := make([]string, 0, len(stable))
	for i := range stable {
		words = append(words, fmt.Sprintf("%d: %s", stable[i].Number, &stable[i]))
	}
	return "choose one of " + strings.Join(words, ", ")
}

// Suspend stops a release, or lets it go on. ByGit says that it is Git that suspends it, and in
// which file.
func Suspend(release *v1alpha1.BatchRelease, suspend bool, byGit string) (Change, error) {
	switch {
	case suspend && release.Spec.Suspend:
		return Change{}, refuse("it is paused already")
	case suspend:
		return Change{Patch: to(true, "spec", "suspend"), Done: "paused"}, nil
	case !release.Spec.Suspend:
		return Change{}, refuse("it is not paused: %s", standing(release))
	case byGit != "":
		return Change{}, refuse("Git suspends it: take suspend: true out of %s", byGit)
	}
	return Change{Patch: to(nil, "spec", "suspend"), Done: "resumed"}, nil
}

// Retry lets a release go on that has failed, that stands because its workload was changed out of
// band, or of which the API server refuses a write: that is sent again at once.
func Retry(release *v1alpha1.BatchRelease) (Change, error) {
	if !release.Status.HasFailed() && release.Status.RefusedWrite == nil && !release.Status.StoppedFor(v1alpha1.StopWorkloadChanged) {
		return Change{}, refuse("there is nothing to try again: %s", standing(release))
	}
	return annotate(v1alpha1.RetryAnnotation, "true", "tried again"), nil
}

// Jump takes the release in progress to a batch, counted from 1.
func Jump(release *v1alpha1.BatchRelease, batch int32) (Change, error) {
	switch {
	case release.IsTrain():
		return Change{}, refuse("a train does not jump: its steps are those of all its members")
	case release.Spec.Train != "":
		return Change{}, refuse("it is a member of train %s, which gives it its steps: a member does not jump", release.Spec.Train)
	}
	status, steps := &release.Status, len(release.Spec.Strategy.Steps)
	step := batch - 1
	switch plan.JumpProblemOf(release, step) {
	case plan.InRollback:
		return Change{}, refuse("a rollback has its own steps")
	case plan.NotUnderWay:
		return Change{}, refuse("no release is in progress: %s", standing(release))
	case plan.NoSuchStep:
		return Change{}, refuse("there are batches 1 to %d", steps)
	case plan.PresentStep:
		return Change{}, refuse("batch %d is the present one", batch)
	}
	return Change{
		Status: true, Patch: to(step, "status", "nextStepIndex"),
		Done: fmt.Sprintf("goes from batch %s to batch %d/%d", status.Batch, batch, steps) + inTheWay(release, step),
	}, nil
}

// inTheWay says what a jump to a step has to wait for first; empty if nothing keeps it.
func inTheWay(release *v1alpha1.BatchRelease, step int32) string {
	var first []string
	switch status := &release.Status; {
	case release.Spec.Suspend:
		first = append(first, "the release is resumed")
	case status.StoppedFor(v1alpha1.StopFrozen):
		first = append(first, "the freeze ends")
	case status.StoppedFor(v1alpha1.StopWorkloadChanged):
		first = append(first, "'sluice retry' lets the release go on")
	case status.RefusedWrite != nil:
		first = append(first, "the API server takes the write that it refuses: "+status.RefusedWrite.Write)
	}
	for i := release.Status.CurrentStepIndex; i < step; i++ {
		for _, gate := range release.Spec.Gates(false, int(i)) {
			if gate.Type() != v1alpha1.GateNone && !gate.CanSkip() {
				first = append(first, fmt.Sprintf("the %s gate of batch %d passes", gate.Type(), i+1))
			}
		}
	}
	if len(first) == 0 {
		return ""
	}
	return ", once " + strings.Join(first, " and ")
}
