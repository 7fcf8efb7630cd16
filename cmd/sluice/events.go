package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/cli/show"
)

func newEvents() *cobra.Command {
	kube, pods := newKubeFlags(), false
	command := &cobra.Command{
		Use:     "events [RELEASE]",
		GroupID: groupLook,
		Short:   "List the events of a release",
		Long: `List the events of a release, its gates and its workload, oldest first; with --pods also those of its ReplicaSets and
pods. The API server keeps events for an hour by default.`,
		Example: `  sluice events web -n shop
  sluice events web -n shop --pods`,
		ValidArgsFunction: kube.completeReleases,
		RunE:              func(cmd *cobra.Command, args []string) error { return runEvents(cmd, kube, args, pods) },
	}
	command.Flags().BoolVar(&pods, "pods", false, "also list the events of ReplicaSets and pods")
	kube.register(command)
	return command
}

func runEvents(command *cobra.Command, kube *kubeFlags, args []string, pods bool) error {
	c, release, err := kube.release(command, args)
	if err != nil {
		return err
	}
	ctx := command.Context()
	whole, err := lookup.Whole(ctx, c, client.ObjectKeyFromObject(release))
	if err != nil {
		return err
	}
	var events corev1.EventList
	if err := c.List(ctx, &events, client.InNamespace(release.Namespace)); err != nil {
		return fmt.Errorf("list events: %w", err)
	}
	if !pods {
		events.Items = slices.DeleteFunc(events.Items, func(e corev1.Event) bool {
			return e.InvolvedObject.Kind == "Pod" || e.InvolvedObject.Kind == "ReplicaSet"
		})
	}
	table := show.Events(whole, events.Items, time.Now())
	if len(table.Rows) == 0 {
		fmt.Fprintln(command.ErrOrStderr(), "no events of release "+release.Name)
		return nil
	}
	return newOutputFlags("").rows(command, table)
}
