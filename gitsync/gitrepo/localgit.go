package gitrepo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// command reads a repository by the git command.
//
// The repository may belong to a stranger, and so its configuration. Only commands run that read no
// index and no work tree, so that no filter, no text conversion, no hook and no file-system monitor
// is called, and nothing is fetched. If git refuses because another user owns the repository, that
// stays refused.
type command struct {
	ctx  context.Context //nolint:containedctx // the process that reads objects lasts as long
	path string
	root string
	// environ is the environment of this process.
	environ []string
	// idBytes of the repository's object names: 20, or 32 with SHA-256.
	idBytes int
	// objects is the process that reads objects, nil if none runs.
	objects *batch
}

// newCommand finds git, and whether it reads the repository.
func newCommand(ctx context.Context, root string, environ []string) (*command, error) {
	path, err := exec.LookPath("git") // never one of the current folder
	if err != nil {
		return nil, errors.New("the git command can read such a clone, and is not installed here")
	}
	c := &command{ctx: ctx, path: path, root: root, environ: environ, idBytes: len(plumbing.ZeroHash)}
	format, err := c.run("rev-parse", "--show-object-format")
	if format == "sha256" {
		c.idBytes = 32
	}
	return c, err
}

// harmless are settings that override the repository's. Most are for commands that never run here,
// should git call one of them some day.
var harmless = []string{
	"--no-pager", "--no-optional-locks", "--literal-pathspecs",
	"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "core.sshCommand=false", "-c", "core.askPass=",
	"-c", "core.alternateRefsCommand=false", "-c", "credential.helper=", "-c", "safe.bareRepository=explicit",
}

// run runs a git command, and returns what it says without the last line break.
func (c *command) run(args ...string) (string, error) {
	var said, wrong bytes.Buffer
	process := c.process(args...)
	process.Stdout, process.Stderr = &said, &wrong
	if err := process.Run(); err != nil {
		if words := strings.TrimSpace(wrong.String()); words != "" {
			return "", fmt.Errorf("git: %w: %s", err, words)
		}
		return "", fmt.Errorf("git: %w", err)
	}
	return strings.TrimSuffix(said.String(), "\n"), nil
}

func (c *command) process(args ...string) *exec.Cmd {
	process := exec.CommandContext(c.ctx, c.path, slices.Concat(harmless, args)...)
	process.Dir = c.root
	process.Env = environment(c.root, c.environ)
	if _, err := os.Lstat(filepath.Join(c.root, ".git")); err != nil { // a bare one is named, so that git reads no other
		process.Env = append(process.Env, "GIT_DIR="+c.root)
	}
	return process
}

// environment returns this process's environment for git, without the variables that a hook sets to
// name another repository. Its settings keep git from fetching, also the objects that a partial
// clone lacks.
func environment(root string, environ []string) []string {
	var kept []string
	for _, variable := range environ {
		if !strings.HasPrefix(variable, "GIT_") || isSetting(variable) {
			kept = append(kept, variable)
		}
	}
	return append(kept, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_GRAFT_FILE="+os.DevNull, "GIT_CEILING_DIRECTORIES="+filepath.Dir(root), "LC_ALL=C")
}

// isSetting reports whether a variable is a setting of the person who runs this, such as
// safe.directory.
func isSetting(variable string) bool {
	for _, prefix := range []string{"GIT_CONFIG_GLOBAL=", "GIT_CONFIG_SYSTEM=", "GIT_CONFIG_NOSYSTEM=", "GIT_CONFIG_COUNT=", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"} {
		if strings.HasPrefix(variable, prefix) {
			return true
		}
	}
	return false
}

func (c *command) resolve(revision string) (plumbing.Hash, error) {
	if strings.HasPrefix(revision, "-") {
		return plumbing.ZeroHash, errors.New("the name of a revision does not start with a dash")
	}
	name, err := c.run("rev-parse", "--verify", revision+"^{commit}")
	return plumbing.NewHash(name), err
}

func (c *command) mergeBase(one, other plumbing.Hash) (plumbing.Hash, error) {
	name, err := c.run("merge-base", one.String(), other.String())
	if ended, ok := errors.AsType[*exec.ExitError](err); ok && ended.ExitCode() == 1 {
		return plumbing.ZeroHash, nil // as git says that there is none
	}
	return plumbing.NewHash(name), err
}

func (c *command) extent() extent {
	if said, err := c.run("rev-parse", "--is-shallow-repository"); err == nil && said == "true" {
		return shallow
	}
	if said, err := c.run("config", "--type=bool", "--get-regexp", `^remote\..*\.promisor$`); err == nil && said != "" {
		return partial
	}
	return whole
}

// batch is a process that reads one object after the other.
type batch struct {
	ask    io.WriteCloser
	answer *bufio.Reader
	end    func()
}

func (c *command) start() (*batch, error) {
	ctx, cancel := context.WithCancel(c.ctx)
	process := (&command{ctx: ctx, path: c.path, root: c.root, environ: c.environ}).process("cat-file", "--batch")
	ask, err := process.StdinPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	answer, err := process.StdoutPipe()
	if err != nil {
		cancel()
		return nil, err
	}
	if err := process.Start(); err != nil {
		cancel()
		return nil, err
	}
	end := func() {
		cancel()
		_ = process.Wait() // it was ended, or ended itself: its result tells nothing
	}
	return &batch{ask: ask, answer: bufio.NewReader(answer), end: end}, nil
}

// read reads an object. Git ends, as well as says so, where an object of a partial clone is
// missing.
func (c *command) read(hash plumbing.Hash, kind plumbing.ObjectType, limit int64) (*object, error) {
	if c.objects == nil {
		var err error
		if c.objects, err = c.start(); err != nil {
			return nil, fmt.Errorf("start git: %w", err)
		}
	}
	found, err := c.objects.read(hash, kind, limit)
	if err != nil {
		c.objects.end()
		c.objects = nil
		return nil, err
	}
	switch {
	case c.idBytes == len(hash):
	case kind == plumbing.TreeObject:
		found.data, err = shortTree(found.data, c.idBytes)
	case kind == plumbing.CommitObject:
		found.data = shortCommit(found.data)
	}
	return found, err
}

func (b *batch) read(hash plumbing.Hash, kind plumbing.ObjectType, limit int64) (*object, error) {
	if _, err := fmt.Fprintln(b.ask, hash); err != nil {
		return nil, plumbing.ErrObjectNotFound
	}
	line, err := b.answer.ReadString('\n')
	fields := strings.Fields(line) // its whole name, kind and size
	if err != nil || len(fields) != 3 {
		return nil, plumbing.ErrObjectNotFound
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 || fields[1] != kind.String() {
		return nil, fmt.Errorf("%s is no %s: %q", hash, kind, strings.TrimSpace(line))
	}
	found := &object{kind: kind, size: size}
	if size <= limit {
		found.data = make([]byte, size)
		_, err = io.ReadFull(b.answer, found.data)
	} else {
		_, err = io.CopyN(io.Discard, b.answer, size)
	}
	if err == nil {
		_, err = b.answer.Discard(1) // a line break
	}
	return found, err
}

// shortTree makes of a tree whose object names have n bytes one whose names have those of a Hash.
// The first digits of a name do for git to find an object.
func shortTree(tree []byte, n int) ([]byte, error) {
	short := make([]byte, 0, len(tree))
	for len(tree) > 0 {
		end := bytes.IndexByte(tree, 0) + 1
		if end == 0 || len(tree) < end+n {
			return nil, errors.New("a tree is cut short")
		}
		short = append(short, tree[:end+len(plumbing.ZeroHash)]...)
		tree = tree[end+n:]
	}
	return short, nil
}

var namesOfCommit = regexp.MustCompile(`(?m)^(tree|parent) ([0-9a-f]{40})[0-9a-f]*$`)

// shortCommit does the same for a commit.
func shortCommit(commit []byte) []byte {
	header, message, _ := bytes.Cut(commit, []byte("\n\n"))
	return slices.Concat(namesOfCommit.ReplaceAll(header, []byte("$1 $2")), []byte("\n\n"), message)
}
