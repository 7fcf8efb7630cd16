package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/cli/show"
)

// historyFlags are the flags of "sluice history" as they were given.
type historyFlags struct {
	kube     *kubeFlags
	output   *outputFlags
	revision string
}

func newHistory() *cobra.Command {
	flags := &historyFlags{kube: newKubeFlags(), output: newOutputFlags("")}
	command := &cobra.Command{
		Use:     "history [RELEASE]",
		GroupID: groupLook,
		Short:   "List what was released, by which commit, and who approved it",
		Long: `List the templates in the history of a release, oldest first, then the commits that others superseded before their end, and the one in
progress: the outcome of each, its commit, and who passed its gates. A rollback in mid-release goes back to the one marked with *. Below it are the last
pauses, freezes, changes by others, retries and rollbacks, with who requested them where that is known.`,
		Example: `  sluice history web -n shop
  sluice history web --revision 3
  sluice history web --revision 3 -o yaml`,
		ValidArgsFunction: flags.kube.completeReleases,
		RunE:              flags.run,
	}
	command.Flags().StringVar(&flags.revision, "revision", "", "show the details of one `revision`: its number, its hash, or the beginning of its commit")
	flags.output.registerTable(command)
	flags.kube.register(command)
	return command
}

func (f *historyFlags) run(command *cobra.Command, args []string) error {
	if err := f.output.check(); err != nil {
		return err
	}
	c, release, err := f.kube.release(command, args)
	if err != nil {
		return err
	}
	kept, err := lookup.Kept(command.Context(), c, release)
	if err != nil {
		return err
	}
	switch {
	case f.revision != "":
		return f.printOne(command, kept)
	case f.output.forPeople():
		if err := f.output.rows(command, show.History(release, kept, time.Now())); err != nil {
			return err
		}
		if log := show.Log(release, time.Now()); len(log) > 0 {
			_, err = fmt.Fprintln(command.OutOrStdout(), "\n"+strings.Join(log, "\n"))
		}
		return err
	}
	objects := make([]runtime.Object, 0, len(kept))
	for i := range kept {
		objects = append(objects, &kept[i])
	}
	return f.output.list(command, objects...)
}

func (f *historyFlags) printOne(command *cobra.Command, kept []appsv1.ControllerRevision) error {
	one, err := show.FindKept(kept, f.revision)
	switch {
	case err != nil:
		return fmt.Errorf("find revision: %w", err)
	case f.output.forPeople():
		_, err := fmt.Fprintln(command.OutOrStdout(), strings.Join(show.Kept(one), "\n"))
		return err
	}
	return f.output.object(command, one)
}
