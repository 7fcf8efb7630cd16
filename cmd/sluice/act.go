package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/act"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/rollout/steer"
)

// fieldOwner is whom what a person writes by a verb belongs to.
const fieldOwner = "sluice-cli"

// actFlags are the flags of every verb that acts on a release.
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

// modes are how far each dry run goes.
var modes = map[string]act.Mode{dryRunNone: act.Written, dryRunClient: act.Decided, dryRunServer: act.Checked}

// writer writes as the user.
func (f *actFlags) writer(c *cluster) act.Writer {
	return act.Writer{Client: c, Owner: fieldOwner, Mode: modes[f.dryRun]}
}

// settle waits until the controller has acted on a written object, and returns the object as it is
// then.
func (f *actFlags) settle(ctx context.Context, c *cluster, object client.Object, change steer.Change, what *verb.Verb) (client.Object, error) {
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
	if !ok || what.Taken == nil {
		return object, nil
	}
	now, err := f.await(ctx, c, release, func(o client.Object) (bool, error) { return what.Taken(o.(*v1alpha1.BatchRelease)) })
	if now == nil {
		now = object
	}
	return now, err
}

// await waits until, for as long as the user waits.
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
	return verb.GateDecided(object.(*v1alpha1.Gate)), nil
}

// whoami returns the user as the API server knows it.
func (c *cluster) whoami(ctx context.Context) (string, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := c.Create(ctx, review); err != nil {
		return "", fmt.Errorf("ask the API server who you are: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}
