package kinds

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// TestKindsAreFound: each kind is found by all its names and by its object, and nothing else is.
func TestKindsAreFound(t *testing.T) {
	t.Parallel()
	for i := range All {
		k := &All[i]
		if Named(k.Name) != k || Of(k.New()) != k {
			t.Errorf("%s is not found by its name, or by its object", k.Name)
		}
		for _, text := range []string{k.Name, k.Name + "s", k.Short, k.Name + ".apps", k.Name + "s.apps"} {
			if Written(text) != k {
				t.Errorf("%q is not read as %s", text, k.Name)
			}
		}
	}
	for _, text := range []string{"", "pod", "replicaset", "rs", "deployments.extensions", "deploys"} {
		if k := Written(text); k != nil {
			t.Errorf("%q is read as %s", text, k.Name)
		}
	}
	if Of(&corev1.Pod{}) != nil || Of(nil) != nil {
		t.Error("a pod, or nothing, can't be released")
	}
}

// TestSizesAndNames: sizes come from the manifest, and names are joined for a sentence.
func TestSizesAndNames(t *testing.T) {
	t.Parallel()
	for i := range All {
		k := &All[i]
		if sizes := k.Sizes(k.New()); sizes != (Sizes{}) || k.Sizes(nil) != (Sizes{}) {
			t.Errorf("%s without fields has sizes %v", k.Name, sizes)
		}
	}
	three := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}}
	if got := Named(StatefulSet).Sizes(three).Replicas; got == nil || *got != 3 {
		t.Errorf("want 3 replicas, got %v", got)
	}
	for want, got := range map[string]string{
		"DaemonSets":                           OnNodes(),
		"ReplicaSet, StatefulSet or DaemonSet": List(PodOwners()),
		"":                                     List(nil),
	} {
		if got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}
