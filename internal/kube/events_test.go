package kube

import (
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
)

// TestLogEvents: what people are told by an event is in the log as well, without any --log-level.
func TestLogEvents(t *testing.T) {
	t.Parallel()
	var lines []string
	logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	fake := events.NewFakeRecorder(1)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	LogEvents(fake, logger).Eventf(object, nil, corev1.EventTypeNormal, "Completed", "Release", "all pods run %s", "v2")
	want := []string{`"level"=0 "msg"="all pods run v2" "reason"="Completed" "type"="Normal" "namespace"="shop" "name"="web"`}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if got := <-fake.Events; got != "Normal Completed all pods run v2" {
		t.Errorf("want the event recorded all the same, got %q", got)
	}
}
