package gitsync

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/lru"
)

// memory is what is remembered of a source between passes. It only saves work:
// without it a pass comes to the same end. One pass at a time uses it.
type memory struct {
	uid types.UID
	// failures in a row.
	failures int
	// followed is the branch that is in the cluster, and applied the commit of it. The status has
	// that commit too, but the cache may show an older one.
	followed branch
	applied  string

	// content is what was last read, at a commit and path, and records are the approvals of that commit.
	content *spec.Result
	records *records
	// freeze of that commit, nil if there is none, what is wrong with its file, and what releases were given.
	freeze       *spec.Freeze
	freezeErrors []spec.Error
	frozen       map[client.ObjectKey]string
	origin       origin
	tree         string
	path         string

	// app gives tokens to read with, where the source's Secret holds a GitHub App.
	app *app

	// written are the releases as the API server returned them.
	written map[client.ObjectKey]written
}

// branch of a repository.
type branch struct{ url, name string }

func branchOf(source *v1alpha1.ReleaseSource) branch {
	return branch{source.Spec.URL, source.Spec.Ref.Branch}
}

// origin is the commit that brought a template, as its release shows it.
type origin struct{ commit, author, subject string }

// written is a release as the API server had it when it was as Git asks.
type written struct {
	uid        types.UID
	generation int64
	// digest of what was applied.
	digest string
	// template is the digest of the template, and origin the commit that brought it.
	template string
	origin   origin
}

// parsedManifests are the readers of all sources, with what they have parsed, by the UID of the source. Each counts with the
// size of its repository: what is parsed takes a few times the size of the files, which are some of that.
type parsedManifests = lru.Cache[types.UID, *spec.Reader]

// parsedBytes is the size of the repositories whose manifests are kept parsed.
const parsedBytes = 64 << 20

// memories of all sources.
type memories struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*memory
}

func newMemories() *memories { return &memories{all: map[types.NamespacedName]*memory{}} }

// of returns the memory of a source: a new one for a source that was made anew.
func (m *memories) of(source *v1alpha1.ReleaseSource) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(source)
	known := m.all[key]
	if known == nil || known.uid != source.UID {
		known = &memory{uid: source.UID, written: map[client.ObjectKey]written{}, frozen: map[client.ObjectKey]string{}}
		if source.Status.ObservedGeneration == source.Generation {
			known.follow(source, source.Status.ObservedCommit)
		}
		m.all[key] = known
	}
	return known
}

func (m *memories) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.all, key)
}

// known is what Git need not tell again. The ancestor is left out where the commit
// may be one of another branch.
func (m *memory) known(source *v1alpha1.ReleaseSource) gitrepo.Known {
	known := gitrepo.Known{}
	if m.followed == branchOf(source) && !source.Spec.AllowRewrite {
		known.Ancestor = m.applied
	}
	if m.content != nil && !m.content.Exceeded && m.path == source.Spec.Path && m.followed == branchOf(source) {
		known.Content = m.origin.commit
	}
	return known
}

// follow remembers which commit of which branch is in the cluster.
func (m *memory) follow(source *v1alpha1.ReleaseSource, commit string) {
	m.followed, m.applied = branchOf(source), commit
}

// read returns what a commit asks for, which is what it was the last time if it is
// the same commit.
//
// A commit of which something took more than it may is read again, since it may have been for want of a quieter moment; the
// looks at it are further and further apart, as after any failure. What was parsed is kept for the next commit as long as
// there is room for it.
func (r *Reconciler) read(ctx context.Context, head *gitrepo.Snapshot, source *v1alpha1.ReleaseSource, m *memory) (*spec.Result, error) {
	if m.content != nil && !m.content.Exceeded && m.origin.commit == head.Commit && m.path == source.Spec.Path {
		return m.content, nil
	}
	opts := r.specOptions(source)
	reader := r.parsed.Take(m.uid)
	if reader == nil {
		reader = spec.NewReader(opts)
	}
	reader.BuildWith(r.builds.For(ctx, sandbox.Owner{Tenant: source.Namespace, Source: source.Name}))
	content, err := reader.Read(head.FS(), source.Spec.Path)
	if err != nil {
		m.content = nil
		return nil, err
	}
	r.parsed.Put(m.uid, reader, head.Bytes())
	m.content, m.path = content, source.Spec.Path
	m.records = readRecords(head.FS(), opts.Namespaces(), m.records)
	m.freeze, m.freezeErrors = spec.ReadFreeze(head.FS())
	m.origin, m.tree = origin{head.Commit, head.Author, head.Subject}, head.Tree
	return content, nil
}

// longestWait between looks after failures, unless the interval is longer.
const longestWait = 5 * time.Minute

// next is how long to wait until the next look: the interval, doubled with each
// failure in a row, and spread by up to a tenth so that sources don't fall into step.
func (m *memory) next(interval time.Duration, result outcome) time.Duration {
	if result.reason == v1alpha1.ReasonSuspended {
		return 0
	}
	if m.failures++; !result.failed {
		m.failures = 0
	}
	wait := interval
	for range m.failures {
		if wait *= 2; wait >= longestWait {
			wait = max(interval, longestWait)
			break
		}
	}
	return wait + rand.N(wait/10+1) //nolint:gosec // spreading looks needs no secret
}
