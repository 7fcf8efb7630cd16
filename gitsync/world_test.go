package gitsync_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// soon is how long a test waits for what takes moments on a machine with nothing else to do.
const soon = 2 * time.Minute

// world is a namespace and a repository that is served over HTTP.
type world struct {
	*testing.T
	client.Client
	namespace string
	repo      *gittest.Repository
	handler   *gittest.Handler
	server    *httptest.Server
	requests  *requests
	syncs     int
}

// newWorld makes a namespace and an empty repository. No controller runs yet.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	c := cptest.Client(t)
	root := t.TempDir()
	repo, err := gittest.Init(root, "app")
	if err != nil {
		t.Fatal(err)
	}
	handler, err := gittest.NewHandler(root)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, Client: c, namespace: cptest.Namespace(t), repo: repo, handler: handler, requests: &requests{}}
	w.server = httptest.NewServer(handler)
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) url() string { return w.server.URL + "/" + w.repo.Name() }

// requests counts what a controller asks of the API server, watches and events aside.
type requests struct {
	mu  sync.Mutex
	all []string
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if !strings.Contains(req.URL.Path, "/events") && req.URL.Query().Get("watch") == "" {
			r.mu.Lock()
			r.all = append(r.all, req.Method+" "+req.URL.Path)
			r.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

func (r *requests) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.all...)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// controller runs gitsync for the namespace until stop is called or the test ends.
func (w *world) controller(options gitsync.Options, more ...string) (stop func()) {
	w.Helper()
	cfg := cptest.Config(w.T)
	cfg.QPS = -1
	cfg.Wrap(w.requests.wrap)
	namespaces := map[string]cache.Config{w.namespace: {}}
	for _, namespace := range more {
		namespaces[namespace] = cache.Config{}
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:     w.Scheme(),
		Logger:     logr.Discard(),
		Cache:      cache.Options{DefaultNamespaces: namespaces, DefaultTransform: cache.TransformStripManagedFields()},
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
	})
	if err != nil {
		w.Fatalf("make manager: %v", err)
	}
	options.Git.AllowHTTP, options.Git.Networks.Allowed = true, dialer.Loopback()
	options.Forges = github.NewClients(github.Options{AllowHTTP: true, Networks: options.Git.Networks})
	reconciler := gitsync.NewReconciler(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetConfig(),
		mgr.GetEventRecorder("sluice-gitsync"), clock.RealClock{}, options)
	if err := reconciler.SetupWithManager(mgr); err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("run manager: %v", err)
		}
	})
	w.Cleanup(stop)
	return stop
}

// source makes a ReleaseSource "shop" of the repository that is polled once an hour, so
// that tests say when.
func (w *world) source(change func(*v1alpha1.ReleaseSource)) *v1alpha1.ReleaseSource {
	w.Helper()
	source := &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"},
		Spec: v1alpha1.ReleaseSourceSpec{
			URL:      w.url(),
			Ref:      v1alpha1.GitReference{Branch: gittest.Branch},
			Interval: metav1.Duration{Duration: time.Hour},
			Timeout:  metav1.Duration{Duration: 20 * time.Second},
		},
	}
	if change != nil {
		change(source)
	}
	if err := w.Create(w.Context(), source); err != nil {
		w.Fatalf("create source: %v", err)
	}
	return source
}

// sync asks for a look at the repository and returns the source as it is after it.
func (w *world) sync(name string) *v1alpha1.ReleaseSource {
	w.Helper()
	w.syncs++
	want := fmt.Sprint(w.syncs)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.RequestedAtAnnotation, want)
	source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	if err := w.Patch(w.Context(), source, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.Fatalf("ask for a sync: %v", err)
	}
	return w.await(name, func(s *v1alpha1.ReleaseSource) error {
		if s.Status.LastHandledSyncAt != want {
			return fmt.Errorf("want status.lastHandledSyncAt %s, got %q", want, s.Status.LastHandledSyncAt)
		}
		return nil
	})
}

// syncUntil syncs the source "shop" until it is as wanted. The caches of a sync may be behind what
// the test has just written.
func (w *world) syncUntil(condition func(*v1alpha1.ReleaseSource) error) *v1alpha1.ReleaseSource {
	w.Helper()
	var source *v1alpha1.ReleaseSource
	cptest.Eventually(w.T, soon, func() error {
		source = w.sync("shop")
		return condition(source)
	})
	return source
}

// await waits until a source is as the condition wants.
func (w *world) await(name string, condition func(*v1alpha1.ReleaseSource) error) *v1alpha1.ReleaseSource {
	w.Helper()
	source := &v1alpha1.ReleaseSource{}
	cptest.Eventually(w.T, soon, func() error {
		if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, source); err != nil {
			return fmt.Errorf("read source: %w", err)
		}
		return condition(source)
	})
	return source
}

// wantReady checks the source's condition Ready and, by kstatus, the two others.
func (w *world) wantReady(source *v1alpha1.ReleaseSource, reason string, words ...string) {
	w.Helper()
	ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != reason {
		w.Fatalf("want Ready with reason %s, got %+v; errors %+v", reason, ready, source.Status.Errors)
	}
	for _, word := range words {
		if !strings.Contains(ready.Message, word) {
			w.Errorf("the message %q does not say %q", ready.Message, word)
		}
	}
	is := func(kind string) bool { return meta.IsStatusConditionTrue(source.Status.Conditions, kind) }
	if good := reason == v1alpha1.ReasonSynced; is(v1alpha1.ConditionReady) != good {
		w.Errorf("Ready is %s with reason %s", ready.Status, reason)
	} else if n := is(v1alpha1.ConditionStalled) || is(v1alpha1.ConditionReconciling); n == good && reason != v1alpha1.ReasonSuspended {
		w.Errorf("with reason %s, Stalled is %t and Reconciling %t", reason, is(v1alpha1.ConditionStalled), is(v1alpha1.ConditionReconciling))
	}
	if source.Status.ObservedGeneration != source.Generation {
		w.Errorf("observedGeneration is %d, generation %d", source.Status.ObservedGeneration, source.Generation)
	}
}

// wantErrors compares the status's errors, as file:line, and words of their messages.
func (w *world) wantErrors(source *v1alpha1.ReleaseSource, want ...string) {
	w.Helper()
	for i := range max(len(want), len(source.Status.Errors)) {
		got, wanted := "", ""
		if i < len(source.Status.Errors) {
			e := source.Status.Errors[i]
			got = fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
		}
		if i < len(want) {
			wanted = want[i]
		}
		place, words, _ := strings.Cut(wanted, ": ")
		if wanted == "" || !strings.HasPrefix(got, place+": ") || !strings.Contains(got, words) {
			w.Errorf("error %d: want %q, got %q", i, wanted, got)
		}
	}
}

func (w *world) push(files map[string]string, deleted ...string) string {
	w.Helper()
	return w.commit(gittest.Commit{Files: files, Deleted: deleted})
}

func (w *world) commit(c gittest.Commit) string {
	w.Helper()
	hash, err := w.repo.Commit(c)
	if err != nil {
		w.Fatal(err)
	}
	return hash
}

// release reads a BatchRelease; nil if there is none.
func (w *world) release(name string) *v1alpha1.BatchRelease {
	w.Helper()
	release := &v1alpha1.BatchRelease{}
	err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, release)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatalf("read release: %v", err)
	}
	return release
}

// wantImage checks which image a release asks for.
func (w *world) wantImage(name, image string) {
	w.Helper()
	release := w.release(name)
	switch {
	case release == nil:
		w.Errorf("there is no release %s", name)
	case release.Spec.Template == nil || !strings.Contains(string(release.Spec.Template.Raw), `"image":"`+image+`"`):
		w.Errorf("release %s has the template %s, want image %s", name, release.Spec.Template, image)
	}
}

func (w *world) deployment(name string) *appsv1.Deployment {
	w.Helper()
	deployment := &appsv1.Deployment{}
	err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, deployment)
	if client.IgnoreNotFound(err) != nil {
		w.Fatalf("read deployment: %v", err)
	}
	if err != nil {
		return nil
	}
	return deployment
}

// releaseText returns the manifest of a release of the Deployment with its name.
func releaseText(name, steps string) string {
	return fmt.Sprintf(`apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata:
  name: %[1]s
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  strategy:
    steps: %s
`, name, steps)
}

const steps = "[{replicas: 1}, {replicas: 100%}]"

func deploymentText(name, image string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
spec:
  replicas: 0
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - {name: app, image: %[2]q}
`, name, image)
}

// app returns the files of an application.
func app(name, image string) map[string]string {
	return map[string]string{name + "/release.yaml": releaseText(name, steps), name + "/deploy.yaml": deploymentText(name, image)}
}

func merge(all ...map[string]string) map[string]string {
	merged := map[string]string{}
	for _, files := range all {
		maps.Copy(merged, files)
	}
	return merged
}

func caOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

// manifestFile writes a manifest to a file for kubectl.
func manifestFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
