package controlplane

import (
	"os"
	"path/filepath"
	"testing"
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
