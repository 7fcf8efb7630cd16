package journeys

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestBlueGreenStaysWhateverRestarts: T2, all pods of two versions run side by side while an HPA
// scales, the native controller is killed and syncs everything again, etcd and the API server are
// killed, and so is Sluice. Only Sluice scales a ReplicaSet, by the ReplicaSets and the audit log.
func TestBlueGreenStaysWhateverRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	t.Parallel()
	cp := ownControlPlane(t, "--horizontal-pod-autoscaler-sync-period=1s") // one without metrics still keeps to its bounds
	w := newTrafficWorldOn(t, cp)
	first := w.startController()
	w.deployed(deployment(4, rolling(1, 0)))
	before := w.routed()
	scaler := w.autoscaled(4, 8)
	w.create(keepsOld(sharing("web:2", stepOf("100%", "0%"), stepOf("100%", "10%"), stepOf("100%", "100%", manual()))))
	w.await(all(web.blocksAt(0), gets(0), web.runs(pods{"web:1": 4, "web:2": 4})))

	w.bound(scaler, 6, 8)
	w.await(all(web.runs(pods{"web:1": 6, "web:2": 6})))
	native := func() {
		if err := cp.Replace("kube-controller-manager"); err != nil {
			t.Fatal(err)
		}
	}
	native()
	w.bound(scaler, 2, 5)
	w.touch(3)
	w.await(all(web.blocksAt(0), gets(0), web.runs(pods{"web:1": 5, "web:2": 5}), noneGoes))
	first.kill()
	if err := cp.Crash(); err != nil {
		t.Fatal(err)
	}
	if err := cp.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	native()
	w.bound(scaler, 7, 8)
	w.startController()
	w.await(all(web.blocksAt(0), gets(0), web.runs(pods{"web:1": 7, "web:2": 7})))
	w.confirm("web")
	w.await(all(web.blocksAt(1), gets(10), web.runs(pods{"web:1": 7, "web:2": 7})))
	w.wantNoneElseScaled()
	w.wantNoneElseWrote(cp)
	w.confirm("web")
	w.await(all(web.blocksAt(2), gets(100), web.runs(pods{"web:1": 7, "web:2": 7})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 7), givenBack(before)))
	w.wantNoneElseScaled()
}

// noneGoes wants all pods that were deleted to be gone: the simulated kubelet does not try again
// what an API server that is killed has not answered.
func noneGoes(s *scene) error {
	for _, pod := range s.pods {
		if pod.DeletionTimestamp != nil {
			return fmt.Errorf("want pod %s to be gone", pod.Name)
		}
	}
	return nil
}

// newTrafficWorldOn returns newTrafficWorld on a control plane of its own.
func newTrafficWorldOn(t *testing.T, cp *controlplane.ControlPlane) *world {
	t.Helper()
	cfg, err := cp.Config()
	if err != nil {
		t.Fatal(err)
	}
	if err := controlplane.InstallGatewayAPI(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := worldOn(t, cp.Access, cfg, "bluegreen", trafficKinds()...)
	if err := w.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}); err != nil {
		t.Fatalf("create namespace: %v", err)
	}
	cptest.Eventually(t, soon, func() error { return controlplane.ServiceAccountExists(t.Context(), clients, w.namespace) })
	w.routeRequests()
	return w
}

// autoscaled has an HPA keep the Deployment's pods within bounds.
func (w *world) autoscaled(least, most int32) *autoscalingv2.HorizontalPodAutoscaler {
	w.Helper()
	scaler := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    &least, MaxReplicas: most,
		},
	}
	w.create(scaler)
	return scaler
}

// bound gives the HPA other bounds.
func (w *world) bound(scaler *autoscalingv2.HorizontalPodAutoscaler, least, most int32) {
	w.Helper()
	if err := w.Patch(w.Context(), scaler, mergePatch(fmt.Sprintf(`{"spec":{"minReplicas":%d,"maxReplicas":%d}}`, least, most))); err != nil {
		w.Fatalf("patch HPA: %v", err)
	}
}

// wantNoneElseWrote wants the audit log to have no write of the native controller to the ReplicaSet
// of the old version since it was made, and to have the HPA's to the Deployment. It may note the
// revision in the ReplicaSet of the new version, of which wantNoneElseScaled knows the rest.
func (w *world) wantNoneElseWrote(cp *controlplane.ControlPlane) {
	w.Helper()
	old := w.setOf("web:1")
	cptest.Eventually(w, soon, func() error { // the log may be behind
		ours, scaled := 0, 0
		_, err := cp.CountRequests(func(r controlplane.Request) bool {
			writes := r.Verb == "update" || r.Verb == "patch" || r.Verb == "delete"
			switch {
			case r.Namespace != w.namespace || !writes || r.Code >= http.StatusMultipleChoices:
			case r.Resource == "deployments/scale" && strings.Contains(r.UserAgent, "horizontal-pod-autoscaler"):
				scaled++
			case r.Resource != "replicasets" && r.Resource != "replicasets/scale" || r.Name != old:
			case strings.HasPrefix(r.UserAgent, "sluice/"):
				ours++
			default:
				w.Errorf("%s has sent %s of %s %s", r.UserAgent, r.Verb, r.Resource, r.Name)
			}
			return false
		})
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		if ours < 3 || scaled < 3 {
			return fmt.Errorf("the audit log has %d writes of Sluice to %s and %d of the HPA to the scale, want 3 or more of each: nothing is shown", ours, old, scaled)
		}
		return nil
	})
}

// setOf returns the name of the ReplicaSet that runs an image.
func (w *world) setOf(image string) string {
	w.Helper()
	for _, set := range w.now().sets {
		if set.Spec.Template.Spec.Containers[0].Image == image {
			return set.Name
		}
	}
	w.Fatalf("want a ReplicaSet of %s", image)
	return ""
}
