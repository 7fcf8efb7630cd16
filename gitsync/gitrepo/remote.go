package gitrepo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
)

// remote is a branch of a repository as seen with one set of credentials. One
// caller at a time holds its lock.
type remote struct {
	connector connector
	branch    plumbing.ReferenceName
	limits    Limits
	memory    *memory
	key       sourceKey
	lock      semaphore

	// used is when a caller last asked for it; guarded by the Reader.
	used time.Time

	// The rest is guarded by lock.

	// began is when the last look began, and err how it ended.
	began time.Time
	err   error
	// tip is the head of the branch at the last look that succeeded.
	tip plumbing.Hash
	// lane is the one that the last fetch needed, -1 for none.
	lane int
	// history of the heads that were seen.
	history history
	// large: all files are more than is kept, so that only those that callers read are fetched.
	// unserved: the server can't do that.
	large, unserved bool
	// unproven are commits from which the tip could not be shown to descend.
	unproven map[plumbing.Hash]bool
}

// look asks for the head of the branch and, unless the caller has the content of
// that commit, fetches it.
func (r *remote) look(ctx context.Context, q question) (*Snapshot, error) {
	x, err := r.openExchange(ctx, q.timeout)
	if err != nil {
		return nil, err
	}
	defer x.close()
	if err := r.moveTo(x.refs); err != nil {
		return nil, err
	}
	return r.content(ctx, q, x)
}

// question is the request of one caller.
type question struct {
	// has is the commit whose content the caller has.
	has     plumbing.Hash
	caller  Caller
	host    string
	timeout time.Duration
	// reads reports whether the caller reads a file; nil if it reads all.
	reads func(string) bool
}

func (q question) asker() asker { return asker{q.caller.Tenant, q.host} }

func (r *remote) moveTo(refs *packp.AdvRefs) error {
	tip, found := refs.References[r.branch.String()]
	if !found {
		return newError(BranchNotFound, "the repository has no branch %s", r.branch.Short())
	}
	if tip != r.tip {
		r.tip, r.unproven = tip, map[plumbing.Hash]bool{}
	}
	return nil
}

// content returns the snapshot of the tip; without content if the caller has it. The exchange is
// one in which nothing was asked for yet, or nil.
func (r *remote) content(ctx context.Context, q question, x *exchange) (*Snapshot, error) {
	if q.has == r.tip {
		return &Snapshot{Commit: r.tip.String(), hash: r.tip}, nil
	}
	var head *Snapshot
	err := r.accounted(ctx, q, func(a *account, waited bool) (err error) {
		if waited {
			x = nil // the server has forgotten us
		}
		if head, err = r.load(ctx, q, a, x); err == nil {
			head = head.heldBy(a)
			r.lane = r.memory.laneFor(a.used)
		}
		return err
	})
	return head, err
}

// accounted runs a function that takes memory, and runs it again in the next lane if it outgrows
// one. A failed run returns its memory.
func (r *remote) accounted(ctx context.Context, q question, do func(a *account, waited bool) error) error {
	a := r.memory.tryOpen(q.asker(), r.lane, r.limits.KeptBytes)
	for lane, waited := r.lane, false; ; lane = a.lane + 1 {
		if a == nil || waited {
			var err error
			if a, err = r.memory.open(ctx, q.caller, q.host, max(lane, 0), r.limits.KeptBytes); err != nil {
				return err
			}
			waited = true
		}
		err := do(a, waited)
		if err == nil {
			return nil
		}
		a.close()
		if !errors.Is(err, errOutgrown) {
			return err
		}
		waited = true
	}
}

// load returns the head that is kept if it is the tip; else it gets what the tip has and that head
// lacks.
func (r *remote) load(ctx context.Context, q question, a *account, x *exchange) (*Snapshot, error) {
	known := r.memory.heads.Get(r.key)
	if known != nil {
		if err := a.spend(known.bytes); err != nil {
			return nil, err
		}
		if known.hash == r.tip && known.hasAll(q.reads) {
			return known, nil
		}
	}
	if x == nil {
		var err error
		if x, err = r.openExchange(ctx, q.timeout); err != nil {
			return nil, err
		}
		defer x.close()
		if err := r.moveTo(x.refs); err != nil {
			return nil, err
		}
	}
	head, err := r.fetch(ctx, x, known, q, a)
	switch {
	case err == nil:
		r.remember(head)
		return head, nil
	case errors.Is(err, errNotServed):
		r.unserved = true
	case KindOf(err) == LimitExceeded && !r.large && r.selects(x):
		r.large = true
	case known == nil || KindOf(err) != Protocol:
		return nil, err
	}
	// Servers differ in what they make of a client that has something: if the answer is of no use the
	// whole commit is requested.
	r.memory.heads.Take(r.key)
	a.used = 0
	return r.load(ctx, q, a, nil)
}

func (r *remote) remember(head *Snapshot) {
	r.history.add(head.hash, head.parents)
	r.history.trim(head.hash)
	if head.bytes > r.limits.CachedBytes {
		r.memory.heads.Take(r.key)
		return
	}
	r.memory.heads.Put(r.key, head, head.bytes)
}

// fetch gets what the tip has and what is known lacks: all of it, or of a large repository what
// callers read.
func (r *remote) fetch(ctx context.Context, x *exchange, known *Snapshot, q question, a *account) (*Snapshot, error) {
	selects := r.selects(x)
	if selects && r.large {
		return r.fetchSelected(ctx, x, known, q, a)
	}
	if known != nil && known.selected {
		known = nil // files that it lacks may be what others are changes of
	}
	limits, limit := r.limits, a.limit
	defer func() { a.limit = limit }()
	if selects {
		limits.KeptBytes = min(limits.KeptBytes, limits.CachedBytes)
		a.limit = min(a.limit, limits.KeptBytes)
	}
	return r.fetchWhole(ctx, x, known, limits, a)
}

func (r *remote) fetchWhole(ctx context.Context, x *exchange, known *Snapshot, limits Limits, account *account) (*Snapshot, error) {
	req := newRequest(x.refs.Capabilities, r.tip, 1)
	a := &assembler{limits: limits, account: account}
	filtered := filter(req, x.refs.Capabilities, packp.FilterBlobLimit(uint64(r.limits.FileBytes)+1, packp.BlobLimitPrefixNone))
	if known != nil {
		have(req, known.hash)
		a.known = known.objects
	}
	into := &unpacker{limits: limits, account: account, base: a.get}
	var err error
	if a.fresh, err = x.pack(ctx, req, into); err != nil {
		return nil, err
	}
	a.partial = filtered || into.nameless
	return a.snapshot(r.tip)
}

// Depths of the history that is requested to find an ancestor: the first, and by
// how much each is larger than the one before.
const (
	firstDepth  = 64
	depthFactor = 16
)

// follows checks that the tip descends from an earlier commit. A parent of the tip
// is found without asking the server; further back takes one exchange or a few.
func (r *remote) follows(ctx context.Context, earlier plumbing.Hash, q question) error {
	defer r.history.trim(r.tip)
	for depth := firstDepth; ; depth *= depthFactor {
		switch r.history.relate(r.tip, earlier) {
		case descends:
			return nil
		case apart:
			return r.rewritten("the head %s does not descend from %s, which was read before: the history was rewritten", r.tip, earlier)
		}
		if depth/depthFactor >= r.limits.History || r.unproven[earlier] {
			r.unproven[earlier] = true
			return r.rewritten("can't tell whether the head %s descends from %s, which was read before: not found in %d generations of history", r.tip, earlier, r.limits.History)
		}
		if err := r.deepen(ctx, min(depth, r.limits.History), q, nil); err != nil {
			if KindOf(err) != LimitExceeded {
				return err
			}
			r.unproven[earlier] = true
		}
	}
}

// rewritten refuses the tip.
func (r *remote) rewritten(format string, args ...any) error {
	return &Error{Kind: HistoryRewritten, Message: fmt.Sprintf(format, args...), Head: r.tip.String()}
}

// deepen learns the history of the tip down to a depth: nothing but commits from
// servers that can leave the rest out; else files too, which are not kept. Unless it is nil, keep
// gets the commits.
func (r *remote) deepen(ctx context.Context, depth int, q question, keep func(objects) error) error {
	return r.accounted(ctx, q, func(a *account, _ bool) error {
		defer a.close()
		commits, err := r.fetchHistory(ctx, depth, q.timeout, a)
		if err == nil {
			err = r.learn(commits)
		}
		if err != nil || keep == nil {
			return err
		}
		return keep(commits)
	})
}

func (r *remote) fetchHistory(ctx context.Context, depth int, timeout time.Duration, a *account) (objects, error) {
	x, err := r.openExchange(ctx, timeout)
	if err != nil {
		return nil, err
	}
	defer x.close()
	req := newRequest(x.refs.Capabilities, r.tip, depth)
	if !filter(req, x.refs.Capabilities, packp.FilterTreeDepth(0)) {
		have(req, r.tip)
		wholeObjects(req) // what the tip has may not be kept any more
	}
	nothing := func(plumbing.Hash) *object { return nil }
	return x.pack(ctx, req, &unpacker{limits: r.limits, account: a, base: nothing, commitsOnly: true})
}

func (r *remote) learn(commits objects) error {
	for hash, o := range commits {
		if o.kind != plumbing.CommitObject {
			continue
		}
		commit, err := decodeCommit(o)
		if err != nil {
			return newError(Protocol, "read commit %s: %s", hash, clean(err.Error()))
		}
		r.history.add(hash, commit.ParentHashes)
	}
	return nil
}
