package gitrepo_test

import (
	"bytes"
	"context"
	"encoding/pem"
	"hash/fnv"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// server is a repository served over https.
type server struct {
	*gittest.Repository
	handler *gittest.Handler
	http    *httptest.Server
}

// newServer serves an empty repository; wrap, if not nil, goes in front of git.
func newServer(t *testing.T, wrap func(http.Handler) http.Handler) *server {
	t.Helper()
	root := t.TempDir()
	repo, err := gittest.Init(root, "app")
	if err != nil {
		t.Fatal(err)
	}
	handler, err := gittest.NewHandler(root)
	if err != nil {
		t.Fatal(err)
	}
	served := http.Handler(handler)
	if wrap != nil {
		served = wrap(handler)
	}
	s := &server{Repository: repo, handler: handler, http: httptest.NewTLSServer(served)}
	t.Cleanup(s.http.Close)
	return s
}

func (s *server) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.http.Certificate().Raw})
}

func (s *server) source() gitrepo.Source {
	return gitrepo.Source{
		URL:    s.http.URL + "/" + s.Name(),
		Branch: gittest.Branch,
		Auth:   gitrepo.Auth{CABundle: s.ca()},
	}
}

func (s *server) commit(t *testing.T, c gittest.Commit) string {
	t.Helper()
	hash, err := s.Commit(c)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// write commits files.
func (s *server) write(t *testing.T, files map[string]string) string {
	t.Helper()
	return s.commit(t, gittest.Commit{Files: files})
}

// requests counts the requests that f causes.
func (s *server) requests(f func()) int64 {
	before := s.handler.Requests()
	f()
	return s.handler.Requests() - before
}

// newReader returns a reader that may read the servers of tests, which are on loopback.
func newReader(opts gitrepo.Options) *gitrepo.Reader {
	opts.Networks.Allowed = append(opts.Networks.Allowed, dialer.Loopback()...)
	return gitrepo.NewReader(opts)
}

func read(t *testing.T, r *gitrepo.Reader, src gitrepo.Source, known gitrepo.Known) *gitrepo.Snapshot {
	t.Helper()
	snapshot, err := r.Read(t.Context(), src, known)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	snapshot.Close() // it can be read still: only its memory is not accounted for any more
	return snapshot
}

func content(t *testing.T, snapshot *gitrepo.Snapshot) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(snapshot.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := fs.ReadFile(snapshot.FS(), path)
		files[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func wantContent(t *testing.T, snapshot *gitrepo.Snapshot, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, content(t, snapshot)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// wantError checks the kind of an error, and that its message holds the words.
func wantError(t *testing.T, err error, kind gitrepo.Kind, words ...string) {
	t.Helper()
	if got := gitrepo.KindOf(err); got != kind {
		t.Errorf("got error %v of kind %q, want kind %q", err, got, kind)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not say %q", err, word)
		}
	}
}

func TestReadFollowsTheBranch(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	first := s.write(t, map[string]string{"a.yaml": "a: 1\n", "deep/er/b.yaml": "b: 1\n", "empty": ""})
	r := newReader(gitrepo.Options{})

	one := read(t, r, s.source(), gitrepo.Known{})
	if one.Commit != first || one.Author != "Ada" || one.Subject != "change" {
		t.Errorf("got commit %s by %s, %q; want %s by Ada, %q", one.Commit, one.Author, one.Subject, first, "change")
	}
	if tree, err := s.Git(nil, "rev-parse", first+"^{tree}"); err != nil || one.Tree != tree {
		t.Errorf("got tree %s, want %s (%v)", one.Tree, tree, err)
	}
	wantContent(t, one, map[string]string{"a.yaml": "a: 1\n", "deep/er/b.yaml": "b: 1\n", "empty": ""})

	second := s.commit(t, gittest.Commit{
		Files:   map[string]string{"deep/er/b.yaml": "b: 2\n", "new/c.yaml": "c: 1\n"},
		Deleted: []string{"empty"},
	})
	two := read(t, r, s.source(), gitrepo.Known{Ancestor: first, Content: first})
	if two.Commit != second {
		t.Errorf("got commit %s, want %s", two.Commit, second)
	}
	wantContent(t, two, map[string]string{"a.yaml": "a: 1\n", "deep/er/b.yaml": "b: 2\n", "new/c.yaml": "c: 1\n"})
	wantContent(t, one, map[string]string{"a.yaml": "a: 1\n", "deep/er/b.yaml": "b: 1\n", "empty": ""})
}

// TestWordsOfCommits: a commit's texts are cleaned, because pages and terminals show them.
func TestWordsOfCommits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 201)
	for message, want := range map[string]string{
		"web: 2\n\nbecause\n":             "web: 2",
		"\n\n  web: 2  \r\nmore":          "web: 2",
		"a\tb\x1b[31mc\x00d\u0085e\x7f":   "a b[31mcd e",
		"not\xff\xfe UTF-8":               "not UTF-8",
		"from \u202eright\u2066 to left":  "from right to left",
		"zero\u200b width":                "zero width",
		"🚀 off":                           "🚀 off",
		long[:400]:                        long[:400],
		long:                              long[:398] + "…",
		strings.Repeat(" ", 20<<10) + "x": "",
	} {
		s := newServer(t, nil)
		s.commit(t, gittest.Commit{Message: message, Files: map[string]string{"a": "a"}})
		if got := read(t, newReader(gitrepo.Options{}), s.source(), gitrepo.Known{}).Subject; got != want {
			t.Errorf("the subject of %.100q: got %q, want %q", message, got, want)
		}
	}
}

// TestEncodingsOfCommits: a commit may be written in another encoding than UTF-8, and then says in
// which.
func TestEncodingsOfCommits(t *testing.T) {
	t.Parallel()
	for encoding, want := range map[string]string{"ISO-8859-1": "Stra\u00dfe f\u00fcr", "latin1": "Stra\u00dfe f\u00fcr", "KOI8-R": "Stra\u044ae f\u042dr", "UTF-8": "Strae fr", "nonsense": "Strae fr"} {
		s := newServer(t, nil)
		first := s.write(t, map[string]string{"a": "a"})
		text := "tree " + strings.TrimSpace(s.git(t, nil, "rev-parse", first+"^{tree}")) + "\nauthor J\xfcrgen <a@b> 1 +0000\ncommitter J\xfcrgen <a@b> 1 +0000\n" +
			"encoding " + encoding + "\n\nStra\xdfe f\xfcr\n"
		s.git(t, nil, "update-ref", "refs/heads/"+gittest.Branch, s.git(t, bytes.NewBufferString(text), "hash-object", "-t", "commit", "-w", "--stdin"))
		head := read(t, newReader(gitrepo.Options{}), s.source(), gitrepo.Known{})
		if head.Subject != want || encoding == "latin1" && head.Author != "J\u00fcrgen" {
			t.Errorf("%s: got %q by %q, want %q", encoding, head.Subject, head.Author, want)
		}
	}
}

// git runs git in the repository.
func (s *server) git(t *testing.T, stdin *bytes.Buffer, args ...string) string {
	t.Helper()
	said, err := s.Git(stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	first := s.write(t, map[string]string{"a.yaml": "a: 1\n"})
	r := newReader(gitrepo.Options{})
	known := gitrepo.Known{Ancestor: first, Content: first}

	if got := s.requests(func() { read(t, r, s.source(), known) }); got != 1 {
		t.Errorf("a first look at a commit whose content is known took %d requests, want 1", got)
	}
	if got := s.requests(func() { read(t, r, s.source(), gitrepo.Known{}) }); got != 2 {
		t.Errorf("a first fetch took %d requests, want 2", got)
	}
	if got := s.requests(func() { read(t, r, s.source(), known) }); got != 1 {
		t.Errorf("a look with nothing new took %d requests, want 1", got)
	}
	if got := s.requests(func() { read(t, r, s.source(), gitrepo.Known{}) }); got != 1 {
		t.Errorf("a look at content that is kept took %d requests, want 1", got)
	}
	s.write(t, map[string]string{"a.yaml": "a: 2\n"})
	if got := s.requests(func() { read(t, r, s.source(), known) }); got != 2 {
		t.Errorf("a change with its ancestor check took %d requests, want 2", got)
	}
}

func TestFetchSendsOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	files := map[string]string{}
	for name := range strings.FieldsSeq("a b c d e f g h") {
		files[name] = noise(name, 64<<10)
	}
	first := s.write(t, files)
	r := newReader(gitrepo.Options{})
	read(t, r, s.source(), gitrepo.Known{})

	files["a"] += "changed\n"
	s.write(t, map[string]string{"a": files["a"]})
	before := s.handler.Sent()
	wantContent(t, read(t, r, s.source(), gitrepo.Known{Ancestor: first}), files)
	if sent := s.handler.Sent() - before; sent > 4<<10 {
		t.Errorf("a line added to one of eight files of 64 KiB sent %d bytes, want no more than 4 KiB: a delta of that file", sent)
	}
}

// noise returns text that hardly compresses.
func noise(seed string, n int) string {
	var text strings.Builder
	hash := fnv.New64a()
	hash.Write([]byte(seed))
	state := hash.Sum64()
	for text.Len() < n {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		text.WriteByte(byte(state>>32) | 1)
	}
	return text.String()
}

func TestOneFetchServesAll(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	want := s.write(t, map[string]string{"a.yaml": "a: 1\n"})
	r := newReader(gitrepo.Options{})

	const callers = 20
	got := s.requests(func() {
		var all sync.WaitGroup
		for range callers {
			all.Go(func() {
				snapshot, err := r.Read(context.Background(), s.source(), gitrepo.Known{})
				if err != nil || snapshot.Commit != want {
					t.Errorf("Read: %v, %v", snapshot, err)
				}
			})
		}
		all.Wait()
	})
	// Who comes during a look shares the next one; more looks can happen if the
	// scheduler starts callers late, one for each, but there is one fetch.
	if got > callers+1 {
		t.Errorf("%d callers caused %d requests", callers, got)
	}
	if got := s.requests(func() { read(t, r, s.source(), gitrepo.Known{}) }); got != 1 {
		t.Errorf("a look after that took %d requests, want 1: the content is there", got)
	}
}

func TestLargeSnapshotsAreNotKept(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	first := s.write(t, map[string]string{"a": noise("a", 64<<10)})
	r := newReader(gitrepo.Options{Limits: gitrepo.Limits{CachedBytes: 32 << 10}})
	read(t, r, s.source(), gitrepo.Known{})
	if got := s.requests(func() { read(t, r, s.source(), gitrepo.Known{Content: first}) }); got != 1 {
		t.Errorf("nothing new took %d requests, want 1", got)
	}
	second := s.write(t, map[string]string{"b": "b"})
	snapshot := read(t, r, s.source(), gitrepo.Known{Content: first, Ancestor: first})
	if snapshot.Commit != second || len(content(t, snapshot)) != 2 {
		t.Errorf("got %s with %d files, want %s with 2", snapshot.Commit, len(content(t, snapshot)), second)
	}
}

func TestFiltersOfTheServerAreUsed(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	if _, err := s.Git(nil, "config", "uploadpack.allowFilter", "true"); err != nil {
		t.Fatal(err)
	}
	s.write(t, map[string]string{"a.yaml": "a: 1\n", "large.bin": noise("l", 300<<10)})
	limits := gitrepo.Limits{FileBytes: 64 << 10, PackBytes: 64 << 10}
	r := newReader(gitrepo.Options{Limits: limits})
	snapshot := read(t, r, s.source(), gitrepo.Known{})
	if got, err := fs.ReadFile(snapshot.FS(), "a.yaml"); err != nil || string(got) != "a: 1\n" {
		t.Errorf("a.yaml: %q, %v", got, err)
	}
	_, err := fs.ReadFile(snapshot.FS(), "large.bin")
	wantError(t, err, gitrepo.LimitExceeded, "large.bin", "too large")
}

func TestTimeoutSharedByWaiters(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(http.Handler) http.Handler { return hang(t) })
	r := newReader(gitrepo.Options{})
	src := s.source()
	src.Timeout = 3 * time.Second
	began := time.Now()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			_, err := r.Read(context.Background(), src, gitrepo.Known{})
			wantError(t, err, gitrepo.Timeout, "3s")
		})
	}
	all.Wait()
	if took := time.Since(began); took > 5*src.Timeout {
		t.Errorf("ten callers of a repository that hangs took %s: they waited one after the other", took)
	}
}

// hang accepts requests and answers none until the test ends.
func hang(t *testing.T) http.Handler {
	end := make(chan struct{})
	t.Cleanup(func() { close(end) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-end:
		case <-r.Context().Done():
		}
	})
}

func TestCancelledReadIsNotRemembered(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	s.write(t, map[string]string{"a": "a"})
	r := newReader(gitrepo.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx, s.source(), gitrepo.Known{}); err == nil {
		t.Fatal("a cancelled Read succeeded")
	}
	read(t, r, s.source(), gitrepo.Known{})
}
