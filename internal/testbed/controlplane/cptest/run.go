package cptest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// patience is how long a command may take to end once it was asked to.
const patience = 15 * time.Second

// Run runs a command for as long as a control plane lasts, and returns the command's exit code. The
// command finds the control plane by the environment variables AccessEnv and KUBECONFIG, and has
// those given, such as NAME=value. It is asked to end when the context or the control plane ends.
func Run(ctx context.Context, cp *controlplane.ControlPlane, command []string, env ...string) (int, error) {
	access := filepath.Join(filepath.Dir(cp.Kubeconfig), "access.json")
	if err := cp.Save(access); err != nil {
		return 0, err
	}
	return run(ctx, cp, command, append(env, AccessEnv+"="+access, "KUBECONFIG="+cp.Kubeconfig))
}

// RunOn does what Run does, with the control plane of make up.
func RunOn(ctx context.Context, use *controlplane.Use, command []string) (int, error) {
	return run(ctx, use, command, []string{AccessEnv + "=" + use.Path(), "KUBECONFIG=" + use.Kubeconfig})
}

// lasting ends when Wait returns.
type lasting interface {
	Wait(ctx context.Context) error
}

func run(ctx context.Context, cp lasting, command, env []string) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(cp.Wait(ctx)) }()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = patience
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("run %s: %w", command[0], errors.Join(err, context.Cause(ctx)))
	}
	return 0, nil
}
