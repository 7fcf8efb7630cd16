package controlplane

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeModule writes a module with a program that prints its version, and one that does not
// compile.
func writeModule(t *testing.T, programs ...program) *module {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":          "module example.test/programs\n\ngo 1.26\n",
		"good/main.go":    "package main\n\nfunc main() { println(1) }\n",
		"broken/main.go":  "package main\n\nfunc main() { undefined() }\n",
		"go.sum":          "",
		"good/notes.text": "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &module{
		set:      set{what: "programs", programs: programs},
		dir:      dir,
		versions: map[string]string{kubernetesModule: "v1.36.3", "example.test/programs": "v1.2.3"},
	}
}

func TestBuildKeepsNothingHalf(t *testing.T) {
	t.Parallel()
	m := writeModule(t,
		program{"one", "example.test/programs/good", "example.test/programs"},
		program{"two", "example.test/programs/broken", "example.test/programs"})
	cache := t.TempDir()
	err := m.build(t.Context(), filepath.Join(cache, "built"), &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "build two") || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Errorf("error = %v, want the compiler's, of the second program", err)
	}
	if left, _ := os.ReadDir(cache); len(left) > 0 {
		t.Errorf("a failed build left %v", left)
	}
}

func TestKeyNamesWhatIsBuilt(t *testing.T) {
	t.Parallel()
	read := func(k8s, sum, sums string) *module {
		t.Helper()
		dir := t.TempDir()
		mod := "module example.test\n\nrequire (\n\t" + kubernetesModule + " " + k8s + "\n\t" + kwokModule + " v0.8.0\n\t" + etcdModule + " v3.6.8\n)\n"
		for name, content := range map[string]string{"go.mod": mod, "go.sum": sum, sumsFile: sums} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := readModule(dir, controlPlane)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	base := read("v1.36.3", "sum", "sums")
	if !strings.HasPrefix(base.key(), "kubernetes-1.36.3-kwok-0.8.0-etcd-3.6.8-") {
		t.Errorf("key %q does not begin with the versions", base.key())
	}
	if flags := strings.Join(base.buildFlags(), " "); !strings.Contains(flags, "gitVersion=v1.36.3 ") ||
		!strings.Contains(flags, "gitMajor=1 ") || !strings.HasSuffix(flags, "gitMinor=36") {
		t.Errorf("build flags %q do not set the version", flags)
	}
	if same := read("v1.36.3", "sum", "sums"); same.key() != base.key() {
		t.Errorf("keys of equal modules differ: %q and %q", same.key(), base.key())
	}
	for reason, other := range map[string]*module{
		"another version": read("v1.36.4", "sum", "sums"),
		"another go.sum":  read("v1.36.3", "other", "sums"),
		"other checksums": read("v1.36.3", "sum", "other"),
	} {
		if other.key() == base.key() {
			t.Errorf("%s: same key %q", reason, base.key())
		}
	}
}

func TestLockFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path, func() { t.Error("waited for a free lock") })
	if err != nil {
		t.Fatal(err)
	}

	patience, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := lockFile(patience, path, func() {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("lock of a locked file: %v, want that the wait was given up", err)
	}

	unlockSecond, err := lockFile(t.Context(), path, unlock)
	if err != nil {
		t.Fatalf("lock of a file that is unlocked while waiting: %v", err)
	}
	unlockSecond()
}

// TestNodeIsOfTheSameVersion: a kubelet of another version than its API server would be another
// cluster.
func TestNodeIsOfTheSameVersion(t *testing.T) {
	t.Parallel()
	versions := map[string]string{}
	for _, s := range []set{controlPlane, node} {
		dir, err := InCheckout(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		m, err := readModule(dir, s)
		if err != nil {
			t.Fatal(err)
		}
		versions[s.dir] = m.versions[kubernetesModule]
	}
	if versions[moduleDir] != versions[nodeModuleDir] {
		t.Errorf("Kubernetes in %v, want one version", versions)
	}
}
