package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/act"
	"github.com/sluice-dev/sluice/rollout/steer"
)

func newPause() *cobra.Command {
	return newSuspend(&cobra.Command{
		Use:   "pause [RELEASE]",
		Short: "Pause a release",
		Long: `Pause a release: no batch starts or continues, and new templates wait. The workload follows spec.replicas, and rollbacks
continue. This sets spec.suspend of the release; a push does not unset it.`,
		Example: "  sluice pause web",
	}, true)
}

func newResume() *cobra.Command {
	return newSuspend(&cobra.Command{
		Use:   "resume [RELEASE]",
		Short: "Resume a paused release",
		Long: `Resume a paused release: the current batch continues, and a template that waited is released. This unsets spec.suspend of the
release. If a file in Git has spec.suspend, it says so and changes nothing: take it out there.

It does not end a freeze, restart a release that failed (use retry), or answer a gate (use approve).`,
		Example: "  sluice resume web",
	}, false)
}

func newSuspend(command *cobra.Command, suspend bool) *cobra.Command {
	flags := newActFlags()
	command.RunE = func(command *cobra.Command, args []string) error {
		return flags.run(command, args, deed{
			decide: func(_ context.Context, _ *cluster, release *v1alpha1.BatchRelease) ([]steer.Change, error) {
				change, err := steer.Suspend(release, suspend, act.SuspendedByGit(release))
				return []steer.Change{change}, err
			},
			taken: act.SuspendTaken(suspend),
		})
	}
	flags.register(command)
	return command
}

func newRetry() *cobra.Command {
	flags := newActFlags()
	command := &cobra.Command{
		Use:   "retry [RELEASE]",
		Short: "Continue a release that failed, or whose workload was changed out of band",
		Long: `Continue a release that failed because no further pod became available in time, or that stopped because somebody changed its
workload out of band, once you have dealt with the cause. A refused write is sent again at once.`,
		Example: "  sluice retry web",
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		return flags.run(command, args, deed{
			decide: func(_ context.Context, _ *cluster, release *v1alpha1.BatchRelease) ([]steer.Change, error) {
				change, err := steer.Retry(release)
				return []steer.Change{change}, err
			},
			taken: act.RetryTaken,
		})
	}
	flags.register(command)
	return command
}

func newJump() *cobra.Command {
	flags := newActFlags()
	command := &cobra.Command{
		Use:   "jump [RELEASE] BATCH",
		Short: "Move the current release to another batch",
		Long: `Move the current release to another batch, counted from 1 as in status.batch. Forward, the release goes through the batches in
between without waiting for their manual and skippable gates; other gates must pass. Back, the gates from that batch on must pass
again; no pod is removed, unless strategy.stepBack is RemovePods.`,
		Example: "  sluice jump web 3",
	}
	command.RunE = func(command *cobra.Command, args []string) error {
		batch, err := batchOf(command, args)
		if err != nil {
			return err
		}
		return flags.run(command, args[:len(args)-1], deed{
			decide: func(_ context.Context, _ *cluster, release *v1alpha1.BatchRelease) ([]steer.Change, error) {
				change, err := steer.Jump(release, batch)
				return []steer.Change{change}, err
			},
			taken: act.JumpTaken,
		})
	}
	flags.register(command)
	return command
}

// batchOf returns the batch that the last argument names. Where there is only one argument, it may
// be the release's.
func batchOf(command *cobra.Command, args []string) (int32, error) {
	usage := "usage: " + command.Parent().CommandPath() + " " + command.Use + ", such as " + command.CommandPath()
	if len(args) == 0 {
		return 0, usageError{fmt.Errorf("the batch is missing, counted from 1; %s web 3", usage)}
	}
	last := args[len(args)-1]
	batch, err := strconv.ParseInt(last, 10, 32)
	switch {
	case err == nil && batch >= 1:
		return int32(batch), nil
	case err != nil && len(args) == 1:
		return 0, usageError{fmt.Errorf("the batch is missing, counted from 1, after the release %q; %s %[1]s 3", last, usage)}
	default:
		return 0, usageError{fmt.Errorf("%q is not the number of a batch, counted from 1; %s web 3", last, usage)}
	}
}
