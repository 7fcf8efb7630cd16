package approvals

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// post sends a status. It reports false for a status that the forge has rejected before, and sends
// that again only once the source changes.
func (c *connections) post(ctx context.Context, source *v1alpha1.ReleaseSource, of types.UID, status forge.StatusRequest) (bool, error) {
	sent := post{status, source.UID, source.Generation}
	if c.rejected.has(of, sent) {
		return false, nil
	}
	err := c.ask(ctx, source, false, func(ctx context.Context, api forge.Client) error {
		if status.State == forge.StatePending { // people wait for outcomes
			ctx = forge.CanWait(ctx)
		}
		_, err := api.PostStatus(ctx, status)
		return err
	})
	if problem := c.follow(ctx, source, of, err); problem != nil {
		return false, errors.Join(err, problem)
	}
	if forge.KindOf(err) == forge.Invalid {
		c.rejected.add(of, sent)
	}
	return err == nil, err
}

// follow notes whether the report of an object waits for the forge to allow more, and says so on
// the source while there are any. The first to come is tried first.
func (c *connections) follow(ctx context.Context, source *v1alpha1.ReleaseSource, of types.UID, err error) error {
	con := c.of(source)
	con.mu.Lock()
	before := con.waits() > 0
	if forge.KindOf(err) == forge.Limited {
		con.queue(of, err)
	} else {
		delete(con.behind, of)
	}
	now := len(con.behind)
	con.mu.Unlock()
	reportsBehind.WithLabelValues(source.Namespace, source.Name).Set(float64(now))
	if before == (now > 0) || err != nil && forge.KindOf(err) != forge.Limited {
		return nil
	}
	return c.publish(ctx, con, source.Generation, err)
}

// queue notes that the report of an object waits, and puts its next try behind those that wait for
// longer. The caller holds the lock.
func (c *connection) queue(of types.UID, err error) {
	own, waits := c.behind[of]
	if !waits {
		c.came++
		own.came = c.came
	}
	if paused, is := errors.AsType[*pausedError](err); is && paused.own {
		for _, other := range c.behind {
			if other.came < own.came {
				paused.until = paused.until.Add(paused.every)
			}
		}
	}
	own.again = retryAt(err)
	c.behind[of] = own
}

// waiting is a report that waits: the number of its turn, and when it is tried again.
type waiting struct {
	came  int64
	again time.Time
}

// overdue is how long after its time a report counts as waiting: its object may be gone.
const overdue = time.Minute

// waits returns how many reports wait. The caller holds the lock.
func (c *connection) waits() int {
	now := c.clock.Now()
	maps.DeleteFunc(c.behind, func(_ types.UID, w waiting) bool { return now.Sub(w.again) > overdue })
	return len(c.behind)
}

// outcome returns the result of a pass that asked a forge, with the time of the next try.
func (c *connections) outcome(ctx context.Context, source *v1alpha1.ReleaseSource, err error) (reconcile.Result, error) {
	switch {
	case err == nil:
		return reconcile.Result{}, nil
	case ctx.Err() != nil, forge.KindOf(err) == "":
		return reconcile.Result{}, errors.Join(err, ctx.Err())
	case forge.KindOf(err) == forge.Invalid:
		return reconcile.Result{}, nil
	}
	again := c.clock.Now().Add(intervalOf(source))
	if at := retryAt(err); !at.IsZero() {
		again = at
	}
	return reconcile.Result{RequeueAfter: max(again.Sub(c.clock.Now()), time.Millisecond)}, nil
}

// post is a status as sent to the forge of one generation of a source.
type post struct {
	status     forge.StatusRequest
	source     types.UID
	generation int64
}

// rejections holds the last post of each object that a forge rejected.
type rejections struct {
	mu  sync.Mutex
	all map[types.UID]post
}

func (r *rejections) has(of types.UID, one post) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[of] == one
}

func (r *rejections) add(of types.UID, one post) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[types.UID]post{}
	}
	r.all[of] = one
}
