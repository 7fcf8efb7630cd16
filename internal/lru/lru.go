// Package lru is a least-recently-used cache with a size limit.
package lru

import (
	"container/list"
	"sync"
)

// Cache keeps values up to a total size. The least recently used ones go first. It is safe for
// use by many goroutines.
type Cache[K comparable, V any] struct {
	size  int64
	mu    sync.Mutex
	left  int64
	order *list.List
	byKey map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
	bytes int64
}

// New makes a cache of a size.
func New[K comparable, V any](bytes int64) *Cache[K, V] {
	return &Cache[K, V]{size: bytes, left: bytes, order: list.New(), byKey: map[K]*list.Element{}}
}

// Left returns how many bytes are free.
func (c *Cache[K, V]) Left() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

// Get returns what is kept under a key; the zero value if nothing is.
func (c *Cache[K, V]) Get(key K) (value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.byKey[key]; at != nil {
		c.order.MoveToFront(at)
		value = at.Value.(entry[K, V]).value
	}
	return value
}

// Take returns what is kept under a key, and removes it; the zero value if nothing is.
func (c *Cache[K, V]) Take(key K) (value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.byKey[key]; at != nil {
		value = c.drop(at).value
	}
	return value
}

// Clear removes everything.
func (c *Cache[K, V]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = c.size
	c.order.Init()
	clear(c.byKey)
}

// Put keeps a value in the place of the one before. One that is larger than the cache is not kept.
func (c *Cache[K, V]) Put(key K, value V, bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before := c.byKey[key]; before != nil {
		c.drop(before)
	}
	if bytes > c.size {
		return
	}
	c.byKey[key] = c.order.PushFront(entry[K, V]{key, value, bytes})
	for c.left -= bytes; c.left < 0; {
		c.drop(c.order.Back())
	}
}

func (c *Cache[K, V]) drop(at *list.Element) entry[K, V] {
	dropped := c.order.Remove(at).(entry[K, V])
	delete(c.byKey, dropped.key)
	c.left += dropped.bytes
	return dropped
}
