// Package gittest makes bare Git repositories with the git command and serves
// them over HTTP and ssh on loopback, for tests and for measuring.
package gittest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// Branch is the branch that repositories start with.
const Branch = "main"

// Repository is a bare repository on disk.
type Repository struct {
	// Dir is its folder, <root>/<name>.git.
	Dir string
}

// Init makes an empty repository in a new folder below root, as git init would: to write two files
// costs a tenth of the process.
func Init(root, name string) (*Repository, error) {
	r := &Repository{Dir: filepath.Join(root, name+".git")}
	if err := os.Mkdir(r.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the repository's folder: %w", err)
	}
	if err := os.CopyFS(r.Dir, empty); err != nil {
		return nil, fmt.Errorf("make an empty repository: %w", err)
	}
	return r, nil
}

// empty is what gitrepository-layout(5) wants of a bare repository.
var empty = fstest.MapFS{
	"HEAD":    {Data: []byte("ref: refs/heads/" + Branch + "\n"), Mode: 0o644},
	"config":  {Data: []byte("[core]\n\trepositoryformatversion = 0\n\tbare = true\n"), Mode: 0o644},
	"objects": {Mode: fs.ModeDir | 0o755},
	"refs":    {Mode: fs.ModeDir | 0o755},
}

// Name returns the last part of the repository's URL.
func (r *Repository) Name() string { return filepath.Base(r.Dir) }

// Commit lists the changes of a new commit.
type Commit struct {
	// Branch to put it on; Branch of this package if empty.
	Branch string
	// Parent is a revision; the branch's head if empty.
	Parent string
	// Orphan makes a commit without parent.
	Orphan bool
	// Merge is a revision to add as second parent.
	Merge string
	// Message; a fixed one if empty.
	Message string

	// Files to write, by path.
	Files map[string]string
	// Links are symbolic links: path to target.
	Links map[string]string
	// Submodules by path, to any commit name of 40 hex digits.
	Submodules map[string]string
	// Deleted paths; a folder's goes with all that is in it.
	Deleted []string
}

// Commit writes a commit, moves the branch to it, by force if need be, and returns
// its name.
func (r *Repository) Commit(c Commit) (string, error) {
	if c.Branch == "" {
		c.Branch = Branch
	}
	if c.Message == "" {
		c.Message = "change"
	}
	known, err := r.has("refs/heads/" + c.Branch)
	if err != nil {
		return "", err
	}
	if c.Parent == "" && !c.Orphan && known {
		c.Parent = "refs/heads/" + c.Branch
	}
	var stream bytes.Buffer
	write(&stream, c)
	// A small commit's objects stay in the pack: to unpack them takes a second process.
	return r.Git(&stream, "-c", "fastimport.unpackLimit=1", "fast-import", "--quiet", "--force")
}

// has reports whether there is a ref, without a process.
func (r *Repository) has(ref string) (bool, error) {
	if _, err := os.Stat(filepath.Join(r.Dir, ref)); err == nil {
		return true, nil
	}
	packed, err := os.ReadFile(filepath.Join(r.Dir, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read refs: %w", err)
	}
	return strings.Contains(string(packed), " "+ref+"\n"), nil
}

// write writes the commit in the language of git fast-import, which is to print the commit's name.
func write(out *bytes.Buffer, c Commit) {
	fmt.Fprintf(out, "commit refs/heads/%s\nmark :1\n", c.Branch)
	fmt.Fprintf(out, "committer Ada <ada@example.com> 1750000000 +0000\n")
	fmt.Fprintf(out, "data %d\n%s\n", len(c.Message), c.Message)
	// By ^0 it is the commit at the revision, also where that is the branch itself.
	switch {
	case c.Orphan:
		fmt.Fprintf(out, "deleteall\n")
	case c.Parent != "":
		fmt.Fprintf(out, "from %s^0\n", c.Parent)
	}
	if c.Merge != "" {
		fmt.Fprintf(out, "merge %s^0\n", c.Merge)
	}
	for _, path := range c.Deleted {
		fmt.Fprintf(out, "D %s\n", path)
	}
	writeFiles(out, "100644", c.Files)
	writeFiles(out, "120000", c.Links)
	for _, path := range slices.Sorted(maps.Keys(c.Submodules)) {
		fmt.Fprintf(out, "M 160000 %s %s\n", c.Submodules[path], path)
	}
	fmt.Fprintf(out, "\nget-mark :1\n")
}

func writeFiles(out *bytes.Buffer, mode string, files map[string]string) {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(out, "M %s inline %s\ndata %d\n%s\n", mode, path, len(files[path]), files[path])
	}
}

// Git runs git in the repository and returns what it prints.
func (r *Repository) Git(stdin *bytes.Buffer, args ...string) (string, error) {
	return git(r.Dir, stdin, args...)
}

func git(dir string, stdin *bytes.Buffer, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = Environment()
	if stdin != nil {
		cmd.Stdin = stdin
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// Environment returns the process's, without what would make git depend on the machine.
func Environment() []string {
	return append(os.Environ(), gitcmd.Isolated()...)
}
