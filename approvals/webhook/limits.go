package webhook

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
)

// Limits on the requests from one address that no secret of a source has signed, and on what is
// passed on for one namespace, whose tenants can sign any number. Forges send all their webhooks
// from a few addresses, and behind a proxy that is not trusted all requests come from one.
const (
	perSecond = 20
	burst     = 100
	maxSeen   = 4096
)

// limits holds a rate limit for each address or namespace that sent something lately.
type limits struct {
	mu   sync.Mutex
	seen *lru.Cache
}

func newLimits() *limits { return &limits{seen: lru.New(maxSeen)} }

// allow reports whether an address or namespace may have another request.
func (l *limits) allow(one any, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter, _ := l.seen.Get(one)
	if limiter == nil {
		limiter = rate.NewLimiter(perSecond, burst)
		l.seen.Add(one, limiter)
	}
	return limiter.(*rate.Limiter).AllowN(now, 1)
}
