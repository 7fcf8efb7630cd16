package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/cli/show"
)

// listFlags are the flags of "sluice list" as they were given.
type listFlags struct {
	kube     *kubeFlags
	output   *outputFlags
	selector string
	watch    bool
}

func newList() *cobra.Command {
	flags := &listFlags{kube: newKubeFlags(), output: newOutputFlags("")}
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		GroupID: groupLook,
		Short:   "List releases, their progress, and what they wait for",
		Long:    `List releases: the phase and batch of each, how many pods run and are available, what it waits for, and its commit.`,
		Example: `  sluice list -A
  sluice list -n shop -o wide --watch
  sluice list -l rollouts.sluice.dev/source=shop -o json`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	command.Flags().StringVarP(&flags.selector, "selector", "l", "", "`labels` to select releases by, for example app=web,tier!=test")
	command.Flags().BoolVarP(&flags.watch, "watch", "w", false, "keep running, and print rows that change")
	flags.output.registerTable(command)
	flags.kube.registerAll(command)
	return command
}

func (f *listFlags) run(command *cobra.Command) error {
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return usageError{fmt.Errorf("--selector: %w", err)}
	}
	if err := f.output.check(); err != nil {
		return err
	}
	if f.watch && !f.output.forPeople() {
		return usageError{errors.New("--watch prints rows and takes no --output except wide")}
	}
	c, err := f.kube.connect(command.ErrOrStderr())
	if err != nil {
		return err
	}
	if f.watch {
		return f.follow(command, c, selector)
	}
	releases, err := c.releases(command.Context(), selector)
	if err != nil {
		return err
	}
	if !f.output.forPeople() {
		objects := make([]runtime.Object, 0, len(releases))
		for i := range releases {
			objects = append(objects, withKind(&releases[i]))
		}
		return f.output.list(command, objects...)
	}
	if len(releases) == 0 {
		fmt.Fprintln(command.ErrOrStderr(), "no releases"+c.where())
		return nil
	}
	if err := f.output.rows(command, show.Releases(releases, time.Now(), f.kube.allNamespaces)); err != nil {
		return err
	}
	return c.warnOfSources(command, releases)
}

// warnOfSources says which sources of releases can't be read or have errors: what is pushed there does not get to the rows
// above. It is left out for who may not see sources.
func (c *cluster) warnOfSources(command *cobra.Command, releases []v1alpha1.BatchRelease) error {
	if !slices.ContainsFunc(releases, func(r v1alpha1.BatchRelease) bool { return r.Labels[v1alpha1.SourceLabel] != "" }) {
		return nil
	}
	var sources v1alpha1.ReleaseSourceList
	err := c.List(command.Context(), &sources, client.InNamespace(c.namespace))
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case err != nil:
		return fmt.Errorf("list sources: %w", err)
	}
	for i := range sources.Items {
		if trouble := show.SourceTrouble(&sources.Items[i]); trouble != "" {
			fmt.Fprintf(command.ErrOrStderr(), "releasesource/%s: %s\n", sources.Items[i].Name, trouble)
		}
	}
	return nil
}

// follow prints the row of each release, and again when it has changed, until the user has seen enough.
func (f *listFlags) follow(command *cobra.Command, c *cluster, selector labels.Selector) error {
	printer, printed, out := f.output.table(), show.Rows{}, printers.GetNewTabWriter(command.OutOrStdout())
	watched := c.watched(lookup.Objects{&v1alpha1.BatchRelease{}: {Label: selector}})
	err := lookup.Follow(command.Context(), watched, func(ctx context.Context, objects client.Reader) error {
		var releases v1alpha1.BatchReleaseList
		if err := objects.List(ctx, &releases); err != nil {
			return fmt.Errorf("list releases: %w", err)
		}
		now := time.Now()
		table := show.Releases(printed.Changed(releases.Items, now), now, f.kube.allNamespaces)
		if err := printer.PrintObj(table, out); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		return out.Flush() // it remembers how wide the columns are
	})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// releases are those in the namespace that have the labels.
func (c *cluster) releases(ctx context.Context, selector labels.Selector) ([]v1alpha1.BatchRelease, error) {
	var releases v1alpha1.BatchReleaseList
	err := c.List(ctx, &releases, client.InNamespace(c.namespace), client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return nil, fmt.Errorf("list releases: %w", err)
	}
	return releases.Items, nil
}

// where says where was looked.
func (c *cluster) where() string {
	if c.namespace == "" {
		return ""
	}
	return " in namespace " + c.namespace
}
