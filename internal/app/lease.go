package app

import (
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// leaseTimeout bounds one try to renew the Lease: half of the 10 s after which it is lost, so that
// one request that hangs does not lose it.
const leaseTimeout = 5 * time.Second

// newLease returns the lock by which controllers take turns. Unlike the manager's own it publishes
// no event for a change of leader, so that a controller which starts where all is at rest writes
// nothing else: the Lease itself says whose turn it is.
func newLease(cfg *rest.Config, namespace string) (resourcelock.Interface, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name the holder of the Lease: %w", err)
	}
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = leaseTimeout
	leases, err := coordinationv1.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make client for the Lease: %w", err)
	}
	return &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.LeaseName},
		Client:     leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}, nil
}
