package controlplane_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// start starts a control plane that is the test's own.
func start(t *testing.T, options controlplane.Options) *controlplane.ControlPlane {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	begin := time.Now()
	cp, err := controlplane.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %v", time.Since(begin))
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	})
	return cp
}

func TestStopLeavesNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cp := start(t, controlplane.Options{})
	processes := cp.Processes()
	if len(processes) != 5 {
		t.Errorf("processes = %v, want the five components", processes)
	}
	begin := time.Now()
	if err := cp.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped in %v", time.Since(begin))
	for name, pid := range processes {
		if err := ended(pid); err != nil {
			t.Errorf("%s after Stop: %v", name, err)
		}
	}
	if left, _ := os.ReadDir(os.TempDir()); len(left) > 0 {
		t.Errorf("Stop left %v", left)
	}
	if err := cp.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

// ended returns nil if no process has that id, or only one that nobody has asked for its exit code.
func ended(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err == nil {
		// pid (name) state ...
		_, rest, _ := strings.Cut(string(stat), ") ")
		if rest[0] == 'Z' || rest[0] == 'X' {
			return nil
		}
		return fmt.Errorf("process %d is in state %c", pid, rest[0])
	}
	if process, err := os.FindProcess(pid); err == nil && process.Signal(syscall.Signal(0)) == nil {
		return fmt.Errorf("process %d runs", pid)
	}
	return nil
}
