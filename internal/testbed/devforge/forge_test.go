package devforge_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

const repository = "shop/web"

func TestCloneHoldsTheSeed(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{})
	clone := cloneOf(t, forge.CloneURL(repository))

	if diff := cmp.Diff("one\n", readFile(t, clone, "deploy/app.yaml")); diff != "" {
		t.Errorf("the clone must hold the seed as it was given (-want +got):\n%s", diff)
	}
	if got := git(t, clone, "rev-parse", "--abbrev-ref", "HEAD"); got != "main" {
		t.Errorf("the default branch must be the one asked for: got %q", got)
	}
}

func TestPushIsSeenByTheNextClone(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{})
	pushed := commitAndPush(t, cloneOf(t, forge.CloneURL(repository)))

	second := cloneOf(t, forge.CloneURL(repository))
	if got := git(t, second, "rev-parse", "HEAD"); got != pushed {
		t.Errorf("a clone must be at the commit that was pushed: got %s, want %s", got, pushed)
	}
}

// git sends packs above http.postBuffer in chunks while the server already answers.
func TestPushOfManyMegabytes(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{})
	clone := cloneOf(t, forge.CloneURL(repository))
	big := make([]byte, 30<<20)
	if _, err := rand.Read(big); err != nil {
		t.Fatal(err)
	}
	writeFile(t, clone, "big", big)
	git(t, clone, "add", "big")
	commitAndPush(t, clone)

	second := cloneOf(t, forge.CloneURL(repository))
	if got := []byte(readFile(t, second, "big")); !bytes.Equal(got, big) {
		t.Errorf("a large file must come back as it was pushed: got %d bytes, want %d", len(got), len(big))
	}
}

func TestForcePushRewritesTheBranch(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{})
	clone := cloneOf(t, forge.CloneURL(repository))
	commitAndPush(t, clone)
	git(t, clone, "commit", "--quiet", "--amend", "--message=another two")

	if out, err := tryGit(clone, "push", "--quiet", "origin", "main"); err == nil {
		t.Errorf("a plain push of rewritten history must be refused: %s", out)
	}
	git(t, clone, "push", "--quiet", "--force", "origin", "main")
	want := git(t, clone, "rev-parse", "HEAD")
	if got, _, _ := strings.Cut(git(t, clone, "ls-remote", "origin", "refs/heads/main"), "\t"); got != want {
		t.Errorf("a forced push must move the branch: got %s, want %s", got, want)
	}
}

func TestBranchCanBeDeleted(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{})
	clone := cloneOf(t, forge.CloneURL(repository))
	git(t, clone, "push", "--quiet", "origin", "main:topic")
	git(t, clone, "push", "--quiet", "origin", "--delete", "topic")

	if got := git(t, clone, "ls-remote", "origin", "refs/heads/topic"); got != "" {
		t.Errorf("a deleted branch must be gone: got %q", got)
	}
}

func TestShallowAndPartialClones(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{})
	commitAndPush(t, cloneOf(t, forge.CloneURL(repository)))

	shallow := cloneOf(t, forge.CloneURL(repository), "--depth=1")
	if got := git(t, shallow, "rev-list", "--count", "HEAD"); got != "1" {
		t.Errorf("a clone of depth 1 must hold 1 commit: got %s", got)
	}
	partial := cloneOf(t, forge.CloneURL(repository), "--filter=blob:none", "--no-checkout")
	if got := git(t, partial, "rev-list", "--objects", "--missing=print", "HEAD"); !strings.Contains(got, "?") {
		t.Errorf("a clone without blobs must miss some: got\n%s", got)
	}
}

func TestProtocolVersionsAllWork(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{})
	for _, version := range []string{"0", "1", "2"} {
		out, err := tryGit(t.TempDir(), "-c", "protocol.version="+version, "ls-remote", forge.CloneURL(repository), "HEAD")
		if err != nil || !strings.HasSuffix(out, "HEAD") {
			t.Errorf("protocol version %s must be served: %v: %s", version, err, out)
		}
	}
}

// git compresses what it says about its own commits once that is more than a kilobyte.
func TestFetchIntoALongHistory(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{})
	clone := cloneOf(t, forge.CloneURL(repository))
	pushed := commitAndPush(t, cloneOf(t, forge.CloneURL(repository)))
	for range 60 {
		git(t, clone, "commit", "--quiet", "--allow-empty", "--message=ours")
	}
	git(t, clone, "fetch", "--quiet", "origin")
	if got := git(t, clone, "rev-parse", "origin/main"); got != pushed {
		t.Errorf("a fetch must find what was pushed meanwhile: got %s, want %s", got, pushed)
	}
}

func TestManyClonesAtOnceShareFewProcesses(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{MaxProcesses: 2})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if out, err := tryGit(t.TempDir(), "clone", "--quiet", forge.CloneURL(repository), "clone"); err != nil {
				t.Errorf("each of many clones must succeed: %v: %s", err, out)
			}
		})
	}
	wg.Wait()
}

func TestPushesAtOnceKeepOneWinner(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{})
	var clones []string
	for i := range 4 {
		clone := cloneOf(t, forge.CloneURL(repository))
		commit(t, clone, fmt.Sprintf("from %d\n", i))
		clones = append(clones, clone)
	}
	won := make(chan string, len(clones))
	var wg sync.WaitGroup
	for _, clone := range clones {
		wg.Go(func() {
			if _, err := tryGit(clone, "push", "--quiet", "origin", "main"); err == nil {
				won <- clone
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Fatalf("of pushes that exclude one another exactly one must win: got %d", len(won))
	}
	second := cloneOf(t, forge.CloneURL(repository))
	if diff := cmp.Diff(readFile(t, <-won, "deploy/app.yaml"), readFile(t, second, "deploy/app.yaml")); diff != "" {
		t.Errorf("the branch must hold what the winner pushed (-want +got):\n%s", diff)
	}
}

func TestUsersMustSayWhoTheyAre(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{Users: map[string]string{"ada": "s3cret"}})
	tests := map[string]struct {
		reason, user string
		want         bool
	}{
		"Known":    {"the right password opens", "ada:s3cret@", true},
		"Wrong":    {"a wrong password does not", "ada:guess@", false},
		"Unknown":  {"an unknown user has no password that is right", "eve:@", false},
		"Nobody":   {"reading needs a user too", "", false},
		"OnlyName": {"a name alone is not enough", "ada:@", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := strings.Replace(forge.CloneURL(repository), "http://", "http://"+tc.user, 1)
			out, err := tryGit(t.TempDir(), "clone", "--quiet", url, "clone")
			if got := err == nil; got != tc.want {
				t.Errorf("%s: clone succeeded: %t, want %t: %s", tc.reason, got, tc.want, out)
			}
		})
	}
}

func TestRequestsThatAreNoRepository(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{})
	const refs, upload = "/info/refs?service=git-upload-pack", "/git-upload-pack"
	tests := map[string]struct {
		reason, method, path string
		want                 int
	}{
		"Missing":     {"no such repository", "GET", "/shop/none.git" + refs, 404},
		"DotDot":      {"a name is no way up", "GET", "/shop/%2e%2e" + refs, 404},
		"Slash":       {"a name holds no further slash", "GET", "/shop/..%2f..%2fetc" + refs, 404},
		"Option":      {"a name is no option", "GET", "/shop/--help" + refs, 404},
		"Dumb":        {"objects are not served as files", "GET", "/shop/web.git/HEAD", 404},
		"DumbRefs":    {"refs are served to the smart protocol only", "GET", "/shop/web.git/info/refs", 403},
		"Service":     {"only Git's two services are run", "GET", "/shop/web.git/info/refs?service=git-gc", 403},
		"ContentType": {"a form is no Git request", "POST", "/shop/web.git" + upload, 415},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := status(t, tc.method, forge.URL()+tc.path); got != tc.want {
				t.Errorf("%s: got status %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

func TestCreateRepositoryRefuses(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{})
	tests := map[string]struct {
		reason, name string
		want         error
	}{
		"Again":    {"what exists is left alone", repository, fs.ErrExist},
		"Flat":     {"a name has an owner", "web", devforge.ErrRepositoryName},
		"Up":       {"a name is no way up", "../web", devforge.ErrRepositoryName},
		"Deep":     {"a name has two parts", "a/b/c", devforge.ErrRepositoryName},
		"Absolute": {"a name is no path", "/etc/web", devforge.ErrRepositoryName},
		"Empty":    {"a name is something", "", devforge.ErrRepositoryName},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := forge.CreateRepository(t.Context(), tc.name, "main", nil); !errors.Is(got, tc.want) {
				t.Errorf("%s: got error %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestAFailedCreationLeavesNothing(t *testing.T) {
	t.Parallel()
	forge := startForge(t, devforge.Options{})
	if err := forge.CreateRepository(t.Context(), "shop/bad", "no..branch", nil); err == nil {
		t.Fatal("a branch that Git refuses must be an error")
	}
	if err := forge.CreateRepository(t.Context(), "shop/bad", "main", nil); err != nil {
		t.Errorf("a failed creation must not stand in the way of the next: %v", err)
	}
}

// A client that stalls in mid-push keeps its git processes waiting for input.
func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	forge, err := devforge.Start(t.Context(), devforge.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := forge.CreateRepository(t.Context(), repository, "main", nil); err != nil {
		t.Fatal(err)
	}
	stall(t, forge)
	waitFor(t, "a git process works for the stalled push", func() bool { return processesOn(t, dir) > 0 })

	closed := make(chan error, 1)
	go func() { closed <- forge.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Errorf("close: %v", err)
		}
	case <-time.After(soon):
		t.Fatal("Close must not wait for a client that stalls")
	}
	if got := processesOn(t, dir); got != 0 {
		t.Errorf("after Close no git process must be left: got %d", got)
	}
	if err := forge.CreateRepository(t.Context(), "shop/late", "main", nil); err == nil {
		t.Error("after Close no further git process must start")
	}
}
