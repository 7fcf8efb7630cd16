package rollout

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNextTry: what has changed is decided on again at once, but not a thousand times a second where a cache lags.
func TestNextTry(t *testing.T) {
	t.Parallel()
	m, total := &process{}, time.Duration(0)
	if first := m.nextTry(); first != time.Millisecond {
		t.Errorf("want the first try at once, got %s", first)
	}
	for range 20 {
		total += m.nextTry()
	}
	if total < 10*time.Second {
		t.Errorf("want tries in a row ever further apart, got 20 within %s", total)
	}
}

// TestRevisionOfAnAdoptedSet: a ReplicaSet that was made by hand has no hash that its template could be kept under.
func TestRevisionOfAnAdoptedSet(t *testing.T) {
	t.Parallel()
	d := &appsv1.Deployment{}
	d.Spec.Template.Labels = map[string]string{"app": "web"}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}}
	set.Spec.Template = d.Spec.Template
	v := &view{deployment: d, sets: []*appsv1.ReplicaSet{set}}
	if got := v.revisionOf(digestOfDeployment(d)); got == "" || got != hashOfDeployment(d) {
		t.Errorf("want the native hash of the template, got %q", got)
	}
}
