package webhook_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/webhook"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// soon is how long a test waits for what takes moments on a machine with nothing else to do.
const soon = 2 * time.Minute

const secret = "It's a Secret to Everybody"

// world is a namespace and a receiver with a clock that the test moves.
type world struct {
	*testing.T
	client.Client
	namespace string
	receiver  *webhook.Receiver
	// cached and live are the receiver's clients.
	cached   client.Client
	live     client.Reader
	clock    *clocktesting.FakePassiveClock
	requests *requests
	guids    int
}

// newWorld makes a namespace with a source "shop" of the repository acme/shop, and its secret.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	c := cptest.Client(t)
	w := &world{
		T: t, Client: c, namespace: cptest.Namespace(t), requests: &requests{},
		clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)),
	}
	w.startCache()
	w.receiver = webhook.New(w.cached, w.live, webhook.Options{Clock: w.clock})
	w.secret("hook", map[string]string{"secret": secret})
	w.source("shop", nil)
	return w
}

// startCache runs a cache of the namespace. It counts requests through it and past it, without
// watches.
func (w *world) startCache() {
	w.Helper()
	cfg := cptest.Config(w.T)
	cfg.QPS = -1
	cfg.Wrap(w.requests.wrap)
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  w.Scheme(),
		Logger:  logr.Discard(),
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		w.Fatalf("make manager: %v", err)
	}
	w.cached, w.live = mgr.GetClient(), mgr.GetAPIReader()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	w.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.Errorf("run manager: %v", err)
		}
	})
	for _, object := range []client.Object{&v1alpha1.ReleaseSource{}, &v1alpha1.Gate{}, &v1alpha1.BatchRelease{}} {
		if _, err := mgr.GetCache().GetInformer(w.Context(), object); err != nil {
			w.Fatalf("start cache: %v", err)
		}
	}
	if !mgr.GetCache().WaitForCacheSync(w.Context()) { // its lists are no requests of a webhook
		w.Fatal("the cache did not start")
	}
}

// requests counts what is asked of the API server.
type requests struct {
	mu  sync.Mutex
	all []string
}

func (r *requests) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.URL.Query().Get("watch") == "" {
			r.mu.Lock()
			r.all = append(r.all, req.Method+" "+req.URL.Path)
			r.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

// take returns what was asked since it was last called.
func (r *requests) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.all
	r.all = nil
	return taken
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (w *world) create(object client.Object) {
	w.Helper()
	if err := w.Create(w.Context(), object); err != nil {
		w.Fatalf("create %T: %v", object, err)
	}
}

// inCache waits until the receiver's cache has an object as it is now.
func (w *world) inCache(object client.Object) {
	w.Helper()
	cptest.Eventually(w.T, soon, func() error {
		seen := object.DeepCopyObject().(client.Object)
		if err := w.cached.Get(w.Context(), client.ObjectKeyFromObject(object), seen); err != nil {
			return fmt.Errorf("read %T from the cache: %w", object, err)
		}
		if seen.GetResourceVersion() != object.GetResourceVersion() {
			return fmt.Errorf("the cache has %T %s at %s, want %s", object, object.GetName(), seen.GetResourceVersion(), object.GetResourceVersion())
		}
		return nil
	})
}

func (w *world) secret(name string, data map[string]string) {
	w.Helper()
	object := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, StringData: data}
	err := w.Client.Delete(w.Context(), object)
	if client.IgnoreNotFound(err) != nil {
		w.Fatalf("delete secret: %v", err)
	}
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, StringData: data})
}

func (w *world) source(name string, change func(*v1alpha1.ReleaseSource)) *v1alpha1.ReleaseSource {
	w.Helper()
	source := &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: v1alpha1.ReleaseSourceSpec{
			URL:              "https://forge.test/acme/shop.git",
			Ref:              v1alpha1.GitReference{Branch: "main"},
			Forge:            &v1alpha1.Forge{Owner: "acme", Repo: "shop", SecretRef: v1alpha1.LocalReference{Name: "token"}},
			WebhookSecretRef: &v1alpha1.LocalReference{Name: "hook"},
		},
	}
	if change != nil {
		change(source)
	}
	w.create(source)
	w.inCache(source)
	return source
}

// release makes a release that came from a source.
func (w *world) release(name, source string) *v1alpha1.BatchRelease {
	w.Helper()
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: map[string]string{v1alpha1.SourceLabel: source}},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			Strategy:    v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}},
		},
	}
	w.create(release)
	w.inCache(release)
	return release
}

// gate makes a gate of a release on a commit, in the state that the change gives it.
func (w *world) gate(name string, release *v1alpha1.BatchRelease, policy v1alpha1.GatePolicy, change func(*v1alpha1.GateStatus)) *v1alpha1.Gate {
	w.Helper()
	gate := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: release.Name, UID: release.UID},
			Revision:   "7f9c", Attempt: 1, Type: policy.Type(), Policy: policy, Nonce: name, Commit: commit,
		},
	}
	w.create(gate)
	before := gate.DeepCopy()
	gate.Status.Decision = v1alpha1.DecisionWaiting
	if change != nil {
		change(&gate.Status)
	}
	if err := w.Status().Patch(w.Context(), gate, client.MergeFrom(before)); err != nil {
		w.Fatalf("write status of gate: %v", err)
	}
	w.inCache(gate)
	return gate
}

// commit that is released.
const commit = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"

// hook is a webhook for the source "shop" before it is sent.
type hook struct {
	path, event, guid, secret string
	body                      []byte
	// change the request after it was signed.
	change func(*http.Request)
}

func sign(body []byte, secret string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// hook makes a webhook with a number of its own.
func (w *world) hook(event, payload string) hook {
	w.guids++
	return hook{
		path: "/hooks/" + w.namespace + "/shop", event: event, guid: fmt.Sprintf("72d3162e-cc78-11e3-81ab-%012d", w.guids),
		secret: secret, body: []byte(payload),
	}
}

func (h hook) request() *http.Request {
	req := httptest.NewRequest(http.MethodPost, h.path, bytes.NewReader(h.body))
	req.RemoteAddr = "192.0.2.1:1234"
	for key, value := range map[string]string{
		"Content-Type": "application/json", "X-GitHub-Event": h.event, "X-GitHub-Delivery": h.guid, "X-Hub-Signature-256": sign(h.body, h.secret),
	} {
		req.Header.Set(key, value)
	}
	if h.change != nil {
		h.change(req)
	}
	return req
}

// send lets the receiver answer a webhook.
func (w *world) send(h hook) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	w.receiver.ServeHTTP(recorder, h.request())
	return recorder
}

// want sends a webhook and checks what it is answered.
func (w *world) want(h hook, status int, words string) {
	w.Helper()
	if got := w.send(h); got.Code != status || !strings.Contains(got.Body.String(), words) {
		w.Errorf("%s: got %d %q, want %d with %q", h.event, got.Code, got.Body, status, words)
	}
}

// asked tells, by kind and name, which objects of the namespace are to be looked at, and when that
// was asked for.
func (w *world) asked() map[string]string {
	w.Helper()
	found := map[string]string{}
	var sources v1alpha1.ReleaseSourceList
	var gates v1alpha1.GateList
	for _, list := range []client.ObjectList{&sources, &gates} {
		if err := w.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
			w.Fatal(err)
		}
	}
	for _, s := range sources.Items {
		if at := s.Annotations[v1alpha1.RequestedAtAnnotation]; at != "" {
			found["source "+s.Name] = at
		}
	}
	for _, g := range gates.Items {
		if at := g.Annotations[v1alpha1.RequestedAtAnnotation]; at != "" {
			found["gate "+g.Name] = at
		}
	}
	return found
}

// forget takes back all that was asked for.
func (w *world) forget() {
	w.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+v1alpha1.RequestedAtAnnotation+`":null}}}`))
	for _, object := range []client.Object{&v1alpha1.ReleaseSource{}, &v1alpha1.Gate{}} {
		for named := range w.asked() {
			kind, name, _ := strings.Cut(named, " ")
			if _, isGate := object.(*v1alpha1.Gate); isGate != (kind == "gate") {
				continue
			}
			object.SetNamespace(w.namespace)
			object.SetName(name)
			if err := w.Patch(w.Context(), object, patch); err != nil {
				w.Fatal(err)
			}
		}
	}
}

const repository = `"repository":{"id":7,"full_name":"acme/shop"}`

func push(branch string) string {
	return fmt.Sprintf(`{"ref":"refs/heads/%s","after":"%s",%s}`, branch, commit, repository)
}

func pull(action string, number int, merged bool, base string) string {
	return fmt.Sprintf(`{"action":%q,"number":%d,"pull_request":{"number":%[2]d,"merged":%t,"base":{"ref":%q},"head":{"sha":%q}},%s}`,
		action, number, merged, base, commit, repository)
}

// pullFrom returns a pull request that was closed, of a branch.
func pullFrom(number int, head string) string {
	return fmt.Sprintf(`{"action":"closed","number":%d,"pull_request":{"number":%[1]d,"base":{"ref":"main"},"head":{"ref":%q,"sha":%q}},%s}`,
		number, head, commit, repository)
}

func review(action string, number int) string {
	return fmt.Sprintf(`{"action":%q,"pull_request":{"number":%d,"base":{"ref":"main"}},%s}`, action, number, repository)
}

func status(sha, context string) string {
	return fmt.Sprintf(`{"sha":%q,"context":%q,"state":"success",%s}`, sha, context, repository)
}

func check(kind, action, sha, name, app string) string {
	return fmt.Sprintf(`{"action":%q,%q:{"head_sha":%q,"name":%q,"app":{"slug":%q}},%s}`, action, kind, sha, name, app, repository)
}
