package gitsync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// sourceGone wants there to be no source any more.
func (w *world) sourceGone() error {
	err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "shop"}, &v1alpha1.ReleaseSource{})
	if err == nil {
		return errors.New("want the source gone")
	}
	return client.IgnoreNotFound(err)
}

// hold keeps a release, as its own finalizer does until the workload is handed back, or lets it go.
func (w *world) hold(name, finalizers string) {
	w.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":`+finalizers+`}}`))
	if err := w.Patch(w.Context(), w.release(name), patch); err != nil {
		w.Fatalf("set finalizers: %v", err)
	}
}

// TestSourceDeleted: a source that is deleted takes its releases with it, and waits for each of
// them to hand back its workload. Deployments stay, and so does what others made.
func TestSourceDeleted(t *testing.T) {
	w := newWorld(t)
	w.push(merge(app("web", "web:1"), app("api", "api:1")))
	w.controller(gitsync.Options{})
	source := w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.hold("web", `["example.com/hand-back"]`)
	other := w.release("api").DeepCopy()
	other.ResourceVersion, other.UID, other.Name, other.Labels, other.ManagedFields = "", "", "other", nil, nil
	if err := w.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}

	if err := w.Delete(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	w.await("shop", func(s *v1alpha1.ReleaseSource) error {
		ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
		if ready.Reason != v1alpha1.ReasonDeleting || !strings.Contains(ready.Message, "1 release and ") {
			return fmt.Errorf("want the source to wait for 1 release, it says %s: %s", ready.Reason, ready.Message)
		}
		return nil
	})
	if web := w.release("web"); web.DeletionTimestamp == nil || w.release("api") != nil {
		t.Error("want release api gone, and web about to")
	}
	w.hold("web", "null")
	cptest.Eventually(t, soon, w.sourceGone)
	if w.deployment("web") == nil || w.deployment("api") == nil || w.release("other") == nil {
		t.Error("want the Deployments, and the release that came from elsewhere, to stay")
	}
}

// TestSourceOrphansItsReleases: unless they are to stay.
func TestSourceOrphansItsReleases(t *testing.T) {
	w := newWorld(t)
	w.push(app("web", "web:1"))
	w.controller(gitsync.Options{})
	source := w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.DeletionPolicy = v1alpha1.SourceOrphan })
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	if err := w.Delete(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	cptest.Eventually(t, soon, w.sourceGone)
	if web := w.release("web"); web == nil || web.DeletionTimestamp != nil {
		t.Errorf("want the release to stay, it is %+v", web)
	}
	w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
}

// TestSourceOfNothingDeleted: a source whose repository never could be read goes, too.
func TestSourceOfNothingDeleted(t *testing.T) {
	w := newWorld(t)
	w.server.Close()
	w.controller(gitsync.Options{})
	source := w.source(nil)
	w.await("shop", func(s *v1alpha1.ReleaseSource) error {
		if len(s.Finalizers) == 0 {
			return errors.New("want the source kept")
		}
		return nil
	})
	if err := w.Delete(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	cptest.Eventually(t, soon, w.sourceGone)
}

// TestSourceOfFollowedDeleted: a release that follows its workload, and its gates, keep no source
// that they name.
func TestSourceOfFollowedDeleted(t *testing.T) {
	w := newWorld(t)
	w.push(app("web", "web:1"))
	w.controller(gitsync.Options{})
	source := w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	other := w.release("web").DeepCopy()
	other.ResourceVersion, other.UID, other.Name, other.ManagedFields, other.Annotations = "", "", "other", nil, nil
	other.Spec.WorkloadRef.Name, other.Spec.Follow, other.Spec.Template = "other", v1alpha1.FollowWorkload, nil
	gate := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "other-1-0-0", Labels: other.Labels, Finalizers: []string{v1alpha1.ForgeFinalizer}},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: "other", UID: "1"}, Revision: "1", Attempt: 1, Type: v1alpha1.GatePullRequest,
			Policy: v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{}},
		},
	}
	for _, object := range []client.Object{other, gate, source} {
		do := func() error { return w.Create(t.Context(), object) }
		if object == source {
			do = func() error { return w.Delete(t.Context(), object) }
		}
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	cptest.Eventually(t, soon, w.sourceGone)
	if have := w.release("other"); have == nil || have.DeletionTimestamp != nil {
		t.Error("want the followed release to stay")
	}
}
