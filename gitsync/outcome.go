package gitsync

import (
	"context"
	"errors"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/plan"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// outcome is the end of a pass: suspended, leaving, unread or followed, and nothing else. status.go
// renders the status from it.
//
//sumtype:decl
type outcome interface{ outcome() }

type (
	// suspended: the repository is not to be read.
	suspended struct{}
	// leaving: the source is being deleted, and what came from it is not gone yet.
	leaving struct{ releases, gates int }
	// unread: no commit of the repository can be followed. The applied objects stay as they are.
	unread struct {
		cause cause
		err   error
		// head is the one that is not followed, since the history was rewritten.
		head string
	}
	// followed: a commit was read, and brought into the cluster as far as it can be.
	followed struct {
		commit, tree string
		// verified is nil if signatures are not checked.
		verified        *verified
		approvals       []v1alpha1.ApprovalRecord
		files, releases int
		fileErrors      []spec.Error
		overrides       []spec.Error
		problems        []plan.Problem
		failures        []failure
		held            *plan.Held
		left            []plan.Key
		refused         []plan.Key
		exceeded        bool
		pending         int
		adopts          bool
		applied, pruned []plan.Key
		created         []plan.CreateWorkload
		undone          []edit
	}
)

func (suspended) outcome() {}
func (leaving) outcome()   {}
func (unread) outcome()    {}
func (followed) outcome()  {}

func (f followed) wrote() bool { return len(f.applied)+len(f.created)+len(f.pruned) > 0 }

// cause is the reason why no commit of a repository can be followed.
type cause int

const (
	// passing: it may be read the next time.
	passing cause = iota
	wrongSpec
	wrongSecret
	noRepository
	noBranch
	rewrittenHistory
	limitExceeded
	unsigned
)

// readFailed returns the outcome of a repository that can't be read.
func readFailed(ctx context.Context, err error) (outcome, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	o := unread{cause: causeOf(gitrepo.KindOf(err)), err: err}
	if refused, ok := errors.AsType[*gitrepo.Error](err); ok && o.cause == rewrittenHistory {
		o.head = refused.Head
	}
	return o, nil
}

func causeOf(kind gitrepo.Kind) cause {
	switch kind {
	case gitrepo.Invalid:
		return wrongSpec
	case gitrepo.InvalidAuth, gitrepo.Denied:
		return wrongSecret
	case gitrepo.RepositoryNotFound:
		return noRepository
	case gitrepo.BranchNotFound:
		return noBranch
	case gitrepo.HistoryRewritten:
		return rewrittenHistory
	case gitrepo.LimitExceeded:
		return limitExceeded
	default:
		return passing
	}
}

// contentFailed returns the outcome of a commit whose content can't be read.
func contentFailed(ctx context.Context, err error) (outcome, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, spec.ErrNotBuilt):
		return unread{cause: passing, err: err}, nil
	case errors.Is(err, spec.ErrLimit):
		return unread{cause: limitExceeded, err: err}, nil
	}
	return unread{cause: wrongSpec, err: err}, nil
}

// outcome returns the outcome of a pass that could read the repository.
func (p *pass) outcome() outcome {
	content := p.desired.Content
	return followed{
		commit:     p.memory.origin.Commit,
		tree:       p.memory.tree,
		verified:   p.memory.verified,
		approvals:  p.approvals(),
		files:      content.Files,
		releases:   len(content.Releases),
		fileErrors: slices.Concat(content.Errors, p.plan.Vanished, p.memory.records.errors, p.memory.freezeErrors, p.copyProblems),
		overrides:  content.Warnings,
		problems:   p.plan.Problems,
		failures:   p.failures,
		held:       p.plan.Held,
		left:       p.plan.Left,
		refused:    refused(p.plan, p.desired, p.observed, p.failures),
		exceeded:   content.Exceeded,
		pending:    content.Pending,
		adopts:     p.plan.Adopts,
		applied:    p.applied,
		created:    p.created,
		undone:     p.undone,
		pruned:     p.pruned,
	}
}
