package approvals

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

// cluster is what the controllers of this package read, write and get the time from.
type cluster struct {
	client client.Client
	live   client.Reader
	events events.EventRecorder
	clock  clock.PassiveClock
	// shared are the namespaces that sources of any namespace write into.
	shared []string
}

// factsOf returns the release of a gate and where that comes from, as reader has them.
func (c cluster) factsOf(ctx context.Context, reader client.Reader, g *v1alpha1.Gate) (gate.Facts, error) {
	release, err := releaseOf(ctx, reader, g)
	if err != nil || release == nil || !gate.Asks(g.Spec.Type) {
		return gate.Facts{Release: release}, err
	}
	source, err := c.sourceOf(ctx, reader, release)
	return gate.Facts{Release: release, Source: source}, err
}

// releaseOf returns the release of a gate; nil if it is gone.
func releaseOf(ctx context.Context, reader client.Reader, g *v1alpha1.Gate) (*v1alpha1.BatchRelease, error) {
	release := &v1alpha1.BatchRelease{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: g.Namespace, Name: g.Spec.ReleaseRef.Name}, release)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read release of gate: %w", err)
	}
	return release, nil
}

// until returns the time until then; 0, which means none, if there is no such time.
func (c cluster) until(then time.Time) time.Duration {
	if then.IsZero() {
		return 0
	}
	return max(then.Sub(c.clock.Now()), time.Millisecond)
}
