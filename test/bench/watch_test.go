package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newLog() *watchLog { return &watchLog{changed: make(chan struct{})} }

func deploymentAt(name, revision string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: revision}}
}

func TestFollow(t *testing.T) {
	t.Parallel()
	web := deploymentAt("web", "12")
	web.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "sluice"}}
	one := pod("a", "v1", []string{"ready"})
	one.ResourceVersion, one.Spec.NodeName = "7", "node"
	log, events := newLog(), make(chan watch.Event, 3)
	events <- watch.Event{Type: watch.Added, Object: web}
	events <- watch.Event{Type: watch.Modified, Object: one}
	events <- watch.Event{Type: watch.Deleted, Object: deploymentAt("web", "13")}
	close(events)
	log.follow(events)

	changes, _, err := log.since(0)
	if err != nil || len(changes) != 3 {
		t.Fatalf("want three changes, got %d (%v)", len(changes), err)
	}
	if web.ManagedFields != nil || one.Spec.NodeName != "" || !ready(one) {
		t.Error("what nobody looks at must be dropped, and no more: readiness of a pod is needed")
	}
	if changes[0].gone || !changes[2].gone {
		t.Errorf("only the last change is the end of an object: got %t, %t", changes[0].gone, changes[2].gone)
	}
	revision := func(c change) uint64 { return c.revision }
	if diff := cmp.Diff([]uint64{12, 7, 13}, of(changes, revision)); diff != "" {
		t.Errorf("revisions as they came (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{7, 12, 13}, of(log.ordered(), revision)); diff != "" {
		t.Errorf("revisions in their order (-want +got):\n%s", diff)
	}
	if rest, _, _ := log.since(2); len(rest) != 1 {
		t.Errorf("want the one change since the second, got %d", len(rest))
	}
}

// TestAwaitFailsWithTheWatch: a watch that can't go on leaves a gap.
func TestAwaitFailsWithTheWatch(t *testing.T) {
	t.Parallel()
	log, events := newLog(), make(chan watch.Event, 1)
	events <- watch.Event{Type: watch.Error, Object: &metav1.Status{Message: "too old resource version", Reason: metav1.StatusReasonExpired}}
	go log.follow(events)
	_, err := log.await(t.Context(), 1, func(client.Object) bool { return true })
	if err == nil || !strings.Contains(err.Error(), "too old resource version") {
		t.Errorf("want what the API server said, got %v", err)
	}
}

func TestAwait(t *testing.T) {
	t.Parallel()
	named := func(names ...string) func(client.Object) bool {
		return func(o client.Object) bool { return strings.Contains(strings.Join(names, " "), o.GetName()) }
	}
	cases := map[string]struct {
		reason string
		number int
		held   func(client.Object) bool
		want   int // the change, from 0; -1 if it never comes to that
	}{
		"First":     {"one is enough", 1, named("a", "b"), 0},
		"Last":      {"the last of them counts", 2, named("a", "b"), 2},
		"OnceEach":  {"an object counts once however often it changes", 3, named("a", "b", "c"), -1},
		"GoneIsNot": {"what is gone holds nothing", 1, named("c"), -1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newLog()
			for i, name := range []string{"a", "a", "b", "c"} {
				log.take(change{at: began.Add(time.Duration(i) * time.Second), object: deploymentAt(name, ""), gone: name == "c"})
			}
			over := errors.New("nothing more comes")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(over) // what is in the log is read first
			at, err := log.await(ctx, tc.number, tc.held)
			if tc.want < 0 {
				if !errors.Is(err, over) {
					t.Errorf("%s: want %v, got %v at %v", tc.reason, over, err, at)
				}
				return
			}
			if want := began.Add(time.Duration(tc.want) * time.Second); err != nil || !at.Equal(want) {
				t.Errorf("%s: want %v, got %v (%v)", tc.reason, want, at, err)
			}
		})
	}
}

// TestAwaitWakesUp: what comes later is seen as well.
func TestAwaitWakesUp(t *testing.T) {
	t.Parallel()
	log := newLog()
	go func() {
		for _, name := range []string{"a", "b", "c"} {
			log.take(change{at: began, object: deploymentAt(name, "")})
		}
	}()
	if at, err := log.await(t.Context(), 3, func(client.Object) bool { return true }); err != nil || !at.Equal(began) {
		t.Errorf("want all three to be seen at %v, got %v (%v)", began, at, err)
	}
}

func TestRevisionOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{"42": 42, "": 0, "x": 0} {
		if got := revisionOf(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: text}}); got != want {
			t.Errorf("%q: want %d, got %d", text, want, got)
		}
	}
}
