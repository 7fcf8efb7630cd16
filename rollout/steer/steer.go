package steer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Template is one that is kept in the history of a release.
type Template struct {
	// Number counts the templates that were kept, from 1.
	Number int64
	// Revision is the pod template hash.
	Revision string
	Commit   string
	Outcome  v1alpha1.Outcome
}

// stable reports whether a release can be rolled back to the template.
func (t *Template) stable() bool { return t.Outcome != v1alpha1.OutcomeRolledBack }

// words name a template for people.
func (t *Template) words() string {
	if t.Commit == "" {
		return fmt.Sprintf("%d: %s", t.Number, t.Revision)
	}
	return fmt.Sprintf("%d: %s (commit %s)", t.Number, t.Revision, plain.Commit(t.Commit))
}

// previous asks for the stable template in a release, and for the one before after it.
const previous = "true"

// RollBack goes back to the template that is named by its revision or its commit; to the one before, if none is.
func RollBack(release *v1alpha1.BatchRelease, kept []Template, asked string) (Change, error) {
	if asked == "" {
		return rollBackOne(release)
	}
	target, err := find(kept, asked)
	if err != nil {
		return Change{}, err
	}
	return rollBackTo(release, target)
}

// Undo goes back to the template with a number; to the one before, if that is 0.
func Undo(release *v1alpha1.BatchRelease, kept []Template, number int64) (Change, error) {
	if number == 0 {
		return rollBackOne(release)
	}
	i := slices.IndexFunc(kept, func(t Template) bool { return t.Number == number })
	if i < 0 {
		return Change{}, refuse("revision %d is not in the history; %s; name it with --to-revision", number, keptWords(kept))
	}
	return rollBackTo(release, &kept[i])
}

func rollBackOne(release *v1alpha1.BatchRelease) (Change, error) {
	if going := goingBackTo(release); going != "" {
		return Change{}, refuse("it is rolling back to %s already; a revision that is named takes its place", going)
	}
	to := before(release)
	if to == "" && release.Status.Phase == v1alpha1.PhaseCompleted {
		return Change{}, refuse("there is no earlier template to go back to")
	}
	return annotate(v1alpha1.RollbackAnnotation, previous, strings.TrimSuffix("rolling back to "+to, " to ")), nil
}

// goingBackTo is the revision that a rollback in progress goes to; empty if none is.
func goingBackTo(release *v1alpha1.BatchRelease) string {
	if release.Status.Phase == v1alpha1.PhaseCompleted {
		return ""
	}
	return release.Status.RollbackTo
}

// before is what a rollback goes back to: the stable template in a release, the last stable one after it.
func before(release *v1alpha1.BatchRelease) string {
	status := &release.Status
	if status.Phase == v1alpha1.PhaseCompleted || status.StableRevision == "" {
		return release.Annotations[v1alpha1.LastStableAnnotation]
	}
	return status.StableRevision
}

func rollBackTo(release *v1alpha1.BatchRelease, target *Template) (Change, error) {
	status := &release.Status
	switch {
	case !target.stable():
		return Change{}, refuse("revision %s was rolled back itself; to release it through its gates again, bring it back in Git", target.words())
	case target.Revision == status.UpdateRevision && status.Phase == v1alpha1.PhaseCompleted:
		return Change{}, refuse("revision %s already runs", target.words())
	case target.Revision == goingBackTo(release):
		return Change{}, refuse("it is rolling back to %s already", target.words())
	}
	return annotate(v1alpha1.RollbackAnnotation, target.Revision, "rolling back to "+target.Revision), nil
}

// abbreviated is a commit, in full or at least as much of it as people quote.
var abbreviated = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// find is the template of a revision, or the one that a commit brought.
func find(kept []Template, asked string) (*Template, error) {
	commit := strings.ToLower(asked)
	var found []*Template
	for i := range kept {
		switch template := &kept[i]; {
		case template.Revision == asked:
			return template, nil
		case abbreviated.MatchString(commit) && template.stable() && strings.HasPrefix(template.Commit, commit):
			found = append(found, template)
		}
	}
	switch len(found) {
	case 0:
		return nil, refuse("no revision or commit %q is in the history; %s", asked, keptWords(kept))
	case 1:
		return found[0], nil
	default:
		return nil, refuse("more than one commit starts with %q; %s", asked, keptWords(kept))
	}
}

// keptWords name the templates that can be gone back to, the newest first.
func keptWords(kept []Template) string {
	stable := slices.DeleteFunc(slices.Clone(kept), func(t Template) bool { return !t.stable() })
	if len(stable) == 0 {
		return "no stable revision is in the history"
	}
	slices.SortFunc(stable, func(a, b Template) int { return cmp.Compare(b.Number, a.Number) })
	words := make([]string, 0, len(stable))
	for i := range stable {
		words = append(words, stable[i].words())
	}
	return "choose one of " + strings.Join(words, ", ")
}

// Suspend stops a release, or lets it go on. ByGit says that it is Git that suspends it, and in which file.
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

// Retry lets a release go on that has failed, that stands because its workload was changed out of band, or of which the
// API server refuses a write: that is sent again at once.
func Retry(release *v1alpha1.BatchRelease) (Change, error) {
	if release.Status.Phase != v1alpha1.PhaseFailed && release.Status.RefusedWrite == nil && !changedOutOfBand(&release.Status) {
		return Change{}, refuse("there is nothing to try again: %s", standing(release))
	}
	return annotate(v1alpha1.RetryAnnotation, "true", "tried again"), nil
}

// changedOutOfBand reports whether a release waits because its workload was changed out of band.
func changedOutOfBand(status *v1alpha1.BatchReleaseStatus) bool {
	return status.Phase != v1alpha1.PhaseCompleted && meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionDrifted) &&
		status.Reason != v1alpha1.ReasonChangedPastGit
}

// Jump takes the release in progress to a batch, counted from 1.
func Jump(release *v1alpha1.BatchRelease, batch int32) (Change, error) {
	status, steps := &release.Status, len(release.Spec.Strategy.Steps)
	step := batch - 1
	switch {
	case goingBackTo(release) != "":
		return Change{}, refuse("a rollback has its own steps")
	case status.Phase != v1alpha1.PhaseRollingUpdate || status.Batch == "":
		return Change{}, refuse("no release is in progress: %s", standing(release))
	case step < 0 || int(step) >= steps:
		return Change{}, refuse("there are batches 1 to %d", steps)
	case step == status.CurrentStepIndex:
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
	case status.Reason == v1alpha1.ReasonFrozen:
		first = append(first, "the freeze ends")
	case changedOutOfBand(status):
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
