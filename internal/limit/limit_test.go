package limit

import (
	"testing"
	"time"
)

// TestLimits: each sender has a limit of its own, and an attacker with many names takes no more
// memory than allowed.
func TestLimits(t *testing.T) {
	t.Parallel()
	now, l := time.Unix(0, 0), New[int](1, 5, 10)
	allowed := 0
	for range 100 {
		if l.Allow(0, now) {
			allowed++
		}
	}
	if allowed != 5 || !l.Allow(1, now) {
		t.Errorf("%d requests of one sender, want a burst of 5, and another sender is not affected", allowed)
	}
	if !l.Allow(0, now.Add(time.Second)) {
		t.Error("a sender gets one request each second")
	}
	for sender := range 1000 {
		l.Allow(sender, now)
	}
	if free := l.seen.Left(); free != 0 {
		t.Errorf("there is room for %d more senders, want 10 remembered and no more", free)
	}
}
