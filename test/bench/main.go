// Command bench measures Sluice next to the native rolling update of the same Deployment, and to
// Argo Rollouts, on a real control plane on loopback, and says of each number whether it is what is
// wanted.
//
//	          ┌─► native controller ─┐              watch log ─► wall time, pods
//	patch ────┼─► sluice controller ─┼─► cluster ─► audit log ─► requests, hand-over
//	          └─► Argo Rollouts ─────┘              /proc ─────► CPU, memory
//
// Each side of each run has a control plane of its own, and the controllers of Sluice and of Argo
// Rollouts are processes of their own, built from cmd/sluice and from hack/argo. It exits with 0
// whatever the numbers say, unless --strict is given; with 1 if it could not measure, with 2 if it
// was called wrongly, with 130 after Ctrl-C.
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
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// errMissed ends a strict run in which a number was not what is wanted.
var errMissed = errors.New("not all numbers are what is wanted")

func main() { os.Exit(realMain(os.Args[1:])) }

// realMain returns the exit code, so that what is deferred on the way still runs.
func realMain(args []string) int {
	o, err := parseOptions(args, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	// What client-go has to say is of no use to the reader of a table.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer context.AfterFunc(ctx, stop)()
	missed, err := run(ctx, o, os.Stdout, os.Stderr)
	if err == nil && missed && o.strict {
		err = errMissed
	}
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "bench: interrupted")
		return 130
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
}
