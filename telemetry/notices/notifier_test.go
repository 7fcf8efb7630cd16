package notices

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// server is an API server that has a record, and hangs when it is written.
type server struct {
	client.Reader
	client.Writer

	record []byte
	// written gets each write that begins.
	written chan bool
}

// Get implements client.Reader.
func (s *server) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if s.record == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	object.(*corev1.ConfigMap).BinaryData = map[string][]byte{recordKey: s.record}
	return nil
}

// Update implements client.Writer.
func (s *server) Update(ctx context.Context, _ client.Object, _ ...client.UpdateOption) error {
	select {
	case s.written <- true:
	default:
	}
	<-ctx.Done()
	return ctx.Err()
}

// blind is a cache that can watch nothing.
type blind struct{ cache.Cache }

// GetInformer implements cache.Cache.
func (blind) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return nil, errors.New("no kind is known")
}

// notifier returns a Notifier with a receiver for releases of the namespace shop, which are
// pending.
func notifier(t *testing.T, objects cache.Cache, address string) (*Notifier, *server) {
	t.Helper()
	n := Notice{Kind: story.ReleaseStarted, Namespace: "shop", Release: "web"}
	packed, _, err := encodeRecord(&record{Version: recordVersion, Pending: []*pending{{ID: "1", Notice: n, Receivers: []string{"r"}}}})
	if err != nil {
		t.Fatalf("pack: %v", err)
	}
	path := filepath.Join(t.TempDir(), "notices.yaml")
	configure(t, path, address)
	config, err := Load(path)
	if err != nil {
		t.Fatalf("read configuration: %v", err)
	}
	api := &server{record: packed, written: make(chan bool, 1)}
	return &Notifier{
		objects: objects, store: &store{reader: api, writer: api, namespace: "sluice"}, clock: clock.RealClock{},
		options: Options{Path: path, Poll: time.Hour}, logger: logr.Discard(), config: config,
	}, api
}

func configure(t *testing.T, path, address string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("receivers:\n- {name: r, type: cloudevents, url: '"+address+"'}\n"), 0o600); err != nil {
		t.Fatalf("write configuration: %v", err)
	}
}

// started runs a Notifier. The channel receives its end.
func started(ctx context.Context, n *Notifier) <-chan error {
	ended := make(chan error, 1)
	go func() { ended <- n.Start(ctx) }()
	return ended
}

const soon = 30 * time.Second

// TestNotifierCanNotWatch: a notifier that can't watch says so at once, whatever is pending.
func TestNotifierCanNotWatch(t *testing.T) {
	t.Parallel()
	n, _ := notifier(t, blind{}, "http://127.0.0.1:1/")
	select {
	case err := <-started(t.Context(), n):
		if err == nil || !strings.Contains(err.Error(), "watch *v1alpha1.BatchRelease: no kind is known") {
			t.Errorf("want the error of the watch, got %v", err)
		}
	case <-time.After(soon):
		t.Error("want an error, the notifier hangs")
	}
}

// TestNotifierEndsInTime: it ends within seconds, although a receiver and the API server hang.
func TestNotifierEndsInTime(t *testing.T) {
	t.Parallel()
	asked := make(chan bool, 1)
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		_, _ = io.Copy(io.Discard, request.Body) // or the server does not see that the notifier goes away
		select {
		case asked <- true:
		default:
		}
		<-request.Context().Done()
	}))
	defer silent.Close()
	n, api := notifier(t, &informertest.FakeInformers{Scheme: kube.NewScheme()}, silent.URL)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := started(ctx, n)
	<-asked
	<-api.written
	cancel()
	began := time.Now()
	select {
	case err := <-ended:
		if took := time.Since(began); err != nil || took > lastWrites+requestTimeout/2 { // on a busy machine, and before the request would end by itself
			t.Errorf("want an end within %s, it took %s, %v", lastWrites, took, err)
		}
	case <-time.After(soon):
		t.Error("the notifier does not end")
	}
}

// TestStandbyReadsAgain: a notifier that takes over long after it was made sends to the receivers
// that the file names by then.
func TestStandbyReadsAgain(t *testing.T) {
	t.Parallel()
	asked := make(chan bool, 1)
	now := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case asked <- true:
		default:
		}
	}))
	defer now.Close()
	n, _ := notifier(t, &informertest.FakeInformers{Scheme: kube.NewScheme()}, "http://127.0.0.1:1/")
	configure(t, n.options.Path, now.URL)
	started(t.Context(), n)
	select {
	case <-asked:
	case <-time.After(soon):
		t.Error("want a notice at the receiver that is configured now")
	}
}

// TestReleaseMadeAgain: one that was deleted and made again under its name while nobody watched is
// told as deleted, and the new one as begun.
func TestReleaseMadeAgain(t *testing.T) {
	t.Parallel()
	d := bench(nil)
	d.settle()
	before, after := releaseAt("web", 0, 1, v1alpha1.PhaseRollingUpdate), releaseAt("web", 1, 1, v1alpha1.PhaseInitial)
	after.UID = "another"
	handler := releases{clock.RealClock{}, d}
	handler.OnAdd(before, false)
	d.told()
	handler.OnUpdate(before, after)
	want(t, "made again", d.told(), "web ReleaseDeleted", "web ReleaseStarted")
	if _, kept := d.seen[before.UID]; kept {
		t.Error("want the one that is gone forgotten")
	}
}
