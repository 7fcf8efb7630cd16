package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mainEnv has this test binary be withcp.
const mainEnv = "SLUICE_TEST_WITHCP"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

// withcp returns the command that runs withcp, with all that it makes in tmp.
func withcp(t *testing.T, tmp string, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), mainEnv+"=1", "TMPDIR="+tmp)
	cmd.Stderr = os.Stderr
	return cmd
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestCommandHasControlPlane(t *testing.T) {
	tmp := t.TempDir()
	const script = `test -r "$KUBECONFIG" && test -r "$SLUICE_TEST_CONTROLPLANE" && exit 3`
	err := withcp(t, tmp, "-nodes", "1", "--", "sh", "-c", script).Run()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("withcp: %v, want the command's exit code, 3", err)
	}
	wantEmpty(t, tmp)
}

func TestSignalEndsAll(t *testing.T) {
	tmp := t.TempDir()
	cmd := withcp(t, tmp, "--", "sh", "-c", "echo started; exec sleep 600")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "started\n" {
		t.Fatalf("command said %q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("withcp: %v, want exit code 1", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("withcp goes on after SIGTERM")
	}
	wantEmpty(t, tmp)
}

func TestCommandThatIsMissing(t *testing.T) {
	tmp := t.TempDir()
	cmd := withcp(t, tmp, "--", "no-such-command")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err == nil || !strings.Contains(stderr.String(), "no-such-command") {
		t.Error(fmt.Errorf("withcp: %w, and said %q", err, stderr.String()))
	}
	wantEmpty(t, tmp)
}
