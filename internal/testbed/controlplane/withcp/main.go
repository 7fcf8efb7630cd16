// Command withcp runs a command with a control plane for its tests, and exits as the command does:
//
//	withcp [flags] -- go test ./...
//
// The command finds the control plane as package cptest says. It ends with the command, with a
// signal, and if withcp is killed. The command test/node/withnode does the same with a real node.
//
//	withcp -up     leaves a control plane running for this checkout
//	withcp -reuse -- go test ./...     uses that one, if there is one
//	withcp -down   ends it
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

func main() {
	options, err := cptest.Options()
	if err != nil {
		fail(err)
	}
	up := flag.Bool("up", false, "start a control plane that stays")
	down := flag.Bool("down", false, "end it")
	keep := flag.Bool("keep", false, "be the process that -up starts")
	reuse := flag.Bool("reuse", false, "use the control plane that stays, if there is one")
	forge := flag.Bool("gitea", false, "build Gitea, which the tests of forges run, and end")
	flag.IntVar(&options.Nodes, "nodes", 3, "number of nodes")
	flag.DurationVar(&options.ReadyDelay, "ready-delay", 0, "time that pods take to be ready")
	flag.Usage = usage
	flag.Parse()
	ctrl.SetLogger(logr.Discard()) // what goes wrong is said once, as an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	code := 0
	switch {
	case *up:
		err = startStanding(ctx, options)
	case *down:
		err = endStanding(ctx, options)
	case *forge:
		_, err = controlplane.GiteaBinaries(ctx, os.Stderr)
	case *keep:
		err = keepStanding(ctx, options)
	case flag.NArg() == 0:
		usage()
		code = 2
	case *reuse:
		code, err = runReusing(ctx, options, flag.Args())
	default:
		code, err = run(ctx, options, flag.Args())
	}
	if err != nil {
		fail(err)
	}
	os.Exit(code) //nolint:gocritic // signals need no handler any more
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: withcp [flags] -- command [argument...]")
	flag.PrintDefaults()
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "withcp:", err)
	os.Exit(1)
}

// run runs the command while a control plane runs, and returns the command's exit code.
func run(ctx context.Context, options controlplane.Options, command []string) (code int, err error) {
	cp, err := controlplane.Start(ctx, options)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	return cptest.Run(ctx, cp, command)
}
