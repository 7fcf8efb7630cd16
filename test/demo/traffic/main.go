// Command traffic shows a canary as its users see it: which share of the requests the new version
// answers, second by second, while a release goes from 1% to all of them.
//
//	git push ──► devforge ──► controller ──► HTTPRoute ──► Traefik ──► containers
//	                                                          ▲ │
//	                                           clients ───────┘ └──► picture
//
// Nothing is played. Traefik is a real Gateway, and the service runs in containers that real
// kubelets start, so it takes the nodes of test/node: "make demo-traffic" has it run by withnode.
// What is shown is counted from the answers that clients get. It exits with 0 if no request failed,
// with 1 otherwise, and leaves nothing behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

func main() {
	sandbox.Main(spec.Build) // the controller that runs here builds kustomizations in processes of this program
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo-traffic:", err)
		os.Exit(1)
	}
}

// run plays the whole demo.
func run(ctx context.Context) (err error) {
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "sluice-demo-traffic-")
	if err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s := &stand{dir: dir}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := s.start(ctx); err != nil {
		return err
	}
	return s.show(ctx)
}
