package gitsync

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/plan"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/lru"
)

// memory holds what is remembered of a source between passes. A process that begins without it
// leads to the same releases. One pass at a time uses it.
type memory struct {
	uid types.UID
	// failures in a row.
	failures int
	// followed is the branch that is in the cluster, and commit that of it. The status has that
	// commit too, but the cache may show an older one.
	followed branch
	commit   string

	// content is the last content read, at a commit and path, and records are the approvals of that
	// commit.
	content *spec.Result
	records *records
	// freeze of that commit, nil if there is none, and what is wrong with its file.
	freeze       *spec.Freeze
	freezeErrors []spec.Error
	// origin names the commit of content, and before the one read before it.
	origin, before plan.Origin
	// readAt is when that commit was read.
	readAt time.Time
	// goesOn is set while each look at that commit reads more of it.
	goesOn bool
	tree   string
	path   string
	ignore []string
	helm   *v1alpha1.HelmChart

	// wanted are the files that were read at that path.
	wanted *spec.Wanted

	// verified holds the verified heads, verify the rules for the last of them, and object its commit.
	verified *verified
	verify   *v1alpha1.Verify
	object   gitrepo.Commit

	// app gives tokens to read with, where the source's Secret holds a GitHub App.
	app *app

	// releases are answers to our own writes, until the cache has them too. Without them a pass soon
	// after another one decides on objects from before its writes.
	releases *kube.Overlay[*v1alpha1.BatchRelease]
	// applied are the releases when they were as Git asked. They save comparing each in full.
	applied map[plan.Key]plan.Applied
	// soleOwner are the releases that share no field that Git gives. They save a live list per pass.
	soleOwner map[plan.Key]soleOwned
	// claims were compared, of each release. They save a live read of each StatefulSet per pass.
	claims map[plan.Key]comparedClaims
	// tended says what the copies of each release were last looked at for.
	tended map[plan.Key]tended
}

// unseenFor is how long the cache may lack a release that was written before it is written again:
// it may have been deleted before the cache ever had it.
const unseenFor = time.Minute

// branch of a repository.
type branch struct{ url, name string }

func branchOf(source *v1alpha1.ReleaseSource) branch {
	return branch{source.Spec.URL, source.Spec.Ref.Branch}
}

// parsedManifests holds the readers of all sources, with their parsed files, by the UID of the
// source. Each counts with the size of its repository: parsed content takes a few times the size of
// the files, which are a part of that.
type parsedManifests = lru.Cache[types.UID, *spec.Reader]

// parsedBytes is the size of the repositories whose manifests are kept parsed.
const parsedBytes = 64 << 20

// memories of all sources.
type memories struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	all map[types.NamespacedName]*memory
}

func newMemories(now clock.PassiveClock) *memories {
	return &memories{clock: now, all: map[types.NamespacedName]*memory{}}
}

func (m *memories) make(uid types.UID) *memory {
	return &memory{
		uid: uid, releases: kube.NewOverlay[*v1alpha1.BatchRelease](m.clock, unseenFor),
		applied: map[plan.Key]plan.Applied{}, soleOwner: map[plan.Key]soleOwned{}, claims: map[plan.Key]comparedClaims{}, tended: map[plan.Key]tended{},
	}
}

// of returns the memory of a source: a new one for a source that was created again.
func (m *memories) of(source *v1alpha1.ReleaseSource) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := client.ObjectKeyFromObject(source)
	known := m.all[key]
	if known == nil || known.uid != source.UID {
		known = m.make(source.UID)
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

// reads returns the files of a repository that are read for a source.
func (m *memory) reads(source *v1alpha1.ReleaseSource) *spec.Wanted {
	whole := source.Spec.Helm != nil
	if m.wanted == nil || m.wanted.Folder != source.Spec.Path || m.wanted.Whole != whole {
		m.wanted = &spec.Wanted{Folder: source.Spec.Path, Whole: whole}
	}
	return m.wanted
}

// known returns what need not be read from Git again. The ancestor is left out where the commit
// may be one of another branch.
func (m *memory) known(source *v1alpha1.ReleaseSource) gitrepo.Known {
	known := gitrepo.Known{}
	if m.followed == branchOf(source) && !source.Spec.AllowRewrite {
		known.Ancestor = m.commit
	}
	if from := source.Spec.Verify; from != nil && from.Keys.File != "" {
		// An older commit would bring back keys that were taken away.
		if heads := verifiedOf(source, m).heads; len(heads) > 0 {
			known.Ancestor = heads[0].Commit
		}
	}
	seen := source.Spec.Verify == nil || m.object.Name == m.origin.Commit && equality.Semantic.DeepEqual(m.verify, source.Spec.Verify)
	if m.content != nil && !m.content.Exceeded && m.current(source) && m.followed == branchOf(source) && seen {
		known.Content = m.origin.Commit
	}
	return known
}

// current reports whether the content was read with the path, ignore rules and values of a chart
// that the source has now.
func (m *memory) current(source *v1alpha1.ReleaseSource) bool {
	return m.path == source.Spec.Path && slices.Equal(m.ignore, source.Spec.Ignore) && equality.Semantic.DeepEqual(m.helm, source.Spec.Helm)
}

// follow remembers which commit of which branch is in the cluster.
func (m *memory) follow(source *v1alpha1.ReleaseSource, commit string) {
	m.followed, m.commit = branchOf(source), commit
}

// read returns the content of a commit: the last one if the commit is the same.
//
// A commit that exceeded its limits is read again: at once, as long as each read gets further; else
// at growing intervals, as after any failure. Parsed files are kept for the next commit as long as
// there is room for them.
func (r *Reconciler) read(ctx context.Context, head *gitrepo.Snapshot, source *v1alpha1.ReleaseSource, m *memory) (*spec.Result, error) {
	if m.content != nil && !m.content.Exceeded && m.origin.Commit == head.Commit && m.current(source) {
		return m.content, nil
	}
	opts := r.specOptions(source)
	reader := r.parsed.Take(m.uid)
	if reader == nil {
		reader = spec.NewReader(opts)
	}
	reader.IgnoreWith(opts.Ignore)
	reader.RenderWith(opts.Helm)
	reader.BuildWith(r.builds.For(ctx, sandbox.Owner{Tenant: source.Namespace, Source: source.Name}))
	content, err := reader.Read(head.FS(), source.Spec.Path)
	if err != nil {
		m.content = nil
		return nil, err
	}
	r.parsed.Put(m.uid, reader, head.Bytes())
	if m.content == nil || !m.current(source) || m.followed != branchOf(source) { // not the commit before
		content.Earlier = nil
	}
	m.goesOn = content.Pending > 0 && (m.content == nil || m.origin.Commit != head.Commit || content.Pending < m.content.Pending)
	m.content, m.path, m.ignore, m.helm = content, source.Spec.Path, source.Spec.Ignore, source.Spec.Helm
	m.records = readRecords(head.FS(), opts.Namespaces(), m.records)
	m.freeze, m.freezeErrors = spec.ReadFreeze(head.FS())
	m.readAt = r.clock.Now()
	m.before, m.origin, m.tree = m.origin, originOf(head, m.readAt), head.Tree
	return content, nil
}

// originOf returns a commit as its releases show it.
func originOf(head *gitrepo.Snapshot, now time.Time) plan.Origin {
	origin := plan.Origin{Commit: head.Commit, Author: head.Author, Subject: head.Subject}
	if at := v1alpha1.CommitTime(head.Time, now); at != nil {
		origin.Time = at.Format(time.RFC3339)
	}
	if from := head.Reference; from != nil {
		reference := &v1alpha1.ReferenceCommit{SHA: from.Commit, Author: from.Author, Subject: from.Subject}
		if at := v1alpha1.CommitTime(from.Time, now); at != nil {
			reference.Time = at.Format(time.RFC3339)
		}
		origin.Reference = reference.Text()
	}
	return origin
}

// nextWrite delays a source after a write that the API server did not answer.
const nextWrite = 10 * time.Second

// longestWait between polls after failures, unless the interval is longer.
const longestWait = 5 * time.Minute

// next returns how long to wait until the next look: the interval, doubled with each
// failure in a row, and spread by up to a tenth so that sources don't fall into step.
func (m *memory) next(interval time.Duration, result outcome) time.Duration {
	if _, is := result.(suspended); is {
		return 0
	}
	if f, is := result.(followed); is && (m.goesOn || f.adopts) {
		return soon
	}
	if m.failures++; !standingOf(result).failed {
		m.failures = 0
	}
	wait := interval
	if f, is := result.(followed); is && f.unanswered() {
		return min(interval, nextWrite) + rand.N(nextWrite/10) //nolint:gosec // as below
	}
	for range m.failures {
		if wait *= 2; wait >= longestWait {
			wait = max(interval, longestWait)
			break
		}
	}
	return wait + rand.N(wait/10+1) //nolint:gosec // spreading polls needs no secret
}
