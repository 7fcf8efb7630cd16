package access

import (
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"github.com/sluice-dev/sluice/internal/limit"
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

// attempts limits tries to log in, of each address and of all together.
type attempts struct {
	// proxies are the proxies that are trusted to name the client's address.
	proxies []netip.Prefix
	each    *limit.Limits[netip.Prefix]
	all     *rate.Limiter
}

func newAttempts(proxies []netip.Prefix) *attempts {
	return &attempts{
		proxies: proxies, each: limit.New[netip.Prefix](triesPerSecond, triesBurst, maxAddresses), all: rate.NewLimiter(allTriesPerSecond, allTriesBurst),
	}
}

// allow reports whether a client may try to log in. Tries beyond its own limit don't use up that of
// others.
func (a *attempts) allow(r *http.Request, now time.Time) bool {
	from := remote.Network(remote.Client(r, a.proxies))
	return a.each.Allow(from, now) && a.all.AllowN(now, 1)
}
