package gitrepo

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

// TestMemoryIsOneBudget: for any setting, the lanes and the kept objects together stay within the
// memory limit.
func TestMemoryIsOneBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		opts := Options{
			MemoryBytes: rapid.Int64Range(16<<20, 4<<30).Draw(t, "memory"),
			Fetches:     rapid.IntRange(0, 1000).Draw(t, "fetches"),
			Limits:      Limits{KeptBytes: rapid.Int64Range(0, 4<<30).Draw(t, "kept")},
		}.withDefaults()
		m := newMemory(opts)
		sum := m.heads.Left()
		for _, l := range m.lanes {
			sum += l.bytes * int64(l.slots.free)
		}
		// Where the memory is small a lane has one slot all the same.
		if slack := m.lanes[0].bytes + m.lanes[1].bytes; sum > opts.MemoryBytes+slack {
			t.Errorf("the lanes and what is kept are %d bytes, the memory is %d", sum, opts.MemoryBytes)
		}
	})
}

// TestFetchesAreCountedBeforeTheyTakeMemory: many fetches that grow at the same time never hold
// more than the budget together, and each that has to wait can go on when others are done.
func TestFetchesAreCountedBeforeTheyTakeMemory(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		opts := Options{}.withDefaults()
		m := newMemory(opts)
		type fetch struct {
			*account
			held int64
		}
		var all []*fetch
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			tenant := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "tenant")
			all = append(all, &fetch{account: m.tryOpen(asker{tenant, "h"}, -1, opts.Limits.KeptBytes)})
			i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
			size := rapid.Int64Range(1, 40<<20).Draw(t, "size")
			switch err := all[i].spend(size); {
			case err == nil:
				all[i].held += size
			case errors.Is(err, errOutgrown), KindOf(err) == LimitExceeded:
				all[i].close()
				all = append(all[:i], all[i+1:]...)
			default:
				t.Fatal(err)
			}
			var sum int64
			for _, f := range all {
				if f.lane >= 0 {
					sum += f.held
				}
			}
			if sum > opts.MemoryBytes*3/4 {
				t.Fatalf("fetches hold %d bytes, with %d for them", sum, opts.MemoryBytes*3/4)
			}
		}
		for _, f := range all {
			f.close()
		}
		for i, l := range m.lanes {
			if release := l.slots.tryAcquire(asker{}); release == nil {
				t.Errorf("lane %d has no room when nobody is in it", i)
			}
		}
	})
}
