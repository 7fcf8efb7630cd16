package gitsync

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/plan"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/plain"
)

// standing is an outcome in words, for the conditions and events of a source. No code reads
// them back.
type standing struct {
	ready           metav1.ConditionStatus
	reason, message string
	// stalled: only a change by somebody can help.
	stalled bool
	// failed: the next look may wait longer.
	failed bool
}

func standingOf(o outcome) standing {
	var s standing
	switch o := o.(type) {
	case suspended:
		s = standing{
			ready: metav1.ConditionUnknown, reason: v1alpha1.ReasonSuspended,
			message: "the repository is not read while spec.suspend is set",
		}
	case leaving:
		s = standing{
			ready: metav1.ConditionFalse, reason: v1alpha1.ReasonDeleting, failed: true,
			message: "waits for " + plain.Count(o.releases, "release") + " and " + plain.Count(o.gates, "gate") + " to go",
		}
	case unread:
		s = standingOfUnread(o)
	case followed:
		s = standingOfFollowed(o)
	}
	s.message = shortMessage(s.message)
	return s
}

// reasons by what is the cause.
var reasons = map[cause]string{
	passing:          v1alpha1.ReasonFetchFailed,
	wrongSpec:        v1alpha1.ReasonInvalidSpec,
	wrongSecret:      v1alpha1.ReasonInvalidSecret,
	noRepository:     v1alpha1.ReasonFetchFailed,
	noBranch:         v1alpha1.ReasonBranchNotFound,
	rewrittenHistory: v1alpha1.ReasonHistoryRewrite,
	limitExceeded:    v1alpha1.ReasonLimitExceeded,
	unsigned:         v1alpha1.ReasonNotVerified,
}

func standingOfUnread(o unread) standing {
	message := o.err.Error()
	if o.cause == rewrittenHistory {
		message += "; undo that, or set spec.allowRewrite"
	}
	return standing{ready: metav1.ConditionFalse, reason: reasons[o.cause], message: message, stalled: o.cause != passing, failed: true}
}

func standingOfFollowed(o followed) standing {
	s := standing{ready: metav1.ConditionFalse, stalled: true}
	switch all, wrong := o.errors(), o.writeErrors(); {
	case len(wrong) > 0:
		s.reason, s.message = v1alpha1.ReasonApplyFailed, firstOf(wrong)
		s.failed, s.stalled = true, !o.mayPass()
	case len(all) > 0:
		s.reason, s.message = v1alpha1.ReasonFilesInvalid, firstOf(all)
		s.failed, s.stalled = o.exceeded, o.pending == 0
	case o.held != nil:
		s.reason, s.message = v1alpha1.ReasonPruneHeld, heldWords(*o.held)
	default:
		s.ready, s.stalled = metav1.ConditionTrue, false
		s.reason, s.message = v1alpha1.ReasonSynced, fmt.Sprintf("%s as of commit %s", plain.Count(o.releases, "release"), plain.Commit(o.commit))
	}
	return s
}

// mayPass reports whether something that went wrong with a release may go away by itself.
func (f followed) mayPass() bool {
	for _, problem := range f.problems {
		switch problem.(type) {
		case plan.Contested: // the other source may be deleted
			return true
		case plan.Follows, plan.WorkloadChanged, plan.Rewritten, plan.ClaimsChanged, plan.FixedChanged, plan.NothingApproved:
		}
	}
	return f.unanswered()
}

// unanswered reports whether the API server has not said of a write that it takes it, nor that it
// does not.
func (f followed) unanswered() bool { return slices.ContainsFunc(f.failures, failure.unanswered) }

// unanswered reports whether the API server has not said of the write that it takes it, nor that it
// does not.
func (f failure) unanswered() bool {
	switch f.outcome.(type) {
	case kube.Outdated, kube.Failed:
		return true
	case kube.Written, kube.Unchanged, kube.Gone, kube.Refused:
	}
	return false
}

// errors returns all that is wrong, by place.
func (f followed) errors() []spec.Error {
	return byPlace(slices.Concat(f.fileErrors, f.writeErrors()))
}

// writeErrors returns what went wrong with writes, by place.
func (f followed) writeErrors() []spec.Error {
	var all []spec.Error
	for _, problem := range f.problems {
		all = append(all, problemWords(problem))
	}
	for _, failure := range f.failures {
		all = append(all, failure.words())
	}
	return byPlace(all)
}

func byPlace(all []spec.Error) []spec.Error {
	slices.SortStableFunc(all, func(a, b spec.Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	return all
}

func problemWords(problem plan.Problem) spec.Error {
	switch p := problem.(type) {
	case plan.Contested:
		return at(p.Release, fmt.Sprintf("BatchRelease %s is not applied: ReleaseSource %s writes it; take it out of one of the two repositories",
			p.Release.Name, p.By))
	case plan.Follows:
		return at(p.Release, fmt.Sprintf("BatchRelease %s is not applied: the one in the cluster follows its workload; remove its spec.follow, or give this one another name",
			p.Release.Name))
	case plan.WorkloadChanged:
		return at(p.Release, fmt.Sprintf("BatchRelease %s is not applied: %s", p.Release.Name,
			spec.WorkloadRefused(p.Release.WorkloadRef(), p.Was)))
	case plan.Rewritten:
		return at(p.Release, fmt.Sprintf("apply BatchRelease %s: the API server stores another spec.template than the one in Git, and it is not released: "+
			"an admission webhook or policy changes it; exempt BatchReleases from it, or commit the change to Git", p.Release.Name))
	case plan.ClaimsChanged:
		claims := p.Release.ClaimsPlace()
		return spec.Error{File: claims.File, Line: claims.Line, Message: fmt.Sprintf("BatchRelease %s is not applied: %s",
			p.Release.Name, spec.ClaimsRefused(p.Release.Workload, p.Names))}
	case plan.FixedChanged:
		workload := p.Release.WorkloadPlace()
		return spec.Error{File: workload.File, Line: workload.Line, Message: fmt.Sprintf("BatchRelease %s is not applied: %s",
			p.Release.Name, p.Release.FixedRefused(p.Fields))}
	case plan.NothingApproved:
		return at(p.Release, nothingApproved(p))
	}
	return spec.Error{}
}

// nothingApproved says why a workload that was deleted stays away, and what to do.
func nothingApproved(p plan.NothingApproved) string {
	kept := "no version of it was ever released"
	if p.Revision != "" {
		kept = "the template of its revision " + p.Revision + ", which was released last, is not kept"
	}
	return fmt.Sprintf("%s %s was deleted and is not created: the template in Git has not passed its gates, and %s; create it with kubectl, "+
		"with the version that is to run until the gates pass; or delete BatchRelease %s to have it created as it is in Git",
		p.Release.WorkloadKind, p.Release.Workload, kept, p.Release.Name)
}

// words names the file, and the reason why the API server refuses it.
func (f failure) words() spec.Error {
	err := kube.Err(f.outcome)
	switch w := f.write.(type) {
	case plan.SetFreeze:
		return spec.Error{File: spec.FreezeFile, Message: fmt.Sprintf("write freeze of BatchRelease %s: %v", w.Release.Name, err)}
	case plan.CopyConfig:
		return copyFailed(w.Release, err)
	case plan.CreateWorkload:
		return at(w.Release, kube.Refusal(fmt.Errorf("create %s %s: %w", w.Release.WorkloadKind, w.Release.Workload, err)))
	case plan.ApplyRelease:
		return at(w.Release, kube.Refusal(fmt.Errorf("apply BatchRelease %s: %w", w.Release.Name, err)))
	case plan.TakeOwnership:
		return at(w.Release, kube.Refusal(fmt.Errorf("take over the fields of BatchRelease %s: %w", w.Release.Name, err)))
	case plan.DeleteRelease:
		file := w.Release.Annotations[v1alpha1.FileAnnotation]
		return spec.Error{File: file, Message: fmt.Sprintf("delete BatchRelease %s: %v", w.Release.Name, err)}
	}
	return spec.Error{}
}

// copyFailed says why the copies of a release are not made, or not looked after.
func copyFailed(release *spec.Release, err error) spec.Error {
	message := fmt.Sprintf("copy spec.config of BatchRelease %s: %s", release.Name, kube.Refusal(err))
	if apierrors.IsForbidden(err) {
		message += "; give the account the verbs get, list, create, patch and delete (docs/batchrelease.md#config)"
	}
	return at(release, message)
}

func at(release *spec.Release, message string) spec.Error {
	return spec.Error{File: release.File, Line: release.Line, Message: message}
}

// heldWords explains why releases that Git lacks are kept.
func heldWords(held plan.Held) string {
	kept := plain.Count(held.Gone, "release") + " no longer in the repository, and kept: "
	switch held.Doubt {
	case plan.FilesWrong:
		return kept + "they may be in files that have errors"
	case plan.NothingLeft:
		return kept + "nothing would be left"
	case plan.MoreGoThanStay:
		return kept + fmt.Sprintf("more would be deleted than stay (%d); to delete them all the same, use kubectl", held.Left)
	}
	return kept
}

// mostNamed limits the releases that a message names.
const mostNamed = 10

// leftWords names the releases that Git lacks, and how to remove them; empty if there are none.
func leftWords(left []plan.Key) string {
	if len(left) == 0 {
		return ""
	}
	var named []string
	for _, key := range left[:min(len(left), mostNamed)] {
		named = append(named, key.String())
	}
	words := strings.Join(named, ", ")
	if more := len(left) - len(named); more > 0 {
		words += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s no longer in the repository, and kept, as spec.prune is not set: %s; while one is kept, no release of another name can "+
		"take over its workload: put it back in Git, set spec.prune, or run 'kubectl delete batchrelease %s -n %s'",
		plain.Count(len(left), "release"), words, left[0].Name, left[0].Namespace)
}

// overriddenWords reports templates that Flux or Argo CD changes on their way to the cluster; empty
// if there are none.
func overriddenWords(overrides []spec.Error) string {
	if len(overrides) == 0 {
		return ""
	}
	return firstOf(overrides)
}

func firstOf(errors []spec.Error) string {
	message := shortMessage(errors[0].Error())
	if more := len(errors) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return message
}

// longestMessage in status: an API server may quote whole objects, and files and servers say what
// they like.
const longestMessage = 1000

func shortMessage(message string) string {
	return plain.UpTo(plain.Line(message), longestMessage)
}
