package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/telemetry/notices"
)

// receiver takes notices as they are sent, over HTTP.
type receiver struct {
	url  string
	away atomic.Bool

	lock sync.Mutex
	got  []arrived
}

// arrived is a notice as a receiver reads it.
type arrived struct {
	ID   string         `json:"id"`
	Data notices.Notice `json:"data"`
	Text string         `json:"text"`

	raw string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/T0/B0/very-secret"
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if r.away.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	body, _ := io.ReadAll(request.Body)
	var one arrived
	if err := json.Unmarshal(body, &one); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	one.raw = string(body)
	r.lock.Lock()
	defer r.lock.Unlock()
	r.got = append(r.got, one)
}

// kinds returns the kinds of the received notices, in order.
func (r *receiver) kinds() []string {
	r.lock.Lock()
	defer r.lock.Unlock()
	var kinds []string
	for _, one := range r.got {
		kinds = append(kinds, string(one.Data.Kind))
	}
	return kinds
}

// await waits for notices of these kinds, and no others.
func (r *receiver) await(t *testing.T, want ...string) {
	t.Helper()
	cptest.Eventually(t, soon, func() error {
		if diff := cmp.Diff(want, r.kinds()); diff != "" {
			return fmt.Errorf("notices: -want +got:\n%s", diff)
		}
		return nil
	})
}

// noticesTo writes a configuration for receivers of CloudEvents that get all kinds.
func noticesTo(t *testing.T, namespace string, receivers ...*receiver) app.Options {
	t.Helper()
	text := "receivers:\n"
	for i, r := range receivers {
		text += fmt.Sprintf("- {name: r%d, type: cloudevents, url: %q}\n", i, r.url)
	}
	path := filepath.Join(t.TempDir(), "notices.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatalf("write configuration: %v", err)
	}
	return app.Options{Namespaces: []string{namespace}, LeaseNamespace: namespace, NoticesConfig: path, NoticesPoll: 100 * time.Millisecond}
}

// awaitRecord waits until the record says that everything is delivered.
func awaitRecord(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	cptest.Eventually(t, soon, func() error {
		var record corev1.ConfigMap
		return c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: notices.RecordName}, &record)
	})
}

// TestNotices: a release gives exactly the notices that people expect, each once, although the
// controller is started again in each of its phases, and while a receiver is away.
func TestNotices(t *testing.T) {
	t.Parallel()
	c, namespace := newClient(t), cptest.Namespace(t)
	first, second := newReceiver(t), newReceiver(t)
	options := noticesTo(t, namespace, first, second)
	controller := start(t, cptest.Config(t), options)
	awaitRecord(t, c, namespace)
	again := func() {
		t.Helper()
		if err := controller.stop(); err != nil {
			t.Fatalf("stop controller: %v", err)
		}
		controller = start(t, cptest.Config(t), options)
	}
	second.away.Store(true)
	release := newRelease(t, namespace)
	create(t, c, newDeployment(namespace), release)
	awaitRelease(t, c, release, "blocking", blocking)
	first.await(t, "ReleaseStarted", "GateOpened")
	again()
	second.away.Store(false)
	second.await(t, "ReleaseStarted", "GateOpened")
	if err := controller.stop(); err != nil {
		t.Fatalf("stop controller: %v", err)
	}
	confirm(t, c, release)
	controller = start(t, cptest.Config(t), options)
	awaitRelease(t, c, release, "completed", completed)
	again()
	for _, r := range []*receiver{first, second} {
		r.await(t, "ReleaseStarted", "GateOpened", "ReleaseCompleted")
	}
	again()
	annotate(t, c, release, v1alpha1.RollbackAnnotation)
	awaitRelease(t, c, release, "rolled back", func(s v1alpha1.BatchReleaseStatus) bool { return completed(s) && s.Rollback != nil })
	for _, r := range []*receiver{first, second} {
		r.await(t, "ReleaseStarted", "GateOpened", "ReleaseCompleted", "RollbackStarted", "RolledBack")
		ids := map[string]bool{}
		all := r.all()
		for _, one := range all {
			ids[one.ID] = true
		}
		if len(ids) != len(all) {
			t.Errorf("want an ID for each notice, got %v", ids)
		}
	}
}

func annotate(t *testing.T, c client.Client, release *v1alpha1.BatchRelease, key string) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, key))
	if err := c.Patch(t.Context(), release.DeepCopy(), patch); err != nil {
		t.Fatalf("annotate: %v", err)
	}
}
