package rollout

import (
	"math"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
)

// TestOrdinalsByName: a pod's name says its ordinal, as the native controller writes it. Anybody
// may make a pod with another name that looks like one, and claim that the StatefulSet owns it:
// "web-01" must not stand for web-1, nor a number too large for an ordinal for a small one.
func TestOrdinalsByName(t *testing.T) {
	t.Parallel()
	const none = math.MinInt32
	for _, test := range []struct {
		name  string
		start int32
		want  int32
	}{
		{"web-0", 0, 0}, {"web-7", 0, 7}, {"web-7", 5, 2}, {"web-3", 5, -2},
		{"web-2147483647", 0, math.MaxInt32}, {"web-2147483647", math.MaxInt32, 0}, {"web-0", math.MaxInt32, -math.MaxInt32},
		{"web-2147483648", 0, none}, {"web-4294967296", 0, none}, {"web-4294967297", 0, none}, {"web-18446744073709551617", 0, none},
		{"web--1", 0, none}, {"web--0", 0, none}, {"web-01", 0, none}, {"web-00", 0, none}, {"web-+1", 0, none}, {"web-1_0", 0, none},
		{"web-0x1", 0, none}, {"web-1e0", 0, none}, {"web-", 0, none}, {"web", 0, none}, {"other-0", 0, none}, {"web-0-0", 0, none},
		{"eb-0", 0, none}, {"web-\u0661", 0, none}, // an Arabic digit
	} {
		s := &appsv1.StatefulSet{}
		s.Name = "web"
		if test.start > 0 {
			s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: test.start}
		}
		pod := &corev1.Pod{}
		pod.Name = test.name
		index, is := ordinals{s: &statefulset.Object{StatefulSet: s}}.index(pod)
		if is != (test.want != none) || is && index != test.want {
			t.Errorf("%s, from ordinal %d: place %d, %t, want %d", test.name, test.start, index, is, test.want)
		}
	}
}
