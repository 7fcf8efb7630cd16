package access

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// home is a dashboard on one's own machine, and the browser of its owner, which takes names below
// localhost for loopback.
type home struct {
	*testing.T

	local   *Local
	address string
	client  *http.Client
}

func newHome(t *testing.T) *home {
	t.Helper()
	local, err := NewLocal(t.Context(), cptest.Config(t), kube.NewScheme())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := Server(local.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if v := ViewerOf(r.Context()); v != nil {
			_, _ = io.WriteString(w, v.Name+" "+v.CSRF)
			return
		}
		_, _ = io.WriteString(w, "public")
	})))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-served })
	h := &home{T: t, local: local, address: listener.Addr().String()}
	h.client = h.browser()
	return h
}

func (h *home) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		h.Fatal(err)
	}
	return &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", h.address)
		}, DisableKeepAlives: true},
	}
}

func (h *home) send(client *http.Client, method, address string, form url.Values, changes ...func(*http.Request)) result {
	h.Helper()
	req, err := http.NewRequestWithContext(h.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		h.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, change := range changes {
		change(req)
	}
	answer, err := client.Do(req)
	if err != nil {
		h.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		h.Fatal(err)
	}
	return result{answer, string(data)}
}

// base returns an address without path and query.
func base(h *home, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		h.Fatal(err)
	}
	return u.Scheme + "://" + u.Host
}

// TestLocalOwner: the owner has an address that works once, and is in by a cookie from then on, as
// whom the API server says.
func TestLocalOwner(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first := h.local.link(h.address, true)
	entered := h.send(h.client, http.MethodGet, first+"&next="+url.QueryEscape("/releases/shop/web"), nil)
	cookies := entered.Cookies()
	if entered.StatusCode != http.StatusOK || len(cookies) != 1 || entered.Header.Get("Refresh") != "0;url=/releases/shop/web" {
		t.Fatalf("got %s, %v, %q", entered.Status, cookies, entered.Header.Get("Refresh"))
	}
	if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Domain != "" || c.Path != "/" || strings.Contains(first, c.Value) {
		t.Errorf("cookie: %+v", c)
	}
	page := h.send(h.client, http.MethodGet, base(h, first)+"/", nil)
	name, csrf, _ := strings.Cut(page.body, " ")
	if page.StatusCode != http.StatusOK || name == "" || name == "you" || csrf == "" {
		t.Fatalf("got %s: %s", page.Status, page.body)
	}
	if got := h.send(h.client, http.MethodPost, base(h, first)+"/", url.Values{CSRFField: {csrf}}); got.StatusCode != http.StatusOK {
		t.Errorf("a form: got %s", got.Status)
	}
	if got := h.send(h.client, http.MethodPost, base(h, first)+"/", url.Values{}); got.StatusCode != http.StatusForbidden {
		t.Errorf("a form without the token: got %s", got.Status)
	}
	evil := func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:9999") }
	if got := h.send(h.client, http.MethodPost, base(h, first)+"/", url.Values{CSRFField: {csrf}}, evil); got.StatusCode != http.StatusForbidden {
		t.Errorf("a form of a page on another port: got %s", got.Status)
	}
	if got := h.send(h.browser(), http.MethodGet, first, nil); got.StatusCode != http.StatusForbidden || len(got.Cookies()) > 0 ||
		!strings.Contains(got.body, "works once") {
		t.Errorf("the address for a second time: got %s: %s", got.Status, got.body)
	}
	second := h.browser()
	h.send(second, http.MethodGet, h.local.PlainURL(h.address), nil)
	if got := h.send(second, http.MethodGet, "http://"+h.address+"/", nil); got.StatusCode != http.StatusOK {
		t.Errorf("another address, without the name: got %s: %s", got.Status, got.body)
	}
}

// TestLocalStrangers: another user of the machine, and a web page, have neither address nor cookie,
// and get nothing.
func TestLocalStrangers(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	first := h.local.link(h.address, true)
	h.send(h.client, http.MethodGet, first, nil)
	secret, cookie := h.local.cookie, h.local.cookieName()
	with := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: cookie, Value: value}) }
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	plain := "http://" + h.address
	cases := map[string]struct {
		reason string
		got    result
		want   int
	}{
		"Curl":    {"no cookie", h.send(h.browser(), http.MethodGet, plain+"/", nil), http.StatusForbidden},
		"Form":    {"no cookie", h.send(h.browser(), http.MethodPost, plain+"/", url.Values{"what": {"approve"}}), http.StatusForbidden},
		"Guess":   {"a wrong cookie", h.send(h.browser(), http.MethodGet, plain+"/", nil, with("x")), http.StatusForbidden},
		"Empty":   {"an empty cookie", h.send(h.browser(), http.MethodGet, plain+"/", nil, with("")), http.StatusForbidden},
		"Token":   {"a wrong token", h.send(h.browser(), http.MethodGet, plain+"/login?token=x", nil), http.StatusForbidden},
		"NoToken": {"no token", h.send(h.browser(), http.MethodGet, plain+"/login?token=", nil), http.StatusForbidden},
		"Rebound": {"a name that was changed to loopback", h.send(h.browser(), http.MethodGet, plain+"/", nil, host("evil.example"), with(secret)), http.StatusMisdirectedRequest},
		"Local":   {"a name that others may serve", h.send(h.browser(), http.MethodGet, plain+"/", nil, host("localhost"), with(secret)), http.StatusMisdirectedRequest},
		"Other":   {"another name below localhost", h.send(h.browser(), http.MethodGet, plain+"/", nil, host("sluice-0.localhost"), with(secret)), http.StatusMisdirectedRequest},
		"Asset":   {"assets are no exception", h.send(h.browser(), http.MethodGet, plain+"/assets/style.css", nil, host("evil.example")), http.StatusMisdirectedRequest},
		"Network": {"an address of the network", h.send(h.browser(), http.MethodGet, plain+"/", nil, host("192.0.2.1"), with(secret)), http.StatusMisdirectedRequest},
	}
	for name, tc := range cases {
		if tc.got.StatusCode != tc.want || len(tc.got.Cookies()) > 0 || strings.Contains(tc.got.body, h.local.viewer.CSRF) {
			t.Errorf("%s, %s: got %s with %v: %s", name, tc.reason, tc.got.Status, tc.got.Cookies(), tc.got.body)
		}
	}
	// Browsers send the cookies of a host to all its ports: a page of another user on 127.0.0.1 must
	// not get this one.
	u, _ := url.Parse(plain)
	if got := h.client.Jar.Cookies(u); len(got) > 0 {
		t.Errorf("the browser sends %v to whoever serves on 127.0.0.1", got)
	}
	if got := h.send(h.client, http.MethodGet, base(h, first)+"/", nil); got.StatusCode != http.StatusOK {
		t.Errorf("the owner: got %s", got.Status)
	}
}

// TestLocalLinks: Few addresses are open at a time.
func TestLocalLinks(t *testing.T) {
	t.Parallel()
	l := &Local{name: "sluice-x.localhost"}
	first := l.link("127.0.0.1:1", true)
	for range maxLinks {
		l.link("127.0.0.1:1", true)
	}
	u, err := url.Parse(first)
	if err != nil || u.Host != "sluice-x.localhost:1" {
		t.Fatalf("%s: %v", first, err)
	}
	if len(l.links) != maxLinks || l.use(u.Query().Get("token")) || !l.use(l.links[0]) {
		t.Errorf("%d are open", len(l.links))
	}
}

// TestListenOnLoopbackAlone: a dashboard with the rights of a kubeconfig is served on this machine
// alone.
func TestListenOnLoopbackAlone(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "localhost:0", "example.com:0", "127.0.0.1", ""} {
		if l, err := Listen(t.Context(), address); err == nil {
			t.Errorf("listens at %q: %v", address, l.Addr())
		}
	}
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

// unnamed is an API server that does not say who asks.
type unnamed struct{ client.Client }

func (unnamed) Create(context.Context, client.Object, ...client.CreateOption) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "selfsubjectreviews"}, "", errors.New("you may not"))
}

// TestWithoutName: Whom the API server does not name has no name, and not one that others could
// have.
func TestWithoutName(t *testing.T) {
	t.Parallel()
	v, err := localViewer(t.Context(), unnamed{})
	if err != nil || v.Name != "" {
		t.Errorf("got %+v, %v", v, err)
	}
}
