package rollout

import (
	"context"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A lull begins once no pass has ended for lullAfter. Memory is freed then if there were at least
// lullPasses since it was freed last: a collection costs more than what few passes leave.
const (
	lullAfter  = 10 * time.Second
	lullPasses = 500
)

// lulls frees memory in lulls between passes. After many releases at once, and after a start with
// thousands of them, the runtime would keep it for minutes.
type lulls struct {
	reconcile.Reconciler

	free func()

	mu     sync.Mutex
	passes int // since memory was freed
	timer  *time.Timer
}

// Reconcile makes a pass.
func (l *lulls) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	defer l.passed()
	return l.Reconciler.Reconcile(ctx, req)
}

func (l *lulls) passed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passes++
	if l.timer == nil {
		l.timer = time.AfterFunc(lullAfter, l.begin)
	} else {
		l.timer.Reset(lullAfter)
	}
}

func (l *lulls) begin() {
	l.mu.Lock()
	many := l.passes >= lullPasses
	if many {
		l.passes = 0
	}
	l.mu.Unlock()
	if many {
		l.free()
	}
}
