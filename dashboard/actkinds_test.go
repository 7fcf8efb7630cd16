package dashboard

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestRollbackOfStatefulSet: the page that asks knows the pods of a StatefulSet, and simulates
// them.
func TestRollbackOfStatefulSet(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	meta, selector := a.selected()
	set := &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(4)), Selector: selector, ServiceName: "web", Template: template(1)}}
	a.deployKind("StatefulSet", set, func() bool { return set.Status.AvailableReplicas == 4 }, nil)
	a.rollsBack(3)
}

// TestRollbackWithTraffic: requests go back first, and the page says how many there are to go.
func TestRollbackWithTraffic(t *testing.T) {
	t.Parallel()
	cptest.GatewayAPI(t)
	a := newActs(t, func(o *app.Options) { o.Traffic = true })
	a.create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	})
	a.create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"namespace": a.namespace, "name": "web"},
		"spec": map[string]any{"rules": []any{map[string]any{"backendRefs": []any{map[string]any{"name": "web", "port": int64(80)}}}}},
	}})
	meta, selector := a.selected()
	deployment := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32(4)), Selector: selector, Template: template(1)}}
	a.deployKind("Deployment", deployment, func() bool { return deployment.Status.AvailableReplicas == 4 }, &v1alpha1.Traffic{
		Routes:       []v1alpha1.TrafficRoute{{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}},
		ReadySeconds: new(int32(0)), DrainSeconds: new(int32(0)),
	})
	page := a.rollsBack(3)
	want(t, page, "All requests go back to the previous version first: the new version gets 30% of them now. Pods follow.")
	a.await("without requests for the bad version", func(r *v1alpha1.BatchRelease) bool { return r.Status.Traffic == nil || r.Status.Traffic.Weight == 0 })
}

// selected returns the parts that workloads of all kinds have in common.
func (a *acts) selected() (metav1.ObjectMeta, *metav1.LabelSelector) {
	return metav1.ObjectMeta{Namespace: a.namespace, Name: "web"}, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
}

// deployKind makes a workload, waits for its pods, and makes its release: one pod, with 30% of the
// requests where they are shared, then all.
func (a *acts) deployKind(kind string, workload client.Object, ready func() bool, traffic *v1alpha1.Traffic) {
	a.Helper()
	a.create(workload)
	cptest.Eventually(a.T, soon, func() error {
		if err := a.admin.Get(a.Context(), client.ObjectKeyFromObject(workload), workload); err != nil {
			return err
		}
		if !ready() {
			return fmt.Errorf("want all pods of the %s available", kind)
		}
		return nil
	})
	steps := []v1alpha1.Step{{Replicas: intstr.FromInt32(1)}, {Replicas: intstr.FromString("100%")}}
	if traffic != nil {
		steps[0].Traffic = "30%"
	}
	a.create(&v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: kind, Name: "web"},
			Template:    &runtime.RawExtension{Raw: a.encode(template(1))},
			Strategy:    v1alpha1.ReleaseStrategy{Steps: steps, Traffic: traffic},
		},
	})
	a.await("completed", func(r *v1alpha1.BatchRelease) bool { return r.Status.Phase == v1alpha1.PhaseCompleted })
}

func template(number int) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: fmt.Sprintf("web:%d", number)}}},
	}
}

func (a *acts) encode(object any) []byte {
	a.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		a.Fatal(err)
	}
	return raw
}

// awaitPods waits until those pods are gone that are to go: pages count them as long as they are
// there.
func (a *acts) awaitPods(want int) {
	a.Helper()
	cptest.Eventually(a.T, soon, func() error {
		var pods corev1.PodList
		if err := a.admin.List(a.Context(), &pods, client.InNamespace(a.namespace)); err != nil {
			return err
		}
		if got := len(pods.Items); got != want {
			return fmt.Errorf("want %d pods, got %d", want, got)
		}
		return nil
	})
}

var lastRow = regexp.MustCompile(`<th scope="row" data-label="After">[^<]*</th><td data-label="1 pods">(\d+)</td><td data-label="2 pods">(\d+)</td>[^\n]*\n</tbody>`)

// rollsBack pushes a version, looks at what a rollback of its first batch would do, and has it
// done. It returns the page that asks.
func (a *acts) rollsBack(stay int) string {
	a.Helper()
	olga := a.person("olga", "view", "sluice-operator")
	before := a.push(2).Status.StableRevision
	a.awaitPods(stay + 1)
	_, page := olga.form("rollback")
	want(a.T, page, fmt.Sprintf("%d pods of revision %s stay (%d available)", stay, before, stay), " is replaced (1 available)", "web:1", "web:2",
		"The real rollback may differ.", "RollingBack",
		`<span class="del">-`, `<span class="add">`)
	wantNot(a.T, page, "There is no simulation")
	if last := lastRow.FindStringSubmatch(page); last == nil || last[1] != fmt.Sprint(stay+1) || last[2] != "0" {
		a.Errorf("want the simulation to end with %d pods of the version before, got %q in:\n%s", stay+1, last, page)
	}
	want(a.T, olga.click("rollback"), "You have requested a rollback to the previous version.")
	a.await("rolled back", func(r *v1alpha1.BatchRelease) bool {
		return r.Status.Phase == v1alpha1.PhaseCompleted && r.Status.UpdateRevision == before
	})
	return page
}
