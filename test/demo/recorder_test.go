package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
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

func TestRecorderTakesWhatBelongs(t *testing.T) {
	t.Parallel()
	mine := belongs("web")
	pod := testPod("web-1", oldImage, available)
	pod.Labels = map[string]string{"app": "web"}
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	gate := &v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{Name: "web-gate"}, Spec: v1alpha1.GateSpec{ReleaseRef: v1alpha1.ReleaseReference{Name: "web"}}}
	for _, object := range []any{pod, release, gate, toolscache.DeletedFinalStateUnknown{Obj: pod}} {
		if !mine(object) {
			t.Errorf("%T belongs to web", object)
		}
	}
	others := []any{testPod("web", oldImage, available), &v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, &appsv1.DaemonSet{}}
	for _, object := range others {
		if mine(object) {
			t.Errorf("%T without a reference to web does not belong to it", object)
		}
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
