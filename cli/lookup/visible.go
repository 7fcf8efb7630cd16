package lookup

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
)

// Sight is show.Sight.
type Sight = show.Sight

// Visible reads a release and what belongs to it, as far as the user may. Only the release itself must be readable.
func Visible(ctx context.Context, c client.Reader, key client.ObjectKey) (*Sight, error) {
	sight := &Sight{Whole: &show.Whole{Release: &v1alpha1.BatchRelease{}}}
	if err := c.Get(ctx, key, sight.Release); err != nil {
		return nil, fmt.Errorf("read release in namespace %s: %w", key.Namespace, err)
	}
	var lock sync.Mutex
	parts, ctx := errgroup.WithContext(ctx)
	read := func(part func() error) {
		parts.Go(func() error {
			err := part()
			if apierrors.IsForbidden(err) {
				lock.Lock()
				defer lock.Unlock()
				sight.Hidden = append(sight.Hidden, err.Error())
				return nil
			}
			return err
		})
	}
	read(func() (err error) { sight.Gates, err = Gates(ctx, c, key); return err })
	read(func() error { return readSource(ctx, c, sight.Whole) })
	read(func() error { return readWorkload(ctx, c, sight.Whole) })
	read(func() (err error) { sight.Kept, err = Kept(ctx, c, sight.Release); return err })
	if err := parts.Wait(); err != nil {
		return nil, err
	}
	return sight, nil
}

// Gates are those of a release, and of releases that had its name before.
func Gates(ctx context.Context, c client.Reader, key client.ObjectKey) ([]v1alpha1.Gate, error) {
	var gates v1alpha1.GateList
	if err := c.List(ctx, &gates, client.InNamespace(key.Namespace), client.MatchingLabels{v1alpha1.ReleaseLabel: key.Name}); err != nil {
		return nil, fmt.Errorf("list gates: %w", err)
	}
	return gates.Items, nil
}
