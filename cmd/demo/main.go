// Command demo tells the story of Sluice on one machine: a real control plane, a forge over real Git
// repositories and the controller, all on loopback. A developer pushes commits with git, an approver
// merges and CI posts statuses by the forge's API, and the demo shows how the cluster follows, batch
// by batch and gate by gate.
//
//	git push ─────────► devforge ──► controller ──► control plane ──► watch log ──► panel, checks, summary
//	merge, status ──►      ▲             │
//	                       └─────────────┘ pull requests, statuses
//
// Nothing is played: what is shown is what a watch of the cluster sees, and in the end the whole
// watch log is held against what Sluice promises. It exits with 0 if all promises were kept, with
// 1 if not, with 2 if it was called wrongly, and with 130 after Ctrl-C; it leaves nothing behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

func main() {
	sandbox.Main(spec.Build) // the controller that runs here builds kustomizations in processes of this program
	os.Exit(realMain(os.Args[1:]))
}

// realMain returns the exit code, so that what is deferred on the way still runs.
func realMain(args []string) int {
	o, err := parseOptions(args, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), endingSignals()...)
	// A second Ctrl-C ends the demo at once, should its end hang.
	defer context.AfterFunc(ctx, stop)()
	err = run(ctx, o, os.Stdout)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "demo: interrupted, nothing is left behind")
		return 130
	default:
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
}

// endingSignals end the demo in order: Ctrl-C, kill, a closed terminal, a reader of the output
// that went away.
func endingSignals() []os.Signal {
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE}
}
