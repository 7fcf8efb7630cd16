package forge

import (
	"context"
	"time"
)

// Budget is the rest of the rate limit that a client shares with others.
type Budget struct {
	// Limit and Remaining are requests in the present hour; both are 0 where there is no limit.
	Limit, Remaining int
	// Reset is when Remaining is Limit again.
	Reset time.Time
	// Requests that the client has sent since it was made, those answered "not modified" included.
	Requests int64
	// Unchanged counts the requests answered with "not modified". They cost nothing.
	Unchanged int64
	// LimitedUntil is when requests may be sent again; in the past if they may be now.
	LimitedUntil time.Time
}

type canWaitKey struct{}

// CanWait marks the requests of a context as ones that people do not wait for: they are sent while
// the forge allows plenty.
func CanWait(ctx context.Context) context.Context { return context.WithValue(ctx, canWaitKey{}, true) }

// Waits reports whether people do not wait for the requests of a context.
func Waits(ctx context.Context) bool { return ctx.Value(canWaitKey{}) != nil }
