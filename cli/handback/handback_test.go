package handback_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestWithoutKinds: where nothing of Sluice is left, not even its kinds, the annotation is enough.
func TestWithoutKinds(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	t.Parallel()
	cp, err := controlplane.Start(t.Context(), controlplane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	})
	cfg, err := cp.Config()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cfg, client.Options{Scheme: kube.NewScheme()})
	if err != nil {
		t.Fatal(err)
	}
	create(t, c)

	want := []string{"Deployment default/web: handed back: strategy RollingUpdate, not paused, with the template that it has, " +
		"for none of the stable revision gone is left: the native controller takes all pods to it"}
	if diff := cmp.Diff(want, run(t, c)); diff != "" {
		t.Errorf("the command says (-want +got):\n%s", diff)
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

func run(t *testing.T, c client.Client) []string {
	t.Helper()
	var said []string
	options := handback.Options{RemoveFinalizers: true}
	if err := handback.New(c, options, func(line string) { said = append(said, line) }).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return said
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
