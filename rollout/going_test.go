package rollout

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPodsThatAreDeletedKeepTheirPlaces: a node whose pod was just deleted has none that serves. If
// it were forgotten, a pod on a node that is gone would count in its stead.
func TestPodsThatAreDeletedKeepTheirPlaces(t *testing.T) {
	t.Parallel()
	pods := []*corev1.Pod{
		{ObjectMeta: metav1.ObjectMeta{Name: "web-a", UID: "a"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "web-b", UID: "b"}},
	}
	after := going(pods, "a", time.Unix(1, 0))
	if len(after) != 2 || active(after[0]) || !active(after[1]) {
		t.Errorf("want two pods of which the first goes, got %+v", after)
	}
	if !active(pods[0]) {
		t.Error("want what the watch holds left as it is")
	}
}
