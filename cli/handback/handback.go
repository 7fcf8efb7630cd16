package handback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// owner is the field owner of what the command writes.
const owner = "sluice-handback"

// Options say which workloads are handed back, and how.
type Options struct {
	// Namespace to look in; empty means all.
	Namespace string
	// Names of workloads in it; none means all that are held.
	Names []Name
	// Proceed leaves each workload with the template that it has. Otherwise it goes back to the
	// stable one, as its release's deletionPolicy says.
	Proceed bool
	// RemoveFinalizers takes Sluice's finalizers off its objects, for them to be deleted without a
	// controller.
	RemoveFinalizers bool
	// NoWait hands workloads back as soon as their routes are restored. Requests that are on their way
	// may be lost.
	NoWait bool
	// DryRun asks the API server without changing anything.
	DryRun bool
}

// Name names a workload: of one kind, or of each that has one of the name if the kind is empty.
type Name struct{ Kind, Name string }

// A Command hands back what its options say.
type Command struct {
	client  client.Client
	clock   clock.Clock
	options Options
	tell    func(line string)
}

// New makes a Command that says each thing that it does in a line. The client must not read from a
// cache.
func New(c client.Client, now clock.Clock, options Options, tell func(line string)) *Command {
	c = client.WithFieldOwner(c, owner)
	if options.DryRun {
		c = client.NewDryRunClient(c)
	}
	return &Command{client: c, clock: now, options: options, tell: tell}
}

// Run hands workloads back. The error holds each failure, and a failure keeps no other workload.
func (c *Command) Run(ctx context.Context) error {
	targets, unfound := c.find(ctx)
	routes, err := c.leaveRoutes(ctx, targets)
	failed := []error{err, unfound}
	if ctx.Err() != nil {
		return errors.Join(append(failed, context.Cause(ctx))...)
	}
	stay := staying(routes, unfound)
	for _, t := range targets {
		if err := c.handBack(ctx, t, routes); err != nil {
			stay.namespaces[t.key.Namespace] = true
			failed = append(failed, fmt.Errorf("%s: %w", t, err))
		}
	}
	err = errors.Join(failed...)
	if err == nil && len(targets)+routes.written == 0 {
		c.tell("nothing to do: no workload is held")
	}
	if c.options.RemoveFinalizers {
		return errors.Join(err, c.removeFinalizers(ctx, stay))
	}
	return err
}

// errRoutes says that a workload stays held because requests would be lost.
var errRoutes = errors.New("not handed back: a route of its release is not restored, or can't be read, and would send requests to pods that go")

// tries is how often a workload that changes meanwhile is decided on again.
const tries = 10

// handBack gives one workload back, whatever else happens to it meanwhile.
func (c *Command) handBack(ctx context.Context, t target, found *routes) error {
	var err error
	for range tries {
		if err = c.tryHandBack(ctx, t, found); !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

func (c *Command) tryHandBack(ctx context.Context, t target, found *routes) error {
	w := workload.New(t.kind)
	if err := c.client.Get(ctx, t.key, w.Object()); err != nil {
		return fmt.Errorf("read %s: %w", t.kind, err)
	}
	switch {
	case found.keeps(c, w):
		return errRoutes
	case hold.Text(w) != nil:
		return c.giveBack(ctx, t, w)
	case hold.Follower(w) != "":
		return c.unfollow(ctx, t, w)
	case glassIsOurs(w):
		c.tell(t.String() + ": handed back before: the reason is taken away that let it through")
		return c.mendGlass(ctx, w)
	default:
		c.tell(t.String() + ": nothing to do: it is not held")
		return nil
	}
}

// giveBack decides what a held workload gets back, and writes it.
func (c *Command) giveBack(ctx context.Context, t target, w workload.Workload) error {
	release, err := c.releaseOf(ctx, w)
	if err != nil {
		return err
	}
	left := decide(w, release, c.options.Proceed)
	template, words, err := c.template(ctx, w, left.Revision)
	if err != nil {
		return err
	}
	if err := c.write(ctx, w, left.HeldWorkload, template); err != nil {
		return err
	}
	c.tellHandedBack(t, says(w, left, words), release)
	return nil
}

func (c *Command) tellHandedBack(t target, what string, release *v1alpha1.BatchRelease) {
	done := "handed back"
	if c.options.DryRun {
		done = "would be handed back"
	}
	c.tell(fmt.Sprintf("%s: %s: %s", t, done, what))
	if release != nil && release.DeletionTimestamp == nil && release.Status.Phase != v1alpha1.PhaseCompleted {
		c.tell(fmt.Sprintf("%s: BatchRelease %s is not done: a controller that starts takes the %s over again, unless the release is deleted first",
			t, release.Name, t.kind))
	}
}

// releaseOf returns the BatchRelease that holds the workload; nil if it is gone, or its kind.
func (c *Command) releaseOf(ctx context.Context, w workload.Workload) (*v1alpha1.BatchRelease, error) {
	held := hold.Of(w)
	if held == nil {
		return nil, nil
	}
	release := &v1alpha1.BatchRelease{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: w.GetNamespace(), Name: held.Release}, release)
	switch {
	case absent(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read BatchRelease: %w", err)
	case release.UID != held.UID:
		return nil, nil
	}
	return release, nil
}

// absent reports whether there is no such object, or no such kind.
func absent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// template returns that of a revision, nil to leave the workload with the one that it has; and what
// to tell people about it.
func (c *Command) template(ctx context.Context, w workload.Workload, revision string) (json.RawMessage, string, error) {
	if revision == "" {
		return nil, "with the template that it has", nil
	}
	template, err := c.findTemplate(ctx, w, revision)
	switch {
	case err != nil:
		return nil, "", err
	case template == nil:
		return nil, fmt.Sprintf("with the template that it has, for none of the stable revision %s is left: "+
			"the native controller takes all pods to it", revision), nil
	}
	return template, "back to the stable revision " + revision, nil
}
