package approvals

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/kube"
)

// carryOut carries out intents one after the other, each recorded before the next. It reports
// whether all are done: it stops at the first that fails, or whose object is not what was decided
// on. The watch brings the object as it is, and it is decided again.
func carryOut[I any](ctx context.Context, intents []I, do func(context.Context, I) (bool, error)) (bool, error) {
	for _, intent := range intents {
		if done, err := do(ctx, intent); err != nil || !done {
			return false, err
		}
	}
	return true, nil
}

// holds reports whether a decision still holds after a write of its object; an error says what could
// not be written. An object that has changed, or is gone, is decided again.
func holds(outcome kube.Outcome, what string) (bool, error) {
	switch outcome.(type) {
	case kube.Written, kube.Unchanged:
		return true, nil
	case kube.Outdated, kube.Gone:
		return false, nil
	case kube.Refused, kube.Failed:
	}
	return false, fmt.Errorf("%s: %w", what, kube.Err(outcome))
}

// keep records a field of a status that only approvals writes, and that stays true if other fields
// change. It returns the object as it is then, and reports whether it exists.
func keep[T client.Object](ctx context.Context, c cluster, own *kube.Overlay[T], object T, what string, change func(T)) (T, bool, error) {
	written, outcome := kube.ChangeStatus(ctx, c.client, c.live, object, change)
	if _, is := outcome.(kube.Written); is {
		own.Saw(written)
	}
	if outdated, is := outcome.(kube.Outdated); is { // it changes all the time: try again later
		return object, false, fmt.Errorf("%s: %w", what, outdated.Err)
	}
	done, err := holds(outcome, what)
	return written, done, err
}
