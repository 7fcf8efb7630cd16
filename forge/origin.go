package forge

import (
	"slices"
	"time"
)

// MaxCommits is how many commits a release may consist of for its people to be known: a forge shows
// no more of a comparison at a time, and each takes requests.
const MaxCommits = 250

// PushKind is the way in which a branch was moved.
type PushKind string

// Kinds of move.
const (
	// PushPlain, PushForced and PushCreated are pushes by their actor.
	PushPlain   PushKind = "push"
	PushForced  PushKind = "force_push"
	PushCreated PushKind = "branch_creation"
	// PushDeleted ends a branch. Another of its name may follow.
	PushDeleted PushKind = "branch_deletion"
	// PushMerge and PushQueue are pushes by the forge itself: it merged pull requests, on the request
	// of the actor.
	PushMerge PushKind = "pr_merge"
	PushQueue PushKind = "merge_queue_merge"
)

// Push is one move of a branch, with the account that made it. Unlike the names in commits, a user
// can't choose that account.
type Push struct {
	Before, After string
	Kind          PushKind
	Actor         Account
	At            time.Time
}

// ByForge reports whether the forge itself made the commits, of pull requests.
func (p Push) ByForge() bool { return p.Kind == PushMerge || p.Kind == PushQueue }

// Brought reports whether the move brought a commit to a branch that did not have it before. A
// forced one may put it back.
func (p Push) Brought(sha string) bool { return p.After == sha && p.Kind != PushForced }

// Result is the base branch after the merge of a pull request.
type Result struct {
	// Commit is the merge commit, the squashed commit, or the last of the rebased ones.
	Commit Commit
	// Files are the files changed against the first parent: all of them, unless there are More.
	Files []ChangedFile
	More  bool
}

// ReleaseOrigin holds the changes of a release, and their contributors.
type ReleaseOrigin struct {
	// Stable is the commit that ran before, and Head the release commit.
	Stable, Head string
	// Total is how many commits Head has that Stable has not. If there are more than MaxCommits nothing
	// else is known.
	Total int
	// Commits are these commits, oldest first.
	Commits []Commit
	// Changes are the changes of the commits that follow from Head by first parents.
	Changes []Change
	// Proposals are the pull requests that brought changes.
	Proposals []Proposal
	// Addresses are the accounts of co-authors that the forge knows, by their e-mail address in lower
	// case.
	Addresses map[string]Account
}

// Change is a commit of the tracked branch itself, not of what it merged.
type Change struct {
	SHA string
	// PullRequests are the numbers of the merged pull requests that brought it.
	PullRequests []int
	// Result is the change itself, read if we opened the pull request.
	Result Result
}

// Proposal is a merged pull request with what it is made of.
type Proposal struct {
	PullRequest PullRequest
	Commits     []Commit
	// Inner are the commits of pull requests that the forge merged into its branch.
	Inner []Commit
	// Pushers moved its branch before the merge, whatever became of what they pushed, or proposed what
	// the forge merged into it.
	Pushers []Account
	// PushersTold is set if these are all.
	PushersTold bool
}

// All returns the commits of the pull request and of those that were merged into its branch.
func (p Proposal) All() []Commit { return slices.Concat(p.Commits, p.Inner) }

// Line returns those of the commits that follow from head by first parents, newest first.
func Line(commits []Commit, head string) []Commit {
	known := map[string]Commit{}
	for _, c := range commits {
		known[c.SHA] = c
	}
	var line []Commit
	for next := head; next != ""; {
		c, found := known[next]
		if !found {
			break
		}
		delete(known, next)
		line, next = append(line, c), ""
		if len(c.Parents) > 0 {
			next = c.Parents[0]
		}
	}
	return line
}

// PushesOf finds the move of the branch that brought each commit of its line. Both begin with the
// newest.
func PushesOf(line []Commit, pushes []Push) map[string]Push {
	by := map[string]Push{}
	for i := 0; i < len(line); {
		at := slices.IndexFunc(pushes, func(p Push) bool { return p.After == line[i].SHA })
		if at < 0 {
			return by // moves overlap nowhere: what is older can't be attributed either
		}
		push := pushes[at]
		if push.Before == push.After {
			return by // it moved nothing, so that it brought nothing
		}
		for ; i < len(line) && line[i].SHA != push.Before; i++ {
			by[line[i].SHA] = push
		}
	}
	return by
}

// Until reports whether pushes go back to the one that brought a commit, and to that of a commit
// before. An empty name is that of no commit.
func Until(made, before string) func([]Push) bool {
	return func(pushes []Push) bool {
		at := func(sha string) bool {
			return sha == "" || slices.ContainsFunc(pushes, func(p Push) bool { return p.Brought(sha) })
		}
		return at(made) && at(before)
	}
}

// MarkReturns marks moves to where the branch was before as forced, where the forge does not: they
// bring nothing. The newest is first.
func MarkReturns(pushes []Push) {
	for i := range pushes {
		if slices.ContainsFunc(pushes[i+1:], func(p Push) bool { return p.After == pushes[i].After || p.Before == pushes[i].After }) {
			pushes[i].Kind = PushForced
		}
	}
}

// Permission is the permission of an account on the repository.
type Permission struct {
	Account Account
	// Write reports whether that includes writing.
	Write bool
}
