package approvals

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// polls remembers when the forge was asked about each gate, so that a release whose counters change
// does not have it asked again and again. It only saves requests: without it the forge is asked
// again.
type polls struct {
	mu  sync.Mutex
	all map[types.UID]poll
}

// poll is the last time that the forge was asked about a gate.
type poll struct {
	// next is when to ask again although nothing is known to have happened.
	next time.Time
	// requested is the value of the requestedAt annotation then, and onBranch reports whether Git had
	// the gate's record.
	requested string
	onBranch  bool
}

func newPolls() *polls { return &polls{all: map[types.UID]poll{}} }

// due reports whether there is a reason to ask.
func (p *polls) due(g *v1alpha1.Gate, onBranch bool, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	last, found := p.all[g.UID]
	return !found || !now.Before(last.next) || last.requested != requestedAt(g) || last.onBranch != onBranch
}

// next returns when to ask again if nothing happens; zero for a gate that was never asked about.
func (p *polls) next(g *v1alpha1.Gate) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[g.UID].next
}

func (p *polls) done(g *v1alpha1.Gate, onBranch bool, next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all[g.UID] = poll{next: next, requested: requestedAt(g), onBranch: onBranch}
}

func (p *polls) forget(uid types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, uid)
}

func requestedAt(g *v1alpha1.Gate) string { return g.Annotations[v1alpha1.RequestedAtAnnotation] }

const (
	// defaultInterval equals the default of the CRD, for sources that were made without one.
	defaultInterval = 5 * time.Minute
	// seldomWithWebhooks multiplies the interval while webhooks arrive. Some get lost, so Sluice still
	// polls.
	seldomWithWebhooks = 24
	// webhooksWork is the time for which a webhook shows that others arrive too.
	webhooksWork = 7 * 24 * time.Hour
)

// pollAfter returns the time to the next poll of a gate.
func pollAfter(source *v1alpha1.ReleaseSource, now time.Time) time.Duration {
	at, err := time.Parse(time.RFC3339Nano, source.Annotations[v1alpha1.WebhookAtAnnotation])
	if source.Spec.WebhookSecretRef != nil && err == nil && now.Sub(at).Abs() < webhooksWork {
		return seldomWithWebhooks * intervalOf(source)
	}
	return intervalOf(source)
}

// intervalOf returns the time between two requests of the same thing, spread so that gates don't
// fall into step.
func intervalOf(source *v1alpha1.ReleaseSource) time.Duration {
	interval := source.Spec.Forge.Interval.Duration
	if interval <= 0 {
		interval = defaultInterval
	}
	return interval + rand.N(interval/10+1) //nolint:gosec // spreading requests needs no secret
}
