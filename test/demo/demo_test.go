package main_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/test/browser"
)

// patience is how long the slowest part of the demo may take on a busy machine, the control
// plane being built already.
const patience = 10 * time.Minute

// TestDemo builds the demo and runs it from outside, as `make demo` does.
func TestDemo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	program := filepath.Join(t.TempDir(), "demo")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("build demo: %v: %s", err, out)
	}
	tests := map[string]func(*demo){
		"TellsTheWholeStory":                    tellsTheWholeStory,
		"KeepsRunning":                          keepsRunning,
		"InterruptedWhileTheControlPlaneStarts": interruptedAt("starting kube-apiserver"),
		"FailsWithTheReason":                    failsWithTheReason,
		"OutlivesConnections":                   outlivesConnections,
		"EndsWithoutReader":                     endsWithoutReader,
		"InterruptedInMidRelease":               interruptedAt("batch 1/3 done"),
		"OnGitea":                               interruptedAt("version 2 (nginx:1.28) is released to all 10 pods", "--forge=gitea"),
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&demo{T: t, program: program, tmp: t.TempDir()})
		})
	}
}

func tellsTheWholeStory(d *demo) {
	d.start()
	for _, line := range []string{
		"Deployment web: 10 pods of nginx:1.27 are available",
		"ada: $ git pull && git commit -am 'web: nginx:1.28'",
		"batch 1/3 done with 1 pod of 10, waiting for",
		"grace: approves and merges #1",
		"batch 2/3 done with 3 pods of 10, waiting for",
		"ci: posts ci/smoke on",
		"version 2 (nginx:1.28) is released to all 10 pods",
		"ada: $ git pull && git commit -am 'web: nginx:1.29'",
		"grace: approves and merges #2",
		": failure",
		"version 3 (nginx:1.29) is held with 3 of 10 pods",
		"pending",
		"ada: $ git pull && git commit -am 'web: nginx:1.29.1'",
		"grace: approves and merges #3",
		": success",
		"version 4 (nginx:1.29.1) is released to all 10 pods",
		"What the forge lists on each commit",
		"sluice/shop/web   success",
		"ci/smoke          success",
		"sluice/shop/web   failure", // version 3 was overtaken
		"ci/smoke          failure",
		"sluice/shop/web   success",
		"held by ci/smoke, overtaken by version 4",
		"all promises were kept",
		"Second act",
		"6 pods of",
		"ada: nginx:1.28, valkey/valkey:8.1, prom/node-exporter:v1.9.0: $ git commit",
		"#1 lists all members",
		"| `web` | `nginx:1.27` | `nginx:1.28` | 1 of 6 |",
		"grace: approves and merges #1",
		"ci: posts ci/smoke on",
		"is released to all 6 pods",
		"is released to all 6 pods",
		"is released to all 6 pods",
		"Summary of the second act",
		"Deployment    web     nginx:1.28                  1/6 by #1",
		"StatefulSet   db      valkey/valkey:8.1           1/6 by #1",
		"DaemonSet     agent   prom/node-exporter:v1.9.0   1/6 by #1",
		"all promises were kept",
		"Third act",
		"ada: $ helm install web examples/chart -n charts",
		"ada: $ helm upgrade web examples/chart --set image=nginx:1.28 -n charts",
		"batch 1/2 done with 1 pod of 6",
		"grace: $ sluice approve web -n charts",
		"version 2 (nginx:1.28) is released to all 6 pods",
		"Summary of the third act",
		"1/6 by sluice approve",
		"all promises were kept",
	} {
		d.await(line)
	}
	d.exits(0)
	d.leavesNothing()
}

// keepsRunning follows the instructions that --keep prints, word for word.
func keepsRunning(d *demo) {
	chromium := browser.Start(d.T)
	d.start("--keep")
	export := strings.TrimSpace(d.await("export KUBECONFIG="))
	d.await("# Look at it:")
	if out := d.shell(export + "\n" + d.await("")); !strings.Contains(out, "Completed") {
		d.Errorf("the release must be there, and completed:\n%s", out)
	}
	d.await("# Push another version")
	push := d.await("")
	hint := d.await("# Approve and merge its pull request in a browser")
	token := hint[strings.LastIndex(hint, " ")+1:]
	page := strings.TrimSpace(d.await("/pulls"))
	d.await("# See all of it on the dashboard")
	look := chromium.Tab(d.T)
	look.Open(strings.TrimSpace(d.await("/login?token=")))
	look.Sees("shop/web")
	d.shell(export + "\n" + push)
	d.awaitAll("batch 1/3 done with 1 pod of 10, waiting for", "/pull/4")
	tab := chromium.Tab(d.T)
	tab.Open(page)
	tab.SignIn("grace", token)
	tab.Click("#4")
	tab.Click("Approve")
	tab.Click("Merge pull request")
	d.awaitAll("batch 2/3 done with 3 pods of 10, waiting for", "ci: posts ci/smoke on", "batch 3/3")
	d.interrupt()
	d.exits(0)
	d.leavesNothing()
}

// failsWithTheReason gives the first deploy no time.
func failsWithTheReason(d *demo) {
	d.start("--timeout=1ms")
	d.exits(1)
	for _, want := range []string{"wait until the first version is deployed", "logs are in " + d.tmp} {
		if !strings.Contains(d.stderr.String(), want) {
			d.Errorf("want %q in the error, got:\n%s", want, d.stderr.String())
		}
	}
	d.leavesNoProcess()
}

// outlivesConnections sends what a write to a connection that the other end closed sends: the
// reason why the demo fails stays the reason.
func outlivesConnections(d *demo) {
	d.start("--timeout=1ms")
	d.await("starting etcd")
	d.signal(syscall.SIGPIPE)
	d.exits(1)
	d.leavesNoProcess()
}

// endsWithoutReader closes the output in mid-release, as the end of `head` does.
func endsWithoutReader(d *demo) {
	d.start()
	d.await("batch 1/3 done")
	if err := d.stdout.Close(); err != nil {
		d.Fatal(err)
	}
	d.ended(130)
	d.leavesNothing()
}

// interruptedAt sends what Ctrl-C sends as soon as a line with text is there.
func interruptedAt(text string, args ...string) func(*demo) {
	return func(d *demo) {
		d.start(args...)
		d.await(text)
		d.interrupt()
		d.exits(130)
		d.leavesNothing()
	}
}

// demo is a run of the demo's program, with a folder for temporary files of its own.
type demo struct {
	*testing.T
	program string
	tmp     string
	cmd     *exec.Cmd
	stdout  io.ReadCloser
	lines   *bufio.Scanner
	stderr  bytes.Buffer
}

func (d *demo) start(args ...string) {
	d.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	d.cmd = exec.CommandContext(ctx, d.program, append([]string{"--plain", "--pause=300ms", "--timeout=5m"}, args...)...)
	d.cmd.Env = append(os.Environ(), "TMPDIR="+d.tmp)
	d.cmd.Stderr = &d.stderr
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(os.Interrupt) }
	d.cmd.WaitDelay = time.Minute
	stdout, err := d.cmd.StdoutPipe()
	if err != nil {
		d.Fatal(err)
	}
	d.stdout = stdout
	d.lines = bufio.NewScanner(io.TeeReader(stdout, d.Output()))
	if err := d.cmd.Start(); err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() {
		cancel()
		_ = d.cmd.Wait() // it has ended by now, unless the test failed
	})
}

// shell runs a line in a folder of its own, as a user with a name would.
func (d *demo) shell(line string) string {
	d.Helper()
	cmd := exec.CommandContext(d.Context(), "sh", "-c", line)
	cmd.Dir = d.TempDir()
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@localhost",
		"GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=ada@localhost")
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
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

// awaitAll reads on until each text was in a line, because the release, its gates and CI write in
// any order.
func (d *demo) awaitAll(texts ...string) {
	d.Helper()
	for len(texts) > 0 {
		line := d.await("")
		texts = slices.DeleteFunc(texts, func(text string) bool { return strings.Contains(line, text) })
	}
}

func (d *demo) interrupt() {
	d.Helper()
	d.signal(syscall.SIGINT)
}

func (d *demo) signal(s os.Signal) {
	d.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.Fatal(err)
	}
}

func (d *demo) exits(want int) {
	d.Helper()
	for d.lines.Scan() {
		continue // to the end, or the demo could not write on
	}
	d.ended(want)
}

func (d *demo) ended(want int) {
	d.Helper()
	err := d.cmd.Wait()
	if got := d.cmd.ProcessState.ExitCode(); got != want {
		d.Errorf("exit code %d (%v), want %d\n%s", got, err, want, d.stderr.String())
	}
}

// leavesNothing wants no process, and no file in the folder for temporary ones.
func (d *demo) leavesNothing() {
	d.Helper()
	d.leavesNoProcess()
	entries, err := os.ReadDir(d.tmp)
	if err != nil {
		d.Fatal(err)
	}
	for _, entry := range entries {
		d.Errorf("%s is left behind", entry.Name())
	}
}

// leavesNoProcess wants none to be at work in the folder for temporary files.
func (d *demo) leavesNoProcess() {
	d.Helper()
	for pid, dir := range workingDirs(d.T) {
		if strings.HasPrefix(dir, d.tmp) {
			d.Errorf("process %d is left behind, in %s", pid, dir)
		}
	}
}

// workingDirs returns the working directories of all processes that /proc shows.
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
