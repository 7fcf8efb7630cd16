package lifecycle

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge"
)

// RevertIntent is one thing to do for the pull request of a rollback: ClaimRevert, OpenRevert,
// RecordRevert, ClosePull or RemoveBranch.
//
//sumtype:decl
type RevertIntent interface{ revertIntent() }

type (
	// ClaimRevert writes down that a pull request is about to be opened, and on which branch.
	ClaimRevert struct{ Revert v1alpha1.Revert }
	// OpenRevert opens the pull request, or finds the one that was opened before, and writes it down.
	OpenRevert struct{ Request forge.ChangeRequest }
	// RecordRevert writes down where the pull request is.
	RecordRevert struct{ Revert v1alpha1.Revert }
)

func (ClaimRevert) revertIntent()  {}
func (OpenRevert) revertIntent()   {}
func (RecordRevert) revertIntent() {}
func (ClosePull) revertIntent()    {}
func (RemoveBranch) revertIntent() {}

// RevertFacts holds what is known of a rollback's pull request besides the release's own fields.
type RevertFacts struct {
	// NewBranch is a name that nobody can have made before: for a claim.
	NewBranch string
	// Pull is the pull request as the forge has it; nil where there is none, or where the stage does
	// not ask.
	Pull *forge.PullRequest
	// Proposal is the content of a pull request that is about to be opened.
	Proposal Proposal
	// First says that the claim was made by who opens now, so that nothing can have been opened before.
	First bool
}

// Proposal is the change that Git needs: a Change, Impossible, or Ahead.
//
//sumtype:decl
type Proposal interface{ proposal() }

type (
	// Change is a change of one file.
	Change struct{ Request forge.ChangeRequest }
	// Impossible holds why no pull request can put the template back.
	Impossible struct{ Reason string }
	// Ahead says that the tracked branch has another template by now, which gitsync has not brought
	// yet.
	Ahead struct{}
)

func (Change) proposal()     {}
func (Impossible) proposal() {}
func (Ahead) proposal()      {}

// RevertStage is the stage of life of a rollback's pull request. It determines which facts the
// revert needs.
type RevertStage int

// The stages of a revert.
const (
	// RevertIdle: there is none, and none is wanted.
	RevertIdle RevertStage = iota
	// RevertUnclaimed: one is wanted.
	RevertUnclaimed
	// RevertUnopened: it is to be opened, or to be found.
	RevertUnopened
	// RevertOpened: people may have closed it, or opened it again.
	RevertOpened
	// RevertOver: it is not needed any more, and is closed before another is opened.
	RevertOver
)

// RevertStageOf returns the stage of the revert of a release.
func RevertStageOf(release *v1alpha1.BatchRelease) RevertStage {
	last, wanted := release.Status.Revert, report.RevertWanted(release)
	current := last != nil && last.Attempt == release.Status.Attempt
	switch {
	case pends(last) && !(wanted && current):
		return RevertOver
	case wanted && !current:
		return RevertUnclaimed
	case !wanted:
		return RevertIdle
	case last.State == v1alpha1.RevertOpening:
		return RevertUnopened
	case last.State != v1alpha1.RevertRefused && last.PullRequest != nil:
		return RevertOpened
	default:
		return RevertIdle
	}
}

// pends reports whether a pull request may be open.
func pends(revert *v1alpha1.Revert) bool {
	if revert == nil {
		return false
	}
	switch revert.State {
	case v1alpha1.RevertOpening, v1alpha1.RevertOpen, v1alpha1.RevertDeclined:
		return true
	default:
		return false
	}
}

// NextOfRevert says what is to be done for the revert of a release now, in this order.
func NextOfRevert(release *v1alpha1.BatchRelease, facts RevertFacts) []RevertIntent {
	if facts.Pull != nil && facts.Pull.Head.Ref != BranchOfRevert(release) { // the source has another repository
		facts.Pull = nil
	}
	switch RevertStageOf(release) {
	case RevertUnclaimed:
		return []RevertIntent{claim(release, facts.NewBranch)}
	case RevertUnopened:
		return proposing(release, facts)
	case RevertOpened:
		return answered(release, facts.Pull)
	case RevertOver:
		return finishing(release, facts.Pull)
	default: // RevertIdle
		return nil
	}
}

func claim(release *v1alpha1.BatchRelease, branch string) ClaimRevert {
	status := &release.Status
	return ClaimRevert{v1alpha1.Revert{
		Attempt: status.Attempt, From: status.Rollback.From, To: status.RolledBackTo(),
		State: v1alpha1.RevertOpening, File: templateFile(release), Branch: branch,
	}}
}

// templateFile returns the file that the template of a release stands in.
func templateFile(release *v1alpha1.BatchRelease) string {
	if file := release.Annotations[v1alpha1.TemplateFileAnnotation]; file != "" {
		return file
	}
	return release.Annotations[v1alpha1.FileAnnotation]
}

func proposing(release *v1alpha1.BatchRelease, facts RevertFacts) []RevertIntent {
	switch proposal := facts.Proposal.(type) {
	case Change:
		request := proposal.Request
		request.First = facts.First
		return []RevertIntent{OpenRevert{request}}
	case Impossible:
		return recorded(release, refusedRevert(release, proposal.Reason))
	case Ahead:
		return nil
	}
	return nil
}

// answered sees whether people have closed the pull request, or opened it again.
func answered(release *v1alpha1.BatchRelease, pull *forge.PullRequest) []RevertIntent {
	if pull == nil {
		return nil
	}
	next := *release.Status.Revert.DeepCopy()
	next.State, next.Message = v1alpha1.RevertOpen, report.RevertOpened(pull.Number)
	if pull.Rejected() {
		next.State, next.Message = v1alpha1.RevertDeclined, report.RevertDeclined(pull.Number)
	}
	return recorded(release, next)
}

// finishing closes what is open for a rollback that Git has followed, or that is over in another
// way.
func finishing(release *v1alpha1.BatchRelease, pull *forge.PullRequest) []RevertIntent {
	next := *release.Status.Revert.DeepCopy()
	next.State, next.Message = v1alpha1.RevertClosed, report.RevertClosed(release)
	remove := RemoveBranch{BranchOfRevert(release)}
	switch {
	case pull != nil && pull.Merged:
		next.State, next.Message = v1alpha1.RevertMerged, report.RevertMerged(pull.Number)
	case pull != nil && pull.State == forge.PullOpen:
		return []RevertIntent{ClosePull{pull.Number, BranchOfRevert(release), report.RevertClosed(release)}, remove, RecordRevert{next}}
	}
	return []RevertIntent{remove, RecordRevert{next}}
}

func recorded(release *v1alpha1.BatchRelease, next v1alpha1.Revert) []RevertIntent {
	if equality.Semantic.DeepEqual(release.Status.Revert, &next) {
		return nil
	}
	return []RevertIntent{RecordRevert{next}}
}

// TroubledRevert returns a revert that the forge does not let us open. It reports false for a
// problem that may go away by itself.
func TroubledRevert(release *v1alpha1.BatchRelease, problem error) (v1alpha1.Revert, bool) {
	if RevertStageOf(release) != RevertUnopened {
		return v1alpha1.Revert{}, false
	}
	switch forge.KindOf(problem) {
	case forge.Invalid:
		return refusedRevert(release, problem.Error()), true
	case forge.Forbidden, forge.Unauthorised, forge.Misconfigured:
		next := *release.Status.Revert.DeepCopy()
		next.Message = "the pull request of the revert can't be opened: " + problem.Error()
		return next, true
	default:
		return v1alpha1.Revert{}, false
	}
}

// refusedRevert returns a revert that people have to make by hand.
func refusedRevert(release *v1alpha1.BatchRelease, reason string) v1alpha1.Revert {
	next := *release.Status.Revert.DeepCopy()
	next.State, next.Message = v1alpha1.RevertRefused, report.RevertRefused(release, next.File, reason)
	return next
}

// OpenedRevert returns a revert whose pull request was opened, or found.
func OpenedRevert(release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource, pull forge.PullRequest) v1alpha1.Revert {
	next := *release.Status.Revert.DeepCopy()
	next.State, next.Message = v1alpha1.RevertOpen, report.RevertOpened(pull.Number)
	next.PullRequest = &v1alpha1.PullRequestReference{
		Source: v1alpha1.SourceReference{Namespace: source.Namespace, Name: source.Name},
		Branch: BranchOfRevert(release), Number: int64(pull.Number), URL: pull.URL,
	}
	return next
}

// BranchOfRevert returns the branch of a revert. Without a recorded branch it derives the name from
// the revert.
func BranchOfRevert(release *v1alpha1.BatchRelease) string {
	revert := release.Status.Revert
	if revert.Branch != "" {
		return revert.Branch
	}
	return branchOf(release, revert.From, revert.Attempt)
}

// BranchOfNewRevert returns how the branch of a revert begins that is to be claimed. The attempt
// tells two rollbacks of one revision apart.
func BranchOfNewRevert(release *v1alpha1.BatchRelease) string {
	return branchOf(release, release.Status.Rollback.From, release.Status.Attempt)
}

func branchOf(release *v1alpha1.BatchRelease, from string, attempt int64) string {
	return fmt.Sprintf("%s%s/%s/revert-%s-%d", forge.BranchPrefix, release.Namespace, forge.BranchPart(release.Name), from, attempt)
}
