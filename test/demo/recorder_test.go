package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newTestRecorder(listener func(*scene)) *recorder {
	return &recorder{scene: newScene(), changed: make(chan struct{}), listener: listener}
}

func TestRecorderKeepsEachChange(t *testing.T) {
	t.Parallel()
	r := newTestRecorder(func(*scene) {})
	events := r.handler()
	pod := testPod("a", oldImage, available)
	pod.ResourceVersion = "7"
	events.OnAdd(pod, true)
	events.OnUpdate(pod, testPod("a", oldImage, ending))
	events.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: testPod("a", oldImage, ending)})

	records := r.all()
	if len(records) != 3 || records[0].revision != 7 || records[1].gone || !records[2].gone {
		t.Errorf("want an addition at revision 7, an update and a deletion, got %+v", records)
	}
	if scene, _ := r.now(); len(scene.pods) != 0 {
		t.Errorf("a pod that is deleted must be gone from the scene: got %v", scene.tallies())
	}
}

func TestAwaitReturnsTheFirstSceneThatFits(t *testing.T) {
	t.Parallel()
	var heard int
	r := newTestRecorder(func(s *scene) { heard = s.total().available })
	found := make(chan int)
	go func() {
		_, err := r.await(t.Context(), "two pods are there", func(s *scene) bool { return s.total().available == 2 })
		if err != nil {
			t.Error(err)
		}
		found <- heard
	}()
	for _, name := range []string{"a", "b"} {
		r.take(testPod(name, oldImage, available), false)
	}
	if got := <-found; got != 2 {
		t.Errorf("the listener must have heard of a change before those who wait for it: got %d pods, want 2", got)
	}
}

func TestAwaitEndsWithTheReason(t *testing.T) {
	t.Parallel()
	reason := errors.New("the controller went down")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	_, err := newTestRecorder(func(*scene) {}).await(ctx, "it is done", func(*scene) bool { return false })
	if !errors.Is(err, reason) || !strings.Contains(err.Error(), "wait until it is done") {
		t.Errorf("the error must say what was waited for, and why it can't come: got %v", err)
	}
}

// A scene that was handed out must stay as it was while the watch goes on.
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
