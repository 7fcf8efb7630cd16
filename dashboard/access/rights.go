package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/singleflight"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/lru"
)

// Answers of the API server are cached for moments: a person who loses a right sees no more after
// these. A namespace that is closed to somebody may stay so a little longer; of thousands most are.
const (
	rightsKept = 10 * time.Second
	closedKept = 30 * time.Second
	maxRights  = 50_000
	// reviewsAtOnce of all viewers, of which one person has a few at most. A person who waits for
	// their own limit on requests holds none.
	reviewsAtOnce   = 32
	personsOwnTurns = 8
)

// Verb is an action in the terms of RBAC.
type Verb struct {
	Verb, Group, Resource, Subresource, Name string
}

// Rights answers what viewers may do, by asking the API server.
type Rights struct {
	clock clock.PassiveClock
	kept  *lru.Cache[question, *answer]
	turns chan struct{}
	// joined has the questions that are being asked, so that others who ask the same wait for the same
	// answer.
	joined singleflight.Group

	lock sync.Mutex
	// people are those who ask now: no more than there are requests.
	people map[string]*asking
}

// asking is the state of the questions of one person.
type asking struct {
	requests int
	// pages has one turn, so that several pages ask once about many namespaces.
	pages chan struct{}
	turns chan struct{}
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
	return &Rights{
		clock: now, kept: lru.New[question, *answer](maxRights), turns: make(chan struct{}, reviewsAtOnce), people: map[string]*asking{},
	}
}

// enter returns what a person has, and what to call once they ask no more.
func (r *Rights) enter(v *Viewer) (*asking, func()) {
	person := v.identifies()
	r.lock.Lock()
	defer r.lock.Unlock()
	own := r.people[person]
	if own == nil {
		own = &asking{pages: make(chan struct{}, 1), turns: make(chan struct{}, personsOwnTurns)}
		r.people[person] = own
	}
	own.requests++
	return own, func() {
		r.lock.Lock()
		defer r.lock.Unlock()
		if own.requests--; own.requests == 0 {
			delete(r.people, person)
		}
	}
}

// take waits for a turn. The caller has to give it back.
func take(ctx context.Context, turns chan struct{}) error {
	select {
	case turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// May reports whether a viewer may do something in a namespace; in all of them if none is given. It
// asks with the viewer's client, so that the answer is the same that the action would get. An error
// means no permission.
func (r *Rights) May(ctx context.Context, v *Viewer, namespace string, what Verb) (bool, error) {
	return r.may(ctx, v, namespace, what, rightsKept)
}

// In reports what May does, for callers that ask about many namespaces: a viewer with permission
// everywhere needs no question for each.
func (r *Rights) In(ctx context.Context, v *Viewer, namespace string, what Verb) (bool, error) {
	if everywhere, err := r.may(ctx, v, "", what, rightsKept); err != nil || everywhere {
		return everywhere, err
	}
	return r.may(ctx, v, namespace, what, rightsKept)
}

// errLeft says that the first viewer to ask has left; the others ask again.
var errLeft = errors.New("the viewer left")

func (r *Rights) may(ctx context.Context, v *Viewer, namespace string, what Verb, closed time.Duration) (bool, error) {
	asked := question{v.identifies(), namespace, what}
	for {
		if known := r.known(asked); known != nil {
			return known.may, nil
		}
		answers := r.joined.DoChan(fmt.Sprintf("%q", asked), func() (any, error) {
			may, err := r.review(ctx, v, asked, closed)
			if err != nil && ctx.Err() != nil {
				err = errLeft
			}
			return may, err
		})
		select {
		case came := <-answers:
			if errors.Is(came.Err, errLeft) && ctx.Err() == nil {
				continue
			}
			may, _ := came.Val.(bool)
			if came.Err != nil {
				return false, fmt.Errorf("ask the API server what %s may: %w", v.Name, cmp.Or(ctx.Err(), came.Err))
			}
			return may, nil
		case <-ctx.Done():
			return false, fmt.Errorf("ask the API server what %s may: %w", v.Name, ctx.Err())
		}
	}
}

// known returns a cached answer that is still valid.
func (r *Rights) known(asked question) *answer {
	if known := r.kept.Get(asked); known != nil && r.clock.Now().Before(known.until) {
		return known
	}
	return nil
}

// review asks the API server once it is this viewer's turn, if the answer has not come in the
// meantime.
func (r *Rights) review(ctx context.Context, v *Viewer, asked question, closed time.Duration) (bool, error) {
	own, leave := r.enter(v)
	defer leave()
	if err := take(ctx, own.turns); err != nil {
		return false, err
	}
	defer func() { <-own.turns }()
	if v.waits != nil {
		waited, err := v.waits(ctx)
		if err != nil {
			return false, err
		}
		ctx = waited
	}
	if err := take(ctx, r.turns); err != nil { // last: what one waits for with it, all wait for
		return false, err
	}
	defer func() { <-r.turns }()
	if known := r.known(asked); known != nil {
		return known.may, nil
	}
	at, what := r.clock.Now(), asked.what
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: asked.namespace, Verb: what.Verb, Group: what.Group, Resource: what.Resource, Subresource: what.Subresource, Name: what.Name,
		},
	}}
	if err := v.Client.Create(ctx, review); err != nil {
		return false, err
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

// Namespaces returns those of some in which a viewer may list releases. It asks for all at once
// first, and only then for one after the other. Pages of a viewer that ask at the same time ask
// once.
func (r *Rights) Namespaces(ctx context.Context, v *Viewer, among []string) (Seen, error) {
	list := Verb{Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: "batchreleases"}
	own, leave := r.enter(v)
	defer leave()
	if err := take(ctx, own.pages); err != nil {
		return Seen{}, fmt.Errorf("ask the API server what %s may: %w", v.Name, err)
	}
	defer func() { <-own.pages }()
	if all, err := r.may(ctx, v, "", list, closedKept); err != nil || all {
		return Seen{All: all}, err
	}
	seen := make([]bool, len(among))
	asked, ctx := errgroup.WithContext(ctx)
	asked.SetLimit(personsOwnTurns)
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
