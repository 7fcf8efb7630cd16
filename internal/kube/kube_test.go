package kube

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func pod(version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid-1", ResourceVersion: version}}
}

func TestNewer(t *testing.T) {
	t.Parallel()
	other := pod("9")
	other.UID = "uid-2"
	tests := map[string]struct {
		reason string
		a, b   *corev1.Pod
		want   bool
	}{
		"later":        {"a write's answer is ahead of the cache", pod("10"), pod("9"), true},
		"same":         {"the cache has caught up", pod("9"), pod("9"), false},
		"earlier":      {"the cache is ahead", pod("8"), pod("9"), false},
		"other object": {"a name may belong to another object by now", pod("10"), other, false},
		"not a number": {"what can't be compared gives way to the cache", pod("x"), pod("9"), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Newer(test.a, test.b); got != test.want {
				t.Errorf("Newer = %t, want %t: %s", got, test.want, test.reason)
			}
		})
	}
}
