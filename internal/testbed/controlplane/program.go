package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// A Program runs by itself, beside a control plane that another process may have started. As the
// components do, it ends with the process that has started it.
type Program struct {
	process *process
	spawner *spawner
}

// StartProgram starts the program at path in a folder, which gets its log, with env, such as
// NAME=value, added to the environment.
func StartProgram(path string, args, env []string, dir string) (*Program, error) {
	s := newSpawner()
	p, err := s.start(path, args, env, dir, dir)
	if err != nil {
		s.close()
		return nil, err
	}
	return &Program{process: p, spawner: s}, nil
}

// Await waits until a condition holds, for as long as the program runs.
func (p *Program) Await(ctx context.Context, what string, condition func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-p.process.ended:
			cancel(fmt.Errorf("%s ended: %w", p.process.name, p.process.err))
		case <-ctx.Done():
		}
	}()
	var last error
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		last = condition(ctx)
		return last == nil, nil
	})
	if err == nil {
		return nil
	}
	return p.process.failure(fmt.Errorf("wait for %s: %w", what, errors.Join(context.Cause(ctx), last)))
}

// Stop asks the program to end, and kills it if it does not. It may have ended before.
func (p *Program) Stop() { p.end(p.process.stop) }

// Kill ends the program without a word to it.
func (p *Program) Kill() {
	p.end(func() {
		_ = p.process.kill() // it may have ended
		p.process.stop()
	})
}

// Log returns the path of what the program has said.
func (p *Program) Log() string { return p.process.log }

// end ends the program once.
func (p *Program) end(how func()) {
	if p.spawner == nil {
		return
	}
	how()
	p.spawner.close()
	p.spawner = nil
}
