package access

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/lru"
)

// Answers of the API server are kept for moments: who loses a right sees no more after these. A namespace that is closed to somebody may stay so a little
// longer; of thousands most are.
const (
	rightsKept = 10 * time.Second
	closedKept = 30 * time.Second
	maxRights  = 50_000
	// reviewsAtOnce of all viewers.
	reviewsAtOnce = 32
)

// Verb is what somebody wants to do, as RBAC says it.
type Verb struct {
	Verb, Group, Resource, Subresource, Name string
}

// Rights answers what viewers may, by what the API server says to them.
type Rights struct {
	clock clock.PassiveClock
	kept  *lru.Cache[question, *answer]
	turns chan struct{}
	// asking has one turn for each person, or for a few of them.
	asking [64]chan struct{}
}

type question struct {
	person, namespace string
	what              Verb
}

type answer struct {
	may   bool
	until time.Time
}

// NewRights knows nothing yet.
func NewRights(now clock.PassiveClock) *Rights {
	r := &Rights{clock: now, kept: lru.New[question, *answer](maxRights), turns: make(chan struct{}, reviewsAtOnce)}
	for i := range r.asking {
		r.asking[i] = make(chan struct{}, 1)
	}
	return r
}

// May reports whether a viewer may do something in a namespace; in all of them if none is given. It asks with the viewer's client, so that
// the answer is the one that the deed would get. An error is no permission.
func (r *Rights) May(ctx context.Context, v *Viewer, namespace string, what Verb) (bool, error) {
	return r.may(ctx, v, namespace, what, rightsKept)
}

func (r *Rights) may(ctx context.Context, v *Viewer, namespace string, what Verb, closed time.Duration) (bool, error) {
	asked := question{v.identifies(), namespace, what}
	if known := r.kept.Get(asked); known != nil && r.clock.Now().Before(known.until) {
		return known.may, nil
	}
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return false, fmt.Errorf("ask the API server what %s may: %w", v.Name, ctx.Err())
	}
	at := r.clock.Now()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: what.Verb, Group: what.Group, Resource: what.Resource, Subresource: what.Subresource, Name: what.Name,
		},
	}}
	if err := v.Client.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask the API server what %s may: %w", v.Name, err)
	}
	may := review.Status.Allowed && !review.Status.Denied
	until := at.Add(rightsKept)
	if !may {
		until = at.Add(closed)
	}
	r.kept.Put(asked, &answer{may, until}, 1)
	return may, nil
}

// Seen are the namespaces whose releases a viewer sees.
type Seen struct {
	// All reports whether they see those of all namespaces.
	All   bool
	names map[string]bool
}

// Has reports whether they see the releases of a namespace.
func (s Seen) Has(namespace string) bool { return s.All || s.names[namespace] }

// Namespaces are those of some in which a viewer may list releases. It asks for all at once first, and only then for one after the other. Pages of
// a viewer that ask at the same time ask once.
func (r *Rights) Namespaces(ctx context.Context, v *Viewer, among []string) (Seen, error) {
	list := Verb{Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: "batchreleases"}
	turn := r.asking[int(v.identifies()[0])%len(r.asking)]
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return Seen{}, fmt.Errorf("ask the API server what %s may: %w", v.Name, ctx.Err())
	}
	if all, err := r.may(ctx, v, "", list, closedKept); err != nil || all {
		return Seen{All: all}, err
	}
	seen := make([]bool, len(among))
	asked, ctx := errgroup.WithContext(ctx)
	asked.SetLimit(reviewsAtOnce)
	for i, namespace := range among {
		asked.Go(func() (err error) {
			seen[i], err = r.may(ctx, v, namespace, list, closedKept)
			return err
		})
	}
	if err := asked.Wait(); err != nil {
		return Seen{}, err
	}
	names := map[string]bool{}
	for i, namespace := range among {
		if seen[i] {
			names[namespace] = true
		}
	}
	return Seen{names: names}, nil
}
