package podwatch_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/internal/podwatch"
)

// TestFirstPodsAreFresh: the pods that a watch begins with are as fresh as a list, once: not where
// they came from a cache of the API server.
func TestFirstPodsAreFresh(t *testing.T) {
	t.Parallel()
	for _, streams := range []bool{true, false} {
		s, w, told := watches(t)
		s.streams = streams
		want := podwatch.All
		if streams {
			want = podwatch.Fresh
		}
		pods, seen := s.inTime(w, told)
		if seen != want || len(pods) != 1 {
			t.Errorf("streams %t: have %d pods, %d, want one and %d", streams, len(pods), seen, want)
		}
		if pods, seen, err := w.Of(web, ofWeb); seen != podwatch.All || err != nil || len(pods) != 1 {
			t.Errorf("streams %t: have %d pods again, %d, %v, want one and %d", streams, len(pods), seen, err, podwatch.All)
		}
	}
}

// inTime begins a watch and returns its first pods. It begins another where they came too late to
// be fresh.
func (s *server) inTime(w *podwatch.Watches, told chan types.NamespacedName) ([]*corev1.Pod, podwatch.Seen) {
	s.Helper()
	for range 10 {
		asked := time.Now()
		s.begin(w, ofWeb)
		receive(s.T, told)
		receive(s.T, told) // of the pod, and of all
		pods, seen, err := w.Of(web, ofWeb)
		if err != nil {
			s.Fatal(err)
		}
		if time.Since(asked) < podwatch.FreshFor {
			return pods, seen
		}
		w.Forget(web)
		s.await(0)
	}
	s.Fatalf("no watch has begun within %v", podwatch.FreshFor)
	return nil, podwatch.Late
}
