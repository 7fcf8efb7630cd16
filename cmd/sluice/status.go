package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/lookup"
	"github.com/sluice-dev/sluice/internal/show"
)

// The exit codes by which "sluice status" tells how a release ended.
const (
	exitFailed     = 3
	exitRolledBack = 4
	exitRejected   = 5
	exitUnderWay   = 6
)

// outcomeError is an end of a release that is not the one that was hoped for.
type outcomeError struct {
	error

	code int
}

// statusFlags are the flags of "sluice status" as they were given.
type statusFlags struct {
	kube    *kubeFlags
	watch   bool
	timeout time.Duration
}

func newStatus() *cobra.Command {
	flags := &statusFlags{kube: newKubeFlags()}
	command := &cobra.Command{
		Use:     "status [RELEASE]",
		GroupID: groupLook,
		Short:   "Wait for a release to end, and tell by the exit code how",
		Long: `Print how far a release is, a line for each change, until it ends. The exit code tells how:

  0  it is completed
  1  something went wrong in asking, or the release was deleted
  2  the command was called wrongly
  3  it failed: it made no progress in time, or what is given can't be released
  4  it was rolled back to an earlier template, and not by Git
  5  a gate was rejected, and the release holds
  6  it is still under way: the time was up, or --watch=false was given

A release that waits for a gate is under way, and so is one that is suspended or frozen.`,
		Example: `  sluice status web -n shop --timeout 30m
  sluice status web --watch=false`,
		ValidArgsFunction: flags.kube.completeReleases,
		RunE:              flags.run,
	}
	set := command.Flags()
	set.BoolVarP(&flags.watch, "watch", "w", true, "wait for the release to end")
	set.DurationVar(&flags.timeout, "timeout", 0, "`time` to wait at most, for example 30m (default as long as it takes)")
	flags.kube.register(command)
	return command
}

func (f *statusFlags) run(command *cobra.Command, args []string) error {
	if f.timeout < 0 {
		return usageError{errors.New("--timeout is less than nothing")}
	}
	c, release, err := f.kube.release(command, args)
	if err != nil {
		return err
	}
	say := func(line string) { fmt.Fprintf(command.OutOrStdout(), "%s: %s\n", release.Name, line) }
	if !f.watch {
		say(show.Progress(release))
		return endOf(release)
	}
	return f.wait(command.Context(), c, release, say)
}

// wait follows the release to its end, or for as long as is given.
func (f *statusFlags) wait(ctx context.Context, c *cluster, release *v1alpha1.BatchRelease, say func(string)) error {
	if f.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	key, said := client.ObjectKeyFromObject(release), ""
	err := lookup.Follow(ctx, c.watched(lookup.OneRelease(release.Name)), func(ctx context.Context, objects client.Reader) error {
		if err := objects.Get(ctx, key, release); err != nil {
			return fmt.Errorf("read release in namespace %s: %w", key.Namespace, err)
		}
		if line := show.Progress(release); line != said {
			say(line)
			said = line
		}
		if show.OutcomeOf(release) != show.UnderWay {
			return lookup.ErrDone
		}
		return nil
	})
	switch {
	case err == nil:
		return endOf(release)
	case errors.Is(err, context.DeadlineExceeded):
		return outcomeError{fmt.Errorf("not at its end after %v: %s", f.timeout, said), exitUnderWay}
	default:
		return err
	}
}

// endOf is nil for a release that is completed.
func endOf(release *v1alpha1.BatchRelease) error {
	name := "release " + release.Name
	switch show.OutcomeOf(release) {
	case show.Completed:
		return nil
	case show.Failed:
		return outcomeError{errors.New(name + " failed"), exitFailed}
	case show.RolledBack:
		return outcomeError{errors.New(name + " was rolled back"), exitRolledBack}
	case show.Rejected:
		return outcomeError{errors.New("a gate of " + name + " was rejected"), exitRejected}
	default:
		return outcomeError{errors.New(name + " is under way"), exitUnderWay}
	}
}

// watched are objects in the namespace that the verb works in.
func (c *cluster) watched(objects lookup.Objects) lookup.Watched {
	return lookup.Watched{Config: c.config, Scheme: app.NewScheme(), Namespace: c.namespace, Objects: objects}
}
