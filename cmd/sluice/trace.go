package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/cli/show"
)

// traceFlags are the flags of "sluice trace" as they were given.
type traceFlags struct {
	kube   *kubeFlags
	output *outputFlags
	proof  proofFlags
}

// traceable is what can be traced.
const traceable = "pod/NAME, replicaset/NAME, deployment/NAME, statefulset/NAME or daemonset/NAME"

func newTrace() *cobra.Command {
	flags := &traceFlags{kube: newKubeFlags(), output: newOutputFlags("")}
	command := &cobra.Command{
		Use:     "trace (POD | pod/NAME | replicaset/NAME | deployment/NAME | statefulset/NAME | daemonset/NAME)",
		GroupID: groupLook,
		Short:   "Find the commit and the approvals behind a pod",
		Long: `Find the release, the commit with its author, and the gates with their evidence behind a pod or ReplicaSet, or behind each
running version of a Deployment, StatefulSet or DaemonSet. With --output, print a List of these objects.

With --verify, check a pod: that it runs what a commit brought, who signed the commit, and that each gate passed by its rule, by
statements that a controller signed. The exit code is 0 if that is proven, 1 if something contradicts it, and 2 if something is
missing. With --bundle, check it without a cluster.`,
		Example: `  sluice trace web-654cdc8b8d-2dn8h -n shop
  sluice trace deployment/web
  sluice trace statefulset/db
  sluice trace pod/web-654cdc8b8d-2dn8h -o yaml
  sluice trace --verify web-654cdc8b8d-2dn8h --attestation-keys=sluice.pub --signers=allowed_signers
  sluice trace --verify --bundle=web.json --attestation-keys=sluice.pub --signers=allowed_signers`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.proof.check(args); err != nil {
				return err
			}
			if flags.proof.bundle != "" {
				return flags.proof.run(cmd, *flags.output.print.OutputFormat, nil)
			}
			if len(args) != 1 {
				return usageError{errors.New("name one thing to trace: " + traceable)}
			}
			return flags.run(cmd, args[0])
		},
	}
	flags.output.register(command)
	flags.proof.register(command.Flags())
	flags.kube.register(command)
	return command
}

func (f *traceFlags) run(command *cobra.Command, argument string) error {
	if err := f.output.check(); err != nil {
		return err
	}
	kind, name, found := strings.Cut(argument, "/")
	if !found {
		kind, name = "pod", argument
	}
	trace := tracer(strings.ToLower(kind))
	if name == "" || trace == nil {
		return usageError{fmt.Errorf("%q is not "+traceable, argument)}
	}
	find := func() ([]*show.Trace, *cluster, error) {
		c, err := f.kube.connect(command.ErrOrStderr())
		if err != nil {
			return nil, nil, err
		}
		traces, err := trace(command.Context(), c, client.ObjectKey{Namespace: c.namespace, Name: name})
		return traces, c, err
	}
	if f.proof.verify {
		return f.proof.run(command, *f.output.print.OutputFormat, func() (*show.Trace, error) {
			traces, _, err := find()
			if err != nil {
				return nil, err
			}
			return traces[0], nil
		})
	}
	traces, c, err := find()
	if err != nil {
		return err
	}
	if f.output.given() {
		return f.output.objects(command, c.Scheme(), objectsOf(traces))
	}
	now, texts := time.Now(), make([]string, 0, len(traces))
	for _, trace := range traces {
		texts = append(texts, strings.Join(trace.Lines(now), "\n")+"\n")
	}
	_, err = fmt.Fprint(command.OutOrStdout(), strings.Join(texts, "\n"))
	return err
}

// objectsOf returns the objects of traces, each once.
func objectsOf(traces []*show.Trace) []client.Object {
	var objects []client.Object
	seen := map[types.UID]bool{}
	for _, trace := range traces {
		for _, object := range trace.Objects() {
			if !seen[object.GetUID()] {
				seen[object.GetUID()] = true
				objects = append(objects, object)
			}
		}
	}
	return objects
}

// tracer returns what traces objects of a kind; nil if nothing does.
func tracer(kind string) func(context.Context, client.Reader, client.ObjectKey) ([]*show.Trace, error) {
	switch kind {
	case "pod", "pods", "po":
		return one(lookup.TracePod)
	case "replicaset", "replicasets", "rs", "replicaset.apps":
		return one(lookup.TraceSet)
	}
	if known := workloadKind(kind); known != "" {
		return lookup.TraceWorkload(known)
	}
	return nil
}

func one(
	trace func(context.Context, client.Reader, client.ObjectKey) (*show.Trace, error),
) func(context.Context, client.Reader, client.ObjectKey) ([]*show.Trace, error) {
	return func(ctx context.Context, c client.Reader, key client.ObjectKey) ([]*show.Trace, error) {
		found, err := trace(ctx, c, key)
		return []*show.Trace{found}, err
	}
}
