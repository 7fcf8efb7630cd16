package dashboard

import (
	"net"
	"net/netip"
	"sync"

	"github.com/sluice-dev/sluice/internal/remote"
)

// What one address may have of the connections: not all, even where it may be a proxy, and less
// where the proxies are known.
const (
	mostOfAnyAddress = mostConnections * 3 / 4
	mostOfOneAddress = mostConnections / 4
	// mostOfProxies bounds the connections of all proxies together: some are left for the probes of
	// the kubelet.
	mostOfProxies = mostConnections - 64
)

// allProxies counts the connections of all proxies.
var allProxies netip.Prefix

// shares is a listener that closes connections of an address that has its share of them.
type shares struct {
	net.Listener

	proxies []netip.Prefix
	lock    sync.Mutex
	// of has no more entries than there are connections.
	of map[netip.Prefix]int
}

func newShares(listener net.Listener, proxies []netip.Prefix) *shares {
	return &shares{Listener: listener, proxies: proxies, of: map[netip.Prefix]int{}}
}

// Accept returns the next connection of an address that may have one more.
func (s *shares) Accept() (net.Conn, error) {
	for {
		conn, err := s.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address := remote.Address(conn.RemoteAddr().String())
		network := remote.Network(address)
		if remote.In(s.proxies, address) {
			network = allProxies
		}
		if s.take(network, s.most(address)) {
			return &share{Conn: conn, giveBack: sync.OnceFunc(func() { s.release(network) })}, nil
		}
		_ = conn.Close() // nobody has been promised anything
	}
}

// most returns how many connections an address may have.
func (s *shares) most(address netip.Addr) int {
	switch {
	case remote.In(s.proxies, address):
		return mostOfProxies
	case len(s.proxies) > 0:
		return mostOfOneAddress
	default:
		return mostOfAnyAddress
	}
}

func (s *shares) take(network netip.Prefix, most int) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.of[network] >= most {
		return false
	}
	s.of[network]++
	return true
}

func (s *shares) release(network netip.Prefix) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.of[network]--; s.of[network] == 0 {
		delete(s.of, network)
	}
}

// share is a connection that is counted until it is closed.
type share struct {
	net.Conn

	giveBack func()
}

// Close closes the connection.
func (s *share) Close() error {
	s.giveBack()
	return s.Conn.Close()
}
