package webhook

import (
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/forge/webhooks"
	"github.com/sluice-dev/sluice/internal/lru"
)

// delivery is a webhook as it was received.
type delivery struct {
	webhooks.Delivery

	source client.ObjectKey
	body   []byte
}

// maxDeliveries that are remembered: hours of a busy repository.
const maxDeliveries = 10_000

// deliveries remembers the signed deliveries that were taken, or are being taken.
type deliveries struct {
	mu   sync.Mutex
	seen *lru.Cache[string, bool]
}

func newDeliveries() *deliveries { return &deliveries{seen: lru.New[string, bool](maxDeliveries)} }

// names returns the names by which a delivery to a source is recognized.
func (d delivery) names() []string {
	names := d.Marks(d.body)
	for i := range names {
		names[i] = d.source.String() + " " + names[i]
	}
	return names
}

// begin remembers a delivery; it reports false if it was remembered already.
func (s *deliveries) begin(d delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.ContainsFunc(d.names(), s.seen.Get) {
		return false
	}
	for _, name := range d.names() {
		s.seen.Put(name, true, 1)
	}
	return true
}

// forget lets a delivery come again.
func (s *deliveries) forget(d delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range d.names() {
		s.seen.Take(name)
	}
}
