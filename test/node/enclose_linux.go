package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
)

// stageEnv tells a program that Enclose has started which part it plays.
const stageEnv = "SLUICE_NODE_STAGE"

// The parts of a program that is enclosed.
const (
	first  = "first"  // process 1 of the namespaces
	inside = "inside" // its child, who does what is to be done
)

// Enclose runs this program again, with the arguments it has, in namespaces of its own, where
// Inside tells so. It returns the exit code once that has ended, when nothing of it is left. The
// end of the context, and the end of this process, end all that is inside at once.
func Enclose(ctx context.Context) (code int, err error) {
	own := newLeavings(os.Getpid())
	if err := errors.Join(sweepDead(), own.make()); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, own.sweep()) }()
	return enclose(ctx)
}

func enclose(ctx context.Context) (int, error) {
	// The kernel ends a child with the thread that started it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), stageEnv+"="+first, dirEnv+"="+stateDir(os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		Pdeathsig:  syscall.SIGKILL,
	}
	return exitCode(ctx, cmd.Run())
}

func exitCode(ctx context.Context, err error) (int, error) {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("run in namespaces: %w", errors.Join(err, context.Cause(ctx)))
	}
	return 0, nil
}

// Inside reports whether Enclose has started this program to do what is to be done inside. As the
// first process of the namespaces it does not return: it prepares them, has its like do the rest,
// and takes care of the children of others, as processes 1 have to.
func Inside() bool {
	switch os.Getenv(stageEnv) {
	case inside:
		return true
	case first:
		code, err := beFirst()
		if err != nil {
			fmt.Fprintln(os.Stderr, "prepare namespaces:", err)
			code = 1
		}
		os.Exit(code)
	}
	return false
}

func beFirst() (int, error) {
	if pid := os.Getpid(); pid != 1 {
		return 0, fmt.Errorf("%s=%s is for process 1 alone, this is %d", stageEnv, first, pid)
	}
	if err := prepareMounts(os.Getenv(dirEnv)); err != nil {
		return 0, err
	}
	if err := prepareNetwork(); err != nil {
		return 0, err
	}
	if err := os.Setenv(stageEnv, inside); err != nil {
		return 0, fmt.Errorf("set %s: %w", stageEnv, err)
	}
	pid, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 1, 2},
	})
	if err != nil {
		return 0, fmt.Errorf("start what is inside: %w", err)
	}
	return reapUntil(pid)
}

// reapUntil waits for whatever ends, until a child does. Its exit code is that of the child.
func reapUntil(child int) (int, error) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for children: %w", err)
		case pid == child && status.Signaled():
			return 128 + int(status.Signal()), nil
		case pid == child:
			return status.ExitStatus(), nil
		}
	}
}
