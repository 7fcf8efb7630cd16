package controlplane

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	modules "golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// offerArgo serves a module in the place of Argo Rollouts, which asks for a Go that nobody has, and
// returns its pin.
func offerArgo(t *testing.T) pin {
	t.Helper()
	m := modules.Version{Path: "example.test/argo", Version: "v1.2.3"}
	source := t.TempDir()
	proxy := filepath.Join(t.TempDir(), m.Path, "@v")
	goMod := "module " + m.Path + "\n\ngo 1.99.0\n\ntoolchain go1.99.1\n"
	for path, content := range map[string]string{
		filepath.Join(source, "go.mod"):                          goMod,
		filepath.Join(source, "cmd/rollouts-controller/main.go"): "package main\n\nfunc main() {}\n",
		filepath.Join(source, "manifests/crds/rollout-crd.yaml"): "kind: CustomResourceDefinition\n",
		filepath.Join(proxy, m.Version+".mod"):                   goMod,
		filepath.Join(proxy, m.Version+".info"):                  `{"Version": "v1.2.3"}`,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(proxy, m.Version+".zip")
	out, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	if err := zip.CreateFromDir(out, m, source); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	sum, err := dirhash.HashZip(archive, dirhash.Hash1)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOPROXY", "file://"+strings.TrimSuffix(proxy, "/"+m.Path+"/@v"))
	t.Setenv("GONOSUMDB", m.Path)
	// Go makes what it unpacks read-only, so that the test's folder could not be removed.
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	return pin{m, sum}
}

// TestArgoIsBuiltByItself: a module that asks for a newer Go is built nevertheless, and its kinds
// are kept.
func TestArgoIsBuiltByItself(t *testing.T) {
	pinned := offerArgo(t)
	dir := filepath.Join(t.TempDir(), "built")
	var progress bytes.Buffer
	if err := pinned.build(t.Context(), dir, &progress); err != nil {
		t.Fatal(err)
	}
	built := BinDir(dir)
	for _, path := range []string{built.ArgoController(), filepath.Join(built.ArgoCRDs(), "rollout-crd.yaml")} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("want what the bench takes: %v", err)
		}
	}
	if want := "building rollouts-controller v1.2.3…"; !strings.Contains(progress.String(), want) {
		t.Errorf("progress %q, want %q", progress.String(), want)
	}
}

// TestArgoIsThePinned: source that is not the pinned one is not built.
func TestArgoIsThePinned(t *testing.T) {
	pinned := offerArgo(t)
	pinned.sum = "h1:sEPWsY+HUvnXj3Vh0ejb+GDTceQ/palqhFo2FVQJMk0="
	dir := filepath.Join(t.TempDir(), "built")
	err := pinned.build(t.Context(), dir, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("want an error about the checksum, got %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("want nothing built")
	}
}

func TestParsePin(t *testing.T) {
	t.Parallel()
	text, err := InCheckout(argoSum)
	if err != nil {
		t.Fatal(err)
	}
	pinned, err := os.ReadFile(text)
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason, text string
		fails        bool
	}{
		"Checkout": {reason: "the checkout's own", text: string(pinned)},
		"Comments": {reason: "comments and empty lines are no modules", text: "# why\n\nexample.test/argo v1.2.3 h1:abc=\n"},
		"None":     {reason: "there is nothing to build", text: "# why\n", fails: true},
		"Two":      {reason: "only one is built", text: "a.test/a v1.0.0 h1:a=\nb.test/b v1.0.0 h1:b=\n", fails: true},
		"NoSum":    {reason: "what has no checksum is not pinned", text: "a.test/a v1.0.0\n", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parsePin(tc.text)
			if (err != nil) != tc.fails {
				t.Errorf("%s: got %v, %v", tc.reason, got, err)
			}
			if err == nil && (got.of.Path == "" || got.of.Version == "" || got.sum == "") {
				t.Errorf("%s: want all of it, got %+v", tc.reason, got)
			}
		})
	}
}
