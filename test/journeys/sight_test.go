package journeys

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/sluice-dev/sluice/internal/kube"
)

// sight holds the revisions up to which a controller had seen objects when it decided on a write.
// It can't heed later ones: how far it is behind depends on the machine, and no law may.
//
// A pass sees what the cache has when it begins, and again after each answer.
type sight struct {
	journal *journal

	mu sync.Mutex
	// cached has the revision up to which the cache has workloads, by kind: one kind may lag behind
	// another.
	cached revisions
	// begun is the least revision with which a watch of pods begins; 0 once something was decided on
	// it. The watch was requested at asked, and nothing may be decided on it much later.
	begun uint64
	asked time.Time
	// passes has the basis of each pass when it looked last.
	passes map[types.UID]basis
}

// revisions has a revision for each kind of object.
type revisions map[reflect.Type]uint64

func (r revisions) of(object client.Object) uint64 { return r[reflect.TypeOf(object)] }

// least returns the lower revision for each kind.
func (r revisions) least(other revisions) revisions {
	low := maps.Clone(r)
	for kind, revision := range other {
		low[kind] = min(low[kind], revision)
	}
	return low
}

// basis has the revisions up to which the controller had seen the objects on which a write rests.
type basis struct {
	workloads revisions
	// pods comes from the list of pods or the begin of their watch; without either, from the begin
	// of the pass.
	pods uint64
	// sets comes from the last read of ReplicaSets; without one, from the begin of the pass.
	sets uint64
}

// follow has the sight know what a cache has. A cache tells of what it has taken in, not of what it
// is about to.
func (s *sight) follow(w *world, c cache.Cache) {
	w.Helper()
	s.journal = w.journal
	for _, workload := range []client.Object{&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.DaemonSet{}} {
		informer, err := c.GetInformer(w.Context(), workload, cache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
				AddFunc:    s.took,
				UpdateFunc: func(_, object any) { s.took(object) },
				DeleteFunc: s.took,
			})
		}
		if err != nil {
			w.Fatalf("follow the controller's cache: %v", err)
		}
	}
}

func (s *sight) took(object any) {
	if workload, ok := object.(client.Object); ok {
		s.mu.Lock()
		if s.cached == nil {
			s.cached = revisions{}
		}
		kind := reflect.TypeOf(object)
		s.cached[kind] = max(s.cached[kind], revisionOf(workload))
		s.mu.Unlock()
		s.journal.nudge()
	}
}

// current wants the cache to have the workload "web" as the journal has it.
func (s *sight) current(now *scene) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if workload := now.workload("web"); workload != nil && s.cached.of(workload) < revisionOf(workload) {
		return errors.New("want the controller to see the workload")
	}
	return nil
}

// passVerbosity is that of the line with which controller-runtime begins a pass.
const passVerbosity = 5

var (
	passBegins = regexp.MustCompile(`"msg"="Reconciling" .*"reconcileID"="([^"]+)"`)
	tooQuiet   = regexp.MustCompile(`"level"=[2-9] `)
)

// listen takes notice of a line that a controller logs, and reports whether it is one for people.
func (s *sight) listen(line string) (loud bool) {
	if pass := passBegins.FindStringSubmatch(line); pass != nil {
		begin := s.journal.latest()
		s.look(types.UID(pass[1]), cmp.Or(s.watched(), begin), begin)
	}
	return !tooQuiet.MatchString(line)
}

// look notes what a pass sees now, with the revisions of the pods and ReplicaSets that it goes by.
func (s *sight) look(pass types.UID, pods, sets uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passes == nil {
		s.passes = map[types.UID]basis{}
	}
	s.passes[pass] = basis{maps.Clone(s.cached), pods, sets}
}

// watches takes notice of a request that begins to watch pods: the API server answers with what it
// has now, or later. A watch that goes on from an earlier one begins with nothing.
func (s *sight) watches(request *http.Request) {
	if request.URL.Query().Get("sendInitialEvents") == "true" && path.Base(request.URL.Path) == "pods" {
		s.setWatched(s.journal.latest())
	}
}

// freshFor is how long after a watch was asked for a pass may begin that goes by the pods with
// which it begins.
const freshFor = 5 * time.Second

func (s *sight) watched() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.asked) > freshFor {
		return 0
	}
	return s.begun
}

func (s *sight) setWatched(revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun, s.asked = revision, time.Now()
}

// of returns the basis of a request; nil if it is not known.
func (s *sight) of(request *http.Request) *basis {
	s.mu.Lock()
	defer s.mu.Unlock()
	if seen, known := s.passes[ctrl.ReconcileIDFromContext(request.Context())]; known {
		return &seen
	}
	return nil
}

var decoder = sync.OnceValue(func() runtime.Decoder {
	return serializer.NewCodecFactory(kube.NewScheme()).UniversalDeserializer()
})

// answered notes in the journal what a write rested on. The answer, nil if there was none, can
// still be read.
func (s *sight) answered(request *http.Request, response *http.Response, rests *basis) {
	if rests == nil {
		return
	}
	seen := *rests
	defer func() { s.look(ctrl.ReconcileIDFromContext(request.Context()), seen.pods, seen.sets) }()
	object, whole := content(response)
	if request.Method == http.MethodGet {
		switch list := object.(type) {
		case *corev1.PodList:
			seen.pods = parseRevision(list.ResourceVersion)
			s.setWatched(0)
		case *appsv1.ReplicaSetList:
			seen.sets = parseRevision(list.ResourceVersion)
		}
		return
	}
	if !whole || response.StatusCode >= http.StatusInternalServerError { // it may have been carried out
		s.journal.unanswered(rests.workloads)
		return
	}
	switch object.(type) {
	case *corev1.Pod, *appsv1.StatefulSet, *appsv1.DaemonSet:
		s.setWatched(0)
	}
	if written, is := object.(client.Object); is && written.GetResourceVersion() != "" {
		s.journal.rests(revisionOf(written), *rests)
	}
}

// content returns the object in an answer, nil if there is none, and whether all of the answer
// came. The answer can still be read.
func content(response *http.Response) (object runtime.Object, whole bool) {
	if response == nil {
		return nil, false
	}
	body, err := io.ReadAll(response.Body)
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), failing{err}), response.Body}
	if decoded, _, failed := decoder().Decode(body, nil, nil); failed == nil {
		object = decoded
	}
	return object, err == nil
}

// failing is a reader that has come to an error, or to its end.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
