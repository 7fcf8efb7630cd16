package controlplane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// official is what the tests' release has as each program.
const official = "#!/bin/sh\necho official\n"

// offer serves programs and has them pinned by a module whose two programs are of Kubernetes, and
// compile.
func offer(t *testing.T, serve http.HandlerFunc) (*module, *bytes.Buffer) {
	t.Helper()
	m := writeModule(t,
		program{"one", "example.test/programs/good", kubernetesModule},
		program{"two", "example.test/programs/good", kubernetesModule})
	sum := sha256.Sum256([]byte(official))
	sums := "# pinned\n"
	for _, p := range m.programs {
		sums += hex.EncodeToString(sum[:]) + "  v1.36.3/bin/" + runtime.GOOS + "/" + runtime.GOARCH + "/" + p.name + "\n"
	}
	m.sums = []byte(sums)
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	t.Setenv(ReleaseURLEnv, server.URL+"/release/")
	return m, &bytes.Buffer{}
}

// isOfficial reports whether a program was downloaded; if not, it was built.
func isOfficial(t *testing.T, dir, name string) bool {
	t.Helper()
	path := filepath.Join(dir, name)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode()&0o100 == 0 {
		t.Errorf("%s can't be run: %v", name, err)
	}
	return string(content) == official
}

func TestOfficialProgramsAreDownloaded(t *testing.T) {
	var paths []string
	m, progress := offer(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/release/"): // as dl.k8s.io does
			http.Redirect(w, r, "/mirror"+strings.TrimPrefix(r.URL.Path, "/release"), http.StatusFound)
		default:
			paths = append(paths, r.URL.Path)
			_, _ = w.Write([]byte(official))
		}
	})
	dir := filepath.Join(t.TempDir(), "built")
	if err := m.build(t.Context(), dir, progress); err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"one", "two"} {
		if want := "/mirror/v1.36.3/bin/" + runtime.GOOS + "/" + runtime.GOARCH + "/" + name; i >= len(paths) || paths[i] != want {
			t.Errorf("download %d of %v, want %s", i, paths, want)
		}
		if !isOfficial(t, dir, name) {
			t.Errorf("%s was built, want it downloaded:\n%s", name, progress)
		}
	}
	if text := progress.String(); !strings.Contains(text, "downloading two v1.36.3 (2/2)…") || strings.Contains(text, "building one") {
		t.Errorf("progress doesn't say that programs are downloaded:\n%s", text)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part")); len(left) > 0 {
		t.Errorf("downloads left %v", left)
	}
}

// TestProgramsAreBuiltWhereDownloadsFail: for any answer of the server, the programs are built in
// the end, and one line says why.
func TestProgramsAreBuiltWhereDownloadsFail(t *testing.T) {
	for name, c := range map[string]struct {
		serve http.HandlerFunc
		says  string
	}{
		"another content": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(official + "# and more\n"))
		}, "has SHA-256"},
		"truncated": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write([]byte(official))
		}, "unexpected EOF"},
		"cut without a length": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(official[:9]))
		}, "has SHA-256"},
		"not found":           {http.NotFound, "404 Not Found"},
		"redirected for ever": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, "stopped after 10 redirects"},
		"connection closed":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			requests := map[string]bool{}
			m, progress := offer(t, func(w http.ResponseWriter, r *http.Request) {
				requests[r.URL.Path] = true
				c.serve(w, r)
			})
			dir := filepath.Join(t.TempDir(), "built")
			if err := m.build(t.Context(), dir, progress); err != nil {
				t.Fatal(err)
			}
			if isOfficial(t, dir, "one") || isOfficial(t, dir, "two") {
				t.Error("a program whose download failed was kept")
			}
			text := progress.String()
			if strings.Count(text, "no official program is used, all else is built") != 1 || !strings.Contains(text, c.says) {
				t.Errorf("progress does not say once that programs are built, because of %q:\n%s", c.says, text)
			}
			if len(requests) != 1 {
				t.Errorf("requests to %v, want no other program after the first", requests)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*.part")); len(left) > 0 {
				t.Errorf("a failed download left %v", left)
			}
		})
	}
}

// TestSlowDownloadsAreGivenUp: a line on which little or nothing arrives is given up: building is
// quicker.
func TestSlowDownloadsAreGivenUp(t *testing.T) {
	t.Parallel()
	hang := func(sent string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(sent))
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
	}
	drip := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = w.Write([]byte("#"))
			_ = http.NewResponseController(w).Flush()
		}
	}
	const soon, never = 50 * time.Millisecond, time.Hour
	for name, c := range map[string]struct {
		serve          http.HandlerFunc
		silence, limit time.Duration
		says           string
	}{
		"no answer":          {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, soon, never, "nothing arrives for 50ms"},
		"no more than a bit": {hang(official), soon, never, "nothing arrives for 50ms"},
		"without an end":     {drip, never, soon, "not within 50ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.serve)
			t.Cleanup(server.Close)
			r := release{url: server.URL, sums: map[string]string{"one": ""}, silence: c.silence, limit: c.limit}
			out := filepath.Join(t.TempDir(), "one")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := r.download(ctx, "one", out); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("download: %v, want %q", err, c.says)
			}
			if left, _ := filepath.Glob(out + "*"); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// TestChecksumsAreOfThePinnedVersion: an upgrade that forgets the checksums would have everybody
// build what could be downloaded.
func TestChecksumsAreOfThePinnedVersion(t *testing.T) {
	t.Parallel()
	for _, s := range []set{controlPlane, node} {
		dir, err := InCheckout(s.dir)
		if err != nil {
			t.Fatal(err)
		}
		m, err := readModule(dir, s)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, sumsFile))
		if err != nil {
			t.Fatal(err)
		}
		sums, err := parseSums(string(text))
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, p := range s.programs {
			for _, arch := range []string{"amd64", "arm64"} {
				if p.module != kubernetesModule {
					continue
				}
				want++
				if path := m.versions[p.module] + "/bin/linux/" + arch + "/" + p.name; sums[path] == "" {
					t.Errorf("%s/%s has no checksum of %s", s.dir, sumsFile, path)
				}
			}
		}
		if len(sums) != want {
			t.Errorf("%s/%s has %d checksums, want %d", s.dir, sumsFile, len(sums), want)
		}
	}
}
