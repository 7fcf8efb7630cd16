package dashboard

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/internal/kube"
)

// streaming serves the stream of a listener that wants releases, and says how many streams have
// ended.
func streaming(t *testing.T) (d *Dashboard, address string, ended chan struct{}) {
	t.Helper()
	d, ended = New(Options{Logger: logr.Discard(), Clock: clock.RealClock{}}), make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		changes, end := d.hub.listen(func(c change) bool { return c.kind == kindRelease })
		d.stream(r.Context(), w, changes)
		end()
		ended <- struct{}{}
	}))
	t.Cleanup(server.Close)
	return d, server.URL, ended
}

func listenTo(ctx context.Context, t *testing.T, address string) *bufio.Reader {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("a stream of events is of the type %q", kind)
	}
	events := bufio.NewReader(answer.Body)
	wantLines(t, events, "retry: 2000", "")
	return events
}

func wantLines(t *testing.T, events *bufio.Reader, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if got, err := events.ReadString('\n'); err != nil || got != want+"\n" {
			t.Fatalf("the stream says %q, %v; want %q", got, err, want)
		}
	}
}

// TestStreamsTellOnceAndEnd: a stream sends one event for many changes at once, and none for
// changes that it did not subscribe to. One that has ended leaves nothing in memory.
func TestStreamsTellOnceAndEnd(t *testing.T) {
	t.Parallel()
	d, address, ended := streaming(t)
	ctx, leave := context.WithCancel(t.Context())
	events := listenTo(ctx, t, address)
	d.hub.publish(change{kindSource, "shop", "web"}) // not what it wants
	began := time.Now()
	for range 1000 {
		d.hub.publish(change{kindRelease, "shop", "web"})
	}
	wantLines(t, events, "event: changed", "data: 1", "")
	d.hub.publish(change{kindRelease, "shop", "web"}) // the stream may have taken all of the others for one
	wantLines(t, events, "event: changed", "data: 1", "")
	if took := time.Since(began); took < betweenChanges {
		t.Errorf("a thousand changes were told twice within %v, want at most once in %v", took, betweenChanges)
	}
	leave()
	<-ended
	d.hub.lock.Lock()
	left := len(d.hub.streams)
	d.hub.lock.Unlock()
	if left > 0 {
		t.Errorf("%d streams are still told of changes", left)
	}
}

// TestStreamsAreLimited: no viewer keeps others from following, and places are given back.
func TestStreamsAreLimited(t *testing.T) {
	t.Parallel()
	all := newStreams()
	var leave []func()
	for i := range mostStreams {
		one := all.take(fmt.Sprint("viewer ", i/mostOfOneViewer))
		if one == nil {
			t.Fatalf("stream %d finds no place", i)
		}
		leave = append(leave, one)
	}
	if all.take("another") != nil {
		t.Errorf("there are no more than %d streams", mostStreams)
	}
	var gone sync.WaitGroup
	for _, one := range leave {
		gone.Go(one)
	}
	gone.Wait()
	if all.all != 0 || len(all.of) != 0 {
		t.Errorf("places are given back: %d, %v", all.all, all.of)
	}
	for i := range mostOfOneViewer + 1 {
		if got := all.take("greedy") != nil; got != (i < mostOfOneViewer) {
			t.Errorf("stream %d of one viewer finds a place: %v", i, got)
		}
	}
	if all.take("modest") == nil {
		t.Error("others still find one")
	}
}

// TestStreamsOfOneNamespace: the service accounts of one namespace have a share of the streams,
// however many they are. A name with the look of such an account is nobody else's.
func TestStreamsOfOneNamespace(t *testing.T) {
	t.Parallel()
	all, taken := newStreams(), 0
	var leave []func()
	for i := range mostStreams {
		if one := all.take(fmt.Sprintf("system:serviceaccount:shop:tab-%d", i)); one != nil {
			leave = append(leave, one)
			taken++
		}
	}
	if taken != mostOfOneParty {
		t.Errorf("accounts of one namespace have %d streams, want %d of %d", taken, mostOfOneParty, mostStreams)
	}
	for _, other := range []string{"system:serviceaccount:bank:web", "system:serviceaccounts:bank", "system:serviceaccount:shop", "ada", ""} {
		one := all.take(other)
		if one == nil {
			t.Fatalf("%q finds no place", other)
		}
		leave = append(leave, one)
	}
	for _, one := range leave {
		one()
	}
	if all.all != 0 || len(all.of) != 0 {
		t.Errorf("places are given back: %d, %v", all.all, all.of)
	}
}

// TestWakingNeverBlocks: a listener that does not read holds up no sender.
func TestWakingNeverBlocks(t *testing.T) {
	t.Parallel()
	h := newHub()
	_, end := h.listen(func(change) bool { return true })
	defer end()
	for range 10_000 {
		h.publish(change{})
	}
}

func TestNamesThatNothingCanHave(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"web": true, "web.shop": true, "": false, ".": false, "..": false, "a/b": false, "a%2fb": false, strings.Repeat("a", 300): false,
	} {
		if got := canBe(client.ObjectKey{Namespace: "shop", Name: name}); got != want {
			t.Errorf("an object can be called %.40q: got %v, want %v", name, got, want)
		}
		if name != "" && canBe(client.ObjectKey{Namespace: name, Name: "web"}) != want {
			t.Errorf("a namespace can be called %.40q: want %v", name, want)
		}
	}
}

// ask asks the handler for something, as a viewer or as nobody.
func ask(d *Dashboard, viewer *access.Viewer, path string, header http.Header) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	request.Header = header
	if viewer != nil {
		request = request.WithContext(access.WithViewer(request.Context(), viewer))
	}
	recorded := httptest.NewRecorder()
	d.Handler().ServeHTTP(recorded, request)
	return recorded
}

// open is a door that is open.
type open struct{}

func (open) Wrap(next http.Handler) http.Handler { return access.Secure(next) }

// TestAssets: assets are sent compressed to those who can read that, once to those who have them,
// and without their names being folders of the machine.
func TestAssets(t *testing.T) {
	t.Parallel()
	d := New(Options{Door: open{}, Logger: logr.Discard(), Clock: clock.RealClock{}})
	plain := ask(d, nil, "/assets/style.css", http.Header{})
	small := ask(d, nil, "/assets/style.css", http.Header{"Accept-Encoding": {"br, gzip"}})
	plainBody, smallBody := plain.Body.Bytes(), small.Body.Bytes()
	tag := plain.Header().Get("ETag")
	if tag == "" || !strings.HasPrefix(plain.Header().Get("Content-Type"), "text/css") || plain.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("a style has its type and tag: %v", plain.Header())
	}
	if small.Header().Get("Content-Encoding") != "gzip" || plain.Header().Get("Content-Encoding") != "" || len(smallBody)*2 > len(plainBody) {
		t.Errorf("it is compressed for those who can read that: %d of %d bytes, %v", len(smallBody), len(plainBody), small.Header())
	}
	if again := ask(d, nil, "/assets/style.css", http.Header{"If-None-Match": {tag}}); again.Code != http.StatusNotModified {
		t.Errorf("who has it gets it no second time: %d", again.Code)
	}
	for _, path := range []string{"/assets/", "/assets/..%2fgo.mod", "/assets/../board.go", "/assets/style.css/", "/assets/style.css%00"} {
		if got := ask(d, nil, path, http.Header{}); got.Code == http.StatusOK {
			t.Errorf("%s is there: %d", path, got.Code)
		}
	}
}

// TestNobodyIsShownNothing: a person without a name is shown nothing.
func TestNobodyIsShownNothing(t *testing.T) {
	t.Parallel()
	d := New(Options{Door: open{}, Logger: logr.Discard(), Clock: clock.RealClock{}})
	for _, path := range []string{"/", "/releases/shop/web", "/releases/shop/web/diff?from=a&to=b", "/sources", "/history", "/live?page=releases", "/nowhere"} {
		if got := ask(d, nil, path, http.Header{}); got.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
	me := &access.Viewer{Name: "ada"}
	for path, want := range map[string]int{"/nowhere": 404, "/releases/shop/a%2fb": 404, "/releases/shop": 404, "/live": 404, "/live?page=release&namespace=..&name=..": 404, "/healthz": 200} {
		if got := ask(d, me, path, http.Header{}); got.Code != want {
			t.Errorf("%s: %d, want %d", path, got.Code, want)
		}
	}
}

// TestSourcesAreFollowedLater: pages hear of sources once the API server can be reached, though it
// could not be when the first viewer looked.
func TestSourcesAreFollowedLater(t *testing.T) {
	t.Parallel()
	objects := &informertest.FakeInformers{Scheme: kube.NewScheme()}
	d := New(Options{Objects: objects, Door: open{}, Logger: logr.Discard(), Clock: clock.RealClock{}})
	if err := d.Follow(t.Context()); err != nil {
		t.Fatal(err)
	}
	objects.Error = errors.New("no route to host")
	if err := d.followSources(); err == nil {
		t.Error("it is not said that sources can't be followed")
	}
	objects.Error = nil
	if err := d.followSources(); err != nil || !d.hearSources {
		t.Errorf("later: %v", err)
	}
}
