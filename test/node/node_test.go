//go:build linux

package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// scriptEnv has this test binary run a shell script in namespaces of its own.
const scriptEnv = "SLUICE_TEST_SCRIPT"

func TestMain(m *testing.M) {
	script := os.Getenv(scriptEnv)
	switch {
	case script == "":
		os.Exit(m.Run())
	case Inside():
		cmd := exec.CommandContext(context.Background(), "sh", "-c", script)
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		code, err := exitCode(context.Background(), cmd.Run())
		exit(code, err)
	default:
		code, err := Enclose(context.Background())
		exit(code, err)
	}
}

func exit(code int, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// outside returns the command that runs a script inside, with all that it makes outside in tmp.
func outside(t *testing.T, tmp, script string) *exec.Cmd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), scriptEnv+"="+script, "TMPDIR="+tmp)
	cmd.Stderr = os.Stderr
	return cmd
}

// wantNothingLeft wants no state folder in tmp, and no cgroup of a process.
func wantNothingLeft(t *testing.T, tmp string, pid int) {
	t.Helper()
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	for _, hierarchy := range hierarchies() {
		if _, err := os.Stat(filepath.Join(hierarchy, nameOf(pid))); err == nil {
			t.Errorf("left a cgroup in %s", hierarchy)
		}
	}
}

func TestInsideIsApart(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	const script = `
		echo devices $(tail -n +3 /proc/net/dev | cut -d: -f1)
		grep -q 10.254.0.1 /proc/net/fib_trie && echo addressed
		echo run $(ls /run)
		echo 7 > /proc/sys/kernel/panic && echo written $(cat /proc/sys/kernel/panic)
		(echo 7 > /proc/sys/kernel/pid_max) 2>/dev/null || echo protected
		touch /run/mine /var/log/mine
		exit 3`
	before := setting(t, "kernel/panic")
	cmd := outside(t, tmp, script)
	output, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("enclosed: %v, want the script's exit code, 3", err)
	}
	for _, want := range []string{"devices lo\n", "addressed\n", "run settings\n", "written 7\n", "protected\n"} {
		if !strings.Contains(string(output), want) {
			t.Errorf("want it to say %q inside:\n%s", want, output)
		}
	}
	if after := setting(t, "kernel/panic"); after != before {
		t.Errorf("the machine's kernel.panic was %s, is %s", before, after)
	}
	for _, path := range []string{"/run/mine", "/var/log/mine"} {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is there outside", path)
		}
	}
	wantNothingLeft(t, tmp, cmd.Process.Pid)
}

func setting(t *testing.T, name string) string {
	t.Helper()
	value, err := os.ReadFile(filepath.Join("/proc/sys", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(value))
}

func TestWhatIsKilledIsSweptByTheNext(t *testing.T) {
	t.Parallel()
	tmp := t.TempDir()
	killed := outside(t, tmp, "sleep 600 & echo started; wait")
	stdout, err := killed.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("read from inside: %q, %v", line, err)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// The pipe is closed once nobody inside has it any more.
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err == nil {
		t.Error("want all that is inside to end with the process outside")
	}
	_ = killed.Wait()
	if err := outside(t, tmp, "true").Run(); err != nil {
		t.Fatal(err)
	}
	wantNothingLeft(t, tmp, killed.Process.Pid)
}
