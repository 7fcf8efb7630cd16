// Package gittest makes bare Git repositories with the git command and serves
// them over HTTP and ssh on loopback, for tests and for measuring.
package gittest

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Branch is the branch that repositories start with.
const Branch = "main"

// Repository is a bare repository on disk.
type Repository struct {
	// Dir is its folder, <root>/<name>.git.
	Dir string
}

// Init makes an empty repository in a new folder below root.
func Init(root, name string) (*Repository, error) {
	r := &Repository{Dir: filepath.Join(root, name+".git")}
	if _, err := git(root, nil, "init", "--quiet", "--bare", "--initial-branch", Branch, r.Dir); err != nil {
		return nil, err
	}
	return r, nil
}

// Name is the last part of the repository's URL.
func (r *Repository) Name() string { return filepath.Base(r.Dir) }

// Commit is what a new commit changes.
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
	var stream bytes.Buffer
	if err := r.write(&stream, c); err != nil {
		return "", err
	}
	if _, err := r.Git(&stream, "fast-import", "--quiet", "--force"); err != nil {
		return "", err
	}
	return r.Git(nil, "rev-parse", "refs/heads/"+c.Branch)
}

// write writes the commit in the language of git fast-import.
func (r *Repository) write(out *bytes.Buffer, c Commit) error {
	fmt.Fprintf(out, "commit refs/heads/%s\n", c.Branch)
	fmt.Fprintf(out, "committer Ada <ada@example.com> 1750000000 +0000\n")
	fmt.Fprintf(out, "data %d\n%s\n", len(c.Message), c.Message)
	if err := r.writeParents(out, c); err != nil {
		return err
	}
	for _, path := range c.Deleted {
		fmt.Fprintf(out, "D %s\n", path)
	}
	writeFiles(out, "100644", c.Files)
	writeFiles(out, "120000", c.Links)
	for _, path := range slices.Sorted(maps.Keys(c.Submodules)) {
		fmt.Fprintf(out, "M 160000 %s %s\n", c.Submodules[path], path)
	}
	return nil
}

func (r *Repository) writeParents(out *bytes.Buffer, c Commit) error {
	parent := c.Parent
	if parent == "" {
		parent = "refs/heads/" + c.Branch
	}
	hash, err := r.Git(nil, "rev-parse", "--verify", "--quiet", parent+"^{commit}")
	switch {
	case c.Orphan:
		fmt.Fprintf(out, "deleteall\n")
	case err == nil:
		fmt.Fprintf(out, "from %s\n", hash)
	case c.Parent != "":
		return err
	}
	if c.Merge == "" {
		return nil
	}
	merged, err := r.Git(nil, "rev-parse", "--verify", c.Merge+"^{commit}")
	fmt.Fprintf(out, "merge %s\n", merged)
	return err
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

// Environment is the process's, without what would make git depend on the machine.
func Environment() []string {
	return append(os.Environ(),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
}
