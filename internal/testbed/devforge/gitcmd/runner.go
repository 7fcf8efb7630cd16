package gitcmd

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

// ErrClosed is what a git command gets that comes after End.
var ErrClosed = errors.New("git runner is ended")

// Runner runs git, so many processes at a time.
type Runner struct {
	path  string
	env   []string
	slots chan struct{}
	// done is closed by End.
	done chan struct{}
	end  func()
}

// NewRunner finds git. Home is the folder that git takes for the user's own.
func NewRunner(home string, maxProcesses int) (*Runner, error) {
	path, err := exec.LookPath("git")
	if err != nil {
		return nil, fmt.Errorf("find git: %w", err)
	}
	done := make(chan struct{})
	return &Runner{
		path:  path,
		env:   gitEnv(home),
		slots: make(chan struct{}, maxProcesses),
		done:  done,
		end:   sync.OnceFunc(func() { close(done) }),
	}, nil
}

// gitEnv keeps the user's own Git settings (hooks, signing, templates) out of the forge.
func gitEnv(home string) []string {
	return append(Isolated(),
		"PATH="+os.Getenv("PATH"),
		"HOME="+home,
		"LC_ALL=C",
		"GIT_AUTHOR_NAME=devforge", "GIT_AUTHOR_EMAIL=devforge@localhost",
		"GIT_COMMITTER_NAME=devforge", "GIT_COMMITTER_EMAIL=devforge@localhost",
	)
}

// Isolated returns the environment in which git reads no settings of the machine, asks nobody, and
// does not tidy up: a repository of a test is gone before that pays.
func Isolated() []string {
	return []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=maintenance.auto", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=receive.autogc", "GIT_CONFIG_VALUE_1=false", "GIT_CONFIG_KEY_2=gc.auto", "GIT_CONFIG_VALUE_2=0",
	}
}

// End kills what runs and has what comes later refused.
func (g *Runner) End() { g.end() }

// ended returns ErrClosed after End.
func (g *Runner) ended() error {
	select {
	case <-g.done:
		return ErrClosed
	default:
		return nil
	}
}

// Wait returns when nothing runs, after End: once all slots are taken, nothing ever will.
func (g *Runner) Wait() {
	for range cap(g.slots) {
		g.slots <- struct{}{}
	}
}

// stalledAfter is how long a client may leave the last bytes of a finished process untaken.
const stalledAfter = 30 * time.Second

// Invocation is one git process.
type Invocation struct {
	// Args are git's arguments, the command first.
	Args []string
	// Env is added to what the runner sets.
	Env []string
	// Stdin is nothing if it is nil.
	Stdin io.Reader
	// Stdout is thrown away if it is nil.
	Stdout io.Writer
}

// Run waits for a free slot and runs git. The error contains git's stderr.
func (g *Runner) Run(ctx context.Context, inv Invocation) error {
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
		return fmt.Errorf("run git %s: %w: %s", inv.Args[0], err, strings.TrimSpace(stderr.String()))
	}
	return nil
}

// untilEnd returns ctx, ended by End as well.
func (g *Runner) untilEnd(ctx context.Context) (context.Context, context.CancelFunc) {
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

func (g *Runner) acquire(ctx context.Context) error {
	select {
	case g.slots <- struct{}{}:
		// A slot may come with the end, or after it.
		if err := g.ended(); err != nil {
			<-g.slots
			return err
		}
		return nil
	case <-g.done:
		return ErrClosed
	case <-ctx.Done():
		return fmt.Errorf("wait for a free git process: %w", ctx.Err())
	}
}

// command puts git in a process group of its own, so that cancelling ctx ends its children too.
func (g *Runner) command(ctx context.Context, inv Invocation) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.path, inv.Args...)
	cmd.Env = slices.Concat(g.env, inv.Env)
	cmd.Stdin, cmd.Stdout = inv.Stdin, inv.Stdout
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = stalledAfter
	return cmd
}
