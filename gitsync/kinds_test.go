package gitsync_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// ofKind turns the release or the manifest of a Deployment into one of another kind.
func ofKind(kind, manifest string) string {
	text := strings.Replace(manifest, "kind: Deployment", "kind: "+kind, 1)
	if kind == "DaemonSet" {
		text = strings.Replace(text, "  replicas: 0\n", "", 1)
	}
	return text
}

// stateful returns the manifest of a StatefulSet with volumes of a size.
func stateful(name, image, storage string) string {
	return strings.Replace(ofKind("StatefulSet", deploymentText(name, image)), "spec:\n", `spec:
  serviceName: db
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: `+storage+`}}}
`, 1)
}

// db has a release and its StatefulSet.
func db(image, storage string) map[string]string {
	return map[string]string{"db/release.yaml": ofKind("StatefulSet", releaseText("db", "[{replicas: 100%}]")), "db/set.yaml": stateful("db", image, storage)}
}

func logger(image string) map[string]string {
	return map[string]string{
		"log/release.yaml": ofKind("DaemonSet", releaseText("log", "[{replicas: 100%}]")), "log/set.yaml": ofKind("DaemonSet", deploymentText("log", image)),
	}
}

// TestCreatesEachKind: one push brings a Deployment, a StatefulSet and a DaemonSet, and the next
// one releases all three.
func TestCreatesEachKind(t *testing.T) {
	w := newWorld(t)
	first := w.push(merge(app("web", "web:1"), db("db:1", "1Gi"), logger("log:1")))
	w.controller(gitsync.Options{})
	w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced, "3 releases as of", first[:7])
	set, daemons := &appsv1.StatefulSet{}, &appsv1.DaemonSet{}
	for name, object := range map[string]client.Object{"db": set, "log": daemons} {
		if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, object); err != nil {
			t.Fatalf("the first deploy: %v", err)
		}
	}
	if set.Spec.Template.Spec.Containers[0].Image != "db:1" || daemons.Spec.Template.Spec.Containers[0].Image != "log:1" || w.deployment("web") == nil {
		t.Error("the first deploy did not make what Git has")
	}
	for kind, name := range map[string]string{"Deployment": "web", "StatefulSet": "db", "DaemonSet": "log"} {
		w.wantCreated(kind + " " + w.namespace + "/" + name)
	}

	second := w.push(merge(app("web", "web:2"), db("db:2", "1Gi"), logger("log:2")))
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced, second[:7])
	w.wantImage("web", "web:2")
	w.wantImage("db", "db:2")
	w.wantImage("log", "log:2")
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(set), set); err != nil || set.Spec.Template.Spec.Containers[0].Image != "db:1" {
		t.Errorf("the StatefulSet was updated: that is the rollout's work: %v", err)
	}
}

// wantCreated waits for the event that says what was made.
func (w *world) wantCreated(name string) {
	w.Helper()
	cptest.Eventually(w.T, soon, func() error {
		var events eventsv1.EventList
		if err := w.List(w.Context(), &events, client.InNamespace(w.namespace)); err != nil {
			return fmt.Errorf("list events: %w", err)
		}
		for i := range events.Items {
			if event := &events.Items[i]; event.Reason == "Created" && strings.HasPrefix(event.Note, name+" of commit ") {
				return nil
			}
		}
		return fmt.Errorf("want an event that says that %s was created", name)
	})
}

// TestOtherVolumesAreRefused: volume claim templates can't be changed, so no message says that they
// were released.
func TestOtherVolumesAreRefused(t *testing.T) {
	w := newWorld(t)
	first := w.push(merge(app("web", "web:1"), db("db:1", "1Gi")))
	w.controller(gitsync.Options{})
	w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	before := w.release("db")

	refused := "db/set.yaml:7: BatchRelease db is not applied: spec.volumeClaimTemplates: Kubernetes does not let them change, " +
		"and those of StatefulSet db in Git differ from the cluster's (data)"
	w.push(merge(app("web", "web:2"), db("db:2", "2Gi")))
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonApplyFailed, "volumeClaimTemplates")
	w.wantErrors(source, refused)
	w.wantImage("web", "web:2")
	if now := w.release("db"); now.ResourceVersion != before.ResourceVersion || now.Annotations[v1alpha1.CommitAnnotation] != first {
		t.Error("the release was written")
	}

	w.push(db("db:1", "2Gi"))
	w.wantErrors(w.sync("shop"), refused) // the template is as it was: nothing else shows that the change is not released

	reads := func() (n int) {
		for _, request := range w.requests.list() {
			if strings.HasPrefix(request, "GET ") && strings.HasSuffix(request, "/statefulsets/db") {
				n++
			}
		}
		return n
	}
	read := reads()
	w.wantErrors(w.sync("shop"), refused)
	if n := reads() - read; n != 0 {
		t.Errorf("what was compared is read again %d times", n)
	}

	w.push(db("db:3", "1Gi"))
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.wantImage("db", "db:3")

	w.push(db("db:3", "2Gi"))
	w.wantErrors(w.sync("shop"), refused)
	orphan := metav1.DeletePropagationOrphan
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "db"}}
	if err := w.Delete(w.Context(), set, &client.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	cptest.Eventually(t, soon, func() error { // until the cache has seen it go
		if source := w.sync("shop"); len(source.Status.Errors) > 0 {
			return &problem{source.Status.Errors[0].Message}
		}
		return nil
	})
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(set), set); err != nil {
		t.Fatalf("the StatefulSet that was deleted is not created anew: %v", err)
	}
	if storage := set.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests.Storage(); storage.String() != "2Gi" {
		t.Errorf("the StatefulSet has volumes of %s, want what Git has", storage)
	}
}

// TestOtherKindsAreRefused: workloads of other controllers are refused with file and line, and
// nothing is written.
func TestOtherKindsAreRefused(t *testing.T) {
	w := newWorld(t)
	text := strings.Replace(releaseText("web", "[{replicas: 100%}]"), "kind: Deployment", "kind: CloneSet", 1)
	w.push(merge(app("api", "api:1"), map[string]string{"web/release.yaml": strings.Replace(text, "apps/v1", "apps.kruise.io/v1alpha1", 1)}))
	w.controller(gitsync.Options{})
	w.source(nil)
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonFilesInvalid, "CloneSet")
	w.wantErrors(source, "web/release.yaml:6: only apps/v1 Deployment, StatefulSet and DaemonSet can be released")
	if w.release("web") != nil || w.release("api") == nil {
		t.Error("the release of a CloneSet was written, or the other one was not")
	}
}

// TestOtherFixedFieldsAreRefused: an edit of another field that Kubernetes never changes is an
// error with its place, for each kind, and the release is not written until Git has again what the
// cluster has.
func TestOtherFixedFieldsAreRefused(t *testing.T) {
	w := newWorld(t)
	all := func(version string) map[string]string {
		return merge(app("web", "web:"+version), db("db:"+version, "1Gi"), logger("log:"+version))
	}
	w.push(all("1"))
	w.controller(gitsync.Options{})
	w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)

	changed := all("2")
	for file, field := range map[string][2]string{
		"web/deploy.yaml": {"app: web", "app: web2"},
		"log/set.yaml":    {"app: log", "app: log2"},
		"db/set.yaml":     {"serviceName: db", "serviceName: db2\n  podManagementPolicy: Parallel"},
	} {
		changed[file] = strings.ReplaceAll(changed[file], field[0], field[1])
	}
	w.push(changed)
	w.wantErrors(w.sync("shop"),
		"db/set.yaml:1: BatchRelease db is not applied: spec.podManagementPolicy, spec.serviceName: Kubernetes does not let it change, and StatefulSet db "+
			"in Git differs from the cluster's: put back in Git what the cluster has, or run kubectl delete statefulset db --cascade=orphan",
		"log/set.yaml:1: BatchRelease log is not applied: spec.selector: Kubernetes does not let it change, and DaemonSet log in Git differs",
		"web/deploy.yaml:1: BatchRelease web is not applied: spec.selector: Kubernetes does not let it change, and Deployment web in Git differs",
	)
	w.wantImage("web", "web:1")

	w.push(all("3"))
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	for _, name := range []string{"web", "db", "log"} {
		w.wantImage(name, name+":3")
	}
}
