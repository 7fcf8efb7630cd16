// Command sluice releases Kubernetes workloads in batches, driven by Git.
//
// It parses flags, wires and runs; everything else is in the packages below it. It exits with
// 0 when it was asked to stop, 1 when something went wrong, and 2 when it was called wrongly.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	_ "time/tzdata" // windows name time zones, and images often have none

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	klog.SetLogger(ctrl.Log) // client-go logs where the controller does, once that is known
	os.Exit(run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// run is the program: it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, new(usageError)):
		fmt.Fprintf(stderr, "sluice: %v\nRun 'sluice --help' for usage.\n", err)
		return exitUsage
	default:
		fmt.Fprintf(stderr, "sluice: %v\n", err)
		return exitError
	}
}

// usageError is a call that makes no sense, whatever the state of the world.
type usageError struct{ error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "sluice",
		Short:         "Release Kubernetes workloads in batches, driven by Git",
		Version:       buildVersion(),
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newController(), newHandback(), newInstall(), newVersion())
	return root
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown command or argument %q for %q", args[0], cmd.CommandPath())}
	}
	return nil
}
