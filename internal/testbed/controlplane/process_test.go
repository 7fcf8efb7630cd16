package controlplane

import (
	"errors"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// startShell starts a process that runs a shell script.
func startShell(t *testing.T, script string) *process {
	t.Helper()
	p, err := newShell(t, script)()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	return p
}

// newShell returns how to start a process that runs a shell script.
func newShell(t *testing.T, script string) func() (*process, error) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("needs a shell")
	}
	dir, s := t.TempDir(), newSpawner()
	t.Cleanup(s.close)
	return func() (*process, error) { return s.start(shell, []string{"-c", script}, nil, dir, dir) }
}

func TestProcessOutlivesItsStartersThread(t *testing.T) {
	t.Parallel()
	// A thread ends with a goroutine that stays locked to it, unless it is the process's first: so
	// there are two of them, at the same time.
	var locked, started sync.WaitGroup
	locked.Add(2)
	processes, errs := make([]*process, 2), make([]error, 2)
	for i := range processes {
		start := newShell(t, "exec sleep 600")
		started.Go(func() {
			runtime.LockOSThread()
			locked.Done()
			locked.Wait()
			processes[i], errs[i] = start()
		})
	}
	started.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		defer p.stop()
		select {
		case <-p.ended:
			t.Errorf("ended with the thread that asked for it: %v", p.err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func TestStopKillsWhatWillNotEnd(t *testing.T) {
	t.Parallel()
	p := startShell(t, `trap "" INT; echo ready; exec sleep 600`)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(p.failure(errors.New("")).Error(), "ready"); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("the shell did not start")
		}
	}
	p.stop()
	if p.err == nil || !strings.Contains(p.err.Error(), "killed") {
		t.Errorf("it ended with %v, want that it was killed", p.err)
	}
}
