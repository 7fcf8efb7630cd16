package podtemplate

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestGivenCountsContentOnly(t *testing.T) {
	t.Parallel()
	base := `{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"n":10000000000000001}}`
	tests := map[string]struct {
		reason, other string
		same          bool
	}{
		"order and space": {"formatting is no change", `{ "spec": {"n": 10000000000000001}, "metadata": {"labels": {"b":"2","a":"1"}} }`, true},
		"value":           {"a value is a change", `{"metadata":{"labels":{"a":"1","b":"3"}},"spec":{"n":10000000000000001}}`, false},
		"large number":    {"numbers keep every digit", `{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"n":10000000000000002}}`, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if same := given(t, base) == given(t, test.other); same != test.same {
				t.Errorf("same digest = %t, want %t: %s", same, test.same, test.reason)
			}
		})
	}
}

func given(t *testing.T, raw string) string {
	t.Helper()
	digest, err := Given([]byte(raw))
	if err != nil {
		t.Fatalf("digest of %s: %v", raw, err)
	}
	return digest
}

func TestGivenRefusesWhatIsNoObject(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "[]", `"text"`, "{", "12"} {
		if digest, err := Given([]byte(raw)); err == nil {
			t.Errorf("Given(%q) = %q, want an error", raw, digest)
		}
	}
}

func template(image string, labels map[string]string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
	}
}

func TestDigestLeavesTheHashLabelOut(t *testing.T) {
	t.Parallel()
	plain := template("web:1", map[string]string{"app": "web"})
	labels := map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: "5c66667f6"}
	labelled := template("web:1", labels)
	if digestOf(t, plain) != digestOf(t, labelled) {
		t.Error("the digests differ, want the same: a ReplicaSet's template is its Deployment's but for the label")
	}
	if len(labelled.Labels) != 2 {
		t.Error("the label is gone from the template, want the input as it was")
	}
	if digestOf(t, plain) == digestOf(t, template("web:2", map[string]string{"app": "web"})) {
		t.Error("the digests are the same, want others for another image")
	}
}

func digestOf(t *testing.T, template *corev1.PodTemplateSpec) string {
	t.Helper()
	digest, err := Digest(template)
	if err != nil {
		t.Fatalf("digest: %v", err)
	}
	return digest
}

func TestHashFollowsTheCollisionCount(t *testing.T) {
	t.Parallel()
	web := template("web:1", nil)
	none, one := Hash(web, nil), Hash(web, new(int32(1)))
	if none != Hash(template("web:1", nil), nil) {
		t.Error("equal templates have different hashes")
	}
	if none == one {
		t.Errorf("hash with a collision = %s, want another name than without", one)
	}
	if none == Hash(template("web:2", nil), nil) {
		t.Error("different templates have the same hash")
	}
}
