package gitsync

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// memory is what is remembered of a source between passes. It only saves work:
// without it a pass comes to the same end. One pass at a time uses it.
type memory struct {
	uid types.UID
	// failures in a row.
	failures int
	// followed is the branch that status.observedCommit is of.
	followed branch

	// content is what was last read, at commit and path.
	reader       *spec.Reader
	content      *spec.Result
	commit, path string

	// written are the releases as the API server returned them.
	written map[client.ObjectKey]written
}

// branch of a repository.
type branch struct{ url, name string }

func branchOf(source *v1alpha1.ReleaseSource) branch {
	return branch{source.Spec.URL, source.Spec.Ref.Branch}
}

// written is a release as the API server had it when it was as Git asks.
type written struct {
	uid        types.UID
	generation int64
	// digest of what was applied, that of the template, and the commit that brought the template.
	digest, template, commit string
}

// memories of all sources.
type memories struct {
	mu  sync.Mutex
	all map[types.NamespacedName]*memory
}

func newMemories() *memories { return &memories{all: map[types.NamespacedName]*memory{}} }

// of returns the memory of a source: a new one for a source that was made anew, and
// for one that is being deleted.
func (m *memories) of(source *v1alpha1.ReleaseSource) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(source)
	if !source.DeletionTimestamp.IsZero() {
		delete(m.all, key)
		return nil
	}
	known := m.all[key]
	if known == nil || known.uid != source.UID {
		known = &memory{uid: source.UID, written: map[client.ObjectKey]written{}}
		if source.Status.ObservedGeneration == source.Generation {
			known.followed = branchOf(source)
		}
		m.all[key] = known
	}
	return known
}

// known is what Git need not tell again. The ancestor is left out where the commit
// may be one of another branch.
func (m *memory) known(source *v1alpha1.ReleaseSource) gitrepo.Known {
	known := gitrepo.Known{}
	if m.followed == branchOf(source) && !source.Spec.AllowRewrite {
		known.Ancestor = source.Status.ObservedCommit
	}
	if m.content != nil && m.path == source.Spec.Path && m.followed == branchOf(source) {
		known.Content = m.commit
	}
	return known
}

// follow remembers that the branch that the source names now was applied.
func (m *memory) follow(source *v1alpha1.ReleaseSource) { m.followed = branchOf(source) }

// read returns what a commit asks for, which is what it was the last time if it is
// the same commit.
func (m *memory) read(head *gitrepo.Snapshot, source *v1alpha1.ReleaseSource, opts spec.Options) (*spec.Result, error) {
	if m.content != nil && m.commit == head.Commit && m.path == source.Spec.Path {
		return m.content, nil
	}
	if m.reader == nil {
		m.reader = spec.NewReader(opts)
	}
	content, err := m.reader.Read(head.FS(), source.Spec.Path)
	if err != nil {
		m.content = nil
		return nil, err
	}
	m.content, m.commit, m.path = content, head.Commit, source.Spec.Path
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
