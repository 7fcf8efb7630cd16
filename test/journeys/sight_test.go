package journeys

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"regexp"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrl "sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/sluice-dev/sluice/internal/kube"
)

// sight is up to which revision a controller had seen its Deployments when it decided on a write. What it
// has not seen it can't heed: by how long that is depends on the machine, and no law does.
//
// A pass sees what the cache has when it begins, and looks again after each answer that it gets.
type sight struct {
	journal *journal

	mu sync.Mutex
	// cached is the revision up to which the cache has Deployments, or more.
	cached uint64
	// passes have that of the moment in which each of them looked last.
	passes map[types.UID]uint64
}

// follow has the sight know what a cache has. A cache tells of what it has taken in, not of what it is about to.
func (s *sight) follow(w *world, c cache.Cache) {
	w.Helper()
	s.journal = w.journal
	informer, err := c.GetInformer(w.Context(), &appsv1.Deployment{}, cache.BlockUntilSynced(false))
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

func (s *sight) took(object any) {
	if d, ok := object.(*appsv1.Deployment); ok {
		s.mu.Lock()
		s.cached = max(s.cached, revisionOf(d))
		s.mu.Unlock()
		s.journal.nudge()
	}
}

// current wants the cache to have the Deployment "web" as the journal has it.
func (s *sight) current(now *scene) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := now.deployments["web"]; d != nil && s.cached < revisionOf(d) {
		return errors.New("want the controller to see the Deployment")
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
		s.look(types.UID(pass[1]))
	}
	return !tooQuiet.MatchString(line)
}

func (s *sight) look(pass types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.passes == nil {
		s.passes = map[types.UID]uint64{}
	}
	s.passes[pass] = s.cached
}

// of is what a request rests on; nil if that is not known.
func (s *sight) of(request *http.Request) *uint64 {
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

// answered notes in the journal what a write rested on. The answer, nil if there was none, can still be read.
func (s *sight) answered(request *http.Request, response *http.Response, rests *uint64) {
	if rests == nil {
		return
	}
	defer s.look(ctrl.ReconcileIDFromContext(request.Context()))
	if request.Method == http.MethodGet {
		return
	}
	if response == nil {
		s.journal.unanswered(*rests)
		return
	}
	body, err := io.ReadAll(response.Body)
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), failing{err}), response.Body}
	if err != nil || response.StatusCode >= http.StatusInternalServerError { // it may have been carried out
		s.journal.unanswered(*rests)
		return
	}
	if written, _, err := decoder().Decode(body, nil, nil); err == nil {
		if object, ok := written.(client.Object); ok && object.GetResourceVersion() != "" {
			s.journal.rests(revisionOf(object), *rests)
		}
	}
}

// failing is a reader that has come to an error, or to its end.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
