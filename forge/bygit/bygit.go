// Package bygit writes and reads branches of a forge over Git's own protocol, which no rate limit
// counts. Objects have the names of their content, so that no forge can make them up.
package bygit

import (
	"context"
	"sync"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/lru"
)

const (
	// factsBytes limits what is remembered of commits that we made.
	factsBytes = 1 << 20
	// factBytes is about what the names of some objects take.
	factBytes = 256
	// pause is the time without Git after a failure.
	pause = 10 * time.Minute
)

// Options say where the repository is, and as whom we write.
type Options struct {
	// Git reads and moves branches; nil for none.
	Git forge.Git
	// Remote returns the repository, with what it takes to be let in.
	Remote func(ctx context.Context) (forge.Remote, error)
	// Author returns our own account as the author of a commit, at a time; zero for now.
	Author func(ctx context.Context, at time.Time) (forge.Signature, error)
	Now    func() time.Time
}

// Branches reads and writes the branches of one repository.
type Branches struct {
	Options

	facts *lru.Cache[string, any]
	mu    sync.Mutex
	again time.Time
}

// New returns the branches of a repository. It sends nothing.
func New(o Options) *Branches { return &Branches{Options: o, facts: lru.New[string, any](factsBytes)} }

// Off reports whether Git is left alone: there is none, or it has failed a while ago.
func (b *Branches) Off() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Git == nil || b.Now().Before(b.again)
}

// do does something over Git. After a failure of Git itself, Git is Off for a while.
func (b *Branches) do(ctx context.Context, what func(forge.Remote) error) error {
	at, err := b.Remote(ctx)
	if err != nil {
		return err
	}
	err = what(at)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case forge.KindOf(err) != forge.Conflict:
		b.mu.Lock()
		defer b.mu.Unlock()
		b.again = b.Now().Add(pause)
	}
	return err
}

// Push makes the branch of a request with its commit, on top of the tracked branch. A branch that
// stands at another commit is left as it is, and returned, unless it stands at over.
func (b *Branches) Push(ctx context.Context, r forge.ChangeRequest, over string) (made forge.MadeBranch, err error) {
	author, err := b.Author(ctx, r.At)
	if err != nil {
		return made, err
	}
	err = b.do(ctx, func(at forge.Remote) (err error) {
		made, err = b.Git.Push(ctx, at, forge.NewBranch{Change: r, Author: author, Over: over})
		return err
	})
	if err == nil && made.Standing == "" {
		b.keep(r, made)
	}
	return made, err
}

// Set makes the branch of a request with its commit, wherever it stands: anyone who may push may
// have made it.
func (b *Branches) Set(ctx context.Context, r forge.ChangeRequest) (forge.MadeBranch, error) {
	made, err := b.Push(ctx, r, "")
	if err == nil && made.Standing != "" {
		made, err = b.Push(ctx, r, made.Standing)
	}
	if err == nil && made.Standing != "" {
		err = &forge.Error{Kind: forge.Conflict, Message: "the branch is at " + made.Standing}
	}
	return made, err
}

// Written returns the commit that this process wrote last for a request; empty if it wrote none.
func (b *Branches) Written(r forge.ChangeRequest) string {
	sha, _ := b.facts.Get("head " + r.Branch).(string)
	if made, known := b.facts.Get("made " + sha).(madeByUs); known && made.Path == r.Path && made.Blob == forge.BlobSHA(r.Content) {
		return sha
	}
	return ""
}

// Made reports whether this process wrote a commit, and on which one.
func (b *Branches) Made(sha string) (own bool, parent string) {
	made, own := b.facts.Get("made " + sha).(madeByUs)
	return own, made.Parent
}

// madeByUs holds the facts of a commit that we made.
type madeByUs struct{ Parent, Tree, Path, Blob string }

func (b *Branches) keep(r forge.ChangeRequest, made forge.MadeBranch) {
	keep := func(key string, fact any) { b.facts.Put(key, fact, int64(len(key)+len(r.Path)+factBytes)) }
	keep("made "+made.Commit, madeByUs{made.Parent, made.Tree, r.Path, forge.BlobSHA(r.Content)})
	keep("head "+r.Branch, made.Commit)
}

// Keep puts a file into a commit of its own on top of a ref. A server that refuses that may well
// take branches.
func (b *Branches) Keep(ctx context.Context, file forge.KeptFile) error {
	if b.Git == nil {
		return &forge.Error{Kind: forge.Misconfigured, Message: "there is no Git to write " + file.Ref + " with"}
	}
	author, err := b.Author(ctx, file.At)
	if err != nil {
		return err
	}
	at, err := b.Remote(ctx)
	if err != nil {
		return err
	}
	err = b.Git.Append(ctx, at, forge.AppendedFile{KeptFile: file, Author: author})
	if err != nil && ctx.Err() == nil && forge.KindOf(err) == "" {
		err = &forge.Error{Kind: forge.Transient, Message: "write " + file.Ref + ": " + err.Error()}
	}
	return err
}

// Head returns the last commit of a branch.
func (b *Branches) Head(ctx context.Context, branch string) (head forge.Head, err error) {
	err = b.do(ctx, func(at forge.Remote) (err error) {
		head, err = b.Git.Head(ctx, at, branch)
		return err
	})
	return head, err
}

// Remove removes a branch.
func (b *Branches) Remove(ctx context.Context, name string) error {
	head, _ := b.facts.Get("head " + name).(string)
	return b.do(ctx, func(at forge.Remote) error { return b.Git.Remove(ctx, at, name, head) })
}

// ReadMerge reads what the merge of a pull request changed. It reports false if that is for the
// forge to say: only of a commit that we made, merged onto the commit that it was made on, names
// tell all. Who pushed to the branch, Git does not know.
func (b *Branches) ReadMerge(ctx context.Context, q forge.ApprovalQuery, into *forge.Approval) (bool, error) {
	pull := into.PullRequest
	made, known := b.facts.Get("made " + pull.Head.SHA).(madeByUs)
	if !known || b.Off() || q.ReleaseCommit != "" || pull.MergeCommit != q.Tip {
		return false, nil
	}
	head, err := b.Head(ctx, q.Branch)
	if err != nil || head.Commit != q.Tip || len(head.Parents) == 0 || head.Parents[0] != made.Parent || head.Tree != made.Tree {
		return false, ctx.Err()
	}
	into.OnTracked = true
	into.Files = []forge.ChangedFile{{Path: made.Path, Status: forge.FileModified, BlobSHA: made.Blob}}
	into.Result = forge.Result{Commit: forge.Commit{SHA: head.Commit, Parents: head.Parents}, Files: into.Files}
	return true, nil
}
