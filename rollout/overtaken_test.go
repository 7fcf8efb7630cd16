package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podwatch"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// podsThere is an API server that sends pods as the beginning of a watch, and what happens to them,
// and notes which are deleted.
type podsThere struct {
	client.WithWatch

	events *watch.RaceFreeFakeWatcher
	// meanwhile happens during the first deletion, which takes a second, as all do; nil is nothing.
	meanwhile func()

	mu      sync.Mutex
	deleted []string
}

func (p *podsThere) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name) // a cache that has nothing newer
}

func (p *podsThere) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return p.events, nil
}

func (p *podsThere) Delete(_ context.Context, pod client.Object, opts ...client.DeleteOption) error {
	asked := (&client.DeleteOptions{}).ApplyOptions(opts).Preconditions
	if asked == nil || asked.UID == nil || *asked.UID != "web-1" || asked.ResourceVersion == nil || *asked.ResourceVersion != "2" {
		return errors.New("want the deletion guarded by the pod's UID and version")
	}
	p.mu.Lock()
	p.deleted = append(p.deleted, pod.GetName())
	first := len(p.deleted) == 1
	p.mu.Unlock()
	if p.meanwhile == nil {
		return nil
	}
	if first {
		p.meanwhile()
	}
	<-time.After(time.Second)
	return nil
}

// TestPodsAreNotDeletedAfterALoss: a pod is lost after the pods of a batch were chosen, and before
// the first of them is deleted: the watch tells of it, and none is. The versions of the pods that
// go would not have told.
func TestPodsAreNotDeletedAfterALoss(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		happens func(*corev1.Pod)
		deletes bool
	}{
		"nothing":                   {func(*corev1.Pod) {}, true},
		"another pod is not ready":  {func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, false},
		"another pod is going away": {func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // so that the pods stay fresh
				there := &podsThere{events: watch.NewRaceFreeFake()}
				r := NewReconciler(there, there, there, events.NewFakeRecorder(1), clock.RealClock{})
				set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "set"}}
				set.Annotations = map[string]string{v1alpha1.HoldAnnotation: `{"release":"web"}`}
				set.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
				release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
				release.Spec.WorkloadRef.Name = "web"
				v := &view{process: newProcess(r.clock), release: release, workload: &statefulset.Object{StatefulSet: set}}

				for _, name := range []string{"web-0", "web-1"} {
					there.events.Add(ready(name, set.UID))
				}
				end := &corev1.Pod{}
				end.ResourceVersion, end.Annotations = "3", map[string]string{metav1.InitialEventsAnnotationKey: "true"}
				there.events.Action(watch.Bookmark, end)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { _ = r.watches.Start(ctx) }()
				until := func(done func() bool) {
					for !done() {
						select {
						case <-r.podsChanged:
						case <-time.After(time.Minute):
							t.Fatal("nobody is told of the pods")
						}
					}
				}
				until(func() bool { return r.pods.observePods(ctx, v) == nil && v.pods.fresh })
				seen, changed := v.pods, ready("web-0", set.UID)
				changed.ResourceVersion = "4"
				test.happens(changed)
				there.events.Modify(changed)
				until(func() bool {
					err := r.pods.observePods(ctx, v)
					return err == nil && slices.ContainsFunc(v.pods.pods, func(p *corev1.Pod) bool { return p.ResourceVersion == "4" })
				})
				v.pods = seen
				err := r.act(ctx, v, []plan.Action{plan.MovePods{Write: inplace.Replace{Pods: []inplace.Pod{{Name: "web-1", UID: "web-1", Version: "2"}}}}})
				if outdated(err) == test.deletes || len(there.deleted) > 0 != test.deletes {
					t.Errorf("deleted %v, error %v, want a deletion: %t", there.deleted, err, test.deletes)
				}
				for _, pod := range v.pods.pods {
					if pod.Name == "web-1" && active(pod) == test.deletes {
						t.Errorf("the pod counts as there: %t, and deleted it is: %t", active(pod), test.deletes)
					}
				}
			})
		})
	}
}

// TestALossEndsABatch: a pod that is lost while the first pods of a batch are deleted keeps the
// rest of the batch from going. The pods of the batch itself don't count.
func TestALossEndsABatch(t *testing.T) {
	t.Parallel()
	const pods = podDeletes + 4
	for name, lost := range map[string]string{"a pod of the batch": "web-1", "another pod": "web-0"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				there := &podsThere{events: watch.NewRaceFreeFake()}
				r := NewReconciler(there, there, there, events.NewFakeRecorder(1), clock.RealClock{})
				release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
				for _, name := range []string{"web-0", "web-1"} {
					there.events.Add(ready(name, "set"))
				}
				end := &corev1.Pod{}
				end.ResourceVersion, end.Annotations = "3", map[string]string{metav1.InitialEventsAnnotationKey: "true"}
				there.events.Action(watch.Bookmark, end)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go func() { _ = r.watches.Start(ctx) }()
				go func() {
					for {
						select {
						case <-r.podsChanged:
						case <-ctx.Done():
							return
						}
					}
				}()
				what := podwatch.Pods{Namespace: "shop", Selector: "app=web"}
				_, _, _ = r.watches.Of(client.ObjectKeyFromObject(release), what)
				synctest.Wait()
				seen, _, err := r.watches.Of(client.ObjectKeyFromObject(release), what)
				if err != nil || len(seen) != 2 {
					t.Fatalf("the watch has %d pods, error %v, want two", len(seen), err)
				}
				there.meanwhile = func() {
					gone := ready(lost, "set")
					gone.ResourceVersion, gone.DeletionTimestamp = "4", new(metav1.Now())
					there.events.Modify(gone)
				}
				v := &view{process: newProcess(r.clock), release: release, pods: podsSeen{listed: true, pods: seen}}
				batch := inplace.Replace{Pods: slices.Repeat([]inplace.Pod{{Name: "web-1", UID: "web-1", Version: "2"}}, pods)}
				err = r.kinds.mover.replace(ctx, v, batch)
				goesOn := lost == "web-1"
				if outdated(err) == goesOn || (len(there.deleted) == pods) != goesOn {
					t.Errorf("deleted %d pods of %d with error %v, want all: %t", len(there.deleted), pods, err, goesOn)
				}
			})
		})
	}
}

// ready returns a pod of a workload that serves.
func ready(name string, owner types.UID) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: "2"}}
	pod.OwnerReferences = []metav1.OwnerReference{{UID: owner, Controller: new(true)}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return pod
}

// sizedMeanwhile serves a workload, which changes with the first pod that is deleted. It counts the
// deletions.
type sizedMeanwhile struct {
	client.WithWatch

	change func(*appsv1.DaemonSet)

	mu      sync.Mutex
	cached  *appsv1.DaemonSet
	deleted int
}

func (s *sizedMeanwhile) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	d, is := into.(*appsv1.DaemonSet)
	if !is {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cached.DeepCopyInto(d)
	return nil
}

func (s *sizedMeanwhile) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.deleted++; s.deleted == 1 {
		s.cached.ResourceVersion = "12"
		s.change(s.cached)
	}
	return nil
}

// TestPodsAreNotDeletedForAnOldSize: pods of a batch that are not deleted yet stay where the spec
// or the size of their workload changes meanwhile.
func TestPodsAreNotDeletedForAnOldSize(t *testing.T) {
	t.Parallel()
	const pods = 3 * podDeletes
	for name, test := range map[string]struct {
		change func(*appsv1.DaemonSet)
		most   int
	}{
		"its status":     {func(d *appsv1.DaemonSet) { d.Status.NumberReady++ }, pods},
		"its spec":       {func(d *appsv1.DaemonSet) { d.Generation++ }, podDeletes},
		"another set":    {func(d *appsv1.DaemonSet) { d.UID = "made again" }, podDeletes},
		"a node is more": {func(d *appsv1.DaemonSet) { d.Status.DesiredNumberScheduled++ }, podDeletes},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web", UID: "web", ResourceVersion: "11", Generation: 4,
			}}
			there := &sizedMeanwhile{change: test.change, cached: d.DeepCopy()}
			r := NewReconciler(there, there, there, events.NewFakeRecorder(1), clock.RealClock{})
			release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
			release.Spec.WorkloadRef.Name = "web"
			v := &view{process: newProcess(r.clock), release: release, workload: &daemonset.Object{DaemonSet: d}}
			var batch inplace.Replace
			for i := range pods {
				batch.Pods = append(batch.Pods, inplace.Pod{Name: fmt.Sprintf("web-%d", i)})
			}
			err := r.act(t.Context(), v, []plan.Action{plan.MovePods{Write: batch}})
			all := test.most == pods
			if there.deleted > test.most || all != (there.deleted == pods) || outdated(err) == all {
				t.Errorf("deleted %d pods of %d with error %v, want %d at most", there.deleted, pods, err, test.most)
			}
		})
	}
}
