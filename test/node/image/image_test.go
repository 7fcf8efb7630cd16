package image_test

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/sluice-dev/sluice/test/node/image"
)

// write writes an archive of an image with a program and a file, and reads it back.
func write(t *testing.T, names ...string) (string, v1.Image) {
	t.Helper()
	dir := t.TempDir()
	for file, content := range map[string]string{"program": "program", "ca": "certificate"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive := filepath.Join(dir, "image.tar")
	err := image.Image{
		Program: "/program",
		Files: []image.File{
			{Place: "/program", Source: filepath.Join(dir, "program"), Mode: 0o755},
			{Place: "/etc/ca.crt", Source: filepath.Join(dir, "ca"), Mode: 0o644},
		},
		OS: "linux", Architecture: "arm64",
	}.WriteArchive(archive, names...)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(names[len(names)-1])
	if err != nil {
		t.Fatal(err)
	}
	read, err := tarball.ImageFromPath(archive, &tag)
	if err != nil {
		t.Fatal(err)
	}
	return archive, read
}

func TestArchiveHasProgramAndUser(t *testing.T) {
	t.Parallel()
	_, read := write(t, "example.test/app:1", "example.test/app:2")
	config, err := read.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := v1.Config{Entrypoint: []string{"/program"}, User: "65532:65532"}
	if diff := cmp.Diff(want, config.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if config.OS != "linux" || config.Architecture != "arm64" {
		t.Errorf("it is for %s/%s, want linux/arm64", config.OS, config.Architecture)
	}
	layers, err := read.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v; want one", len(layers), err)
	}
	type file struct {
		Mode    int64
		Content string
	}
	wantFiles := map[string]file{"/program": {0o755, "program"}, "/etc/ca.crt": {0o644, "certificate"}}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]file{}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = file{header.Mode, string(data)}
	}
	if diff := cmp.Diff(wantFiles, files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestSameFilesMakeTheSameImage(t *testing.T) {
	t.Parallel()
	_, one := write(t, "example.test/app:1")
	_, other := write(t, "example.test/app:1")
	first, err := one.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if second, err := other.Digest(); err != nil || first != second {
		t.Errorf("digests %s and %s, %v; want one", first, second, err)
	}
}

func TestWrongImages(t *testing.T) {
	t.Parallel()
	archive := filepath.Join(t.TempDir(), "image.tar")
	if err := (image.Image{}).WriteArchive(archive, "app"); err == nil {
		t.Error("want a name without a version refused")
	}
	lacking := image.Image{Files: []image.File{{Place: "/app", Source: archive + ".gone"}}}
	if err := lacking.WriteArchive(archive, "example.test/app:1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}
