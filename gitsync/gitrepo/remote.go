package gitrepo

import (
	"context"
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
	fetches   semaphore
	lock      semaphore

	// used is when a caller last asked for it; guarded by the Reader.
	used time.Time

	// The rest is guarded by lock.

	// began is when the last look began, and err how it ended.
	began time.Time
	err   error
	// tip is the head of the branch at the last look that succeeded.
	tip plumbing.Hash
	// head has the content of a head, or is nil if that was not needed or is too large to keep.
	head *Snapshot
	// history of the heads that were seen.
	history history
	// unproven are commits from which the tip could not be shown to descend.
	unproven map[plumbing.Hash]bool
}

// look asks for the head of the branch and, unless the caller has the content of
// that commit, fetches it.
func (r *remote) look(ctx context.Context, has plumbing.Hash, timeout time.Duration) (*Snapshot, error) {
	x, err := openExchange(ctx, r.connector, r.limits, timeout)
	if err != nil {
		return nil, err
	}
	defer x.close()
	if err := r.moveTo(x.refs); err != nil {
		return nil, err
	}
	return r.content(ctx, has, func() (*Snapshot, error) { return r.fetch(ctx, x) })
}

// again serves a caller that asked before the last look began.
func (r *remote) again(ctx context.Context, has plumbing.Hash, timeout time.Duration) (*Snapshot, error) {
	return r.content(ctx, has, func() (*Snapshot, error) { return r.refetch(ctx, timeout) })
}

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

// content returns the snapshot of the tip; without content if the caller has it.
func (r *remote) content(ctx context.Context, has plumbing.Hash, fetch func() (*Snapshot, error)) (*Snapshot, error) {
	if r.head != nil && r.head.hash == r.tip {
		return r.head, nil
	}
	if has == r.tip {
		return &Snapshot{Commit: r.tip.String(), hash: r.tip}, nil
	}
	if err := r.fetches.acquire(ctx); err != nil {
		return nil, err
	}
	defer r.fetches.release()
	head, err := fetch()
	if err != nil {
		return nil, err
	}
	r.remember(head)
	return head, nil
}

func (r *remote) remember(head *Snapshot) {
	if len(r.history) > maxHistory {
		r.history = history{}
	}
	r.history.add(head.hash, head.parents)
	if r.head = nil; head.bytes <= r.limits.CachedBytes {
		r.head = head
	}
}

// fetch gets what the tip has and the head known before lacks. Servers differ in
// what they make of a client that has something, so if the answer is of no use the
// whole commit is asked for.
func (r *remote) fetch(ctx context.Context, x *exchange) (*Snapshot, error) {
	head, err := r.fetchFrom(ctx, x, r.head)
	if r.head == nil || KindOf(err) != Protocol {
		return head, err
	}
	r.head = nil
	return r.refetch(ctx, x.timeout)
}

// refetch gets the whole tip in an exchange of its own.
func (r *remote) refetch(ctx context.Context, timeout time.Duration) (*Snapshot, error) {
	x, err := openExchange(ctx, r.connector, r.limits, timeout)
	if err != nil {
		return nil, err
	}
	defer x.close()
	if err := r.moveTo(x.refs); err != nil {
		return nil, err
	}
	return r.fetchFrom(ctx, x, nil)
}

func (r *remote) fetchFrom(ctx context.Context, x *exchange, known *Snapshot) (*Snapshot, error) {
	req := newRequest(x.refs.Capabilities, r.tip, 1)
	a := &assembler{limits: r.limits}
	filtered := filter(req, x.refs.Capabilities, packp.FilterBlobLimit(uint64(r.limits.FileBytes)+1, packp.BlobLimitPrefixNone))
	if known != nil {
		have(req, known.hash)
		a.known = known.objects
	}
	into := &unpacker{limits: r.limits, base: a.get}
	var err error
	if a.fresh, err = x.pack(ctx, req, into); err != nil {
		return nil, err
	}
	a.partial = filtered || into.nameless
	return a.snapshot(r.tip)
}

// Depths of the history that is asked for to find an ancestor: the first, and by
// how much each is larger than the one before.
const (
	firstDepth  = 64
	depthFactor = 16
)

// follows checks that the tip descends from an earlier commit. A parent of the tip
// is found without asking the server; further back takes one exchange or a few.
func (r *remote) follows(ctx context.Context, earlier plumbing.Hash, timeout time.Duration) error {
	for depth := firstDepth; ; depth *= depthFactor {
		switch r.history.relate(r.tip, earlier) {
		case descends:
			return nil
		case apart:
			return newError(HistoryRewritten, "the head %s does not descend from %s, which was read before: the history was rewritten", r.tip, earlier)
		}
		if depth/depthFactor >= r.limits.History || r.unproven[earlier] {
			r.unproven[earlier] = true
			return newError(HistoryRewritten, "can't tell whether the head %s descends from %s, which was read before: not found in %d generations of history", r.tip, earlier, r.limits.History)
		}
		if err := r.deepen(ctx, min(depth, r.limits.History), timeout); err != nil {
			if KindOf(err) != LimitExceeded {
				return err
			}
			r.unproven[earlier] = true
		}
	}
}

// deepen learns the history of the tip down to a depth: nothing but commits from
// servers that can leave the rest out; else files too, which are not kept.
func (r *remote) deepen(ctx context.Context, depth int, timeout time.Duration) error {
	x, err := openExchange(ctx, r.connector, r.limits, timeout)
	if err != nil {
		return err
	}
	defer x.close()
	req := newRequest(x.refs.Capabilities, r.tip, depth)
	if !filter(req, x.refs.Capabilities, packp.FilterTreeDepth(0)) {
		have(req, r.tip)
		wholeObjects(req) // what the tip has may not be kept any more
	}
	nothing := func(plumbing.Hash) *object { return nil }
	commits, err := x.pack(ctx, req, &unpacker{limits: r.limits, base: nothing, commitsOnly: true})
	if err != nil {
		return err
	}
	return r.learn(commits)
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
