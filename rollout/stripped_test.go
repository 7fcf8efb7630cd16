package rollout

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
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
	if got, want := digestOf(&stripped.Spec.Template), digestOf(&full.Spec.Template); got != want || got == "" {
		t.Errorf("digest = %q, want %q", got, want)
	}
	if got, want := foretold(&deployment.Object{Deployment: stripped}), foretold(&deployment.Object{Deployment: full}); got != want || got == "" {
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

// TestStripOfAReplicaSetEncodesItsTemplateOnce: there may be ten ReplicaSets for each Deployment,
// and all of them are stripped when a controller starts. Their hashes, which take most of the
// work, are not computed, and the digests by both rules are equal.
func TestStripOfAReplicaSetEncodesItsTemplateOnce(t *testing.T) { //nolint:paralleltest // it counts the allocations of the process
	template := unusual("1Gi").Spec.Template
	once := testing.AllocsPerRun(100, func() { _, _ = podtemplate.Digest(&template) })
	stripping := testing.AllocsPerRun(100, func() {
		set := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: template}}
		if _, err := Strip(set); err != nil || !isStripped(&set.Spec.Template) {
			t.Fatal(err)
		}
	})
	const marks = 10 // the ReplicaSet, and the map that is left of its template
	if most := once + marks; stripping > most {
		t.Errorf("Strip allocates %v times, want at most %v: Digest allocates %v times", stripping, most, once)
	}
}

func TestStripKeepsNoHashOfAReplicaSet(t *testing.T) {
	t.Parallel()
	set := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Template: unstripped().Spec.Template}}
	stripped(t, set)
	if marks := set.Spec.Template.Annotations; len(marks) != 1 || digestOfSet(set) == "" {
		t.Errorf("marks = %v, want the digest alone", marks)
	}
}

func unusual(memory string) *appsv1.Deployment {
	d := unstripped()
	d.Spec.Template.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	return d
}

func stripped(t *testing.T, obj any) {
	t.Helper()
	if _, err := Strip(obj); err != nil {
		t.Fatal(err)
	}
}
