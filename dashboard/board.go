package dashboard

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard/view"
)

// board is the list of all releases, for all viewers. Only the rows of changed releases are made
// again, and only when somebody views the list.
type board struct {
	objects client.Reader
	clock   clock.PassiveClock

	stale atomic.Bool

	lock sync.Mutex
	rows []*view.Row
	made map[types.UID]madeRow
}

// madeRow is a row, and the version of the release that it was made of.
type madeRow struct {
	version string
	row     *view.Row
}

func newBoard(objects client.Reader, now clock.PassiveClock) *board {
	b := &board{objects: objects, clock: now}
	b.stale.Store(true)
	return b
}

// all returns the rows of all releases, in the order of the list. They must not be changed.
func (b *board) all(ctx context.Context) ([]*view.Row, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if !b.stale.Swap(false) {
		return b.rows, nil
	}
	var list v1alpha1.BatchReleaseList
	if err := b.objects.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		b.stale.Store(true)
		return nil, fmt.Errorf("list releases: %w", err)
	}
	now, made := b.clock.Now(), make(map[types.UID]madeRow, len(list.Items))
	rows := make([]*view.Row, 0, len(list.Items))
	for i := range list.Items {
		release := &list.Items[i]
		one, known := b.made[release.UID]
		// A freeze ends without a change of the release.
		if _, frozen := release.Annotations[v1alpha1.FreezeAnnotation]; !known || frozen || one.version != release.ResourceVersion {
			row := view.RowOf(release, now)
			one = madeRow{release.ResourceVersion, &row}
		}
		made[release.UID] = one
		rows = append(rows, one.row)
	}
	view.Order(rows)
	b.rows, b.made = rows, made
	return rows, nil
}

// kept returns the histories of all releases, without their templates.
func (b *board) kept(ctx context.Context) ([]appsv1.ControllerRevision, error) {
	var list appsv1.ControllerRevisionList
	if err := b.objects.List(ctx, &list, client.HasLabels{v1alpha1.ReleaseLabel}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list histories: %w", err)
	}
	// The native controller of a StatefulSet gives its own revisions whatever labels and annotations
	// its template has.
	return slices.DeleteFunc(list.Items, func(kept appsv1.ControllerRevision) bool {
		owner := metav1.GetControllerOfNoCopy(&kept)
		return v1alpha1.KeptFor(&kept) == "" || owner.Name != kept.Labels[v1alpha1.ReleaseLabel]
	}), nil
}

// sources returns those of all namespaces.
func (b *board) sources(ctx context.Context) ([]v1alpha1.ReleaseSource, error) {
	var list v1alpha1.ReleaseSourceList
	if err := b.objects.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list sources: %w", err)
	}
	return list.Items, nil
}
