package approvals

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/kube"
)

// run gathers facts, derives the intents from them, and carries out one after the other. It stops
// at the first intent that fails, and reports false if the object changed meanwhile: its watch
// then starts another pass.
func run[F, I any](
	ctx context.Context, gather func(context.Context) (F, error), next func(F) []I, do func(context.Context, F, I) (bool, error),
) (facts F, done bool, err error) {
	if facts, err = gather(ctx); err != nil {
		return facts, false, err
	}
	for _, intent := range next(facts) {
		if done, err := do(ctx, facts, intent); err != nil || !done {
			return facts, false, err
		}
	}
	return facts, true, nil
}

// store reads the objects of one kind, and includes its own writes that the cache lacks.
type store[T client.Object] struct {
	cluster
	own *kube.Overlay[T]
}

func newStore[T client.Object](c cluster) store[T] {
	return store[T]{c, kube.NewOverlay[T](c.clock, 0)}
}

// read returns the newest version of an object, and reports false if the object is gone. It
// overwrites empty.
func (s store[T]) read(ctx context.Context, key types.NamespacedName, empty T) (object T, found bool, err error) {
	if err := s.client.Get(ctx, key, empty); err != nil {
		s.own.Forget(key)
		return empty, false, client.IgnoreNotFound(err)
	}
	newest, _ := s.own.Newest(empty)
	return newest, true, nil
}

// subject holds the object of a pass, as last read or written.
type subject[T client.Object] struct {
	store  store[T]
	object T
	// written is called after each write with the object before it; nil for no call.
	written func(before T)
	// failed is called with each write that the API server did not take; nil for no call.
	failed func(kube.Outcome)
}

// patch changes the object, if it is still the version that was decided on.
func (s *subject[T]) patch(ctx context.Context, what string, change func(T)) (bool, error) {
	wanted := s.object.DeepCopyObject().(T)
	change(wanted)
	return s.settle(kube.Patch(ctx, s.store.client, s.object, wanted), wanted, what)
}

// patchStatus changes the status, if the object is still the version that was decided on.
func (s *subject[T]) patchStatus(ctx context.Context, what string, change func(T)) (bool, error) {
	wanted := s.object.DeepCopyObject().(T)
	change(wanted)
	return s.settle(kube.PatchStatus(ctx, s.store.client, s.object, wanted), wanted, what)
}

// changeStatus changes a status field that only approvals writes, in any version of the object.
func (s *subject[T]) changeStatus(ctx context.Context, what string, change func(T)) (bool, error) {
	wanted, outcome := kube.ChangeStatus(ctx, s.store.client, s.store.live, s.object, change)
	if outdated, is := outcome.(kube.Outdated); is { // it has tried several versions
		outcome = kube.Failed(outdated)
	}
	return s.settle(outcome, wanted, what)
}

// settle records the outcome of a write. It reports false if the object is not the version that
// was decided on.
func (s *subject[T]) settle(outcome kube.Outcome, wanted T, what string) (bool, error) {
	switch outcome.(type) {
	case kube.Written:
		before := s.object
		s.object = wanted
		s.store.own.Saw(wanted)
		if s.written != nil {
			s.written(before)
		}
		return true, nil
	case kube.Unchanged:
		return true, nil
	case kube.Outdated, kube.Gone:
		return false, nil
	case kube.Refused, kube.Failed:
		if s.failed != nil {
			s.failed(outcome)
		}
	}
	return false, fmt.Errorf("%s: %w", what, kube.Err(outcome))
}
