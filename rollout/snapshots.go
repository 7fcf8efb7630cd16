package rollout

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/rollout/preflight"
	"github.com/sluice-dev/sluice/rollout/survey"
)

// snapshotMemory is how long what a namespace has is kept. Where a push changes many releases of a
// namespace, they begin within seconds.
const snapshotMemory = 5 * time.Second

// snapshots are of what in namespaces can limit their releases. Releases that begin at about the
// same time share the answer; nothing is kept beyond that.
type snapshots struct {
	live  client.Reader
	lists singleflight.Group
	kept  sync.Map // surveyed by namespace
}

// surveyed holds the findings about a namespace, and which reads failed.
type surveyed struct {
	found   preflight.Namespace
	unknown []string
	// kept says that this may have changed since.
	kept bool
}

// of returns survey.Namespace, as of a few seconds ago at most. All callers share the result, and
// only read it.
func (s *snapshots) of(ctx context.Context, namespace string) (surveyed, error) {
	if kept, found := s.kept.Load(namespace); found {
		seen := *kept.(*surveyed)
		seen.kept = true
		return seen, nil
	}
	return s.again(ctx, namespace)
}

// again returns what a namespace has now.
func (s *snapshots) again(ctx context.Context, namespace string) (surveyed, error) {
	answer, err, _ := s.lists.Do(namespace, func() (any, error) {
		found, unknown, err := survey.Namespace(ctx, s.live, namespace)
		seen := &surveyed{found: found, unknown: unknown}
		if err == nil {
			s.kept.Store(namespace, seen)
			time.AfterFunc(snapshotMemory, func() { s.kept.CompareAndDelete(namespace, seen) })
		}
		return seen, err
	})
	return *answer.(*surveyed), err
}
