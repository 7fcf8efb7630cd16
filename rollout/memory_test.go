package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestGateThatTheCacheNeverHad: a Gate that was deleted before the cache had it is not waited for until a restart.
func TestGateThatTheCacheNeverHad(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)
	named := func(name string) *v1alpha1.Gate { return &v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	names := func(gates []v1alpha1.Gate) (names []string) {
		for i := range gates {
			names = append(names, gates[i].Name)
		}
		return names
	}
	m := &memory{}
	m.rememberGate(named("deleted"), now)
	m.rememberGate(named("late"), now)
	for _, at := range []struct {
		after  time.Duration
		cached []v1alpha1.Gate
		want   []string
	}{
		{time.Second, nil, []string{"deleted", "late"}},
		{2 * time.Second, []v1alpha1.Gate{*named("late")}, []string{"late", "deleted"}},
		{unseenFor, []v1alpha1.Gate{*named("late")}, []string{"late"}},
	} {
		if diff := cmp.Diff(at.want, names(m.mergeGates(at.cached, now.Add(at.after)))); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", at.after, diff)
		}
	}
}

// TestNextTry: what has changed is decided on again at once, but not a thousand times a second where a cache lags.
func TestNextTry(t *testing.T) {
	t.Parallel()
	m, total := &memory{}, time.Duration(0)
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
