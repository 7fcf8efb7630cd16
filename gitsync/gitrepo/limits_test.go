package gitrepo_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

func TestTreeIsAFileSystem(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	s.write(t, map[string]string{
		"a.yaml": "a", "a/x.yaml": "x", "a-b": "ab", "a.b/c": "c", "z/y/x/w": "w", "empty": "", "ü/ö": "umlaut",
	})
	files := read(t, newReader(gitrepo.Options{}), s.source(), gitrepo.Known{}).FS()
	if err := fstest.TestFS(files, "a.yaml", "a/x.yaml", "a-b", "a.b/c", "z/y/x/w", "empty", "ü/ö"); err != nil {
		t.Error(err)
	}
}

func TestLinksAndSubmodulesAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	s.commit(t, gittest.Commit{
		Files:      map[string]string{"a.yaml": "a", "dir/b.yaml": "b"},
		Links:      map[string]string{"passwd.yaml": "/etc/passwd", "up": "../..", "alias": "dir"},
		Submodules: map[string]string{"vendor": strings.Repeat("1", 40)},
	})
	snapshot := read(t, newReader(gitrepo.Options{}), s.source(), gitrepo.Known{})
	wantContent(t, snapshot, map[string]string{"a.yaml": "a", "dir/b.yaml": "b"})
	files := snapshot.FS()
	for _, path := range []string{"passwd.yaml", "up", "alias", "vendor", "alias/b.yaml", "up/etc", "vendor/x", "../a.yaml", "/a.yaml", "dir/../a.yaml"} {
		if data, err := fs.ReadFile(files, path); err == nil {
			t.Errorf("%s was read: %q", path, data)
		}
		if f, err := files.Open(path); err == nil {
			t.Errorf("%s was opened: %v", path, f)
		}
	}
	if target, err := fs.ReadLink(files, "passwd.yaml"); err != nil || target != "/etc/passwd" {
		t.Errorf("ReadLink: %q, %v", target, err)
	}
	for path, want := range map[string]fs.FileMode{"up": fs.ModeSymlink, "vendor": fs.ModeIrregular, "dir": fs.ModeDir, "a.yaml": 0} {
		info, err := fs.Stat(files, path)
		if err != nil || info.Mode().Type() != want {
			t.Errorf("%s: mode %v, %v; want type %v", path, info, err, want)
		}
	}
}

func TestContentHash(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	s.write(t, map[string]string{"a": "same", "b": "same", "c": "other"})
	files := read(t, newReader(gitrepo.Options{}), s.source(), gitrepo.Known{}).FS()
	hash := func(path string) string {
		info, err := fs.Stat(files, path)
		if err != nil {
			t.Fatal(err)
		}
		return info.(interface{ ContentHash() string }).ContentHash()
	}
	if hash("a") != hash("b") || hash("a") == hash("c") {
		t.Error("content hashes don't tell contents apart")
	}
}

func TestLargeFile(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	for _, setting := range []string{"core.compression=0", "core.bigFileThreshold=1m"} { // git itself is slow here
		name, value, _ := strings.Cut(setting, "=")
		if _, err := s.Git(nil, "config", name, value); err != nil {
			t.Fatal(err)
		}
	}
	s.write(t, map[string]string{"a.yaml": "a: 1\n", "large.yaml": noise("l", 30<<20)})
	r := newReader(gitrepo.Options{})
	files := read(t, r, s.source(), gitrepo.Known{}).FS()
	if got, err := fs.ReadFile(files, "a.yaml"); err != nil || string(got) != "a: 1\n" {
		t.Errorf("a.yaml: %q, %v", got, err)
	}
	_, err := fs.ReadFile(files, "large.yaml")
	wantError(t, err, gitrepo.LimitExceeded, "large.yaml", "too large")
	if info, err := fs.Stat(files, "large.yaml"); err != nil || info.Size() != 30<<20 {
		t.Errorf("large.yaml: %v, %v", info, err)
	}

	s.write(t, map[string]string{"a.yaml": "a: 2\n"})
	before := s.handler.Sent()
	read(t, r, s.source(), gitrepo.Known{})
	if sent := s.handler.Sent() - before; sent > 1<<20 {
		t.Errorf("a change beside the large file sent %d bytes", sent)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("f%d", i)] = noise(fmt.Sprint("f", i), 4<<10)
	}
	s := newServer(t, nil)
	s.write(t, files)
	zeros := newServer(t, nil)
	zeros.write(t, map[string]string{"zeros": strings.Repeat("\x00", 16<<20)})

	tests := []struct {
		name   string
		server *server
		limits gitrepo.Limits
		says   string
	}{
		{"pack", s, gitrepo.Limits{PackBytes: 100 << 10}, "the pack is larger than the limit of 100 KiB"},
		{"objects", s, gitrepo.Limits{Objects: 10}, "52 objects"},
		{"kept", s, gitrepo.Limits{KeptBytes: 100 << 10}, "the files of the repository are larger"},
		{"inflated", zeros, gitrepo.Limits{InflatedBytes: 8 << 20}, "the objects of the pack are larger than the limit of 8 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newReader(gitrepo.Options{Limits: tt.limits})
			_, err := r.Read(t.Context(), tt.server.source(), gitrepo.Known{})
			wantError(t, err, gitrepo.LimitExceeded, tt.says)
		})
	}
}
