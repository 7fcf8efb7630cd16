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
	"sigs.k8s.io/controller-runtime/pkg/cache"
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
		Long: `List releases: how each stands and its batch, how many pods run and are available, what it waits for, its version and its commit.

A release in progress is Rolling, Waiting (for a gate or for room) or OnHold (until somebody resumes or retries it, or a freeze ends).
Refused says that the newest commit in Git is not applied to it: a file is invalid, or the API server refuses it.`,
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
	sources, err := c.sourcesOf(command.Context(), releases)
	if err != nil {
		return err
	}
	if err := f.output.rows(command, show.Releases(releases, sources, time.Now(), f.kube.allNamespaces)); err != nil {
		return err
	}
	for i := range sources {
		if trouble := show.SourceTrouble(&sources[i]); trouble != "" {
			fmt.Fprintf(command.ErrOrStderr(), "releasesource/%s: %s\n", sources[i].Name, trouble)
		}
	}
	return nil
}

// sourcesOf reads the sources in the namespace if releases come from any; none if the user may not
// see them.
func (c *cluster) sourcesOf(ctx context.Context, releases []v1alpha1.BatchRelease) (show.Sources, error) {
	if !slices.ContainsFunc(releases, func(r v1alpha1.BatchRelease) bool { return r.Labels[v1alpha1.SourceLabel] != "" }) {
		return nil, nil
	}
	var sources v1alpha1.ReleaseSourceList
	err := c.List(ctx, &sources, client.InNamespace(c.namespace))
	switch {
	case apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list sources: %w", err)
	}
	return sources.Items, nil
}

// follow prints the row of each release, and again when it has changed, until the user has seen
// enough.
func (f *listFlags) follow(command *cobra.Command, c *cluster, selector labels.Selector) error {
	printer, printed, out := f.output.table(), show.Rows{}, printers.GetNewTabWriter(command.OutOrStdout())
	watched := c.watched(lookup.Objects{&v1alpha1.BatchRelease{}: {Label: selector}})
	sees := c.maySee(command.Context())
	if sees {
		watched.Objects[&v1alpha1.ReleaseSource{}] = cache.ByObject{}
	}
	err := lookup.Follow(command.Context(), watched, func(ctx context.Context, objects client.Reader) error {
		var releases v1alpha1.BatchReleaseList
		if err := objects.List(ctx, &releases); err != nil {
			return fmt.Errorf("list releases: %w", err)
		}
		var sources v1alpha1.ReleaseSourceList
		if sees {
			if err := objects.List(ctx, &sources); err != nil {
				return fmt.Errorf("list sources: %w", err)
			}
		}
		now := time.Now()
		changed := printed.Changed(releases.Items, sources.Items, now)
		table := show.Releases(changed, sources.Items, now, f.kube.allNamespaces)
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

// maySee reports whether the user may list the sources in the namespace. Other errors show up in
// the watch.
func (c *cluster) maySee(ctx context.Context) bool {
	err := c.List(ctx, &v1alpha1.ReleaseSourceList{}, client.InNamespace(c.namespace), client.Limit(1))
	return !apierrors.IsForbidden(err)
}

// releases returns those in the namespace that have the labels.
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
