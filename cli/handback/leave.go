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

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

const (
	// lookAgain is the time between two reads of the status of routes. They can't be watched: the
	// command needs only the rights to get, list and patch them.
	lookAgain = time.Second
	// tellAgain is the time between two lines that say what is waited for.
	tellAgain = 10 * time.Second
)

// errShared says that another program writes a route.
var errShared = errors.New("it shares requests again since it was restored: stop what writes to it, such as a running controller, and run the command again")

// leaveRoutes restores the routes, and waits until nobody sends requests to the pods of the targets
// by the routes of before. The error holds each failure.
func (c *Command) leaveRoutes(ctx context.Context, targets []target) (*routes, error) {
	found, err := c.findRoutes(ctx)
	c.restoreRoutes(ctx, found)
	waits := found.waiting(targets)
	switch {
	case len(waits) == 0 || c.options.NoWait || ctx.Err() != nil:
	case c.options.DryRun:
		longest := slices.MaxFunc(waits, func(a, b *leaving) int { return cmp.Compare(a.goal.DrainFor, b.goal.DrainFor) })
		c.tell(fmt.Sprintf("would wait until the status of the routes tells that they are in effect, and then %s for requests on their way", longest.goal.DrainFor))
	default:
		if interrupted := c.await(ctx, waits); interrupted != nil {
			return found, errors.Join(err, found.errs(), interrupted)
		}
		err = errors.Join(err, c.checkAgain(ctx, found, targets))
	}
	return found, errors.Join(err, found.errs())
}

// waiting returns the releases that may hold a target, and whose routes were restored.
func (f *routes) waiting(targets []target) []*leaving {
	held := map[string]bool{}
	for _, t := range targets {
		switch by := hold.Of(t.object); {
		case t.unread || by == nil && hold.Text(t.object) != nil: // any release of the namespace may hold it
			held[t.key.Namespace+"/"] = true
		case by != nil:
			held[t.key.Namespace+"/"+by.Release] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(f.leaving), func(l *leaving) bool {
		namespace, _, _ := strings.Cut(l.name, "/")
		return l.claimed || len(l.failed) > 0 || !held[l.name] && !held[namespace+"/"]
	})
}

// restoreRoutes carries out what traffic.Next decides, until it has nothing more to write.
func (c *Command) restoreRoutes(ctx context.Context, found *routes) {
	s := c.newSnapshot()
	for try := 1; ; try++ {
		byRoute := map[routeID][]restoring{}
		for _, l := range found.leaving {
			for _, r := range l.toRestore(l.next(ctx, s, c.clock.Now())) {
				byRoute[r.routeID] = append(byRoute[r.routeID], restoring{l, r})
			}
		}
		if len(byRoute) == 0 {
			return
		}
		for _, id := range slices.SortedFunc(maps.Keys(byRoute), compareRoutes) {
			if ctx.Err() == nil && try <= tries {
				s.restore(ctx, id, byRoute[id])
				found.written++
				continue
			}
			for _, q := range byRoute[id] {
				q.fail(q.route, cmp.Or(context.Cause(ctx), errChanges))
			}
		}
	}
}

// errChanges says that a route could not be written for others who write it.
var errChanges = errors.New("patch route: it changes all the time")

// compareRoutes sorts routes by kind, in the order in which these are read, and by name.
func compareRoutes(a, b routeID) int {
	kinds := cmp.Compare(slices.Index(route.Kinds, a.kind), slices.Index(route.Kinds, b.kind))
	return cmp.Or(kinds, cmp.Compare(a.key.String(), b.key.String()))
}

// next decides on a release. It leaves out routes that can't be read or restored. Once routes are
// restored, an unreadable route is waited for.
func (l *leaving) next(ctx context.Context, s *snapshot, now time.Time) traffic.Standing {
	seen := traffic.Seen{Services: true}
	for _, r := range l.routes {
		if l.failed[r] != nil {
			continue
		}
		one, err := s.see(ctx, l, r)
		if err != nil && s.waits && s.routes[r.routeID].err != nil {
			one, err = traffic.Route{TrafficRoute: r.named(), Pending: []string{err.Error()}}, nil
		}
		if err != nil {
			l.fail(r, err)
			continue
		}
		seen.Routes = append(seen.Routes, one)
	}
	l.watch, seen = l.watch.Looked(seen, now)
	return traffic.Next(l.goal, seen)
}

// toRestore returns the routes that a decision restores.
func (l *leaving) toRestore(next traffic.Standing) []heldRoute {
	writes := map[v1alpha1.TrafficRoute]bool{}
	for _, w := range next.Writes {
		if restore, is := w.(traffic.RestoreRoute); is {
			writes[restore.Route] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(l.routes), func(r heldRoute) bool { return !writes[r.named()] || l.failed[r] != nil })
}

// sharedAgain fails a release whose routes are to be restored a second time.
func (l *leaving) sharedAgain(next traffic.Standing) {
	for _, r := range l.toRestore(next) {
		l.fail(r, errShared)
	}
}

// await waits until the routes of releases are in effect as they are, for a limited time, and
// requests on their way are over.
func (c *Command) await(ctx context.Context, waits []*leaving) error {
	line := waitLine{Command: c, said: c.clock.Now().Add(-tellAgain)}
	for {
		line.pending, line.left, line.drains, line.late = nil, 0, 0, nil
		s := c.newSnapshot()
		s.waits = true
		done := true
		for _, l := range waits {
			if len(l.failed) > 0 {
				continue
			}
			next := l.next(ctx, s, c.clock.Now())
			l.sharedAgain(next)
			if len(l.failed) == 0 && !next.Done {
				done = false
				line.add(next, l.goal.DrainFor)
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the routes: %w", context.Cause(ctx))
		}
		if done {
			return nil
		}
		if err := c.pause(ctx, line.tellWait()); err != nil {
			return err
		}
	}
}

// waitLine says what is waited for.
type waitLine struct {
	*Command

	// pending names who has not read a route, and late who is not waited for any more.
	pending, late []string
	// left is the rest of the wait for them, and drains the wait for requests on their way.
	left, drains time.Duration
	said         time.Time
	saidLate     bool
}

// add adds a release that waits.
func (w *waitLine) add(next traffic.Standing, drain time.Duration) {
	left := next.GivesUp - drain
	switch {
	case len(next.Pending) > 0 && left > 0:
		w.pending, w.left = append(w.pending, next.Pending...), max(w.left, left)
	default:
		w.late, w.drains = append(w.late, next.Pending...), max(w.drains, next.Wake)
	}
}

// tellWait says what is waited for, and returns after how long to look again.
func (w *waitLine) tellWait() time.Duration {
	if len(w.late) > 0 && !w.saidLate {
		w.saidLate = true
		w.tell("continuing without Gateways whose status does not say that they follow the route: requests that they still route as before may fail: " +
			listed(w.late))
	}
	if len(w.pending) == 0 {
		w.tell(fmt.Sprintf("waiting %s for requests on their way (--wait=false does not)", w.drains.Round(time.Second)))
		return min(w.drains, tellAgain)
	}
	if w.clock.Since(w.said) >= tellAgain {
		w.said = w.clock.Now()
		w.tell(fmt.Sprintf("waiting for at most %s (--wait=false does not): %s", w.left.Round(time.Second), listed(w.pending)))
	}
	return lookAgain
}

// mostListed limits the names in a line: anybody may add some.
const mostListed = 10

// listed joins names for a message, each once.
func listed(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if more := len(names) - mostListed; more > 0 {
		names = append(names[:mostListed:mostListed], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, "; ")
}

// checkAgain looks for all routes again after the wait: another program may have shared requests
// meanwhile.
func (c *Command) checkAgain(ctx context.Context, found *routes, targets []target) error {
	quiet := *c
	quiet.tell = func(string) {}
	again, err := quiet.findRoutes(ctx)
	found.unread = found.unread || again.unread
	found.unlisted = append(found.unlisted, again.unlisted...)
	s := quiet.newSnapshot()
	for _, l := range again.waiting(targets) {
		l.sharedAgain(l.next(ctx, s, c.clock.Now()))
	}
	for _, l := range again.leaving {
		if before := found.of(l.name, l.claimed); !l.claimed && len(before.failed) == 0 {
			before.failed = l.failed
		}
	}
	return err
}

func (c *Command) pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait for the routes: %w", context.Cause(ctx))
	case <-c.clock.After(d):
		return nil
	}
}
