package sandbox

import (
	"context"
	"time"
)

// Turn is all that one source has done at a time, such as the builds of one commit.
type Turn struct {
	pool  *Pool
	ctx   context.Context //nolint:containedctx // it is that of the one call that the turn is for
	owner Owner
	spent time.Duration
}

// For begins a turn of an owner, which ends with the context.
func (p *Pool) For(ctx context.Context, owner Owner) *Turn {
	return &Turn{pool: p, ctx: ctx, owner: owner}
}

// Build serves one input, unless the turn has used up its time.
func (t *Turn) Build(input []byte) ([]byte, error) {
	limits := t.pool.limits
	if t.spent >= limits.Total {
		limit := limits.Total.String() + " of processor time with all that was built before it"
		return nil, &ExceededError{reason: ErrTime, limit: limit, before: true}
	}
	output, took, err := t.pool.run(t.ctx, t.owner, input)
	t.spent += took
	return output, err
}
