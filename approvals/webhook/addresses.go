package webhook

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"
)

// Limits on the requests from one address. Forges send all their webhooks from a few addresses, and behind a proxy
// all come from one. Requests above the limits are lost, and the next poll finds what they were about.
const (
	perSecond    = 20
	burst        = 100
	maxAddresses = 4096
)

// v6Network is the IPv6 prefix length that one person easily has.
const v6Network = 64

// addresses are those that requests came from lately.
type addresses struct {
	mu   sync.Mutex
	seen *lru.Cache
}

func newAddresses() *addresses { return &addresses{seen: lru.New(maxAddresses)} }

// allow reports whether a request from a remote host:port is to be read.
func (a *addresses) allow(remote string, now time.Time) bool {
	from := networkOf(remote)
	a.mu.Lock()
	defer a.mu.Unlock()
	limiter, _ := a.seen.Get(from)
	if limiter == nil {
		limiter = rate.NewLimiter(perSecond, burst)
		a.seen.Add(from, limiter)
	}
	return limiter.(*rate.Limiter).AllowN(now, 1)
}

// networkOf is what requests are counted by. All that is not an address counts as one.
func networkOf(remote string) netip.Prefix {
	host, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	address := host.Addr().Unmap().WithZone("")
	bits := address.BitLen()
	if address.Is6() {
		bits = v6Network
	}
	network, err := address.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return network
}
