package access

import (
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

	"github.com/sluice-dev/sluice/internal/remote"
)

// Limits on tries to log in: each costs requests to the API server or the login service.
const (
	triesPerSecond    = 2
	triesBurst        = 20
	allTriesPerSecond = 20
	allTriesBurst     = 100
	maxAddresses      = 4096
)

// attempts are the tries to log in lately.
type attempts struct {
	// proxies are the proxies that are trusted to name the client's address.
	proxies []netip.Prefix

	mu   sync.Mutex
	all  *rate.Limiter
	seen *lru.Cache
}

func newAttempts(proxies []netip.Prefix) *attempts {
	return &attempts{proxies: proxies, all: rate.NewLimiter(allTriesPerSecond, allTriesBurst), seen: lru.New(maxAddresses)}
}

// allow reports whether somebody may try to log in. A client beyond its own limit does not use up the limit of others.
func (a *attempts) allow(r *http.Request, now time.Time) bool {
	from := remote.Network(remote.Client(r, a.proxies))
	a.mu.Lock()
	defer a.mu.Unlock()
	limiter, _ := a.seen.Get(from)
	if limiter == nil {
		limiter = rate.NewLimiter(triesPerSecond, triesBurst)
		a.seen.Add(from, limiter)
	}
	return limiter.(*rate.Limiter).AllowN(now, 1) && a.all.AllowN(now, 1)
}
