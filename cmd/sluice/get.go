package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/cli/show"
)

// getFlags are the flags of "sluice get" as they were given.
type getFlags struct {
	kube           *kubeFlags
	output         *outputFlags
	watch, noColor bool
}

func newGet() *cobra.Command {
	flags := &getFlags{kube: newKubeFlags(), output: newOutputFlags("")}
	command := &cobra.Command{
		Use:     "get [RELEASE]",
		Aliases: []string{"show"},
		GroupID: groupLook,
		Short:   "Show a release with its batches, gates, versions and pods",
		Long: `Show a release as a tree: its commit, its batches with their gates, what each gate waits for and who can pass it, its
workload with the counts that people know from its kind, and each version with its pods: a ReplicaSet of a Deployment, a
ControllerRevision of a StatefulSet or DaemonSet. It warns of pods that no batch has approved yet, and of what preflight found.

With --watch, redraw the tree on each change. Without a terminal, print one line for each change, with its time. Output to a
terminal is coloured, unless --no-color or the variable NO_COLOR is set.`,
		Example: `  sluice get web -n shop
  sluice get web --watch
  sluice get web -o json`,
		ValidArgsFunction: flags.kube.completeReleases,
		RunE:              flags.run,
	}
	set := command.Flags()
	set.BoolVarP(&flags.watch, "watch", "w", false, "keep running, and show changes")
	set.BoolVar(&flags.noColor, "no-color", false, "disable colours")
	flags.output.register(command)
	flags.kube.register(command)
	return command
}

func (f *getFlags) run(command *cobra.Command, args []string) error {
	if f.watch && f.output.given() {
		return usageError{errors.New("--watch shows the tree and takes no --output")}
	}
	if err := f.output.check(); err != nil {
		return err
	}
	c, release, err := f.kube.release(command, args)
	if err != nil {
		return err
	}
	ctx := command.Context()
	whole, err := lookup.Whole(ctx, c, client.ObjectKeyFromObject(release))
	switch {
	case err != nil:
		return err
	case f.output.given():
		return f.print(command, c, whole)
	}
	screen := newScreen(command.OutOrStdout(), f.noColor)
	if f.watch {
		return follow(ctx, c, release, screen)
	}
	_, err = fmt.Fprintln(command.OutOrStdout(), strings.Join(show.Draw(show.Tree(whole), time.Now(), screen.colours), "\n"))
	return err
}

// follow shows the release until it is gone, or the user has seen enough.
func follow(ctx context.Context, c *cluster, release *v1alpha1.BatchRelease, screen *screen) error {
	key := client.ObjectKeyFromObject(release)
	err := lookup.Follow(ctx, c.watched(lookup.WholeRelease(release)), func(ctx context.Context, objects client.Reader) error {
		whole, err := lookup.Whole(ctx, objects, key)
		if err != nil {
			return err
		}
		return screen.show(show.Tree(whole), time.Now())
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// print prints the objects of the tree.
func (f *getFlags) print(command *cobra.Command, c *cluster, whole *show.Whole) error {
	objects := []client.Object{whole.Release}
	for i := range whole.Members {
		objects = append(objects, &whole.Members[i])
	}
	if whole.Workload != nil {
		objects = append(objects, whole.Workload)
	}
	for i := range whole.Sets {
		objects = append(objects, &whole.Sets[i])
	}
	for i := range whole.Revisions {
		objects = append(objects, &whole.Revisions[i])
	}
	for i := range whole.Pods {
		objects = append(objects, &whole.Pods[i])
	}
	for i := range whole.Gates {
		objects = append(objects, &whole.Gates[i])
	}
	return f.output.objects(command, c.Scheme(), objects)
}
