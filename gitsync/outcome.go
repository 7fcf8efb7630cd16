package gitsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
)

// outcome is how a pass ended.
type outcome struct {
	ready           metav1.ConditionStatus
	reason, message string
	// stalled: only a change by somebody can help.
	stalled bool
	// failed: the next look may wait longer.
	failed bool
	// refusedHead is the head that is not followed, since the history was rewritten.
	refusedHead string
	// content is what was read and applied, or nil.
	content *content
}

// content of a commit, and what became of it.
type content struct {
	commit, tree             string
	approvals                []v1alpha1.ApprovalRecord
	files, releases          int
	errors                   []spec.Error
	applied, created, pruned []string
}

func (c *content) wrote() bool { return len(c.applied)+len(c.created)+len(c.pruned) > 0 }

func (o *outcome) orNothing() outcome {
	if o == nil {
		return outcome{}
	}
	return *o
}

func suspended() outcome {
	return outcome{ready: metav1.ConditionUnknown, reason: v1alpha1.ReasonSuspended, message: "the repository is not read while spec.suspend is set"}
}

func stalled(reason, message string) outcome {
	return outcome{ready: metav1.ConditionFalse, reason: reason, message: message, stalled: true, failed: true}
}

// readFailed is the outcome of a repository that can't be read. What was applied
// stays as it is.
func readFailed(ctx context.Context, err error) (outcome, error) {
	if ctx.Err() != nil {
		return outcome{}, ctx.Err()
	}
	switch gitrepo.KindOf(err) {
	case gitrepo.Invalid:
		return stalled(v1alpha1.ReasonInvalidSpec, err.Error()), nil
	case gitrepo.InvalidAuth, gitrepo.Denied:
		return stalled(v1alpha1.ReasonInvalidSecret, err.Error()), nil
	case gitrepo.RepositoryNotFound:
		return stalled(v1alpha1.ReasonFetchFailed, err.Error()), nil
	case gitrepo.BranchNotFound:
		return stalled(v1alpha1.ReasonBranchNotFound, err.Error()), nil
	case gitrepo.HistoryRewritten:
		o := stalled(v1alpha1.ReasonHistoryRewrite, err.Error()+"; undo that, or set spec.allowRewrite")
		if refused, ok := errors.AsType[*gitrepo.Error](err); ok {
			o.refusedHead = refused.Head
		}
		return o, nil
	case gitrepo.LimitExceeded:
		return stalled(v1alpha1.ReasonLimitExceeded, err.Error()), nil
	}
	return failedRead(err.Error()), nil
}

// failedRead is the outcome of a repository that may be read the next time.
func failedRead(message string) outcome {
	return outcome{ready: metav1.ConditionFalse, reason: v1alpha1.ReasonFetchFailed, message: message, failed: true}
}

// contentFailed is the outcome of a repository of which nothing can be said.
func contentFailed(ctx context.Context, err error) (outcome, error) {
	switch {
	case ctx.Err() != nil:
		return outcome{}, ctx.Err()
	case errors.Is(err, spec.ErrNotBuilt):
		return failedRead(err.Error()), nil
	case errors.Is(err, spec.ErrLimit):
		return stalled(v1alpha1.ReasonLimitExceeded, err.Error()), nil
	}
	return stalled(v1alpha1.ReasonInvalidSpec, err.Error()), nil
}

// outcome of a pass that could read the repository.
func (p *pass) outcome() outcome {
	all := slices.Concat(p.desired.Errors, p.vanished, p.memory.records.errors, p.memory.freezeErrors, p.errors)
	slices.SortStableFunc(all, func(a, b spec.Error) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	for _, names := range [][]string{p.applied, p.created} {
		slices.Sort(names)
	}
	o := outcome{ready: metav1.ConditionFalse, stalled: true, content: &content{
		commit:    p.memory.origin.commit,
		tree:      p.memory.tree,
		approvals: p.approvals(),
		files:     p.desired.Files,
		releases:  len(p.desired.Releases),
		errors:    all,
		applied:   p.applied,
		created:   p.created,
		pruned:    p.pruned,
	}}
	switch {
	case len(p.errors) > 0:
		o.reason, o.message = v1alpha1.ReasonApplyFailed, firstOf(p.errors)
		o.failed, o.stalled = true, !p.retry
	case len(all) > 0:
		o.reason, o.message = v1alpha1.ReasonFilesInvalid, firstOf(all)
		o.failed = p.desired.Exceeded
	case p.held != "":
		o.reason, o.message = v1alpha1.ReasonPruneHeld, p.held
	default:
		o.ready, o.stalled = metav1.ConditionTrue, false
		o.reason, o.message = v1alpha1.ReasonSynced, synced(len(p.desired.Releases), p.memory.origin.commit)
	}
	return o
}

// synced says what there is at a commit.
func synced(releases int, commit string) string {
	return fmt.Sprintf("%s as of commit %.12s", counted(releases, "release"), commit)
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func firstOf(errors []spec.Error) string {
	message := shortMessage(errors[0].Error())
	if more := len(errors) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return message
}

// longestMessage in status: an API server may quote whole objects, and files and servers say what they like.
const longestMessage = 1000

func shortMessage(message string) string {
	return plain.UpTo(plain.Line(message), longestMessage)
}

func compareKeys(a, b client.ObjectKey) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
