package devforge_test

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// stall begins a push and leaves its body unfinished until the test ends.
func stall(t *testing.T, forge *devforge.Forge) {
	t.Helper()
	host := strings.TrimPrefix(forge.URL(), "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "POST /%s.git/git-receive-pack HTTP/1.1\r\nHost: %s\r\n"+
		"Content-Type: application/x-git-receive-pack-request\r\nContent-Length: 1000\r\n\r\n00", repository, host)
}

// processesOn counts the processes whose command line names the folder.
func processesOn(t *testing.T, dir string) int {
	t.Helper()
	out, err := exec.Command("ps", "-e", "-o", "args=").Output()
	if err != nil {
		t.Skipf("ps is not to be had: %v", err)
	}
	count := 0
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, dir) {
			count++
		}
	}
	return count
}

// soon limits the wait for an event that takes moments on a quiet machine.
const soon = time.Minute

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(soon)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func startForge(t *testing.T, opts devforge.Options) *devforge.Forge {
	t.Helper()
	opts.Dir = t.TempDir()
	opts.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	forge, err := devforge.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := forge.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	seed := fstest.MapFS{"deploy/app.yaml": {Data: []byte("one\n")}, ".gitignore": {Data: []byte("*.yaml\n")}}
	if err := forge.CreateRepository(t.Context(), repository, "main", seed); err != nil {
		t.Fatal(err)
	}
	return forge
}

func cloneOf(t *testing.T, url string, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "clone")
	git(t, ".", append(append([]string{"clone", "--quiet"}, args...), url, dir)...)
	return dir
}

func commit(t *testing.T, clone, content string) {
	t.Helper()
	writeFile(t, clone, "deploy/app.yaml", []byte(content))
	git(t, clone, "commit", "--quiet", "--all", "--message=change")
}

func commitAndPush(t *testing.T, clone string) string {
	t.Helper()
	commit(t, clone, "two\n")
	git(t, clone, "push", "--quiet", "origin", "main")
	return git(t, clone, "rev-parse", "HEAD")
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=ada", "GIT_AUTHOR_EMAIL=ada@localhost", "GIT_COMMITTER_NAME=ada", "GIT_COMMITTER_EMAIL=ada@localhost")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func writeFile(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}
