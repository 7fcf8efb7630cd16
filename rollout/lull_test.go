package rollout

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestLullsFreeMemory: memory is freed once after many passes, when they have paused.
func TestLullsFreeMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		freed := 0
		l := &lulls{free: func() { freed++ }, Reconciler: reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
			return ctrl.Result{RequeueAfter: time.Minute}, nil
		})}
		pass := func(times int, every time.Duration) {
			t.Helper()
			for range times {
				if result, err := l.Reconcile(t.Context(), ctrl.Request{}); err != nil || result.RequeueAfter != time.Minute {
					t.Fatalf("a pass returns %v, %v", result, err)
				}
				<-time.After(every)
			}
			synctest.Wait()
		}
		want := func(when string, want int) {
			t.Helper()
			if freed != want {
				t.Errorf("%s: memory was freed %d times, want %d", when, freed, want)
			}
		}
		pass(lullPasses-1, time.Second)
		want("before many passes", 0)
		<-time.After(time.Hour)
		synctest.Wait()
		want("after fewer passes", 0)
		pass(3*lullPasses, lullAfter-time.Second)
		want("while passes go on", 0)
		pass(1, lullAfter+time.Second)
		want("in a lull", 1)
		pass(10, time.Minute)
		want("after a few more", 1)
		pass(lullPasses, time.Second)
		<-time.After(lullAfter)
		synctest.Wait()
		want("after many more", 2)
	})
}
