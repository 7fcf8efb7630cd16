package wire

import (
	"context"
	"sync/atomic"
)

// maxAnswers is how many bytes of answers one approval may take to be judged: many times what a
// release of as many commits as are read has.
const maxAnswers = 64 << 20

type allowanceKey struct{}

// WithAllowance limits the bytes of all answers to the requests of a context together. Each of them
// has a limit by itself; their number depends on what the answers say.
func WithAllowance(ctx context.Context) context.Context {
	left := new(atomic.Int64)
	left.Store(maxAnswers)
	return context.WithValue(ctx, allowanceKey{}, left)
}

// spend takes an answer out of the allowance, where there is one, and fails once that is used up.
func spend(ctx context.Context, bytes int64) error {
	if left, limited := ctx.Value(allowanceKey{}).(*atomic.Int64); limited && left.Add(-bytes) < 0 {
		return Invalid("the forge's answers are larger than allowed")
	}
	return nil
}
