package journeys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// entry is one revision of one object.
type entry struct {
	// revision is the cluster's. All kinds are kept in one etcd here, so that revisions put
	// the entries of different kinds in order.
	revision uint64
	object   client.Object
	gone     bool
	// rests is the basis of the controller's decision; nil if another client may have made the
	// change.
	rests *basis
}

// journal records every revision of what a namespace holds.
type journal struct {
	mu      sync.Mutex
	entries []entry
	scene   *scene
	err     error
	// resting has what each write of a controller rested on, by the revision that it made.
	resting map[uint64]basis
	// lost has the least revisions on which a write without an answer rested; nil without one.
	lost revisions
	// changed is closed, and replaced, with every entry.
	changed chan struct{}
}

// recorded lists what the journal is about.
func recorded() []client.ObjectList {
	return []client.ObjectList{
		&v1alpha1.BatchReleaseList{}, &v1alpha1.GateList{}, &appsv1.DeploymentList{},
		&appsv1.StatefulSetList{}, &appsv1.DaemonSetList{}, &appsv1.ReplicaSetList{}, &appsv1.ControllerRevisionList{}, &corev1.PodList{},
	}
}

// startJournal records a namespace, which is still empty, until the test ends.
func startJournal(t *testing.T, c client.WithWatch, namespace string, more ...client.ObjectList) *journal {
	t.Helper()
	j := &journal{scene: newScene(), resting: map[uint64]basis{}, changed: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	kinds := append(recorded(), more...)
	if err := c.List(ctx, kinds[0], client.InNamespace(namespace)); err != nil {
		t.Fatalf("list %T: %v", kinds[0], err)
	}
	begin := kinds[0].GetResourceVersion() // of all kinds: they are kept in one etcd
	for _, kind := range kinds {
		watchFrom := func(revision string) (watch.Interface, error) {
			return c.Watch(ctx, kind, &client.ListOptions{
				Namespace: namespace,
				Raw:       &metav1.ListOptions{ResourceVersion: revision},
			})
		}
		running.Go(func() { j.follow(ctx, watchFrom, begin) })
	}
	return j
}

// follow takes down what watches tell from a revision on, until ctx is done. The API server ends a
// watch that is too slow for it, which the next one makes up for: that begins where this one ended.
func (j *journal) follow(ctx context.Context, watchFrom func(revision string) (watch.Interface, error), revision string) {
	lost := time.Time{}
	for ctx.Err() == nil {
		w, err := watchFrom(revision)
		if err == nil {
			revision, err = j.record(ctx, w, revision)
		}
		switch {
		case err == nil:
			lost = time.Time{}
			continue
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err), !lost.IsZero() && time.Since(lost) > soon:
			j.fail(ctx, err)
			return
		case lost.IsZero():
			lost = time.Now()
		}
		select { // the API server may be down: what it has then to tell, the next watch tells
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// record takes down what a watch tells until it ends, and returns the last revision that it has
// told of.
func (j *journal) record(ctx context.Context, w watch.Interface, revision string) (string, error) {
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return revision, nil
		case event, open := <-w.ResultChan():
			switch object, ok := event.Object.(client.Object); {
			case !open:
				return revision, nil
			case event.Type == watch.Error || !ok:
				return revision, apierrors.FromObject(event.Object)
			default:
				revision = object.GetResourceVersion()
				j.write(event.Type, object)
			}
		}
	}
}

// fail notes that the journal has a gap from here on.
func (j *journal) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = errors.Join(j.err, fmt.Errorf("a watch of the journal ended: %w", err))
}

func (j *journal) write(what watch.EventType, object client.Object) {
	if what == watch.Bookmark {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	e := entry{revision: revisionOf(object), object: object, gone: what == watch.Deleted}
	j.entries = append(j.entries, e)
	j.scene.apply(e)
	j.tell()
}

// nudge has whoever waits for a change look again.
func (j *journal) nudge() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.tell()
}

func (j *journal) tell() {
	close(j.changed)
	j.changed = make(chan struct{})
}

func revisionOf(object client.Object) uint64 {
	return parseRevision(object.GetResourceVersion())
}

func parseRevision(text string) uint64 {
	revision, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("resourceVersion: %v", err))
	}
	return revision
}

// rests notes what the write that made a revision rested on. One that changes nothing is answered
// with a revision that another has made.
func (j *journal) rests(revision uint64, seen basis) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, known := j.resting[revision]; !known {
		j.resting[revision] = seen
	}
}

// unanswered notes on what a write rested that may have been done or not.
func (j *journal) unanswered(seen revisions) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.lost == nil {
		j.lost = seen
	}
	j.lost = j.lost.least(seen)
}

// now returns the current scene, and a channel that is closed when it changes.
func (j *journal) now() (*scene, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.scene.clone(), j.changed
}

// begin returns the current scene, and the number of entries that made it.
func (j *journal) begin() (*scene, int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.scene.clone(), len(j.entries)
}

// since returns the entries after the given number, and a channel that is closed at the next one.
func (j *journal) since(entries int) ([]entry, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries[entries:]), j.changed
}

// latest returns the latest revision of which the journal knows.
func (j *journal) latest() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	latest := uint64(0)
	for _, e := range j.entries {
		latest = max(latest, e.revision)
	}
	return latest
}

// lostSight returns the least revisions on which a write without an answer rested; nil without one.
func (j *journal) lostSight() revisions {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lost
}

// all returns the entries so far, and an error if some are missing.
func (j *journal) all() ([]entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	entries := slices.Clone(j.entries)
	for i := range entries {
		if seen, known := j.resting[entries[i].revision]; known {
			entries[i].rests = &seen
		}
	}
	return entries, j.err
}
