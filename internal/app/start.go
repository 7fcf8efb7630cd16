package app

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// stoppable is a manager that can be stopped while it starts. One of controller-runtime that is
// cancelled before its cache has synced does not end, and turns a processor meanwhile
// (runnableGroup.Start in v0.25): so it would be wherever the API server does not answer, or
// refuses a list.
type stoppable struct {
	manager.Manager

	synced started
	// within is how long it may take to end.
	within time.Duration
}

// ending is how long a manager may take to end: its parts have the time that graceful gives them,
// but controller-runtime also waits for the answer to the request that gives up the Lease, however
// long the API server takes.
const ending = graceful + time.Second

// newStoppable makes a manager stoppable that is still to be started.
func newStoppable(mgr manager.Manager) (manager.Manager, error) {
	synced := make(started)
	if err := mgr.Add(synced); err != nil {
		return nil, fmt.Errorf("add note of the start: %w", err)
	}
	return stoppable{mgr, synced, ending}, nil
}

// Start runs the manager until ctx ends. If that happens before the cache has synced, nothing has
// been done that must come to an end: it returns at once, and leaves it to the end of the process
// to close what it listens on. Should the process go on, the manager stops as soon as its cache has
// synced. One that does not end in time is left to the end of the process, too.
func (m stoppable) Start(ctx context.Context) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- m.Manager.Start(running) }()
	go func() {
		<-ctx.Done()
		<-m.synced
		stop()
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case <-m.synced:
	default:
		return nil
	}
	late := time.NewTimer(m.within)
	defer late.Stop()
	select {
	case err := <-ended:
		return err
	case <-late.C:
		return fmt.Errorf("end: what runs did not end within %s, perhaps because the API server does not answer: %w", m.within, context.DeadlineExceeded)
	}
}

// started is closed when the cache of a manager has synced.
type started chan struct{}

var (
	_ manager.Runnable               = started(nil)
	_ manager.LeaderElectionRunnable = started(nil)
)

// Start implements manager.Runnable.
func (s started) Start(context.Context) error {
	close(s)
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable. A runnable that does not need it
// starts after the cache, and before a leader is elected.
func (started) NeedLeaderElection() bool { return false }
