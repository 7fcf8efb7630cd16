package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/examples"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

func TestEachVersionIsACommitOnTheForge(t *testing.T) {
	t.Parallel()
	url := sampleForge(t)
	work, err := gitClone(t.Context(), url, filepath.Join(t.TempDir(), "work"))
	if err != nil {
		t.Fatal(err)
	}
	for i, image := range web().images[1:] {
		if err := work.update(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := work.setImage(web().manifest, web().images[i], image); err != nil {
			t.Fatalf("examples/repo must hold the version that the story starts from: %v", err)
		}
		commit, err := work.commitAndPush(t.Context(), "web: "+image)
		if err != nil {
			t.Fatal(err)
		}
		pushed, err := work.git(t.Context(), "ls-remote", url, "refs/heads/"+branch)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(pushed, commit) {
			t.Errorf("the forge must be at the commit: got %q, want %s", pushed, commit)
		}
	}
}

func TestAChangeThatChangesNothingIsAnError(t *testing.T) {
	t.Parallel()
	work, err := gitClone(t.Context(), sampleForge(t), filepath.Join(t.TempDir(), "work"))
	if err != nil {
		t.Fatal(err)
	}
	if err := work.setImage(web().manifest, "nginx:0.1", "nginx:0.2"); err == nil {
		t.Error("a text that is not in the manifest can't be replaced")
	}
	if _, err := work.commitAndPush(t.Context(), "nothing"); err == nil {
		t.Error("an empty commit must be refused")
	}
}

func TestGitErrorsSayWhatGitSaid(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "none")
	_, err := gitClone(t.Context(), missing, filepath.Join(t.TempDir(), "work"))
	if err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("an error must hold git's own words: got %v", err)
	}
	if _, statErr := os.Stat(missing); statErr == nil {
		t.Error("a failed clone must make nothing")
	}
}

func sampleForge(t *testing.T) string {
	t.Helper()
	forge, err := devforge.Start(t.Context(), devforge.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { forge.Close() })
	seed, err := examples.Repo()
	if err != nil {
		t.Fatal(err)
	}
	if err := forge.CreateRepository(t.Context(), oneDeployment().repository, branch, seed); err != nil {
		t.Fatal(err)
	}
	return forge.CloneURL(oneDeployment().repository)
}
