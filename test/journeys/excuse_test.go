package journeys

import (
	"slices"
	"sync"
	"testing"
)

// excuse names the laws that somebody other than Sluice breaks in a journey, or in several that
// share it: the native controller that was let loose, whoever deletes pods. No other law is
// excused, and each of them must be broken.
type excuse struct {
	laws []law
	// races are laws that the native controller breaks only if it is faster than Sluice.
	races []law

	mu     sync.Mutex
	broken map[law]int
}

// excused excuses laws in all journeys that share the excuse: the subtests of one test.
func excused(t *testing.T, laws ...law) *excuse {
	t.Helper()
	e := newExcuse(laws)
	t.Cleanup(func() { e.judge(t) })
	return e
}

func newExcuse(laws []law) *excuse { return &excuse{laws: laws, broken: map[law]int{}} }

// judge wants each law to have been broken.
func (e *excuse) judge(t *testing.T) {
	t.Helper()
	for _, l := range e.laws {
		if e.broken[l] == 0 && !t.Failed() && !t.Skipped() {
			t.Errorf("%s is excused and was never broken: take the excuse away", l)
		}
	}
}

// covers reports whether the excuse is one for a breach, and counts it.
func (e *excuse) covers(b breach) bool {
	if e == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.broken[b.law]++
	return slices.Contains(e.laws, b.law) || slices.Contains(e.races, b.law)
}

// excuses excuses laws in this journey.
func (w *world) excuses(laws ...law) { w.excuse = newExcuse(laws) }

// share has this journey use an excuse that others use too.
func (w *world) share(e *excuse) { w.excuse, w.shares = e, true }
