package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/lookup"
	"github.com/sluice-dev/sluice/internal/show"
)

func newTrace() *cobra.Command {
	kube := newKubeFlags()
	command := &cobra.Command{
		Use:     "trace (pod/NAME | replicaset/NAME | deployment/NAME)",
		GroupID: groupLook,
		Short:   "Go back from what runs to the commit that brought it, and to who let it through",
		Long: `Go back from a pod, or from a ReplicaSet, to the release, the commit with its author, and the gates with what they were
passed on. Of a Deployment that is so for each version of which pods run.`,
		Example: `  sluice trace pod/web-654cdc8b8d-2dn8h -n shop
  sluice trace deployment/web`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("name one thing to trace: pod/NAME, replicaset/NAME or deployment/NAME")}
			}
			return runTrace(cmd, kube, args[0])
		},
	}
	kube.register(command)
	return command
}

func runTrace(command *cobra.Command, kube *kubeFlags, argument string) error {
	kind, name, found := strings.Cut(argument, "/")
	trace := tracer(strings.ToLower(kind))
	if !found || name == "" || trace == nil {
		return usageError{fmt.Errorf("%q is none of pod/NAME, replicaset/NAME, deployment/NAME", argument)}
	}
	c, err := kube.connect(command.ErrOrStderr())
	if err != nil {
		return err
	}
	traces, err := trace(command.Context(), c, client.ObjectKey{Namespace: c.namespace, Name: name})
	if err != nil {
		return err
	}
	now, texts := time.Now(), make([]string, 0, len(traces))
	for _, trace := range traces {
		texts = append(texts, strings.Join(trace.Lines(now), "\n")+"\n")
	}
	_, err = fmt.Fprint(command.OutOrStdout(), strings.Join(texts, "\n"))
	return err
}

// tracer is what traces objects of a kind; nil if nothing does.
func tracer(kind string) func(context.Context, client.Reader, client.ObjectKey) ([]*show.Trace, error) {
	switch kind {
	case "pod", "pods", "po":
		return one(lookup.TracePod)
	case "replicaset", "replicasets", "rs", "replicaset.apps":
		return one(lookup.TraceSet)
	case "deployment", "deployments", "deploy", "deployment.apps":
		return lookup.TraceDeployment
	default:
		return nil
	}
}

func one(
	trace func(context.Context, client.Reader, client.ObjectKey) (*show.Trace, error),
) func(context.Context, client.Reader, client.ObjectKey) ([]*show.Trace, error) {
	return func(ctx context.Context, c client.Reader, key client.ObjectKey) ([]*show.Trace, error) {
		found, err := trace(ctx, c, key)
		return []*show.Trace{found}, err
	}
}
