package app

import (
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/sluice-dev/sluice/telemetry/notices"
)

// addNotices makes the holder of the Lease send notices, if a file says to whom.
func addNotices(mgr manager.Manager, opts Options) error {
	if opts.NoticesConfig == "" {
		return nil
	}
	notifier, err := notices.New(mgr, clock.RealClock{}, notices.Options{
		Path: opts.NoticesConfig, Cluster: opts.Cluster, Namespace: opts.LeaseNamespace, Poll: opts.NoticesPoll,
	})
	if err != nil {
		return fmt.Errorf("set up notices: %w", err)
	}
	if err := mgr.Add(notifier); err != nil {
		return fmt.Errorf("add notices: %w", err)
	}
	return nil
}
