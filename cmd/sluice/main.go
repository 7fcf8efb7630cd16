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
	"strings"
	_ "time/tzdata" // windows name time zones, and images often have none

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
)

func main() {
	sandbox.Main(spec.Build) // in a process that builds a kustomization, nothing else is to happen
	klog.SetLogger(ctrl.Log) // client-go logs where the controller does, once that is known
	os.Exit(runAs(ctrl.SetupSignalHandler(), calledAs(os.Args[0]), os.Args[1:], os.Stdout, os.Stderr))
}

// The exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// run returns the program by its own name: it returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return runAs(ctx, commandName, args, stdout, stderr)
}

// runAs returns the program by the name that the user knows it by.
func runAs(ctx context.Context, name string, args []string, stdout, stderr io.Writer) int {
	root := newRoot()
	nameAs(root, name)
	return execute(ctx, root, args, stdout, stderr)
}

// execute runs a program, and returns the exit code.
func execute(ctx context.Context, root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	root.SetArgs(append([]string{}, args...)) // cobra takes those of the process for nil
	root.SetOut(stdout)
	root.SetErr(stderr)
	name := root.DisplayName()
	called, err := root.ExecuteContextC(ctx)
	var outcome outcomeError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, new(usageError)):
		fmt.Fprintf(stderr, "%s: %s\nRun '%s --help' for usage.\n", name, plain.Lines(err.Error()), called.CommandPath())
		return exitUsage
	case errors.As(err, &outcome):
		fmt.Fprintf(stderr, "%s: %s\n", name, plain.Lines(err.Error()))
		return outcome.code
	default:
		fmt.Fprintf(stderr, "%s: %s\n", name, wordsOf(ctx, err))
		return exitError
	}
}

// wordsOf returns what the command prints about an error: "interrupted" if the user has pressed
// Ctrl-C, whatever failed because of it.
func wordsOf(ctx context.Context, err error) string {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	return plain.Lines(err.Error())
}

// usageError is a call that is wrong whatever the state of the world.
type usageError struct{ error }

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           commandName,
		Short:         "Release Kubernetes workloads in batches, driven by Git",
		Version:       buildVersion(),
		Args:          noArguments,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	splitUsage(root)
	root.AddCommand(
		newCheck(),
		newController(),
		newDashboard(),
		newEvents(),
		newFollow(),
		newGet(),
		newHandback(),
		newHistory(),
		newInstall(),
		newJudge(),
		newLint(),
		newList(),
		newMigrate(),
		newNotify(),
		newPlan(),
		newSimulate(),
		newStatus(),
		newSync(),
		newTrace(),
		newVersion(),
	)
	root.AddCommand(newVerbs()...)
	addGroups(root)
	return root
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unknown command or argument %q for %q%s", args[0], cmd.CommandPath(), meant(cmd, args[0]))}
	}
	return nil
}

// meant asks whether it was one of the commands that are spelled nearly like a word.
func meant(cmd *cobra.Command, word string) string {
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return ""
}

// onePath takes a path, or none.
func onePath(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{fmt.Errorf("only one path is allowed: remove %q", args[1])}
	}
	return nil
}
