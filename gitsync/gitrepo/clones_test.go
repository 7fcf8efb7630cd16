package gitrepo

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// runGit runs git in a folder.
func runGit(t *testing.T, folder string, args ...string) string {
	t.Helper()
	// Git must not go on in the background once the test has ended.
	command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)...)
	command.Dir, command.Env = folder, append(gittest.Environment(),
		"GIT_ALLOW_PROTOCOL=file", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com")
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", strings.Join(args, " "), err, said)
	}
	return strings.TrimSpace(string(said))
}

// twoCommits makes a repository with a work tree, and a file in two versions, in a folder and at
// the root.
func twoCommits(t *testing.T, args ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "origin")
	runGit(t, t.TempDir(), append(append([]string{"init", "-q", "-b", "main"}, args...), folder)...)
	for _, version := range []string{"one", "two"} {
		write(t, filepath.Join(folder, "a", "web.yaml"), version)
		write(t, filepath.Join(folder, "web.yaml"), version)
		runGit(t, folder, "add", "-A")
		runGit(t, folder, "commit", "-q", "-m", version)
	}
	runGit(t, folder, "config", "uploadpack.allowFilter", "true")
	return folder
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestClonesThatGitMakes reads both commits of each kind of clone that has them.
func TestClonesThatGitMakes(t *testing.T) {
	t.Parallel()
	clones := map[string]func(t *testing.T) string{
		"plain": func(t *testing.T) string { return cloned(t) },
		"sparse": func(t *testing.T) string {
			folder := cloned(t)
			runGit(t, folder, "sparse-checkout", "set", "a")
			return folder
		},
		"sparse from the start": func(t *testing.T) string { return cloned(t, "--sparse") },
		"shared":                func(t *testing.T) string { return cloned(t, "--shared") },
		"reference": func(t *testing.T) string {
			return cloned(t, "--no-local", "--reference", twoCommits(t))
		},
		"new commits on a shared one": func(t *testing.T) string {
			folder := cloned(t, "--shared")
			runGit(t, folder, "reset", "-q", "--hard", "HEAD~1")
			write(t, filepath.Join(folder, "a", "web.yaml"), "two")
			write(t, filepath.Join(folder, "web.yaml"), "two")
			runGit(t, folder, "commit", "-q", "-a", "-m", "two")
			return folder
		},
		"linked work tree": func(t *testing.T) string {
			folder := filepath.Join(t.TempDir(), "linked")
			runGit(t, cloned(t), "worktree", "add", "-q", folder, "HEAD")
			return folder
		},
		"linked work tree of a sparse one": func(t *testing.T) string {
			main, folder := cloned(t), filepath.Join(t.TempDir(), "linked")
			runGit(t, main, "sparse-checkout", "set", "a")
			runGit(t, main, "worktree", "add", "-q", folder, "HEAD")
			return folder
		},
		"separate git folder": func(t *testing.T) string {
			return cloned(t, "--separate-git-dir", filepath.Join(t.TempDir(), "elsewhere"))
		},
		"packed": func(t *testing.T) string {
			folder := cloned(t)
			runGit(t, folder, "gc", "-q")
			runGit(t, folder, "pack-refs", "--all")
			return folder
		},
		"SHA-256":        func(t *testing.T) string { return twoCommits(t, "--object-format=sha256") },
		"SHA-256, clone": func(t *testing.T) string { return clonedFrom(t, twoCommits(t, "--object-format=sha256")) },
		"partial, with all files": func(t *testing.T) string {
			folder := cloned(t, "--no-local", "--filter=blob:none")
			runGit(t, folder, "fetch", "-q", "--refetch", "--no-filter")
			return folder
		},
	}
	for name, clone := range clones {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			local, err := OpenLocal(t.Context(), filepath.Join(clone(t), "a"), os.Environ(), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			head, err := local.At("HEAD")
			if err != nil {
				t.Fatal(err)
			}
			parent, err := local.Parent(head)
			if err != nil || parent == nil || !parent.IsFirst() {
				t.Fatalf("the parent is %+v, %v", parent, err)
			}
			for at, want := range map[*Snapshot]string{head: "two", parent: "one"} {
				for _, file := range []string{"a/web.yaml", "web.yaml"} {
					if text, err := fs.ReadFile(at.FS(), file); string(text) != want || err != nil {
						t.Errorf("%s of commit %q is %q, %v", file, want, text, err)
					}
				}
				if at.Subject != want || at.Err() != nil {
					t.Errorf("commit %q has subject %q, and %v", want, at.Subject, at.Err())
				}
			}
			if base, err := local.MergeBase("HEAD", "HEAD~1"); err != nil || base.Commit != parent.Commit {
				t.Errorf("the merge base is %+v, %v", base, err)
			}
			if _, err := local.At("nowhere"); KindOf(err) != BranchNotFound {
				t.Errorf("a revision that is not there: %v", err)
			}
		})
	}
}

func cloned(t *testing.T, args ...string) string {
	t.Helper()
	return clonedFrom(t, twoCommits(t), args...)
}

func clonedFrom(t *testing.T, origin string, args ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "clone")
	runGit(t, t.TempDir(), append(append([]string{"clone", "-q"}, args...), "file://"+origin, folder)...)
	return folder
}

// TestBareClones reads a clone without a work tree, by go-git and by the git command. One that lies
// in another repository, whose author may have put it there, is not read in its place.
func TestBareClones(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--bare"}, {"--mirror"}, {"--bare", "--shared"}} {
		folder := cloned(t, args...)
		if text := versionAt(t, folder, "HEAD~1"); text != "one" {
			t.Errorf("%v: the file is %q", args, text)
		}
		around := twoCommits(t)
		runGit(t, around, "clone", "-q", "--bare", folder, "inner.git")
		runGit(t, filepath.Join(around, "inner.git"), "update-ref", "HEAD", "HEAD~1")
		if text := versionAt(t, filepath.Join(around, "inner.git"), "HEAD"); text != "two" {
			t.Errorf("%v: the repository within was read", args)
		}
		if _, err := OpenLocal(t.Context(), filepath.Join(folder, "refs"), os.Environ(), Limits{}); KindOf(err) != RepositoryNotFound {
			t.Errorf("%v: a folder of the bare repository: %v", args, err)
		}
	}
}

func versionAt(t *testing.T, folder, revision string) string {
	t.Helper()
	local, err := OpenLocal(t.Context(), folder, os.Environ(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	at, err := local.At(revision)
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(at.FS(), "web.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPartialClones says how to get the files that a partial clone lacks, and fetches none itself.
func TestPartialClones(t *testing.T) {
	t.Parallel()
	for _, filter := range []string{"blob:none", "tree:0"} {
		folder := cloned(t, "--no-local", "--filter="+filter)
		local, err := OpenLocal(t.Context(), folder, os.Environ(), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		head, err := local.At("HEAD")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := fs.ReadFile(head.FS(), "web.yaml"); string(text) != "two" || head.Err() != nil {
			t.Errorf("%s: the file that is checked out is %q, %v, %v", filter, text, err, head.Err())
		}
		before, err := local.At("HEAD~1")
		if err == nil {
			_, _ = fs.ReadFile(before.FS(), "web.yaml")
			err = before.Err()
		}
		if KindOf(err) != Invalid || !strings.Contains(fmt.Sprint(err), "git fetch --refetch --no-filter") {
			t.Errorf("%s: what is missing: %v", filter, err)
		}
		if missing := runGit(t, folder, "rev-list", "--objects", "--all", "--missing=print"); !strings.Contains(missing, "?") {
			t.Errorf("%s: all is there, so it was fetched", filter)
		}
	}
}

// TestStrangersConfigurationRunsNothing reads a clone whose .git a stranger has made: by the git
// command, too, none of the programs that it names is run.
func TestStrangersConfigurationRunsNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the traps are shell scripts")
	}
	folder := cloned(t, "--no-local", "--filter=blob:none")
	runGit(t, folder, "sparse-checkout", "set", "a") // so that go-git does not open it
	trap, sprung := filepath.Join(folder, "trap"), filepath.Join(t.TempDir(), "sprung")
	write(t, trap, "#!/bin/sh\necho \"$0 $*\" >> "+sprung+"\nexit 1\n")
	for _, name := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "core.editor", "core.askPass", "core.gitProxy", "core.alternateRefsCommand",
		"pager.rev-parse", "pager.cat-file", "credential.helper", "diff.external", "diff.trap.textconv", "diff.trap.command",
		"filter.trap.smudge", "filter.trap.clean", "filter.trap.process", "gpg.program", "remote.origin.uploadpack", "remote.origin.receivepack",
		"uploadpack.packObjectsHook", "merge.trap.driver", "sequence.editor"} {
		runGit(t, folder, "config", name, trap)
	}
	for name, value := range map[string]string{
		"alias.rev-parse": "!" + trap, "alias.cat-file": "!" + trap, "alias.merge-base": "!" + trap, "alias.config": "!" + trap,
		"core.hooksPath": filepath.Join(folder, "hooks"), "protocol.allow": "always", "protocol.ext.allow": "always",
		"remote.origin.url": "ext::" + trap, "remote.other.url": "ext::" + trap, "remote.other.promisor": "true", "extensions.partialClone": "other",
		"log.showSignature": "true", "fetch.writeCommitGraph": "true",
	} {
		runGit(t, folder, "config", name, value)
	}
	for _, hook := range []string{"post-checkout", "reference-transaction", "post-index-change", "pre-auto-gc", "fsmonitor-watchman"} {
		write(t, filepath.Join(folder, "hooks", hook), "#!/bin/sh\n"+trap+"\n")
	}
	write(t, filepath.Join(folder, ".gitattributes"), "* filter=trap diff=trap merge=trap\n")
	write(t, filepath.Join(folder, "git"), "#!/bin/sh\n"+trap+"\n")
	// Made as git makes it: what is below must reach git itself, or this test shows nothing.
	runGit(t, folder, "-c", "core.fsmonitor=false", "rev-parse", "HEAD")

	local, err := OpenLocal(t.Context(), folder, os.Environ(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	head, err := local.At("HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := fs.ReadFile(head.FS(), "a/web.yaml"); string(text) != "two" {
		t.Fatalf("git was not reached: %q, %v", text, err)
	}
	if before, err := local.At("HEAD~1"); err == nil {
		_, _ = fs.ReadFile(before.FS(), "web.yaml") // which only the remote has
	}
	for _, revision := range []string{":a/web.yaml", "HEAD:a/web.yaml", "--exec=" + trap, "-h", ":/two", "@{upstream}", "HEAD^{/two}", "$(" + trap + ")"} {
		_, _ = local.At(revision)
		_, _ = local.MergeBase("HEAD", revision)
	}
	if text, err := os.ReadFile(sprung); err == nil {
		t.Errorf("programs of the repository were run:\n%s", text)
	}

	// The traps work: what git does by itself springs some of them.
	status := exec.CommandContext(t.Context(), "git", "status")
	status.Dir, status.Env = folder, gittest.Environment()
	_ = status.Run()
	if _, err := os.ReadFile(sprung); err != nil {
		t.Errorf("git status sprang no trap: this test shows nothing: %v", err)
	}
}

// TestHooksEnvironmentLeadsNowhere reads the repository of the folder though a hook of another one
// runs this.
func TestHooksEnvironmentLeadsNowhere(t *testing.T) {
	other := twoCommits(t)
	folder := cloned(t)
	runGit(t, folder, "sparse-checkout", "set", "a")
	want := runGit(t, folder, "rev-parse", "HEAD")
	write(t, filepath.Join(other, "web.yaml"), "three")
	runGit(t, other, "commit", "-q", "-a", "-m", "three")
	for name, value := range map[string]string{
		"GIT_DIR": filepath.Join(other, ".git"), "GIT_WORK_TREE": other, "GIT_OBJECT_DIRECTORY": filepath.Join(other, ".git", "objects"),
		"GIT_INDEX_FILE": filepath.Join(other, ".git", "index"), "GIT_CONFIG_PARAMETERS": "'core.bare=true'",
	} {
		t.Setenv(name, value)
	}
	local, err := OpenLocal(t.Context(), folder, os.Environ(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if head, err := local.At("HEAD"); err != nil || head.Commit != want {
		t.Errorf("want commit %s of the folder, got %+v, %v", want, head, err)
	}
}

// TestWithoutGit says what is missing where only git could read a clone.
func TestWithoutGit(t *testing.T) {
	folder := twoCommits(t, "--object-format=sha256")
	t.Setenv("PATH", t.TempDir())
	local, err := OpenLocal(t.Context(), folder, os.Environ(), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := local.At("HEAD"); err == nil || !strings.Contains(err.Error(), "the git command can read such a clone, and is not installed") {
		t.Errorf("got %v", err)
	}
}
