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
	"github.com/sluice-dev/sluice/proof"
)

// cluster is the API server, its cache and the clock, for the reconcilers of this package.
type cluster struct {
	client client.Client
	live   client.Reader
	events events.EventRecorder
	clock  clock.PassiveClock
	// shared are the namespaces that the sources of all namespaces may write into.
	shared []string
	// key returns the key that signs what is said about gates; nil for none.
	key func() (*proof.Key, error)
}

func newCluster(cached client.Client, live client.Reader, recorder events.EventRecorder, now clock.PassiveClock, shared ...string) cluster {
	return cluster{
		client: client.WithFieldOwner(cached, v1alpha1.OwnerApprovals),
		live:   live,
		events: recorder,
		clock:  now,
		shared: shared,
	}
}

// factsOf reads the release of a gate and that release's source.
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

// until returns the time until then; 0, which means no wake-up, for a zero time.
func (c cluster) until(then time.Time) time.Duration {
	if then.IsZero() {
		return 0
	}
	return max(then.Sub(c.clock.Now()), time.Millisecond)
}
