package main

import (
	"errors"
	"os"
	"os/exec"
	"testing"
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
