package journeys

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestNativeTurns: the native controller takes a turn after each of our writes, whatever the size
// of the workload, its limits and the batches: no ReplicaSet ever goes back on its way, and there
// are never more pods than maxSurge allows (F09).
func TestNativeTurns(t *testing.T) {
	sizes := []int32{1, 3, 10}
	if *everyMoment {
		sizes = append(sizes, 2, 30, 100)
	}
	fences := []struct{ surge, unavailable any }{{0, 1}, {1, 0}, {"25%", "25%"}, {"100%", 0}}
	batches := [][]v1alpha1.Step{
		{step("100%")},
		{step("10%", none()), step("50%", none()), step("100%")},
		{step(1, none()), step(5, none()), step("100%")},
		{step("33%", none()), step("66%", none()), step("100%")},
	}
	for i, size := range sizes {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			for j, bounds := range fences {
				for k, steps := range batches {
					if !*everyMoment && (i+j)%len(batches) != k {
						continue // each size with each bounds, and each of them with each batches
					}
					t.Run(fmt.Sprintf("%v,%v/%d", bounds.surge, bounds.unavailable, k), func(t *testing.T) {
						w := makeWorld(t) // one after the other: a hundred pods at a time are enough
						w.startController()
						w.deployed(deployment(size, rolling(bounds.surge, bounds.unavailable)))
						w.create(release("web:2", steps...))
						w.awaitTouching(all(web.completed, web.serves("web:2", size)))
						w.wantStraight(size, percentOf(*share(bounds.surge), size, true))
					})
				}
			}
		})
	}
}

// awaitTouching calls await, and provokes a sync of the native controller with each new size of a
// ReplicaSet.
func (w *world) awaitTouching(done check) {
	w.Helper()
	known, touches := map[types.UID]int32{}, 0
	w.await(func(s *scene) error {
		for uid, set := range s.sets {
			if size, found := known[uid]; found && size == replicas(set) {
				continue
			}
			known[uid] = replicas(set)
			touches++
			w.touch(touches)
		}
		return done(s)
	})
}

// touch changes the Deployment for the native controller to look at it.
func (w *world) touch(n int) {
	w.Helper()
	d := named[appsv1.Deployment]("web")
	d.Namespace = w.namespace
	if err := w.Patch(w.Context(), d, mergePatch(fmt.Sprintf(`{"metadata":{"annotations":{"touched":"%d"}}}`, n))); err != nil {
		w.Fatalf("annotate Deployment: %v", err)
	}
}

// wantStraight wants every ReplicaSet to have gone one way, no more pods than maxSurge allows, or
// the one beside the old ones that T1 takes, and nobody but us to have scaled. When no old pod is
// left the native controller may make up the last ones: they are due.
func (w *world) wantStraight(size, surge int32) {
	w.Helper()
	f := w.findings(web)
	if f.flaps > 0 {
		w.Errorf("%d ReplicaSets went back on their way", f.flaps)
	}
	if limit := size + max(surge, 1); f.mostPods > limit {
		w.Errorf("%d pods, want at most %d", f.mostPods, limit)
	}
	for writer, n := range f.scalings {
		if writer != v1alpha1.OwnerRollout && n > 1 {
			w.Errorf("%s scaled %d times while the workload was held", writer, n)
		}
	}
}
