package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/cli/handback"
)

// handbackFlags are the flags of "sluice handback" as they were given.
type handbackFlags struct {
	kube             *kubeFlags
	all, force, wait bool
	options          handback.Options
}

func newHandback() *cobra.Command {
	flags := &handbackFlags{kube: newKubeFlags()}
	command := &cobra.Command{
		Use:     "handback (NAME... | KIND/NAME... | --all)",
		GroupID: groupAct,
		Short:   "Hand workloads back without a controller",
		Long: `Hand back Deployments, StatefulSets and DaemonSets that Sluice holds, when the controller is gone or about to go: each gets its
strategy back and belongs to the native controller again. Before that, routes that share requests between versions are restored, and
the command waits until nobody sends requests by the routes of before. It needs only the workloads and the routes. A second run finds
nothing to do.

NAME means the held workloads of that name, of all three kinds; KIND/NAME means one.

In mid-release, a workload goes back to the stable revision, unless its release has deletionPolicy: Proceed, or you
pass --proceed. If no template of that revision is left, it keeps its current one, and the native controller moves all pods to it.

The command refuses to run while a controller runs, because that controller would take the workloads over again. In that case,
delete the BatchRelease: in Git if it comes from there, or it is created again.

The exit code is 0 if everything was handed back or nothing had to be, 1 if something could not be handed back or a controller
runs, and 2 on a usage error.`,
		Example: `  # One Deployment
  sluice handback web -n shop

  # One StatefulSet
  sluice handback statefulset/db -n shop

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
	set.BoolVar(&f.all, "all", false, "hand back all held workloads")
	set.BoolVar(&f.options.Proceed, "proceed", false, "keep the current template, and let the native controller move all pods to it")
	set.BoolVar(&f.options.RemoveFinalizers, "remove-finalizers", false,
		"then remove Sluice's finalizers from its objects, so that they can be deleted without a controller")
	set.BoolVar(&f.wait, "wait", true, "wait until nobody sends requests by the routes of before, for up to 5 minutes and the release's drainSeconds")
	set.BoolVar(&f.options.DryRun, "dry-run", false, "print what would be done, without changes")
	set.BoolVar(&f.force, "force", false, "run even if a controller runs")
}

func (f *handbackFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.check(args); err != nil {
		return usageError{err}
	}
	c, err := f.kube.connect(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	f.options.Namespace, f.options.NoWait = c.namespace, !f.wait
	if err := f.checkController(cmd.Context(), c); err != nil {
		return err
	}
	return handback.New(c, clock.RealClock{}, f.options, func(line string) { fmt.Fprintln(cmd.OutOrStdout(), line) }).Run(cmd.Context())
}

// check refuses what is not clear, before anything is read, and notes what is meant.
func (f *handbackFlags) check(names []string) error {
	switch {
	case f.all == (len(names) > 0):
		return errors.New("name workloads, or use --all to hand back all held ones")
	case len(names) > 0 && f.kube.allNamespaces:
		return errors.New("named workloads are in one namespace: leave out --all-namespaces")
	}
	for _, text := range names {
		kind, name, err := workloadName(text)
		if err != nil {
			return err
		}
		f.options.Names = append(f.options.Names, handback.Name{Kind: kind, Name: name})
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
		return fmt.Errorf("check for a running controller (--force skips this): %w", err)
	case holder != "":
		return fmt.Errorf("a controller runs: %s holds the Lease %s; stop it first, or delete the BatchReleases, and it hands their workloads back", holder, lease)
	}
	return nil
}
