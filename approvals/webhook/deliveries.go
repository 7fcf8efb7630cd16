package webhook

import (
	"strings"
	"sync"

	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// delivery is a webhook as it was received.
type delivery struct {
	source client.ObjectKey
	// event, guid and signature are headers. The signature is of the body alone.
	event, guid, signature string
	body                   []byte
}

// maxDeliveries that are remembered: hours of a busy repository.
const maxDeliveries = 10_000

// deliveries are those that were taken, or are being taken, of all that were signed.
type deliveries struct {
	mu   sync.Mutex
	seen *lru.Cache
}

func newDeliveries() *deliveries { return &deliveries{seen: lru.New(maxDeliveries)} }

// names by which a delivery is known again: the forge's number, and what was signed, for somebody who sends what
// he has seen with a number that he made up.
func (d delivery) names() []string {
	names := []string{d.source.String() + " " + strings.ToLower(d.signature)}
	if d.guid != "" {
		names = append(names, d.source.String()+" "+d.guid)
	}
	return names
}

// begin remembers a delivery; it reports false if it was remembered already.
func (s *deliveries) begin(d delivery) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range d.names() {
		if _, found := s.seen.Get(name); found {
			return false
		}
	}
	for _, name := range d.names() {
		s.seen.Add(name, nil)
	}
	return true
}

// forget lets a delivery come again.
func (s *deliveries) forget(d delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range d.names() {
		s.seen.Remove(name)
	}
}
