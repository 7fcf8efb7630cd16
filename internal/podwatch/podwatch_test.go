package podwatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/podwatch"
)

const soon = 30 * time.Second

var (
	web    = types.NamespacedName{Namespace: "shop", Name: "web"}
	ofWeb  = podwatch.Pods{Namespace: "shop", Selector: "app=web"}
	ofShop = podwatch.Pods{Namespace: "shop", Selector: "app=shop"}
)

// server is an API server that lists pods by their selector, and sends what happens to them, over
// HTTP.
type server struct {
	*testing.T

	events chan watch.Event
	// streams says that it can send a list as the beginning of a watch.
	streams bool

	mu       sync.Mutex
	watching []string // selectors of the watches that go on
}

// watches makes Watches on a server. The channel receives the changed releases.
func watches(t *testing.T) (*server, *podwatch.Watches, chan types.NamespacedName) {
	t.Helper()
	s := &server{T: t, events: make(chan watch.Event)}
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	cfg := &rest.Config{Host: listener.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	c, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme.Scheme, Mapper: mapper})
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	told := make(chan types.NamespacedName)
	var telling atomic.Int64
	w := podwatch.New(c, podwatch.Trim, func(ctx context.Context, release types.NamespacedName) {
		telling.Add(1)
		defer telling.Add(-1)
		select {
		case told <- release:
		case <-ctx.Done():
		}
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("end the watches: %v", err)
		}
		s.await(0)
		s.eventually(func() error {
			if n := telling.Load(); n > 0 {
				return fmt.Errorf("want nobody to be told any more, have %d", n)
			}
			return nil
		})
	})
	return s, w, told
}

func (s *server) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	query := request.URL.Query()
	selector := query.Get("labelSelector")
	answer.Header().Set("Content-Type", "application/json")
	switch {
	case query.Get("sendInitialEvents") != "" && s.streams:
		s.send(answer, map[string]any{"type": watch.Added, "object": pod(selector + "-0")})
		s.send(answer, map[string]any{"type": watch.Bookmark, "object": endOfList()})
		s.stream(answer, request, selector)
	case query.Get("sendInitialEvents") != "": // as one that can't stream a list
		status := metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity}
		answer.WriteHeader(http.StatusUnprocessableEntity)
		s.send(answer, status)
	case query.Get("watch") == "":
		list := corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{*pod(selector + "-0")}}
		s.send(answer, list)
	default:
		s.stream(answer, request, selector)
	}
}

func (s *server) stream(answer http.ResponseWriter, request *http.Request, selector string) {
	s.mu.Lock()
	s.watching = append(s.watching, selector)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		i := slices.Index(s.watching, selector)
		s.watching = slices.Delete(s.watching, i, i+1)
	}()
	flush := http.NewResponseController(answer)
	for {
		if err := flush.Flush(); err != nil {
			return
		}
		select {
		case e := <-s.events:
			s.send(answer, map[string]any{"type": e.Type, "object": e.Object})
		case <-request.Context().Done():
			return
		}
	}
}

func (s *server) send(answer http.ResponseWriter, object any) {
	if err := json.NewEncoder(answer).Encode(object); err != nil {
		s.Errorf("answer: %v", err)
	}
}

// await waits until so many watches go on.
func (s *server) await(n int) {
	s.Helper()
	s.eventually(func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.watching) != n {
			return errors.New("want another number of watches")
		}
		return nil
	})
}

func (s *server) eventually(done func() error) {
	s.Helper()
	poll, deadline := time.NewTicker(time.Millisecond), time.After(soon)
	defer poll.Stop()
	for err := done(); err != nil; err = done() {
		select {
		case <-poll.C:
		case <-deadline:
			s.Fatalf("not within %v: %v", soon, err)
		}
	}
}

// begin has a release watch pods.
func (s *server) begin(w *podwatch.Watches, what podwatch.Pods) {
	s.Helper()
	if _, _, err := w.Of(web, what); err != nil {
		s.Fatal(err)
	}
}

// names returns the names of the pods that a release watches, once it has seen them.
func (s *server) names(w *podwatch.Watches, what podwatch.Pods) []string {
	s.Helper()
	var names []string
	s.eventually(func() error {
		pods, seen, err := w.Of(web, what)
		if err != nil || seen != podwatch.All {
			return errors.Join(errors.New("want the pods to be known"), err)
		}
		names = nil
		for _, p := range pods {
			names = append(names, p.Name)
		}
		slices.Sort(names)
		return nil
	})
	return names
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, ResourceVersion: "2", Labels: map[string]string{"app": "web", "controller-revision-hash": "v1", "zone": "a"},
			Annotations:   map[string]string{"note": "long"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.PodSpec{NodeName: "n", Affinity: &corev1.Affinity{}, Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: "10.0.0.1", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

// endOfList returns the API server's bookmark after the existing pods.
func endOfList() *corev1.Pod {
	return &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: "3", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}},
	}
}

// receive wants a release to be told of. A watch tells of each pod that there is, and then that all
// are seen.
func receive(t *testing.T, told chan types.NamespacedName) {
	t.Helper()
	select {
	case release := <-told:
		if release != web {
			t.Errorf("told of %v, want %v", release, web)
		}
	case <-time.After(soon):
		t.Fatalf("not told of a change within %v", soon)
	}
}

// TestChangesAreTold: existing pods and each change are reported; afterwards the pods are known,
// without the fields that no release depends on.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	s, w, told := watches(t)
	if w.Watched(web) {
		t.Error("the release is said to watch pods before it does")
	}
	if pods, seen, err := w.Of(web, ofWeb); seen != podwatch.Begun || err != nil || len(pods) > 0 || !w.Watched(web) {
		t.Fatalf("have %v, %d, %v, want it to be known that nothing is known yet", pods, seen, err)
	}
	receive(t, told)
	receive(t, told)
	s.events <- watch.Event{Type: watch.Added, Object: pod("another")}
	receive(t, told)
	if diff := cmp.Diff([]string{"another", "app=web-0"}, s.names(w, ofWeb)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	pods, _, _ := w.Of(web, ofWeb)
	for _, p := range pods {
		if len(p.ManagedFields)+len(p.Annotations)+len(p.Spec.Containers) > 0 || len(p.Labels) > 1 || p.Spec.Affinity != nil || p.Status.PodIP != "" {
			t.Errorf("%s has more than a release depends on: %+v", p.Name, p)
		}
		if p.Spec.NodeName != "n" || p.Labels["controller-revision-hash"] != "v1" || len(p.Status.Conditions) != 1 || p.Status.Phase != corev1.PodRunning {
			t.Errorf("%s lacks what a release depends on: %+v", p.Name, p)
		}
	}
	s.events <- watch.Event{Type: watch.Deleted, Object: pod("another")}
	receive(t, told)
	if diff := cmp.Diff([]string{"app=web-0"}, s.names(w, ofWeb)); diff != "" {
		t.Errorf("pods after one is deleted (-want +got):\n%s", diff)
	}
}

// TestPodWithoutNode: a pod that has no node yet keeps its affinity, which says for which node it
// is made.
func TestPodWithoutNode(t *testing.T) {
	t.Parallel()
	s, w, told := watches(t)
	s.begin(w, ofWeb)
	receive(t, told)
	receive(t, told)
	waiting := pod("waiting")
	waiting.Spec.NodeName = ""
	s.events <- watch.Event{Type: watch.Added, Object: waiting}
	receive(t, told)
	pods, _, _ := w.Of(web, ofWeb)
	if i := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p.Name == "waiting" }); i < 0 || pods[i].Spec.Affinity == nil {
		t.Errorf("want the pod with its affinity, have %+v", pods)
	}
}

// TestAnotherSelector: another selector, of a workload that was made again, begins another watch
// and ends the one before.
func TestAnotherSelector(t *testing.T) {
	t.Parallel()
	s, w, told := watches(t)
	s.begin(w, ofWeb)
	receive(t, told)
	receive(t, told)
	s.await(1)
	s.begin(w, ofShop)
	receive(t, told)
	receive(t, told)
	if diff := cmp.Diff([]string{"app=shop-0"}, s.names(w, ofShop)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	s.await(1)
}

// TestForgotten: a forgotten watch ends, even while its changes are not received. A new request
// watches the pods again.
func TestForgotten(t *testing.T) {
	t.Parallel()
	s, w, told := watches(t)
	s.begin(w, ofWeb) // told of it nobody is
	s.await(1)
	w.Forget(web)
	w.Forget(web)
	s.await(0)
	s.begin(w, ofWeb)
	receive(t, told)
	receive(t, told)
	if diff := cmp.Diff([]string{"app=web-0"}, s.names(w, ofWeb)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

// TestEnded: Watches that have ended begin nothing.
func TestEnded(t *testing.T) {
	t.Parallel()
	w := podwatch.New(nil, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if pods, seen, err := w.Of(web, ofWeb); seen != podwatch.Late || err != nil || len(pods) > 0 {
		t.Errorf("have %v, %d, %v, want nothing to be known", pods, seen, err)
	}
}

// TestBadSelector: a selector that can't be read is an error.
func TestBadSelector(t *testing.T) {
	t.Parallel()
	if _, _, err := podwatch.New(nil, nil, nil).Of(web, podwatch.Pods{Selector: "a=("}); err == nil {
		t.Error("want an error")
	}
}

// TestOvertaken: a change of a pod since its read is known without a request, and pods that were
// read before are not acted on any more.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	first := "app=web-0"
	change := func(version string, change func(*corev1.Pod)) *corev1.Pod {
		p := pod(first)
		p.ResourceVersion = version
		change(p)
		return p
	}
	unready := func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }
	for name, test := range map[string]struct {
		event watch.EventType
		after *corev1.Pod
		read  *corev1.Pod
		want  bool
	}{
		"it is written without a reason":         {watch.Modified, change("5", func(*corev1.Pod) {}), pod(first), false},
		"it is not ready any more":               {watch.Modified, change("5", unready), pod(first), true},
		"it goes":                                {watch.Modified, change("5", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }), pod(first), true},
		"it has failed":                          {watch.Modified, change("5", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), pod(first), true},
		"it has succeeded":                       {watch.Modified, change("5", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }), pod(first), true},
		"another one has its name":               {watch.Modified, change("5", func(p *corev1.Pod) { p.UID = "2" }), pod(first), true},
		"it is gone":                             {watch.Deleted, change("5", func(*corev1.Pod) {}), pod(first), true},
		"it is not ready, and was not":           {watch.Modified, change("5", unready), change("2", unready), false},
		"it was not ready, and was read since":   {watch.Modified, change("5", unready), change("6", func(*corev1.Pod) {}), false},
		"it was read, and is not heard of yet":   {watch.Modified, change("5", func(*corev1.Pod) {}), named("late", "6"), false},
		"it was read, and gone before the watch": {watch.Modified, change("5", func(*corev1.Pod) {}), named("early", "4"), true},
		"it was read by who can't tell when":     {watch.Modified, change("5", func(*corev1.Pod) {}), named("odd", "x"), false},
	} {
		s, w, told := watches(t)
		s.streams = true
		s.begin(w, ofWeb)
		receive(t, told)
		receive(t, told)
		if w.Overtaken(web, []*corev1.Pod{pod(first)}, false) {
			t.Errorf("%s: nothing has happened yet", name)
		}
		s.events <- watch.Event{Type: test.event, Object: test.after}
		receive(t, told)
		if got := w.Overtaken(web, []*corev1.Pod{test.read}, false); got != test.want {
			t.Errorf("%s: overtaken: %t, want %t", name, got, test.want)
		}
		w.Forget(web)
		if w.Overtaken(web, []*corev1.Pod{test.read}, false) || !w.Overtaken(web, nil, true) {
			t.Errorf("%s: once nobody watches, want what was read to count, and what the watch began with not to", name)
		}
	}
}

func named(name, version string) *corev1.Pod {
	p := pod(name)
	p.ResourceVersion = version
	return p
}

// TestWhyPodsDontServe: of a pod that does not serve it is known why: in a few words, without the
// messages that anybody may have written.
func TestWhyPodsDontServe(t *testing.T) {
	t.Parallel()
	s, w, told := watches(t)
	s.begin(w, ofWeb)
	receive(t, told)
	receive(t, told)
	crash, well := pod("crash"), pod("well")
	status := corev1.ContainerStatus{
		Name: "web", Image: "web:2", ImageID: "sha256:1", RestartCount: 3,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "long"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "long"}},
	}
	crash.Status.Conditions = nil
	crash.Status.ContainerStatuses, well.Status.ContainerStatuses = []corev1.ContainerStatus{status}, []corev1.ContainerStatus{status}
	well.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	for _, p := range []*corev1.Pod{crash, well} {
		s.events <- watch.Event{Type: watch.Added, Object: p}
		receive(t, told)
	}
	status.ImageID, status.RestartCount, status.State.Waiting.Message, status.LastTerminationState.Terminated.Message = "", 0, "", ""
	want := map[string][]corev1.ContainerStatus{"crash": {status}, "well": nil}
	pods, _, _ := w.Of(web, ofWeb)
	for _, p := range pods {
		if expected, is := want[p.Name]; is {
			if diff := cmp.Diff(expected, p.Status.ContainerStatuses); diff != "" {
				t.Errorf("%s (-want +got):\n%s", p.Name, diff)
			}
		}
	}
}
