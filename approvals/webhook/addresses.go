package webhook

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"github.com/sluice-dev/sluice/internal/remote"
)

// Limits on the requests from one address. Forges send all their webhooks from a few addresses, and behind a proxy
// all come from one. Requests above the limits are lost, and the next poll finds what they were about.
const (
	perSecond    = 20
	burst        = 100
	maxAddresses = 4096
)

// addresses are those that requests came from lately.
type addresses struct {
	mu   sync.Mutex
	seen *lru.Cache
}

func newAddresses() *addresses { return &addresses{seen: lru.New(maxAddresses)} }

// allow reports whether a request from a remote host:port is to be read.
func (a *addresses) allow(hostPort string, now time.Time) bool {
	from := remote.Network(remote.Address(hostPort))
	a.mu.Lock()
	defer a.mu.Unlock()
	limiter, _ := a.seen.Get(from)
	if limiter == nil {
		limiter = rate.NewLimiter(perSecond, burst)
		a.seen.Add(from, limiter)
	}
	return limiter.(*rate.Limiter).AllowN(now, 1)
}
