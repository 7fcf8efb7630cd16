package gitrepo_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// largeFiles returns small files and 256 KiB of charts.
func largeFiles() map[string]string {
	files := map[string]string{"apps/web.yaml": "web: 1\n", "apps/api.yaml": "api: 1\n", "base/b.yaml": "b: 1\n"}
	for i := range 16 {
		files[fmt.Sprintf("charts/c%02d.yaml", i)] = noise(fmt.Sprint(i), 16<<10)
	}
	return files
}

func apps(file string) bool { return strings.HasPrefix(file, "apps/") }

// largeServer serves a repository that is larger than readers of small keep, with filters.
func largeServer(t *testing.T, wrap func(http.Handler) http.Handler) *server {
	t.Helper()
	s := newServer(t, wrap)
	if _, err := s.Git(nil, "config", "uploadpack.allowFilter", "true"); err != nil {
		t.Fatal(err)
	}
	s.write(t, largeFiles())
	return s
}

// small readers keep less than a large repository has, and refuse more than twice as much.
func small() *gitrepo.Reader {
	return newReader(gitrepo.Options{Limits: gitrepo.Limits{CachedBytes: 64 << 10, KeptBytes: 128 << 10}})
}

func (s *server) selecting(reads func(string) bool) gitrepo.Source {
	src := s.source()
	src.Reads = reads
	return src
}

func wantFile(t *testing.T, snapshot *gitrepo.Snapshot, name, want string) {
	t.Helper()
	if text, err := fs.ReadFile(snapshot.FS(), name); string(text) != want || err != nil {
		t.Errorf("%s: want %q, got %q, %v", name, want, text, err)
	}
}

// TestOnlyFilesThatAreReadAreFetched: of a repository above the limit, what callers read is
// fetched, and kept; a change costs about as much as it is large.
func TestOnlyFilesThatAreReadAreFetched(t *testing.T) {
	t.Parallel()
	s := largeServer(t, nil)
	r := small()
	first := read(t, r, s.selecting(apps), gitrepo.Known{})
	wantFile(t, first, "apps/web.yaml", "web: 1\n")
	wantFile(t, first, "apps/api.yaml", "api: 1\n")
	if missed, err := first.Missed(), first.Err(); missed != nil || err != nil {
		t.Errorf("missed %v, %v", missed, err)
	}
	entries, err := fs.ReadDir(first.FS(), "charts")
	if err != nil || len(entries) != 16 {
		t.Errorf("want all names of files, got %v, %v", entries, err)
	}
	if _, err := fs.ReadFile(first.FS(), "base/b.yaml"); err == nil || first.Err() == nil || !slices.Equal(first.Missed(), []string{"base/b.yaml"}) {
		t.Errorf("a file that nobody was to read: %v, %v, missed %v", err, first.Err(), first.Missed())
	}
	if again := read(t, r, s.selecting(apps), gitrepo.Known{}); again.Missed() != nil {
		t.Errorf("what one caller missed shows to another: %v", again.Missed())
	}

	second := s.write(t, map[string]string{"apps/web.yaml": "web: 2\n", "charts/c00.yaml": noise("new", 16<<10)})
	before, asked := s.handler.Sent(), s.handler.Requests()
	snapshot := read(t, r, s.selecting(apps), gitrepo.Known{Ancestor: first.Commit, Content: first.Commit})
	if sent, requests := s.handler.Sent()-before, s.handler.Requests()-asked; snapshot.Commit != second || sent > 4<<10 || requests != 3 {
		t.Errorf("a small change, beside another that nobody reads, sent %d bytes in %d requests", sent, requests)
	}
	wantFile(t, snapshot, "apps/web.yaml", "web: 2\n")
	wantFile(t, snapshot, "apps/api.yaml", "api: 1\n")
	wantFile(t, first, "apps/web.yaml", "web: 1\n")

	more := func(file string) bool { return apps(file) || file == "base/b.yaml" }
	before = s.handler.Sent()
	snapshot = read(t, r, s.selecting(more), gitrepo.Known{})
	if sent := s.handler.Sent() - before; sent > 2<<10 {
		t.Errorf("one file more of the same commit sent %d bytes", sent)
	}
	wantFile(t, snapshot, "base/b.yaml", "b: 1\n")
	wantFile(t, snapshot, "apps/web.yaml", "web: 2\n")
}

// TestLargeRepositoryWithoutFilter: without a filter, a large repository is read whole, within the
// limit.
func TestLargeRepositoryWithoutFilter(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	s.write(t, largeFiles())
	_, err := small().Read(t.Context(), s.selecting(apps), gitrepo.Known{})
	wantError(t, err, gitrepo.LimitExceeded, "larger than the limit of 128 KiB")
	r := newReader(gitrepo.Options{Limits: gitrepo.Limits{CachedBytes: 64 << 10}})
	wantContent(t, read(t, r, s.selecting(apps), gitrepo.Known{}), largeFiles())
}

// TestServersOfTheOldProtocol: servers that filter, and don't know the new protocol, are read
// whole.
func TestServersOfTheOldProtocol(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := largeServer(t, func(git http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if req.Header.Get("Git-Protocol") != "" {
				asked.Add(1)
				req.Header.Del("Git-Protocol")
			}
			git.ServeHTTP(w, req)
		})
	})
	r := newReader(gitrepo.Options{Limits: gitrepo.Limits{CachedBytes: 64 << 10}})
	for range 2 {
		wantContent(t, read(t, r, s.selecting(apps), gitrepo.Known{}), largeFiles())
	}
	if asked.Load() != 1 {
		t.Errorf("it was asked %d times for what it has no answer to", asked.Load())
	}
}

// TestLargeFilesAmongThoseThatAreRead: large files are listed, and can't be read.
func TestLargeFilesAmongThoseThatAreRead(t *testing.T) {
	t.Parallel()
	s := largeServer(t, nil)
	s.write(t, map[string]string{"apps/huge.yaml": noise("h", 40<<10), "apps/huger.yaml": noise("h", 40<<10) + "more"})
	r := newReader(gitrepo.Options{Limits: gitrepo.Limits{CachedBytes: 64 << 10, FileBytes: 32 << 10}})
	snapshot := read(t, r, s.selecting(apps), gitrepo.Known{})
	wantFile(t, snapshot, "apps/web.yaml", "web: 1\n")
	for _, name := range []string{"apps/huge.yaml", "apps/huger.yaml"} {
		_, err := fs.ReadFile(snapshot.FS(), name)
		wantError(t, err, gitrepo.LimitExceeded, "too large")
	}
	if snapshot.Err() != nil {
		t.Errorf("a file that is too large is no reason to read none: %v", snapshot.Err())
	}
}

// pkt returns a line of Git's protocol.
func pkt(data string) string { return fmt.Sprintf("%04x%s", len(data)+4, data) }

// TestHostileAnswersToRequestsForFiles: hostile answers are refused, each with its fault, and take
// neither time nor memory beyond the limits.
func TestHostileAnswersToRequestsForFiles(t *testing.T) {
	t.Parallel()
	endless := func(begin, repeated string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			_, err := io.WriteString(w, begin)
			for err == nil {
				_, err = io.WriteString(w, repeated)
			}
		}
	}
	once := func(answer string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { _, _ = io.WriteString(w, answer) }
	}
	// Packs of other objects than were asked for.
	elsewhere := newServer(t, nil)
	elsewhere.write(t, map[string]string{"apps/web.yaml": "web: 666\n"})
	base := filepath.Join(t.TempDir(), "pack")
	hash, err := elsewhere.Git(bytes.NewBufferString(gittest.Branch+"\n"), "pack-objects", "--revs", "-q", base)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(base + "-" + hash + ".pack")
	if err != nil {
		t.Fatal(err)
	}
	other := string(packed)
	empty := "PACK\x00\x00\x00\x02\x00\x00\x00\x00\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"
	many := "PACK\x00\x00\x00\x02\xff\xff\xff\xff"
	for name, tt := range map[string]struct {
		answer func(http.ResponseWriter)
		kind   gitrepo.Kind
		says   string
	}{
		"files not asked for":     {once(pkt("packfile\n") + pkt("\x01"+other) + "0000"), gitrepo.Protocol, "did not send file"},
		"no files":                {once(pkt("packfile\n") + pkt("\x01"+empty) + "0000"), gitrepo.Protocol, "did not send file"},
		"cut short":               {once(pkt("packfile\n") + pkt("\x01"+other[:30])), gitrepo.Protocol, ""},
		"four thousand millions":  {once(pkt("packfile\n") + pkt("\x01"+many) + "0000"), gitrepo.LimitExceeded, "objects"},
		"endless pack":            {endless(pkt("packfile\n")+pkt("\x01PACK\x00\x00\x00\x02\x00\x00\x00\x01"), pkt("\x01"+strings.Repeat("\x78", 1000))), "", ""},
		"endless progress":        {endless(pkt("packfile\n"), pkt("\x02"+strings.Repeat("working ", 1000))), gitrepo.LimitExceeded, "the pack is larger than"},
		"endless nothing":         {endless(pkt("packfile\n"), "0004"), "", ""},
		"failure in the pack":     {once(pkt("packfile\n") + pkt("\x03out of order")), gitrepo.Protocol, "out of order"},
		"an error of the server":  {func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, gitrepo.Protocol, "502"},
		"another status of login": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusForbidden) }, gitrepo.Protocol, "403"},
		"elsewhere": {func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://example.com/x")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, gitrepo.Invalid, "redirects to another host"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := largeServer(t, func(git http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
					if req.Header.Get("Git-Protocol") == "" {
						git.ServeHTTP(w, req)
						return
					}
					_, _ = io.Copy(io.Discard, req.Body)
					tt.answer(w)
				})
			})
			r := newReader(gitrepo.Options{Limits: gitrepo.Limits{CachedBytes: 64 << 10, KeptBytes: 128 << 10, PackBytes: 1 << 20}})
			began := time.Now()
			src := s.selecting(apps)
			src.Timeout = 30 * time.Second
			_, err := r.Read(t.Context(), src, gitrepo.Known{})
			if err == nil || tt.kind != "" && gitrepo.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("want %s %q, got %q: %v", tt.kind, tt.says, gitrepo.KindOf(err), err)
			}
			t.Logf("after %s: %v", time.Since(began).Round(time.Millisecond), err)
		})
	}
}

// TestTreesThatMultiplyAmongSelectedFiles: a tree that names itself many times is not walked
// without an end.
func TestTreesThatMultiplyAmongSelectedFiles(t *testing.T) {
	t.Parallel()
	s := largeServer(t, nil)
	blob, err := s.Git(bytes.NewBufferString("x"), "hash-object", "-w", "--stdin")
	if err != nil {
		t.Fatal(err)
	}
	tree := fmt.Sprintf("100644 blob %s\tx\n", blob)
	for range 30 {
		hash, err := s.Git(bytes.NewBufferString(tree), "mktree")
		if err != nil {
			t.Fatal(err)
		}
		var lines bytes.Buffer
		for name := range strings.FieldsSeq("a b c d") {
			fmt.Fprintf(&lines, "040000 tree %s\t%s\n", hash, name)
		}
		tree = lines.String()
	}
	charts, err := s.Git(nil, "rev-parse", gittest.Branch+":charts")
	if err != nil {
		t.Fatal(err)
	}
	root, err := s.Git(bytes.NewBufferString(tree+"040000 tree "+charts+"\tcharts\n"), "mktree")
	if err != nil {
		t.Fatal(err)
	}
	commit, err := s.Git(nil, "-c", "user.name=A", "-c", "user.email=a@b", "commit-tree", "-m", "x", root)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Git(nil, "update-ref", "refs/heads/"+gittest.Branch, commit); err != nil {
		t.Fatal(err)
	}
	_, err = small().Read(t.Context(), s.selecting(apps), gitrepo.Known{})
	wantError(t, err, gitrepo.LimitExceeded, "too many files")
}
