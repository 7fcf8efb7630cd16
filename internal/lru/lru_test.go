package lru_test

import (
	"testing"

	"github.com/sluice-dev/sluice/internal/lru"
)

// TestKeepsWhatWasUsedLast: the least recently used go first, and one that is larger than all is
// not kept.
func TestKeepsWhatWasUsedLast(t *testing.T) {
	t.Parallel()
	c := lru.New[int, *int](100)
	for i := range 10 {
		c.Put(i, &i, 25)
		c.Get(0)
	}
	var kept []int
	for i := range 10 {
		if c.Get(i) != nil {
			kept = append(kept, i)
		}
	}
	if len(kept) != 4 || kept[0] != 0 || kept[1] != 7 {
		t.Errorf("kept are %v, want 0, which was used, and the last three", kept)
	}
	c.Put(0, new(0), 30)
	if c.Left() != 100-30-50 {
		t.Errorf("%d bytes are left", c.Left())
	}
	c.Put(11, new(11), 101)
	if c.Get(11) != nil || c.Get(0) == nil || c.Left() != 100-30-50 {
		t.Errorf("a value larger than all is kept, or others went for it: %d left", c.Left())
	}
	c.Put(1, new(1), 100)
	if got := c.Take(1); got == nil || *got != 1 || c.Get(1) != nil || c.Left() != 100 {
		t.Errorf("took %v, with %d left", got, c.Left())
	}
	c.Put(2, new(2), 50)
	if c.Clear(); c.Get(2) != nil || c.Left() != 100 {
		t.Errorf("after Clear, %v is kept and %d bytes are left", c.Get(2), c.Left())
	}
}
