package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
)

// handbackFlags are the flags of "sluice handback" as they were given.
type handbackFlags struct {
	kube             *kubeFlags
	all, force, wait bool
	yes              bool
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

The command asks before it changes anything, unless you pass --yes. It refuses to run while a controller runs, because that controller would
take the workloads over again. In that case, delete the BatchRelease: in Git if it comes from there, or it is created again. It finds
controllers by their Lease. If the cluster has none, a controller without leader election may still run: check that none does, and pass --force.

The exit code is 0 if everything was handed back or nothing had to be, 1 if something could not be handed back or a controller
runs, and 2 on a usage error.`,
		Example: `  # One Deployment
  sluice handback web -n shop

  # One StatefulSet
  sluice handback statefulset/db -n shop

  # Before Sluice is uninstalled
  sluice handback --all -A --remove-finalizers --yes`,
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
	set.BoolVar(&f.yes, "yes", false, "don't ask")
	set.BoolVar(&f.force, "force", false, "run even if a controller runs, or may run: no Lease shows that none does")
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
	if err := f.confirm(cmd); err != nil {
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

// confirm asks whether to go on, unless nothing is going to be changed, or the user has said so.
func (f *handbackFlags) confirm(cmd *cobra.Command) error {
	if f.yes || f.options.DryRun {
		return nil
	}
	in, is := cmd.InOrStdin().(*os.File)
	if !is || !term.IsTerminal(int(in.Fd())) {
		return usageError{errors.New("handback asks first, and there is no terminal: pass --yes, or --dry-run to see what it would do")}
	}
	return ask(in, cmd.ErrOrStderr(), f.question())
}

// question says what is about to happen.
func (f *handbackFlags) question() string {
	what, where := "all held workloads", "all namespaces"
	if len(f.options.Names) > 0 {
		names := make([]string, 0, len(f.options.Names))
		for _, name := range f.options.Names {
			names = append(names, name.Name)
		}
		what = strings.Join(names, ", ")
	}
	if f.options.Namespace != "" {
		where = "namespace " + f.options.Namespace
	}
	return fmt.Sprintf("Hand back %s in %s? Releases in progress end, and their pods change at once.", what, where)
}

// ask asks a question, and fails unless the answer is yes.
func ask(in io.Reader, out io.Writer, question string) error {
	if _, err := fmt.Fprint(out, question+" [y/N] "); err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was changed: the answer was not yes")
}

// checkController refuses to work against a controller, which would take over again what is handed
// back.
func (f *handbackFlags) checkController(ctx context.Context, c client.Reader) error {
	if f.force || f.options.DryRun {
		return nil
	}
	holder, lease, err := handback.Controller(ctx, c, time.Now())
	switch {
	case err != nil:
		return fmt.Errorf("check for a running controller (--force skips this): %w", err)
	case lease == "":
		return fmt.Errorf("can't tell whether a controller runs: no Lease %s is in the cluster, and a controller without leader election has none; "+
			"check that none runs, and pass --force", v1alpha1.LeaseName)
	case holder != "":
		return fmt.Errorf("a controller runs: %s holds the Lease %s; delete the BatchReleases, and it hands their workloads back, or stop it first; "+
			"for a workload that no BatchRelease names, add --force", holder, lease)
	}
	return nil
}
