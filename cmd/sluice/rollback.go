package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/act"
	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/steer"
)

// rollbackFlags are the flags of the verbs that roll back.
type rollbackFlags struct {
	*actFlags
	to     string
	number int64
}

func newRollback() *cobra.Command {
	flags := &rollbackFlags{actFlags: newActFlags()}
	command := &cobra.Command{
		Use:   "rollback [RELEASE]",
		Short: "Roll a release back to the previous version, or to another one",
		Long: `Roll a release back: in mid-release to the stable revision, afterwards to the previous one, or to any in the history. The
version it leaves is not released again until Git changes. If the repository is on a forge, a pull request restores the good template
in Git.`,
		Example: `  sluice rollback web
  sluice rollback web --to 3f2a91c`,
		RunE: func(command *cobra.Command, args []string) error {
			return flags.rollBack(command, args, func(release *v1alpha1.BatchRelease, kept []plan.Kept) (steer.Change, error) {
				return steer.RollBack(release, kept, flags.to)
			})
		},
	}
	command.Flags().StringVar(&flags.to, "to", "", "`revision` (pod template hash) or commit to go back to")
	flags.register(command)
	return command
}

func newUndo() *cobra.Command {
	flags := &rollbackFlags{actFlags: newActFlags()}
	command := &cobra.Command{
		Use:   "undo [RELEASE]",
		Short: "Roll a release back by revision number, as kubectl rollout undo does",
		Long: `Roll a release back, as rollback does, to a revision by its number in sluice history. Use it in place of kubectl rollout undo,
which is refused while Sluice holds the workload.`,
		Example: `  sluice undo web
  sluice undo web --to-revision=3`,
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) == 2 {
				return usageError{fmt.Errorf("one release at a time; the revision to go back to is a flag: --to-revision=%s", args[1])}
			}
			return flags.rollBack(command, args, func(release *v1alpha1.BatchRelease, kept []plan.Kept) (steer.Change, error) {
				return steer.Undo(release, kept, flags.number)
			})
		},
	}
	command.Flags().Int64Var(&flags.number, "to-revision", 0, "`number` of the revision to go back to; 0 for the previous one")
	flags.register(command)
	return command
}

// rollBack asks for a rollback, and waits until it is on record.
func (f *rollbackFlags) rollBack(command *cobra.Command, args []string, decide func(*v1alpha1.BatchRelease, []plan.Kept) (steer.Change, error)) error {
	return f.run(command, args, deed{
		decide: func(ctx context.Context, c *cluster, release *v1alpha1.BatchRelease) ([]steer.Change, error) {
			kept, err := lookup.Kept(ctx, c, release)
			if err != nil {
				return nil, err
			}
			change, err := decide(release, act.Templates(kept))
			return []steer.Change{change}, err
		},
		taken: act.RollbackTaken,
	})
}
