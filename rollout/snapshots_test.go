package rollout

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// slow answers no list before it may.
type slow struct {
	client.Reader
	lists atomic.Int32
	may   chan struct{}
}

func (s *slow) List(context.Context, client.ObjectList, ...client.ListOption) error {
	s.lists.Add(1)
	<-s.may
	return nil
}

// TestNamespacesAreListedOnceForAll: releases that begin within seconds share one list of their
// namespace. A later release, or one that can't use the cached list, lists again.
func TestNamespacesAreListedOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := &slow{may: make(chan struct{})}
		n := &snapshots{live: cluster}
		kept := 0
		ask := func(how func(context.Context, string) (surveyed, error)) {
			seen, err := how(t.Context(), "shop")
			if err != nil {
				t.Error(err)
			}
			if seen.kept {
				kept++
			}
		}
		for range 10 {
			go ask(n.of)
		}
		synctest.Wait()
		close(cluster.may)
		synctest.Wait()
		const kinds = 3 // of limits nothing need be known where there is no quota
		want := func(lists, wantKept int) {
			t.Helper()
			if got := int(cluster.lists.Load()); got != lists*kinds || kept != wantKept {
				t.Errorf("%d lists and %d kept answers, want %d and %d", got, kept, lists*kinds, wantKept)
			}
		}
		want(1, 0)
		<-time.After(snapshotMemory - time.Second)
		ask(n.of)
		want(1, 1)
		ask(n.again)
		want(2, 1)
		<-time.After(snapshotMemory - time.Second)
		ask(n.of)
		want(2, 2)
		<-time.After(2 * time.Second)
		ask(n.of)
		want(3, 2)
		<-time.After(snapshotMemory)
	})
}

// limited is a namespace with a quota that leaves no room until it is raised.
type limited struct {
	client.Reader
	raised bool
}

func (l *limited) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if quotas, is := list.(*corev1.ResourceQuotaList); is && !l.raised {
		full := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}
		quotas.Items = []corev1.ResourceQuota{{Status: corev1.ResourceQuotaStatus{Hard: full, Used: full}}}
	}
	return nil
}

// TestQuotaRaisedAMomentAgo: a quota that was raised since the list for another release holds up
// none.
func TestQuotaRaisedAMomentAgo(t *testing.T) {
	t.Parallel()
	server := &limited{}
	r := newReconciler(&cluster{clock: clock.RealClock{}, snapshots: &snapshots{live: server}})
	web := &appsv1.Deployment{}
	web.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web"}}
	fits := func() bool {
		v := &view{
			process: newProcess(clock.RealClock{}), workload: &deployment.Object{Deployment: web},
			release: &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}},
		}
		v.release.Spec.Template = &runtime.RawExtension{Raw: []byte(`{}`)}
		if err := r.observer.readPreflight(t.Context(), v, plan.Shape{Template: plan.Template{Given: true}, Replicas: 2, Surge: 1}); err != nil {
			t.Fatal(err)
		}
		return !v.facts.Preflight.Fails()
	}
	if fits() {
		t.Error("a release fits into a namespace that is full")
	}
	server.raised = true
	if !fits() {
		t.Error("the next release does not fit after the quota was raised")
	}
}
