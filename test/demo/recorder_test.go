package main

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newTestRecorder(listener func(*scene)) *recorder {
	return &recorder{scene: newScene(), changed: make(chan struct{}), listener: listener}
}

// TestScenesAreSnapshots: a scene that was handed out must stay as it was while the watch goes on.
func TestScenesAreSnapshots(t *testing.T) {
	t.Parallel()
	r := newTestRecorder(func(*scene) {})
	var pod client.Object = testPod("a", oldImage, available)
	r.take(pod, false)
	before, changed := r.now()
	r.take(pod, true)
	if got := before.total().available; got != 1 {
		t.Errorf("an earlier scene must not change: got %d pods, want 1", got)
	}
	select {
	case <-changed:
	default:
		t.Error("whoever waits for a change must be told")
	}
}
