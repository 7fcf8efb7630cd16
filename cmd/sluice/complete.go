package main

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// completionTimeout is how long a shell waits for the cluster. After that it completes nothing.
const completionTimeout = 3 * time.Second

// completeReleases completes the first argument to the names of releases.
func (f *kubeFlags) completeReleases(command *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.complete(command.Context(), func(ctx context.Context, c *cluster) (names []cobra.Completion, err error) {
		var releases v1alpha1.BatchReleaseList
		err = c.List(ctx, &releases, client.InNamespace(c.namespace))
		for _, release := range releases.Items {
			names = append(names, cobra.CompletionWithDesc(release.Name, string(release.Status.Phase)))
		}
		return names, err
	})
}

func (f *kubeFlags) completeNamespaces(command *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return f.complete(command.Context(), func(ctx context.Context, c *cluster) (names []cobra.Completion, err error) {
		var namespaces corev1.NamespaceList
		err = c.List(ctx, &namespaces)
		for _, namespace := range namespaces.Items {
			names = append(names, namespace.Name)
		}
		return names, err
	})
}

// complete asks the cluster. It drops errors, as a shell has no place for them.
func (f *kubeFlags) complete(
	ctx context.Context, names func(context.Context, *cluster) ([]cobra.Completion, error),
) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	c, err := f.connect(io.Discard)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	completions, err := names(ctx, c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return completions, cobra.ShellCompDirectiveNoFileComp
}

func (f *kubeFlags) completeContexts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	config, err := f.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []cobra.Completion
	for name := range config.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}
