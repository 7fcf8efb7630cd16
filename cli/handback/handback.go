package handback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
)

// owner is the field owner of what the command writes.
const owner = "sluice-handback"

// page is how many objects are read at a time.
const page = 500

// Options say which Deployments are handed back, and how.
type Options struct {
	// Namespace to look in; empty means all.
	Namespace string
	// Names of Deployments in it; none means all that are held.
	Names []string
	// Proceed leaves each Deployment with the template that it has. Otherwise it goes back to the
	// stable one, as its release's deletionPolicy says.
	Proceed bool
	// RemoveFinalizers takes Sluice's finalizers off its objects, for them to be deleted without a controller.
	RemoveFinalizers bool
	// DryRun asks the API server without changing anything.
	DryRun bool
}

// A Command hands back what its options say.
type Command struct {
	client  client.Client
	options Options
	tell    func(line string)
}

// New makes a Command that says each thing that it does in a line. The client must not read from a cache.
func New(c client.Client, options Options, tell func(line string)) *Command {
	c = client.WithFieldOwner(c, owner)
	if options.DryRun {
		c = client.NewDryRunClient(c)
	}
	return &Command{client: c, options: options, tell: tell}
}

// Run hands back. What can't be is in the error, and all others are handed back nevertheless.
func (c *Command) Run(ctx context.Context) error {
	held, err := c.find(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for _, key := range held {
		if err := c.handBack(ctx, key); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", key, err))
		}
	}
	if len(held) == 0 {
		c.tell("nothing to do: no Deployment is held")
	}
	if c.options.RemoveFinalizers && len(failed) == 0 {
		failed = append(failed, c.removeFinalizers(ctx))
	}
	return errors.Join(failed...)
}

// find lists what is to be looked at: what was named, or all that is held, or was left half done.
func (c *Command) find(ctx context.Context) ([]client.ObjectKey, error) {
	var found []client.ObjectKey
	for _, name := range c.options.Names {
		found = append(found, client.ObjectKey{Namespace: c.options.Namespace, Name: name})
	}
	if found != nil {
		return found, nil
	}
	list := &appsv1.DeploymentList{}
	for {
		err := c.client.List(ctx, list, client.InNamespace(c.options.Namespace), client.Limit(page), client.Continue(list.Continue))
		if err != nil {
			return nil, fmt.Errorf("list Deployments: %w", err)
		}
		for i := range list.Items {
			if d := &list.Items[i]; hold.Text(d) != nil || glassIsOurs(d) {
				found = append(found, client.ObjectKeyFromObject(d))
			}
		}
		if list.Continue == "" {
			return found, nil
		}
	}
}

// tries is how often a Deployment that changes meanwhile is decided on again.
const tries = 10

// handBack gives one Deployment back, whatever else happens to it meanwhile.
func (c *Command) handBack(ctx context.Context, key client.ObjectKey) error {
	var err error
	for range tries {
		if err = c.tryHandBack(ctx, key); !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return err
}

func (c *Command) tryHandBack(ctx context.Context, key client.ObjectKey) error {
	d := &appsv1.Deployment{}
	if err := c.client.Get(ctx, key, d); err != nil {
		return fmt.Errorf("read Deployment: %w", err)
	}
	switch {
	case hold.Text(d) != nil:
		return c.giveBack(ctx, d)
	case glassIsOurs(d):
		c.tell(key.String() + ": handed back before: the reason is taken away that let it through")
		return c.mendGlass(ctx, d)
	default:
		c.tell(key.String() + ": nothing to do: it is not held")
		return nil
	}
}

// giveBack decides what a held Deployment gets back, and writes it.
func (c *Command) giveBack(ctx context.Context, d *appsv1.Deployment) error {
	release, err := c.releaseOf(ctx, d)
	if err != nil {
		return err
	}
	sets, err := c.setsOf(ctx, d)
	if err != nil {
		return err
	}
	left := decide(d, release, c.options.Proceed)
	template, words, err := c.template(ctx, d, sets, left.Revision)
	if err != nil {
		return err
	}
	if err := c.write(ctx, d, left.HeldWorkload, template); err != nil {
		return err
	}
	c.tellHandedBack(client.ObjectKeyFromObject(d), says(left, words), release)
	return nil
}

func (c *Command) tellHandedBack(key client.ObjectKey, what string, release *v1alpha1.BatchRelease) {
	done := "handed back"
	if c.options.DryRun {
		done = "would be handed back"
	}
	c.tell(fmt.Sprintf("%s: %s: %s", key, done, what))
	if release != nil && release.DeletionTimestamp == nil && release.Status.Phase != v1alpha1.PhaseCompleted {
		c.tell(fmt.Sprintf("%s: BatchRelease %s is not done: a controller that starts takes the Deployment over again, unless the release is deleted first",
			key, release.Name))
	}
}

// releaseOf is the BatchRelease that holds the Deployment; nil if it is gone, or its kind.
func (c *Command) releaseOf(ctx context.Context, d *appsv1.Deployment) (*v1alpha1.BatchRelease, error) {
	held := hold.Of(d)
	if held == nil {
		return nil, nil
	}
	release := &v1alpha1.BatchRelease{}
	err := c.client.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: held.Release}, release)
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

// setsOf lists the ReplicaSets that the Deployment selects; not all of them need be its own.
func (c *Command) setsOf(ctx context.Context, d *appsv1.Deployment) ([]appsv1.ReplicaSet, error) {
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("read selector of Deployment: %w", err)
	}
	var list appsv1.ReplicaSetList
	err = c.client.List(ctx, &list, client.InNamespace(d.Namespace), client.MatchingLabelsSelector{Selector: selector})
	if err != nil {
		return nil, fmt.Errorf("list ReplicaSets: %w", err)
	}
	return list.Items, nil
}

// template is that of a revision, nil to leave the Deployment with the one that it has; and what to tell
// people about it.
func (c *Command) template(ctx context.Context, d *appsv1.Deployment, sets []appsv1.ReplicaSet, revision string) (json.RawMessage, string, error) {
	if revision == "" {
		return nil, "with the template that it has", nil
	}
	template, err := c.findTemplate(ctx, d, sets, revision)
	switch {
	case err != nil:
		return nil, "", err
	case template == nil:
		return nil, fmt.Sprintf("with the template that it has, for none of the stable revision %s is left: "+
			"the native controller takes all pods to it", revision), nil
	}
	return template, "back to the stable revision " + revision, nil
}
