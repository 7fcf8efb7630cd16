package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/cli/handback"
)

// handbackFlags are the flags of "sluice handback" as they were given.
type handbackFlags struct {
	kube       *kubeFlags
	all, force bool
	options    handback.Options
}

func newHandback() *cobra.Command {
	flags := &handbackFlags{kube: newKubeFlags()}
	command := &cobra.Command{
		Use:     "handback (DEPLOYMENT... | --all)",
		GroupID: groupAct,
		Short:   "Hand Deployments back without a controller",
		Long: `Hand back Deployments that Sluice holds, when the controller is gone or is to go: each gets its
strategy back, is no longer paused, and is the native controller's again. It needs nothing but the
Deployments. A second run finds nothing to do.

In the middle of a release a Deployment goes back to the stable revision, unless its release says otherwise
(deletionPolicy: Proceed) or --proceed is given. If no template of that revision is left it keeps the
one that it has, and the native controller takes all pods to it.

While a controller runs it takes back what it holds, so that the command refuses to do anything. To have a
Deployment back then, delete its BatchRelease: in Git, if it comes from there, or it is made anew.

It exits with 0 when everything was handed back, or nothing was to be; with 1 when something could not be,
or a controller runs; with 2 when it was called wrongly.`,
		Example: `  # One Deployment
  sluice handback web -n shop

  # Before Sluice is uninstalled
  sluice handback --all -A --remove-finalizers`,
		RunE: flags.run,
	}
	flags.register(command)
	return command
}

func (f *handbackFlags) register(command *cobra.Command) {
	f.kube.registerAll(command)
	set := command.Flags()
	set.BoolVar(&f.all, "all", false, "hand back all Deployments that are held")
	set.BoolVar(&f.options.Proceed, "proceed", false, "leave each with the template that it has, for the native controller to take all pods to it")
	set.BoolVar(&f.options.RemoveFinalizers, "remove-finalizers", false,
		"then take Sluice's finalizers off its own objects, so that they can be deleted without a controller")
	set.BoolVar(&f.options.DryRun, "dry-run", false, "say what would be done, and change nothing")
	set.BoolVar(&f.force, "force", false, "do it even if a controller runs")
}

func (f *handbackFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(args); err != nil {
		return usageError{err}
	}
	c, err := f.kube.connect(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	f.options.Namespace, f.options.Names = c.namespace, args
	if err := f.checkController(cmd.Context(), c); err != nil {
		return err
	}
	return handback.New(c, f.options, func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) }).Run(cmd.Context())
}

// check refuses what is not clear, before anything is read.
func (f *handbackFlags) check(names []string) error {
	switch {
	case f.all == (len(names) > 0):
		return errors.New("name Deployments, or give --all to hand back all that are held")
	case len(names) > 0 && f.kube.allNamespaces:
		return errors.New("all Deployments that are named are in one namespace: leave out --all-namespaces")
	}
	return nil
}

// checkController refuses to work against a controller, which would take over again what is handed back.
func (f *handbackFlags) checkController(ctx context.Context, c client.Reader) error {
	if f.force {
		return nil
	}
	holder, lease, err := handback.Controller(ctx, c, time.Now())
	switch {
	case err != nil:
		return fmt.Errorf("see whether a controller runs (--force skips that): %w", err)
	case holder != "":
		return fmt.Errorf("a controller runs: %s holds the Lease %s; stop it first, or delete the BatchReleases and it hands back", holder, lease)
	}
	return nil
}
