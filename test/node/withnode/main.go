// Command withnode runs a command with a control plane and a real node for its tests, and exits as
// the command does:
//
//	withnode -- go test ./cluster
//
// The node is this machine, which must be Linux, and the user root: all of it, the command too,
// runs in namespaces of its own (see package node). The command finds the control plane as package
// cptest says, and the node by what package node names. All ends with the command, with a signal,
// and if withnode is killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/test/node"
)

// build is the flag with which nothing is run: what is not built yet is.
var build = flag.Bool("build", false, "build what it takes, and run nothing")

func main() {
	flag.Usage = usage
	flag.Parse()
	if flag.NArg() == 0 && !*build {
		usage()
		os.Exit(2)
	}
	ctrl.SetLogger(logr.Discard()) // what goes wrong is said once, as an error
	code, err := run(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "withnode:", err)
		os.Exit(1)
	}
	os.Exit(code)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: withnode -- command [argument...]\n       withnode -build")
}

// run runs this program again, inside of namespaces, where it runs the command.
func run(command []string) (int, error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if node.Inside() {
		return runInside(ctx, command)
	}
	if *build {
		return 0, buildAll(ctx)
	}
	if err := node.Check(); err != nil {
		return 0, err
	}
	// Inside there is no network to build with.
	if err := buildAll(ctx); err != nil {
		return 0, err
	}
	return node.Enclose(ctx)
}

func buildAll(ctx context.Context) error {
	for _, programs := range []func(context.Context, io.Writer) (controlplane.BinDir, error){
		controlplane.Binaries, controlplane.NodeBinaries, controlplane.DataPlaneBinaries, controlplane.PrometheusBinaries,
	} {
		if _, err := programs(ctx, os.Stderr); err != nil {
			return err
		}
	}
	return nil
}

// runInside runs the command while a control plane and its node run, and returns the command's exit
// code.
func runInside(ctx context.Context, command []string) (code int, err error) {
	options, err := cptest.Options()
	if err != nil {
		return 0, err
	}
	options.RealNodes, options.Address, options.Dir = true, node.Address, node.Dir("controlplane")
	cp, err := controlplane.Start(ctx, options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	if err := node.Start(ctx, cp, options.Progress); err != nil {
		return 0, err
	}
	dataPlane, err := controlplane.DataPlaneBinaries(ctx, options.Progress)
	if err != nil {
		return 0, err
	}
	metrics, err := controlplane.PrometheusBinaries(ctx, options.Progress)
	if err != nil {
		return 0, err
	}
	env := append(node.Environment(), node.TraefikEnv+"="+dataPlane.Traefik(), node.PrometheusEnv+"="+metrics.Path("prometheus"),
		"PATH="+filepath.Dir(cp.KubectlPath)+":"+os.Getenv("PATH"))
	return cptest.Run(ctx, cp, command, env...)
}
