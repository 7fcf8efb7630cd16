package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// killAfter is how long a process may take to end before it is killed. Nothing is lost by that:
// what etcd wrote is with the kernel.
const killAfter = 2 * time.Second

// gcPercent lets a component's heap grow to four times what it keeps before garbage is collected:
// kube-apiserver keeps some 200 MB, and would spend a sixth of its time on it.
const gcPercent = "GOGC=300"

// A spawner starts processes from one OS thread that lasts as long as they do: Linux sends a child
// its parent-death signal when the thread that started it ends, not when the process does.
type spawner struct{ starts chan func() }

func newSpawner() *spawner {
	s := &spawner{starts: make(chan func())}
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for start := range s.starts {
			start()
		}
	}()
	return s
}

// do runs f on the spawner's thread and returns what it returns.
func (s *spawner) do(f func() error) error {
	result := make(chan error)
	s.starts <- func() { result <- f() }
	return <-result
}

// close lets the thread go. All processes must have ended.
func (s *spawner) close() { close(s.starts) }

// A process is a running component of the control plane.
type process struct {
	name  string
	log   string // path of its output
	pid   int
	end   context.CancelFunc // asks it to end, and kills it after killAfter
	kill  func() error       // kills it at once; an error if it has ended
	ended chan struct{}      // closed once it has
	err   error              // how it ended; set before ended is closed, never nil then
}

// start starts the program at path in dir, with its output in logs and env added to our
// environment.
func (s *spawner) start(path string, args, env []string, dir, logs string) (*process, error) {
	p := &process{name: filepath.Base(path), ended: make(chan struct{})}
	p.log = filepath.Join(logs, p.name+".log")
	output, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", p.name, err)
	}
	defer output.Close() // the child has its own

	life, end := context.WithCancel(context.Background()) // it ends by stop alone, not with a caller's context
	p.end = end
	cmd := exec.CommandContext(life, path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, output, output
	cmd.Env = append(append(os.Environ(), gcPercent), env...)
	cmd.SysProcAttr = childAttributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = killAfter
	if err := s.do(cmd.Start); err != nil {
		end()
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	p.pid, p.kill = cmd.Process.Pid, cmd.Process.Kill
	go func() {
		defer close(p.ended)
		if p.err = cmd.Wait(); p.err == nil {
			p.err = errors.New("exit status 0")
		}
	}()
	return p, nil
}

// stop ends the process and waits until it has.
func (p *process) stop() {
	p.end()
	<-p.ended
}

// failure adds the end of the process's log to err.
func (p *process) failure(err error) error {
	output, readErr := os.ReadFile(p.log)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	return fmt.Errorf("%w; its log ends with\n%s", err, lastLines(output))
}

// lastLines returns the end of an output, short enough for an error.
func lastLines(output []byte) []byte {
	const most = 12
	lines := bytes.Split(bytes.TrimSpace(output), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-most):], []byte("\n"))
}
