package main_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience is how long the slowest part of the demo may take on a busy machine, the control
// plane being built already.
const patience = 4 * time.Minute

// TestDemoTellsTheWholeStory is what `make demo` runs.
func TestDemoTellsTheWholeStory(t *testing.T) {
	t.Parallel()
	d := startDemo(t)
	for _, line := range []string{
		"Deployment web: 10 pods of nginx:1.27 are available",
		"git commit -am 'web: nginx:1.28'",
		"batch 1/3 done with 1 pod of 10, waiting for gate: manual",
		"kubectl -n shop patch batchrelease web",
		"batch 2/3 done with 3 pods of 10, waiting for gate: manual",
		"git commit -am 'web: nginx:1.29'",
		"batch 1/3 done with 1 pod of 10, waiting for gate: manual",
		"kubectl -n shop patch batchrelease web",
		"batch 2/3 done with 3 pods of 10, waiting for gate: manual",
		"kubectl -n shop patch batchrelease web",
		"version 3 (nginx:1.29) is released to all 10 pods",
		"overtaken by version 3",
		"all promises were kept",
	} {
		d.await(line)
	}
	d.exits(0)
	d.leavesNothing()
}

func TestDemoKeepsRunning(t *testing.T) {
	t.Parallel()
	d := startDemo(t, "--keep")
	kubeconfig := strings.TrimPrefix(strings.TrimSpace(d.await("export KUBECONFIG=")), "export KUBECONFIG=")
	kubectl, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(d.await("look ")), "look"), " -n ")
	get := exec.CommandContext(t.Context(), strings.TrimSpace(kubectl), "--kubeconfig", kubeconfig, "-n", "shop", "get", "batchrelease", "web")
	if out, err := get.CombinedOutput(); err != nil || !strings.Contains(string(out), "Completed") {
		t.Errorf("the command to look must work as printed: %v: %s", err, out)
	}
	d.interrupt()
	d.exits(0)
	d.leavesNothing()
}

// TestCtrlCLeavesNothing interrupts the demo at points where different things are under way.
func TestCtrlCLeavesNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"WhileTheControlPlaneStarts": "starting kube-apiserver",
		"InMidRelease":               "batch 1/3 done",
	}
	for name, line := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := startDemo(t)
			d.await(line)
			d.interrupt()
			d.exits(130)
			d.leavesNothing()
		})
	}
}

// demo is a run of the demo's binary, with a folder for temporary files of its own.
type demo struct {
	*testing.T
	cmd    *exec.Cmd
	tmp    string
	lines  *bufio.Scanner
	stderr bytes.Buffer
}

func startDemo(t *testing.T, args ...string) *demo {
	t.Helper()
	d := &demo{T: t, tmp: t.TempDir()}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	d.cmd = exec.CommandContext(ctx, buildDemo(t), append([]string{"--plain", "--pause=300ms"}, args...)...)
	d.cmd.Env = append(os.Environ(), "TMPDIR="+d.tmp)
	d.cmd.Stderr = &d.stderr
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	d.lines = bufio.NewScanner(io.TeeReader(stdout, t.Output()))
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(os.Interrupt) }
	d.cmd.WaitDelay = time.Minute
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return d
}

// buildDemo builds the package as it is; the go command has it in its cache after the first time.
func buildDemo(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "demo")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build demo: %v: %s", err, out)
	}
	return binary
}

// await reads on to a line that contains text.
func (d *demo) await(text string) string {
	d.Helper()
	for d.lines.Scan() {
		if strings.Contains(d.lines.Text(), text) {
			return d.lines.Text()
		}
	}
	err := d.cmd.Wait()
	d.Fatalf("the output ended before %q: %v\n%s", text, err, d.stderr.String())
	return ""
}

func (d *demo) interrupt() {
	d.Helper()
	if err := d.cmd.Process.Signal(syscall.SIGINT); err != nil {
		d.Fatal(err)
	}
}

func (d *demo) exits(want int) {
	d.Helper()
	for d.lines.Scan() {
		continue // to the end, or the demo could not write on
	}
	err := d.cmd.Wait()
	if got := d.cmd.ProcessState.ExitCode(); got != want {
		d.Errorf("exit code %d (%v), want %d\n%s", got, err, want, d.stderr.String())
	}
}

// leavesNothing wants no file in the folder for temporary ones, and no process at work in it.
func (d *demo) leavesNothing() {
	d.Helper()
	entries, err := os.ReadDir(d.tmp)
	if err != nil {
		d.Fatal(err)
	}
	for _, entry := range entries {
		d.Errorf("%s is left behind", entry.Name())
	}
	for pid, dir := range workingDirs(d.T) {
		if strings.HasPrefix(dir, d.tmp) {
			d.Errorf("process %d is left behind, in %s", pid, dir)
		}
	}
}

// workingDirs are those of all processes that may be looked at, where /proc tells.
func workingDirs(t *testing.T) map[int]string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	dirs := map[int]string{}
	for _, link := range links {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link)))
		if err != nil {
			continue
		}
		if dir, err := os.Readlink(link); err == nil { // else it has just ended
			dirs[pid] = dir
		}
	}
	return dirs
}
