package handback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

const (
	// patience is for how long the status of the routes is waited for, as the controller does.
	patience = 5 * time.Minute
	// lookAgain is after how long the status is read again: nobody can watch a route who may only get,
	// list and patch it.
	lookAgain = time.Second
	// tellAgain is after how long people are told again what is waited for.
	tellAgain = 10 * time.Second
)

// drains are the routes of each release, by its namespace and name, that sent requests to its pods
// a moment ago, and for how long requests may still be on their way to them.
type drains map[string]*drain

type drain struct {
	routes []heldRoute
	lasts  time.Duration
}

// drainsOf returns those of routes that are about to be restored, and of those that a run before
// may have restored which did not come to hand the workload back. Where nothing but the annotation
// says that a release of another namespace holds a route, nobody waits for it.
func (c *Command) drainsOf(held []heldRoute, releases map[string]*v1alpha1.BatchRelease) drains {
	all := drains{}
	of := func(name string) *drain {
		if all[name] == nil {
			all[name] = &drain{lasts: drainOf(releases[name])}
		}
		return all[name]
	}
	for _, r := range held {
		if !r.claimed {
			d := of(r.holder.Release)
			d.routes = append(d.routes, r)
		}
	}
	for name, release := range releases {
		if !c.names(release.Spec.WorkloadRef) || release.Spec.Strategy.Traffic == nil && release.Status.Traffic == nil {
			continue
		}
		d := of(name)
		for _, r := range namedBy(release) {
			if !slices.ContainsFunc(d.routes, r.sameHold) {
				d.routes = append(d.routes, r)
			}
		}
	}
	return all
}

// drainOf returns how long a release has pods stay after requests have left them: as the
// controller, for readySeconds where that is longer.
func drainOf(release *v1alpha1.BatchRelease) time.Duration {
	var set v1alpha1.Traffic
	if release != nil && release.Spec.Strategy.Traffic != nil {
		set = *release.Spec.Strategy.Traffic
	}
	drain, ready := int32(v1alpha1.DefaultTrafficDrainSeconds), int32(v1alpha1.DefaultTrafficReadySeconds)
	return time.Duration(max(*cmp.Or(set.DrainSeconds, &drain), *cmp.Or(set.ReadySeconds, &ready))) * time.Second
}

// settle waits, before workloads are handed back, until nobody is sent to their pods by routes that
// were restored: pods of a version go at once then. It returns what keeps workloads held then.
func (c *Command) settle(ctx context.Context, targets []target, done restored) (kept, error) {
	waits := c.draining(ctx, targets, done)
	if len(waits) == 0 || c.options.NoWait {
		return done.kept, nil
	}
	var routes []heldRoute
	longest := time.Duration(0)
	for _, name := range waits {
		routes, longest = append(routes, done.drains[name].routes...), max(longest, done.drains[name].lasts)
	}
	if c.options.DryRun {
		c.tell(fmt.Sprintf("would wait until the status of the routes tells that they are in effect, and then %s for requests on their way", longest))
		return done.kept, nil
	}
	if err := c.awaitRoutes(ctx, routes); err != nil {
		return done.kept, err
	}
	if err := c.awaitDrain(ctx, longest); err != nil {
		return done.kept, err
	}
	return c.findChanged(ctx, done.kept)
}

// draining names the releases that may hold one of the workloads and whose routes drain. One whose
// workload stays held has nobody wait.
func (c *Command) draining(ctx context.Context, targets []target, done restored) []string {
	waits := map[string]bool{}
	for _, t := range targets {
		if len(done.drains) == 0 {
			break
		}
		object := metadata(t.kind)
		err := c.client.Get(ctx, t.key, object)
		if apierrors.IsNotFound(err) {
			continue
		}
		for name := range done.drains {
			unread := err != nil && strings.HasPrefix(name, t.key.Namespace+"/") // handing it back says why, or can read it
			if !done.failed[name] && (unread || mayHold(name, object)) {
				waits[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(waits))
}

// findChanged adds the releases whose routes share requests again since they were restored:
// somebody else writes them.
func (c *Command) findChanged(ctx context.Context, before kept) (kept, error) {
	releases, known, err := c.releases(ctx)
	if err != nil {
		return kept{all: true}, err
	}
	quiet := *c
	quiet.tell = func(string) {} // all was told when routes were looked for first
	now, err := quiet.findRoutes(ctx, releases, known, before)
	failed := []error{err}
	for _, r := range now.held {
		if !r.claimed && !before.failed[r.holder.Release] {
			now.failed[r.holder.Release] = true
			failed = append(failed, fmt.Errorf("%s: it shares requests again since it was restored: stop what writes to it, such as a running controller, "+
				"and run the command again", r))
		}
	}
	return now.kept, errors.Join(failed...)
}

// mayHold reports whether a release holds a workload. An annotation that can't be read may name any
// of the namespace.
func mayHold(release string, w metav1.Object) bool {
	namespace, name, _ := strings.Cut(release, "/")
	if hold.Text(w) == nil || namespace != w.GetNamespace() {
		return false
	}
	held := hold.Of(w)
	return held == nil || held.Release == name
}

// awaitRoutes waits until the status of each route tells that it is in effect as it is, and for no
// longer than patience.
func (c *Command) awaitRoutes(ctx context.Context, routes []heldRoute) error {
	began := c.clock.Now()
	said := began.Add(-tellAgain)
	for {
		pending := c.pending(ctx, routes)
		if len(pending) == 0 {
			return nil
		}
		left := patience - c.clock.Since(began)
		names := strings.Join(listed(pending), "; ")
		if left <= 0 {
			c.tell("continuing without Gateways whose status does not say that they follow the route: requests that they still route as before may fail: " + names)
			return nil
		}
		if c.clock.Since(said) >= tellAgain {
			said = c.clock.Now()
			c.tell(fmt.Sprintf("waiting for at most %s (--wait=false does not): %s", left.Round(time.Second), names))
		}
		if err := c.pause(ctx, lookAgain); err != nil {
			return err
		}
	}
}

// mostListed is how many of those that are waited for are named in a line: what belongs to others
// is not to be lost among them.
const mostListed = 10

// listed returns names as they are told.
func listed(names []string) []string {
	if more := len(names) - mostListed; more > 0 {
		return append(slices.Clone(names[:mostListed]), fmt.Sprintf("%d more", more))
	}
	return names
}

// pending names who has not read a route as it is, and which routes can't be read, for now perhaps.
// Each is read once, whoever holds it.
func (c *Command) pending(ctx context.Context, routes []heldRoute) []string {
	var names []string
	read := map[routeID]bool{}
	for _, r := range routes {
		of := routeID{r.kind, r.key}
		if read[of] {
			continue
		}
		read[of] = true
		object, err := c.readRoute(ctx, r)
		switch {
		case err != nil:
			names = append(names, fmt.Sprintf("%s: %v", r, err))
			continue
		case object == nil:
			continue
		}
		if seen := route.KindOf(r.kind).Read(object, nil, r.use()); !seen.Observed {
			for _, who := range seen.Pending {
				names = append(names, fmt.Sprintf("%s: %s", r, who))
			}
		}
	}
	return names
}

// awaitDrain waits for requests that are on their way.
func (c *Command) awaitDrain(ctx context.Context, lasts time.Duration) error {
	for left := lasts; left > 0; left -= tellAgain {
		c.tell(fmt.Sprintf("waiting %s for requests on their way (--wait=false does not)", left))
		if err := c.pause(ctx, min(left, tellAgain)); err != nil {
			return err
		}
	}
	return nil
}

func (c *Command) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait for the routes: %w", context.Cause(ctx))
	case <-c.clock.After(d):
		return nil
	}
}
