package rollout

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func unstripped() *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Name = "web"
	d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	return d
}

func TestStripKeepsWhatTellsTemplatesApart(t *testing.T) {
	t.Parallel()
	full, stripped := unstripped(), unstripped()
	for range 2 { // a transform may meet an object twice
		if _, err := Strip(stripped); err != nil {
			t.Fatal(err)
		}
	}
	if len(stripped.Spec.Template.Spec.Containers) > 0 || stripped.ManagedFields != nil {
		t.Errorf("stripped Deployment = %+v, want neither template nor managed fields", stripped)
	}
	if got, want := digestOfDeployment(stripped), digestOfDeployment(full); got != want || got == "" {
		t.Errorf("digest = %q, want %q", got, want)
	}
	if got, want := hashOfDeployment(stripped), hashOfDeployment(full); got != want || got == "" {
		t.Errorf("hash = %q, want %q", got, want)
	}
}

func TestStripAddsNoAnnotationsToTheObject(t *testing.T) {
	t.Parallel()
	d := unstripped()
	if _, err := Strip(d); err != nil {
		t.Fatal(err)
	}
	if d.Annotations != nil {
		t.Errorf("annotations = %v, want none: a patch relies on there being none on the server", d.Annotations)
	}
}
