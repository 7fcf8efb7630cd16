package handback_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestWithoutKinds: where nothing of Sluice is left, not even its kinds, the annotation is enough. A route of another namespace that anybody may
// have said the release holds keeps no workload.
func TestWithoutKinds(t *testing.T) {
	t.Parallel()
	cfg, err := cptest.Own(t, controlplane.Options{}).Config()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: kube.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	create(t, c)
	claim := claimed()
	if err := c.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}

	want := []string{"Deployment default/web: handed back: strategy RollingUpdate, not paused, with the template that it has, " +
		"for none of the stable revision gone is left: the native controller takes all pods to it"}
	said, err := try(t, c)
	if err == nil || !strings.Contains(err.Error(), "Ingress kube-public/claim: ") || strings.Contains(err.Error(), "Deployment") {
		t.Errorf("want to be told of the route that can't be restored, and of nothing else, got %v", err)
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("the command says (-want +got):\n%s", diff)
	}
	if err := c.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	cptest.Eventually(t, time.Minute, func() error { return handedBack(t, c) })
	if diff := cmp.Diff([]string{"nothing to do: no workload is held"}, run(t, c)); diff != "" {
		t.Errorf("a second run says (-want +got):\n%s", diff)
	}
}

func create(t *testing.T, c client.Client) {
	t.Helper()
	labels := map[string]string{"app": "web"}
	err := c.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Annotations: map[string]string{
			v1alpha1.HoldAnnotation: `{"release":"web","uid":"release","stable":"gone","strategy":"{\"type\":\"RollingUpdate\"}"}`,
		}},
		Spec: appsv1.DeploymentSpec{
			Paused:   true,
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:2"}}},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	other := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-other", Labels: labels}}
	var held appsv1.Deployment
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, &held); err != nil {
		t.Fatal(err)
	}
	other.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&held, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	other.Spec = appsv1.ReplicaSetSpec{Selector: held.Spec.Selector, Template: held.Spec.Template}
	other.Spec.Template.Spec.Containers[0].Image = "web:1"
	if err := c.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
}

// claimed is an Ingress of another namespace of which its owner says that the release of the Deployment holds it, in a way that nobody can undo.
func claimed() *networkingv1.Ingress {
	backend := &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
	return &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: "claim", Annotations: map[string]string{
			v1alpha1.TrafficAnnotation: `{"default/web":{"release":"default/web","uid":"release"}}`,
		}},
		Spec: networkingv1.IngressSpec{DefaultBackend: backend},
	}
}

func run(t *testing.T, c client.Client) []string {
	t.Helper()
	said, err := try(t, c)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func try(t *testing.T, c client.Client) (said []string, err error) {
	t.Helper()
	options := handback.Options{RemoveFinalizers: true}
	err = handback.New(c, clock.RealClock{}, options, func(line string) { said = append(said, line) }).Run(t.Context())
	return said, err
}

// handedBack wants the native controller to have a Deployment that is as any other.
func handedBack(t *testing.T, c client.Client) error {
	t.Helper()
	var d appsv1.Deployment
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web"}, &d); err != nil {
		return err
	}
	if d.Spec.Paused || d.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || len(d.Annotations[v1alpha1.HoldAnnotation]) > 0 {
		t.Fatalf("want it handed back, it is %+v", d.Spec)
	}
	return nil
}
