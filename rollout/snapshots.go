package rollout

import (
	"context"

	"golang.org/x/sync/singleflight"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/rollout/preflight"
	"github.com/sluice-dev/sluice/rollout/survey"
)

// snapshots are of what in namespaces can limit their releases. Where a push changes many releases of a
// namespace, those that ask at the same time share the answer; nothing is kept beyond that.
type snapshots struct {
	live  client.Reader
	lists singleflight.Group
}

// surveyed is what a namespace has, and what could not be read.
type surveyed struct {
	found   preflight.Namespace
	unknown []string
}

// of is survey.Namespace. Everybody who asked shares what it returns, and only reads it.
func (s *snapshots) of(ctx context.Context, namespace string) (preflight.Namespace, []string, error) {
	answer, err, _ := s.lists.Do(namespace, func() (any, error) {
		found, unknown, err := survey.Namespace(ctx, s.live, namespace)
		return surveyed{found, unknown}, err
	})
	seen := answer.(surveyed)
	return seen.found, seen.unknown, err
}
