// Package limit limits how often each of many senders may ask, such as addresses or namespaces.
package limit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/sluice-dev/sluice/internal/lru"
)

// Limits holds a rate limit for each sender that asked lately. It is safe for concurrent use.
type Limits[K comparable] struct {
	perSecond rate.Limit
	burst     int
	mu        sync.Mutex
	seen      *lru.Cache[K, *rate.Limiter]
}

// New returns limits of so many requests per second, with a burst, for the last senders.
func New[K comparable](perSecond rate.Limit, burst, senders int) *Limits[K] {
	return &Limits[K]{perSecond: perSecond, burst: burst, seen: lru.New[K, *rate.Limiter](int64(senders))}
}

// Allow reports whether a sender may have another request.
func (l *Limits[K]) Allow(sender K, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limiter := l.seen.Get(sender)
	if limiter == nil {
		limiter = rate.NewLimiter(l.perSecond, l.burst)
		l.seen.Put(sender, limiter, 1)
	}
	return limiter.AllowN(now, 1)
}
