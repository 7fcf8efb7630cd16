package npm

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// registry serves one archive, without npm on the path and with an empty cache.
func registry(t *testing.T, archive []byte) *int {
	t.Helper()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path != "/@scope/thing/-/thing-1.0.0.tgz" {
			http.NotFound(w, r)
			return
		}
		w.Write(archive)
	}))
	t.Cleanup(server.Close)
	t.Setenv("NPM_CONFIG_REGISTRY", server.URL+"/")
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	return &asked
}

func pack(t *testing.T, name, content string) []byte {
	t.Helper()
	var archive bytes.Buffer
	packed := gzip.NewWriter(&archive)
	files := tar.NewWriter(packed)
	if err := files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	files.Write([]byte(content))
	files.Close()
	packed.Close()
	return archive.Bytes()
}

func thing(archive []byte) Package {
	digest := sha512.Sum512(archive)
	return Package{
		Scope: "@scope", Name: "thing", Version: "1.0.0", Integrity: base64.StdEncoding.EncodeToString(digest[:]),
		File: "package/a.json", Folder: "test", Kept: "a.json",
	}
}

// These tests change the environment, so they are not parallel.

func TestAPackageThatIsNotTheOnePinned(t *testing.T) {
	archive := pack(t, "package/a.json", `{"a":1}`)
	registry(t, archive)
	other := thing([]byte("another archive"))
	if _, err := other.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("another archive than the one pinned is refused: %v", err)
	}
	without := thing(archive)
	without.File = "package/b.json"
	if _, err := without.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "b.json") {
		t.Errorf("a file that is missing is told: %v", err)
	}
	missing := thing(archive)
	missing.Version = "2.0.0"
	if _, err := missing.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a release that is missing is told: %v", err)
	}
}
