// Command withcp runs a command with a control plane for its tests, and exits as the command does:
//
//	withcp [flags] -- go test ./...
//
// The command finds the control plane by the environment variables SLUICE_TEST_CONTROLPLANE (see
// package cptest) and KUBECONFIG. It ends with the command, with a signal, and if withcp is killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/test/node"
)

// patience is how long a command may take to end once it was told to.
const patience = 15 * time.Second

func main() {
	options, err := cptest.Options()
	if err != nil {
		fail(err)
	}
	flag.IntVar(&options.Nodes, "nodes", 3, "number of nodes")
	flag.DurationVar(&options.ReadyDelay, "ready-delay", 0, "time that pods take to be ready")
	flag.BoolVar(&options.RealNodes, "real-node", false,
		"run one real node instead of those: this machine, which must be Linux, and the user root")
	flag.Usage = usage
	flag.Parse()
	if flag.NArg() == 0 {
		usage()
		os.Exit(2)
	}
	ctrl.SetLogger(logr.Discard()) // what goes wrong is said once, as an error
	code, err := runAnywhere(options, flag.Args())
	if err != nil {
		fail(err)
	}
	os.Exit(code)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: withcp [flags] -- command [argument...]")
	flag.PrintDefaults()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "withcp:", err)
	os.Exit(1)
}

// runAnywhere is run, inside of namespaces of its own if there is to be a real node.
func runAnywhere(options controlplane.Options, command []string) (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if !options.RealNodes || node.Inside() {
		return run(ctx, options, command)
	}
	if err := node.Check(); err != nil {
		return 0, err
	}
	// Inside there is no network to build with.
	if _, err := controlplane.Binaries(ctx, options.Progress); err != nil {
		return 0, err
	}
	if _, err := controlplane.NodeBinaries(ctx, options.Progress); err != nil {
		return 0, err
	}
	return node.Enclose(ctx)
}

// run runs the command while a control plane runs, and returns the command's exit code.
func run(ctx context.Context, options controlplane.Options, command []string) (code int, err error) {
	var env []string
	if options.RealNodes {
		options.Address, options.Dir = node.Address, node.Dir("controlplane")
	}
	cp, err := controlplane.Start(ctx, options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	if options.RealNodes {
		if err := node.Start(ctx, cp, options.Progress); err != nil {
			return 0, err
		}
		env = append(node.Environment(), "PATH="+filepath.Dir(cp.KubectlPath)+":"+os.Getenv("PATH"))
	}
	access := filepath.Join(filepath.Dir(cp.Kubeconfig), "access.json")
	if err := cp.Save(access); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(cp.Wait(ctx)) }()
	return runCommand(ctx, command, append(env, cptest.AccessEnv+"="+access, "KUBECONFIG="+cp.Kubeconfig)...)
}

// runCommand runs a command until it ends, or asks it to when the context does.
func runCommand(ctx context.Context, command []string, env ...string) (int, error) {
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
