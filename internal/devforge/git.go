package devforge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// errClosed is what a git command gets that comes after Close.
var errClosed = errors.New("forge is closed")

// gitRunner runs git, so many processes at a time.
type gitRunner struct {
	path  string
	env   []string
	slots chan struct{}
	// done is closed by end, which kills what runs and has what comes later refused.
	done chan struct{}
	end  func()
}

func newGitRunner(home string, maxProcesses int) (*gitRunner, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	done := make(chan struct{})
	return &gitRunner{
		path:  path,
		env:   gitEnv(home),
		slots: make(chan struct{}, maxProcesses),
		done:  done,
		end:   sync.OnceFunc(func() { close(done) }),
	}, nil
}

// gitEnv keeps the user's own Git settings (hooks, signing, templates) out of the forge.
func gitEnv(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + home,
		"LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=devforge", "GIT_AUTHOR_EMAIL=devforge@localhost",
		"GIT_COMMITTER_NAME=devforge", "GIT_COMMITTER_EMAIL=devforge@localhost",
	}
}

// wait returns when nothing runs, after end: once all slots are taken, nothing ever will.
func (g *gitRunner) wait() {
	for range cap(g.slots) {
		g.slots <- struct{}{}
	}
}

// stalledAfter is how long a client may leave the last bytes of a finished process untaken.
const stalledAfter = 30 * time.Second

// invocation is one git process.
type invocation struct {
	args   []string
	env    []string
	stdin  io.Reader
	stdout io.Writer
}

// run waits for a free slot and runs git. What git says on stderr becomes part of the error.
func (g *gitRunner) run(ctx context.Context, inv invocation) error {
	if err := g.acquire(ctx); err != nil {
		return err
	}
	defer func() { <-g.slots }()
	ctx, cancel := g.untilEnd(ctx)
	defer cancel()

	var stderr bytes.Buffer
	cmd := g.command(ctx, inv)
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run git %s: %w: %s", inv.args[0], err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// untilEnd is ctx, ended by end as well.
func (g *gitRunner) untilEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-g.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (g *gitRunner) acquire(ctx context.Context) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-g.done:
		return errClosed
	case <-ctx.Done():
		return fmt.Errorf("wait for a free git process: %w", ctx.Err())
	}
}

// command puts git in a process group of its own, so that cancelling ctx ends its children too.
func (g *gitRunner) command(ctx context.Context, inv invocation) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.path, inv.args...)
	cmd.Env = slices.Concat(g.env, inv.env)
	cmd.Stdin, cmd.Stdout = inv.stdin, inv.stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = stalledAfter
	return cmd
}
