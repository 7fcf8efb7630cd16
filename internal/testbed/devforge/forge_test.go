package devforge_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

const repository = "shop/web"

// TestPushOfManyMegabytes: git sends packs above http.postBuffer in chunks while the server already
// answers.
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

// TestCloseEndsWhatIsUnderWay: a client that stalls in mid-push keeps its git processes waiting for
// input.
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
