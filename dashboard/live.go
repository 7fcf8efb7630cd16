package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// The rhythm and bounds of streams.
const (
	// betweenChanges is the minimum time between two changes that a stream announces.
	betweenChanges = 300 * time.Millisecond
	// heartbeat keeps proxies from ending a quiet stream, and finds those whose reader has gone.
	heartbeat = 20 * time.Second
	// longestStream is when a browser has to connect and authenticate again.
	longestStream = 10 * time.Minute
	// watchAgain is how long a watch that ended waits before the next.
	watchAgain = 2 * time.Second

	mostStreams     = 1000
	mostOfOneViewer = 30
	// mostOfOneParty bounds the streams of all service accounts of a namespace: a person with
	// permission to make one makes many.
	mostOfOneParty = mostStreams / 10
)

// streams counts the open streams.
type streams struct {
	lock sync.Mutex
	all  int
	of   map[string]int
}

func newStreams() *streams { return &streams{of: map[string]int{}} }

// take takes a place and returns the function that gives it back; nil if there is none.
func (s *streams) take(viewer string) func() {
	party := partyOf(viewer)
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.all >= mostStreams || s.of[viewer] >= mostOfOneViewer || s.of[party] >= mostOfOneParty {
		return nil
	}
	s.count(1, viewer, party)
	return func() {
		s.lock.Lock()
		defer s.lock.Unlock()
		s.count(-1, viewer, party)
	}
}

func (s *streams) count(by int, viewer, party string) {
	s.all += by
	for _, who := range []string{viewer, party} {
		if who == "" { // a person is a party of their own
			continue
		}
		if s.of[who] += by; s.of[who] == 0 {
			delete(s.of, who)
		}
	}
}

// partyOf returns the group that a service account is counted with: all of its namespace. It is
// empty for a person, and never the name of a viewer.
func partyOf(viewer string) string {
	account, is := strings.CutPrefix(viewer, "system:serviceaccount:")
	namespace, _, named := strings.Cut(account, ":")
	if !is || !named {
		return ""
	}
	return "system:serviceaccounts:" + namespace
}

// live tells an open page that it has changed.
func (d *Dashboard) live(w http.ResponseWriter, r *http.Request) {
	viewer := access.ViewerOf(r.Context())
	if viewer == nil {
		http.Error(w, "log in first", http.StatusUnauthorized)
		return
	}
	leave := d.streams.take(viewer.Name)
	if leave == nil {
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many pages are open: close some", http.StatusTooManyRequests)
		return
	}
	defer leave()
	ctx, cancel := context.WithTimeout(r.Context(), longestStream)
	defer cancel()
	wants, err := d.wants(ctx, viewer, r)
	if err != nil {
		d.refuse(w, r, viewer, err)
		return
	}
	changes, end := d.hub.listen(wants)
	defer end()
	if r.URL.Query().Get("page") == "release" {
		d.watchParts(ctx, viewer, liveKey(r), changes)
	}
	d.stream(ctx, w, changes)
}

func liveKey(r *http.Request) client.ObjectKey {
	return client.ObjectKey{Namespace: r.URL.Query().Get("namespace"), Name: r.URL.Query().Get("name")}
}

// wants selects the changes that a page follows, if the viewer may see them.
func (d *Dashboard) wants(ctx context.Context, viewer *access.Viewer, r *http.Request) (func(change) bool, error) {
	switch r.URL.Query().Get("page") {
	case "releases":
		return d.inSight(ctx, viewer, kindRelease, kindSource)
	case "sources":
		return d.inSight(ctx, viewer, kindSource)
	case "release":
		key := liveKey(r)
		if !canBe(key) {
			return nil, errNoPage
		}
		var release v1alpha1.BatchRelease
		if err := viewer.Client.Get(ctx, key, &release); err != nil {
			return nil, err
		}
		source := release.Labels[v1alpha1.SourceLabel]
		return func(c change) bool {
			return c.namespace == key.Namespace &&
				(c.kind == kindRelease && c.name == key.Name || c.kind == kindSource && c.name == source)
		}, nil
	default:
		return nil, errNoPage
	}
}

// inSight returns the changes in namespaces whose releases the viewer sees.
func (d *Dashboard) inSight(ctx context.Context, viewer *access.Viewer, kinds ...string) (func(change) bool, error) {
	_, seen, err := d.sight(ctx, viewer)
	return func(c change) bool { return slices.Contains(kinds, c.kind) && seen.Has(c.namespace) }, err
}

// stream writes to a page until ctx ends or nobody reads it.
func (d *Dashboard) stream(ctx context.Context, w http.ResponseWriter, changes *listener) {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	say := func(text string) bool {
		_, err := fmt.Fprint(w, text)
		return err == nil && out.Flush() == nil
	}
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for going := say("retry: 2000\n\n"); going; {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			going = say(": still here\n\n")
		case <-changes.woken:
			going = say("event: changed\ndata: 1\n\n") && pause(ctx, betweenChanges)
		}
	}
}

// pause waits. It reports false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wait.C:
		return true
	}
}

// watchParts watches the pods and gates of a release as the viewer, as far as they may, for as long
// as the page is open.
func (d *Dashboard) watchParts(ctx context.Context, viewer *access.Viewer, key client.ObjectKey, changes *listener) {
	go follow(ctx, viewer.Client, v1alpha1.GroupVersion.WithKind("GateList"), changes, func(context.Context) ([]client.ListOption, error) {
		return []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabels{v1alpha1.ReleaseLabel: key.Name}}, nil
	})
	go follow(ctx, viewer.Client, corev1.SchemeGroupVersion.WithKind("PodList"), changes, func(ctx context.Context) ([]client.ListOption, error) {
		selector, err := podsOf(ctx, viewer.Client, key)
		return []client.ListOption{client.InNamespace(key.Namespace), client.MatchingLabelsSelector{Selector: selector}}, err
	})
}

// podsOf selects the pods of a release's workload.
func podsOf(ctx context.Context, c client.Client, key client.ObjectKey) (labels.Selector, error) {
	var release v1alpha1.BatchRelease
	if err := c.Get(ctx, key, &release); err != nil {
		return nil, err
	}
	of := workload.New(release.Spec.WorkloadRef.Kind)
	if of == nil {
		return labels.Nothing(), nil
	}
	if err := c.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: release.Spec.WorkloadRef.Name}, of.Object()); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(of.PodSelector())
}

// follow wakes a stream for each change of some objects. It reads only their metadata, and gives up
// if the viewer may not watch them.
func follow(ctx context.Context, c client.WithWatch, kind schema.GroupVersionKind, changes *listener, which func(context.Context) ([]client.ListOption, error)) {
	for ctx.Err() == nil {
		options, err := which(ctx)
		var events watch.Interface
		if err == nil {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(kind)
			events, err = c.Watch(ctx, list, options...)
		}
		if apierrors.IsForbidden(err) {
			return
		}
		if err == nil {
			drain(ctx, events, changes)
		}
		pause(ctx, watchAgain)
	}
}

// drain wakes a stream for each event until a watch ends.
func drain(ctx context.Context, events watch.Interface, changes *listener) {
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case event, open := <-events.ResultChan():
			if !open || event.Type == watch.Error {
				return
			}
			changes.wake()
		}
	}
}
