// Command demo tells the story of Sluice on one machine: a real control plane, a forge over real
// Git repositories and the controller, all on loopback. A developer pushes commits with git, an
// approver merges and CI posts statuses by the forge's API, and the demo shows how the cluster
// follows, batch by batch and gate by gate.
//
//	git push ─────────► devforge ──► controller ──► control plane ──► watch log ─► panel, checks
//	merge, status ──►      ▲             │
//	                       └─────────────┘ pull requests, statuses
//
// Nothing is played: what is shown is what a watch of the cluster sees, and in the end the whole
// watch log is checked against what Sluice promises. It exits with 0 if all promises were kept,
// with 1 if not, with 2 if it was called wrongly, and with 130 after Ctrl-C; it leaves nothing
// behind.
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	// A second Ctrl-C ends the demo at once, should its end hang.
	defer context.AfterFunc(ctx, stop)()
	surviveBrokenPipes()
	err = run(ctx, o, newScreen(os.Stdout, o.plain, stop))
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

// surviveBrokenPipes makes a write to a pipe or connection that its reader left an error of that
// write. As an ending signal it would not tell whose reader left: the control plane closes
// connections when it goes down, and only the reader of the output ends the demo by leaving.
// The signal is not ignored, since programs that the demo starts would ignore it too.
func surviveBrokenPipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
