package rollout

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slow answers no list before it may.
type slow struct {
	client.Reader
	lists atomic.Int32
	may   chan struct{}
}

func (s *slow) List(context.Context, client.ObjectList, ...client.ListOption) error {
	s.lists.Add(1)
	<-s.may
	return nil
}

// Releases that begin at the same time have their namespace listed once; whoever comes later, again.
func TestNamespacesAreListedOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &slow{may: make(chan struct{})}
		n := &snapshots{live: cluster}
		ask := func() {
			if _, _, err := n.of(t.Context(), "shop"); err != nil {
				t.Error(err)
			}
		}
		for range 10 {
			go ask()
		}
		synctest.Wait()
		close(cluster.may)
		synctest.Wait()
		const kinds = 3 // of limits nothing need be known where there is no quota
		if got := cluster.lists.Load(); got != kinds {
			t.Errorf("10 releases cost %d lists, want %d", got, kinds)
		}
		ask()
		if got := cluster.lists.Load(); got != 2*kinds {
			t.Errorf("one that comes later costs %d lists, want %d", got-kinds, kinds)
		}
	})
}
