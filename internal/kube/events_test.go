package kube

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
)

// TestLogEvents: what an event says to people is in the log as well, without any --log-level.
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
	// The API server refuses an event of more than 1024 bytes, so that somebody could force a gate without one.
	LogEvents(fake, logger).Eventf(object, nil, corev1.EventTypeWarning, "GateForced", "PassGate", "%s", "no\n\x1b[2Jreason"+strings.Repeat("é", 1024))
	got := <-fake.Events
	note, found := strings.CutPrefix(got, "Warning GateForced no [2Jreasonééé")
	if !found || len(got) > len("Warning GateForced ")+1024 || !strings.HasSuffix(note, "…") || !strings.Contains(lines[1], `"msg"="no [2Jreason`) {
		t.Errorf("want a line that fits into an event, got %d bytes: %q, and in the log: %q", len(got), got, lines[1])
	}
}
