package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/steer"
)

// fieldOwner is whom what a person writes by a verb belongs to.
const fieldOwner = "sluice-cli"

// actFlags are those of every verb that acts on a release.
type actFlags struct {
	kube    *kubeFlags
	output  *outputFlags
	dryRun  string
	wait    bool
	timeout time.Duration
}

// The dry runs.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

func newActFlags() *actFlags {
	return &actFlags{kube: newKubeFlags(), output: newOutputFlags("asked for")}
}

func (f *actFlags) register(command *cobra.Command) {
	set := command.Flags()
	set.StringVar(&f.dryRun, "dry-run", dryRunNone,
		"`mode`: \"none\", \"client\" (print what would be done) or \"server\" (and let the API server check it)")
	set.BoolVar(&f.wait, "wait", true, "wait until the controller has acted")
	set.DurationVar(&f.timeout, "timeout", 30*time.Second, "maximum `duration` to wait")
	f.output.register(command)
	f.kube.register(command)
	_ = command.RegisterFlagCompletionFunc("dry-run",
		cobra.FixedCompletions([]string{dryRunNone, dryRunClient, dryRunServer}, cobra.ShellCompDirectiveNoFileComp))
	command.GroupID = groupAct
	if command.ValidArgsFunction == nil {
		command.ValidArgsFunction = f.kube.completeReleases
	}
}

// dryRunWords follow what would have been done.
var dryRunWords = map[string]string{dryRunNone: "", dryRunClient: " (dry run)", dryRunServer: " (server dry run)"}

// check refuses flags that mean nothing.
func (f *actFlags) check() error {
	if _, known := dryRunWords[f.dryRun]; !known {
		return usageError{fmt.Errorf("--dry-run %q is not one of none, client, server", f.dryRun)}
	}
	if f.dryRun == dryRunClient && *f.output.print.OutputFormat != "" {
		return usageError{errors.New("--output with --dry-run=client would show nothing new: use --dry-run=server")}
	}
	return f.output.check()
}

// An act is what one verb does to one release.
type act struct {
	// decide says what is to be written to the release as it is; it is asked again if the release has changed meanwhile.
	decide func(ctx context.Context, c *cluster, release *v1alpha1.BatchRelease) ([]steer.Change, error)
	// taken reports whether the controller has acted on what was written to a release, or why not; nil where there is nothing
	// to wait for but the gates that are decided.
	taken func(*v1alpha1.BatchRelease) (bool, error)
}

// run does what a verb does to the release that the arguments name.
func (f *actFlags) run(command *cobra.Command, args []string, what act) error {
	if err := f.check(); err != nil {
		return err
	}
	c, release, err := f.kube.release(command, args)
	if err != nil {
		return err
	}
	ctx := command.Context()
	changes, written, err := f.write(ctx, c, release, what)
	if err != nil {
		return fmt.Errorf("batchrelease/%s: %w", release.Name, err)
	}
	for i, object := range written {
		if object, err = f.settle(ctx, c, object, changes[i], what); err != nil {
			return fmt.Errorf("batchrelease/%s: %w", release.Name, err)
		}
		f.output.print.NamePrintFlags.Operation = changes[i].Done + dryRunWords[f.dryRun]
		if err := f.output.object(command, object); err != nil {
			return err
		}
	}
	return nil
}

// tries is how often a release that changes meanwhile is decided on again.
const tries = 10

// write decides and writes, on the release as it was decided on.
func (f *actFlags) write(ctx context.Context, c *cluster, release *v1alpha1.BatchRelease, what act) ([]steer.Change, []client.Object, error) {
	for try := 1; ; try++ {
		changes, err := what.decide(ctx, c, release)
		if err != nil {
			return nil, nil, err
		}
		written, err := f.apply(ctx, c, release, changes)
		if !apierrors.IsConflict(err) || try == tries {
			return changes, written, err
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(release), release); err != nil {
			return nil, nil, fmt.Errorf("read release again: %w", err)
		}
	}
}

// apply writes changes, each to what it was decided on.
func (f *actFlags) apply(ctx context.Context, c *cluster, release *v1alpha1.BatchRelease, changes []steer.Change) ([]client.Object, error) {
	written := make([]client.Object, 0, len(changes))
	for _, change := range changes {
		var object client.Object = release.DeepCopy()
		if change.Gate != nil {
			object = change.Gate.DeepCopy()
		}
		if err := f.applyOne(ctx, c, object, change); err != nil {
			return nil, err
		}
		written = append(written, object)
	}
	return written, nil
}

func (f *actFlags) applyOne(ctx context.Context, c *cluster, object client.Object, change steer.Change) error {
	if f.dryRun == dryRunClient {
		return nil
	}
	data, err := json.Marshal(guarded(change.Patch, object))
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	patch := client.RawPatch(types.MergePatchType, data)
	switch dryRun := f.dryRun == dryRunServer; {
	case change.Status:
		options := &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{FieldManager: fieldOwner}}
		if dryRun {
			options.DryRun = []string{metav1.DryRunAll}
		}
		return c.Status().Patch(ctx, object, patch, options)
	case dryRun:
		return c.Patch(ctx, object, patch, client.FieldOwner(fieldOwner), client.DryRunAll)
	default:
		return c.Patch(ctx, object, patch, client.FieldOwner(fieldOwner))
	}
}

// guarded is a patch that holds for one version of one object.
func guarded(patch map[string]any, object client.Object) map[string]any {
	metadata, _ := patch["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["uid"], metadata["resourceVersion"] = object.GetUID(), object.GetResourceVersion()
	whole := maps.Clone(patch)
	whole["metadata"] = metadata
	return whole
}

// settle waits until the controller has taken up what was written to an object, and returns it as it is then.
func (f *actFlags) settle(ctx context.Context, c *cluster, object client.Object, change steer.Change, what act) (client.Object, error) {
	if !f.wait || f.dryRun != dryRunNone {
		return object, nil
	}
	for i := range change.Decides {
		gate, err := f.await(ctx, c, &change.Decides[i], decided)
		if err != nil {
			return nil, err
		}
		if change.Gate != nil && gate != nil {
			object = gate
		}
	}
	release, ok := object.(*v1alpha1.BatchRelease)
	if !ok || what.taken == nil {
		return object, nil
	}
	now, err := f.await(ctx, c, release, func(o client.Object) (bool, error) { return what.taken(o.(*v1alpha1.BatchRelease)) })
	if now == nil {
		now = object
	}
	return now, err
}

// await is until, for as long as the user waits.
func (f *actFlags) await(ctx context.Context, c *cluster, object client.Object, holds condition) (client.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	now, err := c.until(ctx, object, holds)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("the request was written, but the controller did not act within %s; run \"%s check\"", f.timeout, commandName)
	}
	return now, err
}

// decided reports whether a gate is.
func decided(object client.Object) (bool, error) {
	decision := object.(*v1alpha1.Gate).Status.Decision
	return decision == v1alpha1.DecisionPassed || decision == v1alpha1.DecisionRejected, nil
}

// whoami is the user as the API server knows it.
func (c *cluster) whoami(ctx context.Context) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return "", fmt.Errorf("ask the API server who you are: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// gatesOf reads the gates that a release waits for.
func (c *cluster) gatesOf(ctx context.Context, release *v1alpha1.BatchRelease) ([]v1alpha1.Gate, error) {
	var gates []v1alpha1.Gate
	for _, reference := range release.Status.Gates {
		var gate v1alpha1.Gate
		err := c.Get(ctx, client.ObjectKey{Namespace: release.Namespace, Name: reference.Name}, &gate)
		switch {
		case apierrors.IsNotFound(err): // it is about to be made, or gone by now
		case err != nil:
			return nil, fmt.Errorf("read gate: %w", err)
		default:
			gate.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Gate"))
			gates = append(gates, gate)
		}
	}
	return gates, nil
}

// sameGates reports whether a release waits for the gates that it waited for, whatever has been decided on them since.
func sameGates(before, now *v1alpha1.BatchRelease) bool {
	return before.Status.Attempt == now.Status.Attempt &&
		slices.EqualFunc(before.Status.Gates, now.Status.Gates, func(a, b v1alpha1.GateReference) bool { return a.Name == b.Name })
}
