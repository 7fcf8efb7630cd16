package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/webhook"
)

// TestForged: every unsigned request gets the same answer, and has no effect but a read of the
// secret.
func TestForged(t *testing.T) {
	w := newWorld(t)
	w.source("no-secret", func(s *v1alpha1.ReleaseSource) { s.Spec.WebhookSecretRef = nil })
	w.source("lost-secret", func(s *v1alpha1.ReleaseSource) { s.Spec.WebhookSecretRef.Name = "lost" })
	w.source("empty-secret", func(s *v1alpha1.ReleaseSource) { s.Spec.WebhookSecretRef.Name = "empty" })
	w.secret("empty", map[string]string{"secret": "", "secret.next": "\n", "other": secret})
	w.requests.take()
	read := func(name string) []string {
		return []string{"GET /api/v1/namespaces/" + w.namespace + "/secrets/" + name}
	}
	tests := []struct {
		reason string
		change func(*hook)
		reads  []string
	}{
		{"another secret", func(h *hook) { h.secret = "guessed" }, read("hook")},
		{"no secret", func(h *hook) { h.secret = "" }, nil},
		{"no signature", func(h *hook) { h.change = func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") } }, nil},
		{"the old signature", func(h *hook) {
			h.change = func(r *http.Request) {
				r.Header.Set("X-Hub-Signature", "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59")
				r.Header.Del("X-Hub-Signature-256")
			}
		}, nil},
		{"another body", func(h *hook) {
			h.change = func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(push("prod"))) }
		}, nil},
		{"an unknown source", func(h *hook) { h.path += "2" }, nil},
		{"an unknown namespace", func(h *hook) { h.path = "/hooks/kube-system/shop" }, nil},
		{"a name that is none", func(h *hook) { h.path = "/hooks/..%2f..%2fapi/%00" }, nil},
		{"a source without secret", func(h *hook) { h.path = "/hooks/" + w.namespace + "/no-secret"; h.secret = "" }, nil},
		{"a Secret that is not there", func(h *hook) { h.path = "/hooks/" + w.namespace + "/lost-secret"; h.secret = "" }, read("lost")},
		{"an empty Secret", func(h *hook) { h.path = "/hooks/" + w.namespace + "/empty-secret"; h.secret = "" }, read("empty")},
	}
	var first *httptest.ResponseRecorder
	for _, tt := range tests {
		h := w.hook("push", push("main"))
		tt.change(&h)
		got := w.send(h)
		if first == nil {
			first = got
		}
		if got.Code != http.StatusUnauthorized || got.Body.String() != first.Body.String() || !cmp.Equal(got.Header(), first.Header()) {
			t.Errorf("%s: got %d %v %q, want 401 %v %q", tt.reason, got.Code, got.Header(), got.Body, first.Header(), first.Body)
		}
		if diff := cmp.Diff(tt.reads, w.requests.take()); diff != "" {
			t.Errorf("%s: requests to the API server (-want +got):\n%s", tt.reason, diff)
		}
	}
	if asked := w.asked(); len(asked) > 0 {
		t.Errorf("forged webhooks had %v looked at", asked)
	}
	w.want(w.hook("push", push("main")), http.StatusAccepted, "accepted")
}

// TestFloodOfForgeries: requests without the secret cause one read of it in two seconds, and no
// more.
func TestFloodOfForgeries(t *testing.T) {
	w := newWorld(t)
	w.requests.take()
	for i := range 250 {
		h := w.hook("push", push("main"))
		h.secret = "guessed"
		h.change = func(r *http.Request) { r.RemoteAddr = fmt.Sprintf("198.51.100.%d:1", i) }
		w.want(h, http.StatusUnauthorized, "not signed")
		if i == 99 {
			w.clock.SetTime(w.clock.Now().Add(2 * time.Second))
		}
	}
	if reads := w.requests.take(); len(reads) != 2 {
		t.Errorf("250 forged webhooks in two seconds: %v; want the secret read twice", reads)
	}
}

func TestRepeated(t *testing.T) {
	w := newWorld(t)
	taken := w.hook("push", push("main"))
	w.want(taken, http.StatusAccepted, "accepted")
	w.forget()
	w.requests.take()
	w.want(taken, http.StatusAccepted, "already taken")
	replayed := taken
	replayed.guid = "made-up"
	w.want(replayed, http.StatusAccepted, "already taken")
	replayed.guid = ""
	replayed.change = func(r *http.Request) {
		name := "X-Hub-Signature-256"
		r.Header.Set(name, "sha256="+strings.ToUpper(strings.TrimPrefix(r.Header.Get(name), "sha256=")))
	}
	w.want(replayed, http.StatusAccepted, "already taken")
	renumbered := w.hook("push", push("main")+" ")
	renumbered.guid = taken.guid
	w.want(renumbered, http.StatusAccepted, "already taken")
	if requests := w.requests.take(); len(requests) > 0 || len(w.asked()) > 0 {
		t.Errorf("repeated webhooks: asked %v, %v looked at", requests, w.asked())
	}

	// The same to another source is another webhook.
	w.source("twin", nil)
	twin := taken
	twin.path = "/hooks/" + w.namespace + "/twin"
	w.want(twin, http.StatusAccepted, "accepted")
}

// TestRepeatedAtOnce: of webhooks that come at once and twice, one of each does something.
func TestRepeatedAtOnce(t *testing.T) {
	w := newWorld(t)
	hooks := []hook{w.hook("push", push("main")), w.hook("push", push("main")+" ")}
	w.want(w.hook("ping", "{}"), http.StatusAccepted, "accepted")
	w.requests.take()
	var group sync.WaitGroup
	for range 10 {
		for _, h := range hooks {
			group.Go(func() { w.want(h, http.StatusAccepted, "") })
		}
	}
	group.Wait()
	if patches := w.requests.take(); len(patches) != len(hooks) {
		t.Errorf("two webhooks, ten times each: %v, want two patches", patches)
	}
}

// TestReordered: the order of webhooks means nothing: each only says where to look.
func TestReordered(t *testing.T) {
	w := newWorld(t)
	for _, h := range []hook{
		w.hook("pull_request", pull("closed", 12, true, "main")),
		w.hook("push", push("main")),
		w.hook("push", strings.Replace(push("main"), commit, strings.Repeat("0", 40), 1)),
		w.hook("pull_request", pull("opened", 12, false, "main")),
	} {
		w.want(h, http.StatusAccepted, "")
	}
	if asked := w.asked(); len(asked) != 1 || asked["source shop"] == "" {
		t.Errorf("%v is to be looked at, want the source", asked)
	}
}

func TestAnotherRepository(t *testing.T) {
	w := newWorld(t)
	w.want(w.hook("push", strings.Replace(push("main"), "acme/shop", "evil/shop", 1)), http.StatusAccepted, "another repository")
	if asked := w.asked(); len(asked) > 0 {
		t.Errorf("a webhook of another repository had %v looked at", asked)
	}
}

// endless is a body that counts what is read of it.
type endless struct{ left, read int }

func (e *endless) Read(p []byte) (int, error) {
	n := min(len(p), e.left)
	if n == 0 {
		return 0, io.EOF
	}
	e.left, e.read = e.left-n, e.read+n
	for i := range p[:n] {
		p[i] = ' '
	}
	return n, nil
}

func TestLargeBodies(t *testing.T) {
	w := newWorld(t)
	w.requests.take()
	const cap = 5 << 20
	for _, tt := range []struct {
		reason        string
		size          int
		declared      bool
		status, most  int
		afterSomeMore int
	}{
		{"25 MB that are declared", 25 << 20, true, http.StatusRequestEntityTooLarge, 0, 0},
		{"25 MB that are not", 25 << 20, false, http.StatusRequestEntityTooLarge, cap + 64<<10, 0},
		{"one byte too many", cap + 1, false, http.StatusRequestEntityTooLarge, cap + 64<<10, 0},
		{"as much as may be", cap, true, http.StatusUnauthorized, cap, 0},
	} {
		body := &endless{left: tt.size}
		h := w.hook("push", "")
		h.change = func(r *http.Request) {
			r.Body, r.ContentLength = io.NopCloser(body), -1
			if tt.declared {
				r.ContentLength = int64(tt.size)
			}
		}
		w.want(h, tt.status, "")
		if body.read > tt.most {
			t.Errorf("%s: %d bytes were read, want at most %d", tt.reason, body.read, tt.most)
		}
	}
	if requests := w.requests.take(); len(requests) > 1 {
		t.Errorf("large bodies: asked %v", requests)
	}
}

func TestBodiesThatEndEarly(t *testing.T) {
	w := newWorld(t)
	h := w.hook("push", push("main"))
	h.change = func(r *http.Request) { r.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), broken{})) }
	w.want(h, http.StatusBadRequest, "can't be read")
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestBodiesAtOnce: Bodies in memory at once are bounded, of all, of one address and of one source:
// more are turned away at once, not kept waiting.
func TestBodiesAtOnce(t *testing.T) {
	w := newWorld(t)
	w.source("other", nil)
	w.source("third", nil)
	release, reading := make(chan struct{}), make(chan struct{})
	var group sync.WaitGroup
	from := func(address, source string) hook {
		h := w.hook("ping", fmt.Sprint(`{"n":`, w.guids, `}`))
		h.path = "/hooks/" + w.namespace + "/" + source
		h.change = func(r *http.Request) { r.RemoteAddr = address }
		return h
	}
	fill := func(address, source string, count int) {
		for range count {
			h := from(address, source)
			h.change = func(r *http.Request) {
				r.RemoteAddr, r.Body, r.ContentLength = address, io.NopCloser(&held{left: 5 << 20, reading: reading, release: release}), -1
			}
			group.Go(func() { w.send(h) })
		}
		for range count {
			<-reading
		}
	}
	fill("192.0.2.7:1", "shop", 8)
	fill("192.0.2.7:1", "other", 8)
	w.want(from("192.0.2.7:2", "third"), http.StatusServiceUnavailable, "at once") // of one address
	w.want(from("192.0.2.8:1", "shop"), http.StatusAccepted, "accepted")
	fill("192.0.2.8:1", "shop", 8)
	w.want(from("192.0.2.9:1", "shop"), http.StatusServiceUnavailable, "at once") // of one source
	w.want(from("192.0.2.9:1", "third"), http.StatusAccepted, "accepted")
	fill("192.0.2.9:1", "other", 8)
	w.want(from("192.0.2.10:1", "third"), http.StatusServiceUnavailable, "at once") // of all
	close(release)
	group.Wait()
	w.want(from("192.0.2.7:1", "shop"), http.StatusAccepted, "accepted")
}

func TestMalformed(t *testing.T) {
	w := newWorld(t)
	for _, payload := range []string{"", "{", "null", "[]", "{}", `{"repository":7}`, push("main") + "}", strings.Repeat("[", 1<<20)} {
		w.want(w.hook("push", payload), http.StatusBadRequest, "can't be read")
	}
	if asked := w.asked(); len(asked) > 0 {
		t.Errorf("malformed webhooks had %v looked at", asked)
	}
	// It was not taken, so its number is free.
	h := w.hook("push", "{")
	w.want(h, http.StatusBadRequest, "can't be read")
	h.body = []byte(push("main"))
	w.want(h, http.StatusAccepted, "accepted")
}

func TestRequestsThatAreNoWebhooks(t *testing.T) {
	w := newWorld(t)
	w.requests.take()
	for _, tt := range []struct {
		change func(*http.Request)
		status int
	}{
		{func(r *http.Request) { r.Method = http.MethodGet }, http.StatusMethodNotAllowed},
		{func(r *http.Request) { r.Method = http.MethodPut }, http.StatusMethodNotAllowed},
		{func(r *http.Request) { r.URL.Path = "/" }, http.StatusNotFound},
		{func(r *http.Request) { r.URL.Path += "/more" }, http.StatusNotFound},
		{func(r *http.Request) { r.Header.Del("Content-Type") }, http.StatusUnsupportedMediaType},
		{func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }, http.StatusUnsupportedMediaType},
		{func(r *http.Request) { r.Header.Set("Content-Type", "application/jsonp;;") }, http.StatusUnsupportedMediaType},
	} {
		h := w.hook("push", push("main"))
		h.change = tt.change
		w.want(h, tt.status, "")
	}
	if requests := w.requests.take(); len(requests) > 0 {
		t.Errorf("asked %v", requests)
	}
	h := w.hook("push", push("main"))
	h.change = func(r *http.Request) { r.Header.Set("Content-Type", "Application/JSON; charset=utf-8") }
	w.want(h, http.StatusAccepted, "accepted")
}

// TestRateLimit: unsigned requests have a limit for each address, and take nothing from other
// addresses or from signed ones.
func TestRateLimit(t *testing.T) {
	w := newWorld(t)
	signed := func(address string) hook {
		h := w.hook("ping", fmt.Sprint(`{"n":`, w.guids, `}`))
		h.change = func(r *http.Request) { r.RemoteAddr = address }
		return h
	}
	from := func(address string) hook {
		h := signed(address)
		h.secret = "guessed"
		return h
	}
	allowed := func(address string) int {
		n := 0
		for w.send(from(address)).Code != http.StatusTooManyRequests {
			n++
		}
		return n
	}
	if n := allowed("192.0.2.7:1"); n != 100 {
		t.Errorf("%d webhooks at once were read from one address, want 100", n)
	}
	limited := w.send(from("192.0.2.7:2"))
	if limited.Code != http.StatusTooManyRequests || limited.Header().Get("Retry-After") == "" {
		t.Errorf("from another port: got %d with %v", limited.Code, limited.Header())
	}
	w.want(signed("192.0.2.7:3"), http.StatusAccepted, "")
	w.want(from("192.0.2.8:1"), http.StatusUnauthorized, "")
	w.want(from("[::ffff:192.0.2.7]:1"), http.StatusTooManyRequests, "")
	if n := allowed("[2001:db8::1]:1"); n != 100 {
		t.Errorf("%d webhooks at once were read from one address, want 100", n)
	}
	w.want(from("[2001:db8::ffff:1]:1"), http.StatusTooManyRequests, "") // of the same network
	w.want(from("[2001:db8:0:1::1]:1"), http.StatusUnauthorized, "")
	w.clock.SetTime(w.clock.Now().Add(time.Second))
	if n := allowed("192.0.2.7:1"); n != 20 {
		t.Errorf("a second later %d were read, want 20", n)
	}
	allowed("no address")
	w.want(from(""), http.StatusTooManyRequests, "")
	for range 300 {
		w.want(signed("192.0.2.9:1"), http.StatusAccepted, "")
	}
}

// TestRateLimitOfWhatIsNoWebhook: every kind of request without a signature counts: of no path, of
// another method, with no header, too large.
func TestRateLimitOfWhatIsNoWebhook(t *testing.T) {
	w := newWorld(t)
	for i, change := range []func(*http.Request){
		func(r *http.Request) { r.URL.Path = "/" },
		func(r *http.Request) { r.Method = http.MethodGet },
		func(r *http.Request) { r.Header.Del("Content-Type") },
		func(r *http.Request) { r.Header.Del("X-Hub-Signature-256") },
		func(r *http.Request) { r.Header.Set("X-Hub-Signature-256", "sha256=short") },
		func(r *http.Request) { r.URL.Path = "/hooks/no/such" },
		func(r *http.Request) { r.ContentLength = 25 << 20 },
	} {
		h := w.hook("ping", "{}")
		h.change = func(r *http.Request) {
			r.RemoteAddr = fmt.Sprintf("198.51.100.%d:1", i)
			change(r)
		}
		for range 100 {
			w.send(h)
		}
		w.want(h, http.StatusTooManyRequests, "")
	}
}

// TestRateLimitBehindAProxy: Behind a proxy that is trusted each client has its own limits, which
// no header of its own changes.
func TestRateLimitBehindAProxy(t *testing.T) {
	w := newWorld(t)
	w.receiver = webhook.New(w.cached, w.live, webhook.Options{Clock: w.clock, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	from := func(forwarded string) hook {
		h := w.hook("ping", "{}")
		h.secret = "guessed"
		h.change = func(r *http.Request) {
			r.RemoteAddr = "10.0.0.5:40000"
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		return h
	}
	for i := range 100 {
		w.want(from(fmt.Sprintf("192.0.2.%d, 203.0.113.66", i)), http.StatusUnauthorized, "")
	}
	w.want(from("192.0.2.200, 203.0.113.66"), http.StatusTooManyRequests, "")
	w.want(from("203.0.113.67"), http.StatusUnauthorized, "")
}

// unwell is an API server's client in trouble.
type unwell struct {
	client.Client
	patch func() error
}

func (u *unwell) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := u.patch(); err != nil {
		return err
	}
	return u.Client.Patch(ctx, object, patch, options...)
}

// TestTroubleWithTheAPIServer: an error of one webhook harms no other, and the forge can send it
// again.
func TestTroubleWithTheAPIServer(t *testing.T) {
	w := newWorld(t)
	var trouble func() error
	w.receiver = webhook.New(&unwell{Client: w.cached, patch: func() error { return trouble() }}, w.live, webhook.Options{Clock: w.clock})
	h := w.hook("push", push("main"))

	trouble = func() error { return errors.New("etcd is away") }
	w.want(h, http.StatusInternalServerError, "could not be passed on")
	trouble = func() error { panic("a bug") }
	w.want(h, http.StatusInternalServerError, "internal error")
	trouble = func() error { return nil }
	w.want(h, http.StatusAccepted, "accepted")
	w.want(h, http.StatusAccepted, "already taken")
	if w.asked()["source shop"] == "" {
		t.Error("the webhook did nothing in the end")
	}
}
