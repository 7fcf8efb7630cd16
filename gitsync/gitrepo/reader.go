package gitrepo

import (
	"context"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/sluice-dev/sluice/forge"
)

// Reader reads repositories. It is safe for use by many goroutines.
type Reader struct {
	opts   Options
	polls  *Slots
	memory *memory

	mu      sync.Mutex
	remotes map[sourceKey]*remote
}

// NewReader returns a Reader that holds nothing yet.
func NewReader(opts Options) *Reader {
	keepCapabilities()
	opts = opts.withDefaults()
	return &Reader{
		opts:    opts,
		polls:   NewSlots(opts.Polls, opts.Polls/8, "a connection to a Git server"),
		memory:  newMemory(opts),
		remotes: map[sourceKey]*remote{},
	}
}

// Known says what the caller already has. Both are names of commits, or empty.
type Known struct {
	// Ancestor is the commit that the head must be or descend from.
	Ancestor string
	// Content is the commit whose files the caller has no need to see again.
	Content string
}

// Read returns the head of the source's branch. If that is known.Content the
// snapshot may have no content; nothing but the server's list of references is then
// asked for. Callers that ask for the same source at the same time share one answer.
//
// Errors are of type *Error, the end of ctx aside.
func (r *Reader) Read(ctx context.Context, src Source, known Known) (*Snapshot, error) {
	head, err := r.read(ctx, src, known)
	if err != nil {
		return nil, src.Auth.explain(err)
	}
	return head, nil
}

func (r *Reader) read(ctx context.Context, src Source, known Known) (*Snapshot, error) {
	remote, err := r.remote(src)
	if err != nil {
		return nil, err
	}
	asked := time.Now()
	if err := remote.lock.acquire(ctx); err != nil {
		return nil, err
	}
	defer remote.lock.release()
	q := question{has: plumbing.NewHash(known.Content), caller: src.Caller, host: src.Host(), timeout: src.timeout(), reads: src.Reads}
	head, err := r.head(ctx, remote, asked, q)
	if err != nil || known.Ancestor == "" {
		return head, err
	}
	if err := remote.follows(ctx, plumbing.NewHash(known.Ancestor), q); err != nil {
		head.Close()
		return nil, err
	}
	return head, nil
}

// head looks at the remote unless somebody did since this caller asked.
func (r *Reader) head(ctx context.Context, remote *remote, asked time.Time, q question) (*Snapshot, error) {
	if remote.began.After(asked) {
		if remote.err != nil {
			return nil, remote.err
		}
		return remote.content(ctx, q, nil)
	}
	release, err := r.polls.Acquire(ctx, q.caller, q.host)
	if err != nil {
		return nil, err
	}
	defer release()
	began := time.Now()
	head, err := remote.look(ctx, q)
	if ctx.Err() == nil { // else the error is this caller's, not the remote's
		remote.began, remote.err = began, err
	}
	return head, err
}

// forgetAfter is how long a remote is kept that nobody asks for.
const forgetAfter = 2 * time.Hour

// remote returns the remote of a source, and forgets those that went out of use.
func (r *Reader) remote(src Source) (*remote, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	for key, old := range r.remotes {
		if now.Sub(old.used) > forgetAfter {
			delete(r.remotes, key)
		}
	}
	key := src.key()
	if r.remotes[key] == nil {
		made, err := r.newRemote(src)
		if err != nil {
			return nil, err
		}
		r.forgetOldest()
		r.remotes[key] = made
	}
	r.remotes[key].used = now
	return r.remotes[key], nil
}

// maxRemotes is how many remotes are kept: somebody may change what a source names again and again.
const maxRemotes = 2048

func (r *Reader) forgetOldest() {
	if len(r.remotes) < maxRemotes {
		return
	}
	var oldest sourceKey
	for key, known := range r.remotes {
		if before := r.remotes[oldest]; before == nil || known.used.Before(before.used) {
			oldest = key
		}
	}
	delete(r.remotes, oldest)
}

func (r *Reader) newRemote(src Source) (*remote, error) {
	branch := plumbing.NewBranchReferenceName(src.Branch)
	if !forge.IsBranch(src.Branch) {
		return nil, newError(Invalid, "%q is not the name of a branch", src.Branch)
	}
	connector, err := newConnector(src, r.opts)
	if err != nil {
		return nil, err
	}
	return &remote{
		connector: connector,
		branch:    branch,
		limits:    r.opts.Limits,
		memory:    r.memory,
		key:       src.key(),
		lane:      -1,
		lock:      newSemaphore(1),
		history:   history{},
		unproven:  map[plumbing.Hash]bool{},
		large:     src.Folders,
	}, nil
}

// semaphore bounds how many do something at once.
type semaphore chan struct{}

func newSemaphore(n int) semaphore { return make(semaphore, n) }

func (s semaphore) acquire(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s semaphore) release() { <-s }
