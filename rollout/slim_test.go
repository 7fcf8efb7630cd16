package rollout

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func deployment() *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Name = "web"
	d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	return d
}

func TestSlimKeepsWhatTellsTemplatesApart(t *testing.T) {
	t.Parallel()
	full, slimmed := deployment(), deployment()
	for range 2 { // a transform may meet an object twice
		if _, err := Slim(slimmed); err != nil {
			t.Fatal(err)
		}
	}
	if len(slimmed.Spec.Template.Spec.Containers) > 0 || slimmed.ManagedFields != nil {
		t.Errorf("slim Deployment = %+v, want neither template nor managed fields", slimmed)
	}
	if got, want := digestOfDeployment(slimmed), digestOfDeployment(full); got != want || got == "" {
		t.Errorf("digest = %q, want %q", got, want)
	}
	if got, want := hashOfDeployment(slimmed), hashOfDeployment(full); got != want || got == "" {
		t.Errorf("hash = %q, want %q", got, want)
	}
}

func TestSlimAddsNoAnnotationsToTheObject(t *testing.T) {
	t.Parallel()
	d := deployment()
	if _, err := Slim(d); err != nil {
		t.Fatal(err)
	}
	if d.Annotations != nil {
		t.Errorf("annotations = %v, want none: a patch relies on there being none on the server", d.Annotations)
	}
}
