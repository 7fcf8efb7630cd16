package handback

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Controller names the holder of the controller's Lease, in whatever namespace, and the Lease. The
// holder is empty if no controller has renewed one in time, and so is the Lease if there is none: a
// controller that runs without leader election has none.
func Controller(ctx context.Context, reader client.Reader, now time.Time) (holder, lease string, err error) {
	var leases coordinationv1.LeaseList
	if err := reader.List(ctx, &leases, client.MatchingFields{"metadata.name": v1alpha1.LeaseName}); err != nil {
		return "", "", fmt.Errorf("list Leases: %w", err)
	}
	for i := range leases.Items {
		lease = client.ObjectKeyFromObject(&leases.Items[i]).String()
		if l := &leases.Items[i]; fresh(&l.Spec, now) {
			return *l.Spec.HolderIdentity, client.ObjectKeyFromObject(l).String(), nil
		}
	}
	return "", lease, nil
}

// fresh reports whether a Lease is held and was renewed in time.
func fresh(lease *coordinationv1.LeaseSpec, now time.Time) bool {
	if ptr.Deref(lease.HolderIdentity, "") == "" || lease.RenewTime == nil {
		return false
	}
	lasts := time.Duration(ptr.Deref(lease.LeaseDurationSeconds, 0)) * time.Second
	return now.Before(lease.RenewTime.Add(lasts))
}
