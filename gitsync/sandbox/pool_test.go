package sandbox

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// granted lets all that wait run one after the other, each for as long as its source takes, and
// returns their sources in the order in which it was their turn.
func granted(p *Pool, takes map[string]time.Duration) []string {
	left := slices.Clone(p.waiting)
	p.dispatch()
	var order []string
	for len(left) > 0 {
		i := slices.IndexFunc(left, func(t *ticket) bool {
			select {
			case <-t.turn:
				return true
			default:
				return false
			}
		})
		if i < 0 {
			return order
		}
		source := left[i].owner.Source
		order = append(order, source)
		p.mu.Unlock()
		p.release(left[i], takes[source])
		p.mu.Lock()
		left = slices.Delete(left, i, i+1)
	}
	return order
}

// TestTurns: one tenant's fifty builds that hang are behind everybody else's, once the first has
// shown what they are.
func TestTurns(t *testing.T) {
	t.Parallel()
	pool := NewPool(Options{Processes: 1, Limits: Limits{Time: 10 * time.Second}})
	takes := map[string]time.Duration{}
	pool.mu.Lock()
	defer pool.mu.Unlock()
	queue := func(tenant, source string, took time.Duration) {
		takes[source] = took
		pool.waiting = append(pool.waiting, &ticket{owner: Owner{tenant, source}, turn: make(chan struct{})})
	}
	for i := range 50 {
		queue("hostile", fmt.Sprintf("hang-%d", i), 10*time.Second)
	}
	for i := range 5 {
		queue("good", fmt.Sprintf("good-%d", i), 100*time.Millisecond)
	}
	queue("mixed", "hang-too", 10*time.Second)
	queue("mixed", "quick", 100*time.Millisecond)
	order := granted(pool, takes)
	if len(order) != 57 || slices.Index(order, "good-4") > 7 || slices.Index(order, "quick") > 8 {
		t.Errorf("the order is %v", order)
	}
}

// TestOneProcessIsForTheQuick: Sources that are known to be slow leave one process to others,
// however many processes wait for them.
func TestOneProcessIsForTheQuick(t *testing.T) {
	t.Parallel()
	pool := NewPool(Options{Processes: 2, Limits: Limits{Time: 10 * time.Second}})
	pool.mu.Lock()
	defer pool.mu.Unlock()
	for i := range 4 {
		owner := Owner{fmt.Sprintf("hostile-%d", i), "hang"}
		pool.spent[owner] = 5 * time.Second
		pool.waiting = append(pool.waiting, &ticket{owner: owner, turn: make(chan struct{})})
	}
	pool.dispatch()
	if pool.running != 1 || len(pool.waiting) != 3 {
		t.Fatalf("%d run, %d wait", pool.running, len(pool.waiting))
	}
	quick := &ticket{owner: Owner{"good", "web"}, turn: make(chan struct{})}
	pool.waiting = append(pool.waiting, quick)
	pool.dispatch()
	select {
	case <-quick.turn:
	default:
		t.Error("the quick one has to wait")
	}
}

// TestSpentIsForgotten: time spent long ago no longer counts.
func TestSpentIsForgotten(t *testing.T) {
	t.Parallel()
	pool := NewPool(Options{Processes: 2})
	pool.mu.Lock()
	defer pool.mu.Unlock()
	owner := Owner{"shop", "web"}
	pool.spent[owner], pool.halved = 8*time.Second, time.Now().Add(-2*memory)
	pool.forget()
	if spent := pool.spent[owner]; spent != 2*time.Second {
		t.Errorf("after two half-lives it is %s", spent)
	}
	pool.halved = time.Now().Add(-60 * memory)
	pool.forget()
	if len(pool.spent) > 0 {
		t.Errorf("there is left %v", pool.spent)
	}
}
