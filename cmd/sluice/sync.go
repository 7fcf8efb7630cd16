package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/act"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/steer"
)

func newSync() *cobra.Command {
	flags := newActFlags()
	command := &cobra.Command{
		Use:   "sync [SOURCE | batchrelease/RELEASE]",
		Short: "Make the controller read Git now, and show the result",
		Long: `Make the controller read the repository of a ReleaseSource now, and wait until it has. Name the source, or one of its
releases. The command fails if the repository can't be read, and prints file and line of every mistake in it.`,
		Example: `  sluice sync shop
  sluice sync batchrelease/web`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              flags.sync,
	}
	flags.register(command)
	return command
}

// sync requests a read of Git as anybody does, by an annotation, and tells its outcome.
func (f *actFlags) sync(command *cobra.Command, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	ctx := command.Context()
	c, err := f.kube.connect(command.ErrOrStderr())
	if err != nil {
		return err
	}
	source, err := c.source(ctx, args)
	if err != nil {
		return err
	}
	now := time.Now().UTC().Format(time.RFC3339Nano)
	if err := f.requestSync(ctx, c, source, now); err != nil {
		return fmt.Errorf("releasesource/%s: %w", source.Name, err)
	}
	answered, err := f.awaitSync(ctx, c, source, now)
	if err != nil {
		return fmt.Errorf("releasesource/%s: %w", source.Name, err)
	}
	f.output.print.NamePrintFlags.Operation = synced(answered) + dryRunWords[f.dryRun]
	if err := f.output.object(command, answered); err != nil {
		return err
	}
	return outcomeOf(answered, command.ErrOrStderr())
}

// requestSync requests a read of the repository. The controller may write the source meanwhile.
func (f *actFlags) requestSync(ctx context.Context, c *cluster, source *v1alpha1.ReleaseSource, now string) error {
	for try := 1; ; try++ {
		if source.Spec.Suspend {
			return errors.New("it is suspended: unset spec.suspend to have its repository read")
		}
		err := f.writer(c).Patch(ctx, source, steer.Sync(now))
		if err == nil || !apierrors.IsConflict(err) || try == act.Tries {
			return err
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(source), source); err != nil {
			return fmt.Errorf("read it again: %w", err)
		}
	}
}

// awaitSync waits until the request is answered. Without waiting there is no outcome to tell.
func (f *actFlags) awaitSync(ctx context.Context, c *cluster, source *v1alpha1.ReleaseSource, asked string) (*v1alpha1.ReleaseSource, error) {
	if !f.wait || f.dryRun != dryRunNone {
		source.Status = v1alpha1.ReleaseSourceStatus{}
		return source, nil
	}
	now, err := f.await(ctx, c, source, func(object client.Object) (bool, error) {
		return object.(*v1alpha1.ReleaseSource).Status.LastHandledSyncAt == asked, nil
	})
	switch {
	case err != nil:
		return nil, err
	case now == nil:
		return nil, errors.New("it was deleted meanwhile")
	}
	return now.(*v1alpha1.ReleaseSource), nil
}

// synced says at which commit a source is; that it will be looked at where that is not known yet.
func synced(source *v1alpha1.ReleaseSource) string {
	if commit := source.Status.ObservedCommit; commit != "" {
		return "read at commit " + plain.Commit(commit)
	}
	return "to be read"
}

// outcomeOf tells what is wrong in a repository, and fails if anything is.
func outcomeOf(source *v1alpha1.ReleaseSource, out io.Writer) error {
	for _, found := range source.Status.Errors {
		place := plain.Place(found.File)
		if found.Line > 0 {
			place += fmt.Sprintf(":%d", found.Line)
		}
		fmt.Fprintf(out, "%s: %s\n", place, plain.Line(found.Message))
	}
	ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
	if ready != nil && ready.Status != "True" {
		return fmt.Errorf("releasesource/%s: %s: %s", source.Name, ready.Reason, ready.Message)
	}
	return nil
}

// sourceKinds are the ways to write the kind of a source, as kubectl knows it.
var sourceKinds = []string{"releasesource", "releasesources", "rsrc", "source", "releasesource.rollouts.sluice.dev", "releasesources.rollouts.sluice.dev"}

// source reads the one that the arguments name, by its own name or by that of a release that comes
// from it; where they name none, the only one in the namespace.
func (c *cluster) source(ctx context.Context, args []string) (*v1alpha1.ReleaseSource, error) {
	if len(args) == 0 {
		return c.onlySource(ctx)
	}
	kind, name, found := strings.Cut(args[0], "/")
	if !found {
		kind, name = sourceKinds[0], args[0]
	}
	if !slices.Contains(sourceKinds, strings.ToLower(kind)) {
		release, err := c.release(ctx, args)
		if err != nil {
			return nil, err
		}
		return c.sourceOf(ctx, release)
	}
	var source v1alpha1.ReleaseSource
	if err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &source); err != nil {
		return nil, fmt.Errorf("read source in namespace %s: %w", c.namespace, err)
	}
	return &source, nil
}

// onlySource returns the one in the namespace.
func (c *cluster) onlySource(ctx context.Context) (*v1alpha1.ReleaseSource, error) {
	var sources v1alpha1.ReleaseSourceList
	if err := c.List(ctx, &sources, client.InNamespace(c.namespace)); err != nil {
		return nil, fmt.Errorf("list sources: %w", err)
	}
	if len(sources.Items) != 1 {
		return nil, usageError{fmt.Errorf("name a source: there are %d in namespace %s", len(sources.Items), c.namespace)}
	}
	return &sources.Items[0], nil
}

// sourceOf returns the one that a release comes from, in whatever namespace it is.
func (c *cluster) sourceOf(ctx context.Context, release *v1alpha1.BatchRelease) (*v1alpha1.ReleaseSource, error) {
	label := release.Labels[v1alpha1.SourceLabel]
	if label == "" {
		return nil, fmt.Errorf("batchrelease/%s comes from no ReleaseSource: there is nothing to look at", release.Name)
	}
	var sources v1alpha1.ReleaseSourceList
	var elsewhere client.ListOption = client.InNamespace(release.Namespace)
	if strings.Contains(label, "_") { // the name of another namespace is in front
		elsewhere = client.InNamespace("")
	}
	if err := c.List(ctx, &sources, elsewhere); err != nil {
		return nil, fmt.Errorf("list sources: %w", err)
	}
	for i := range sources.Items {
		if sources.Items[i].LabelIn(release.Namespace) == label {
			return &sources.Items[i], nil
		}
	}
	return nil, fmt.Errorf("batchrelease/%s comes from source %s, which is gone", release.Name, label)
}
