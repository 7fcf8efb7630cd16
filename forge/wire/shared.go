package wire

import (
	"runtime"
	"sync"
	"weak"
)

// Shared has one value for each key, for as long as somebody uses it.
type Shared[K comparable, V any] struct {
	mu  *sync.Mutex
	all map[K]weak.Pointer[V]
}

// NewShared returns an empty Shared.
func NewShared[K comparable, V any]() Shared[K, V] {
	return Shared[K, V]{mu: new(sync.Mutex), all: map[K]weak.Pointer[V]{}}
}

// Get returns the value of a key, or makes it. It does not wait while another caller makes a value.
func (s Shared[K, V]) Get(key K, make func() (*V, error)) (*V, error) {
	if known := s.known(key); known != nil {
		return known, nil
	}
	made, err := make()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.all[key].Value(); known != nil { // made meanwhile
		return known, nil
	}
	s.all[key] = weak.Make(made)
	runtime.AddCleanup(made, s.forget, key)
	return made, nil
}

func (s Shared[K, V]) known(key K) *V {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[key].Value()
}

// forget drops a key that nobody uses any more, unless somebody does again.
func (s Shared[K, V]) forget(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[key].Value() == nil {
		delete(s.all, key)
	}
}
