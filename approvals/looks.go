package approvals

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// looks remembers when the forge was asked about each gate, so that a release whose counters change
// does not have it asked again and again. It only saves requests: without it a gate is looked at
// once more.
type looks struct {
	mu  sync.Mutex
	all map[types.UID]look
}

// look is the last one at what a gate waits for.
type look struct {
	// next is when to look again although nothing is known to have happened.
	next time.Time
	// requested and onBranch are what was known then: the annotation that asks for a look, and
	// whether Git had the gate's record.
	requested string
	onBranch  bool
}

func newLooks() *looks { return &looks{all: map[types.UID]look{}} }

// due tells whether there is a reason to look.
func (l *looks) due(g *v1alpha1.Gate, onBranch bool, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, found := l.all[g.UID]
	return !found || !now.Before(last.next) || last.requested != requestedAt(g) || last.onBranch != onBranch
}

// next is when to look again if nothing happens; zero for a gate that was never looked at.
func (l *looks) next(g *v1alpha1.Gate) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[g.UID].next
}

func (l *looks) done(g *v1alpha1.Gate, onBranch bool, next time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all[g.UID] = look{next: next, requested: requestedAt(g), onBranch: onBranch}
}

func (l *looks) forget(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.all, uid)
}

func requestedAt(g *v1alpha1.Gate) string { return g.Annotations[v1alpha1.RequestedAtAnnotation] }

// defaultInterval is the CRD's, for sources that were made without it.
const defaultInterval = time.Minute

// intervalOf is the time between two looks, spread so that gates don't fall into step.
func intervalOf(source *v1alpha1.ReleaseSource) time.Duration {
	interval := source.Spec.Forge.Interval.Duration
	if interval <= 0 {
		interval = defaultInterval
	}
	return interval + rand.N(interval/10+1) //nolint:gosec // spreading looks needs no secret
}
