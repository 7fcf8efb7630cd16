package access

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	loginPath    = "/login"
	startPath    = "/login/start"
	callbackPath = "/login/callback"
	logoutPath   = "/logout"
)

// maxLinks is how many addresses can be open at a time: addresses with a token that nobody has used
// yet.
const maxLinks = 8

// Local is the door of the dashboard on one's own machine. It admits whoever opens an address that
// URL made, once, and by a cookie from then on.
//
// Browsers send a cookie to all ports of a host, also to those on which another user of the machine
// serves. So the dashboard has a host name that nobody can guess, which browsers resolve to
// loopback.
type Local struct {
	viewer *Viewer
	// name is the unpredictable host name, cookie the value of the cookie.
	name, cookie string
	// uid is the user who started it.
	uid int

	mu sync.Mutex
	// links are the tokens of addresses that are open, the oldest first.
	links []string
}

// NewLocal returns the door for the owner of a client configuration.
func NewLocal(ctx context.Context, cfg *rest.Config, scheme *apiruntime.Scheme) (*Local, error) {
	acts, err := client.NewWithWatch(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	v, err := localViewer(ctx, acts)
	if err != nil {
		return nil, err
	}
	secret := random(32)
	v.CSRF, v.Client = formToken(secret), acts
	return &Local{viewer: v, name: "sluice-" + strings.ToLower(hexText(10)) + ".localhost", cookie: randomText(32), uid: os.Getuid()}, nil
}

// localViewer asks the API server who the viewer is. API servers before 1.28 can't say, and some
// refuse to: then the viewer has no name.
func localViewer(ctx context.Context, acts client.Client) (*Viewer, error) {
	is, err := whoami(ctx, acts)
	switch {
	case apierrors.IsForbidden(err) || apierrors.IsNotFound(err):
		return &Viewer{}, nil
	case err != nil:
		return nil, err
	}
	return &Viewer{Name: is.Username, Groups: ownGroups(is.Groups)}, nil
}

func hexText(n int) string { return fmt.Sprintf("%x", random(n)) }

// Listen listens at a loopback address, such as 127.0.0.1:0, which other machines can't reach.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen at %q: %w; want HOST:PORT, such as 127.0.0.1:0", address, err)
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("listen at %s: it is not a loopback address, so others could act with your rights; use 127.0.0.1 or [::1]", address)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", address, err)
	}
	return listener, nil
}

// URL returns an address that lets its first visitor in, for a dashboard that listens at address.
// Each call makes another one; of those that nobody has used, the last few are open. Everyone who
// reads it can use it, so it belongs on the terminal of the user, and in no log.
func (l *Local) URL(address string) string {
	return l.link(address, runtime.GOOS != "darwin" || resolves(l.name))
}

// PlainURL returns URL by the address alone, for a client that can't resolve the name.
func (l *Local) PlainURL(address string) string { return l.link(address, false) }

func (l *Local) link(address string, named bool) string {
	token := randomText(32)
	l.mu.Lock()
	l.links = append(l.links, token)
	l.links = l.links[max(0, len(l.links)-maxLinks):]
	l.mu.Unlock()
	if _, port, err := net.SplitHostPort(address); err == nil && named {
		address = net.JoinHostPort(l.name, port)
	}
	return (&url.URL{Scheme: "http", Host: address, Path: loginPath, RawQuery: url.Values{"token": {token}}.Encode()}).String()
}

// resolves reports whether this machine itself takes a name below localhost for loopback, as most
// do; Safari asks it. Other browsers know.
func resolves(name string) bool {
	addresses, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip", name)
	return err == nil && len(addresses) > 0 && !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !a.Unmap().IsLoopback() })
}

// use spends a token.
func (l *Local) use(token string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := -1
	for i, open := range l.links {
		if same(token, open) {
			at = i
		}
	}
	if at < 0 {
		return false
	}
	l.links = slices.Delete(l.links, at, at+1)
	return true
}

// Wrap puts the door before a handler.
func (l *Local) Wrap(next http.Handler) http.Handler {
	guarded, err := guard("", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.serve(w, r, next) }))
	if err != nil {
		panic(err) // only a trusted origin can be wrong
	}
	return Secure(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := l.atHome(r); err != nil {
			http.Error(w, err.Error(), http.StatusMisdirectedRequest)
			return
		}
		guarded.ServeHTTP(w, r)
	}))
}

// atHome refuses requests that were sent to another name, as a web page has them sent whose name's
// address was changed to this one.
func (l *Local) atHome(r *http.Request) error {
	if at, is := r.Context().Value(http.LocalAddrContextKey).(net.Addr); is {
		if ip, err := netip.ParseAddrPort(at.String()); err != nil || !ip.Addr().Unmap().IsLoopback() {
			return errors.New("the dashboard answers only on the machine it runs on")
		}
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil && ip.IsLoopback() || same(host, l.name) {
		return nil
	}
	return errors.New("the dashboard answers only at the address that 'sluice dashboard' printed")
}

func (l *Local) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	switch {
	case public(r.URL.Path):
		next.ServeHTTP(w, r)
	case r.URL.Path == loginPath && r.Method == http.MethodGet:
		l.enter(w, r)
	case !l.knows(r):
		tell(w, r, message{http.StatusForbidden, "This dashboard is somebody's own", "It lets in who has the address that 'sluice dashboard' has printed, " +
			"and each address works once. Press Enter in that terminal for another address, or run 'sluice dashboard' again."})
	case r.Method == http.MethodPost && !ownForm(w, r, l.viewer.CSRF):
	case r.URL.Path == logoutPath && r.Method == http.MethodPost:
		http.SetCookie(w, l.setting("", -1))
		tell(w, r, message{http.StatusOK, "Logged out", "Run 'sluice dashboard' for another address."})
	default:
		next.ServeHTTP(w, r.WithContext(WithViewer(r.Context(), l.viewer)))
	}
}

// enter admits the owner of a token. The page continues by itself: a redirect would be part of what
// led here, and if that was a page elsewhere, such as a terminal in the browser, the browser would
// keep the cookie back.
func (l *Local) enter(w http.ResponseWriter, r *http.Request) {
	if ofStranger(r, l.uid) || !l.use(r.URL.Query().Get("token")) {
		tell(w, r, message{http.StatusForbidden, "This address has been used", "Each address works once. " +
			"Press Enter in the terminal of 'sluice dashboard' for another one, or run it again. If nobody you know has used it, end it there."})
		return
	}
	to := ownPath(r.URL.Query().Get("next"))
	http.SetCookie(w, l.setting(l.cookie, 0))
	w.Header().Set("Refresh", "0;url="+to)
	render(w, http.StatusOK, "enter", to)
}

func (l *Local) setting(value string, age int) *http.Cookie {
	return &http.Cookie{Name: l.cookieName(), Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteStrictMode} //nolint:gosec // Secure: loopback has no TLS
}

// cookieName returns another one for each dashboard of this machine.
func (l *Local) cookieName() string { return strings.TrimSuffix(l.name, ".localhost") }

// knows reports whether a request has the cookie. A browser may hold others of that name, for other
// paths or domains.
func (l *Local) knows(r *http.Request) bool {
	return slices.ContainsFunc(r.CookiesNamed(l.cookieName()), func(c *http.Cookie) bool { return same(c.Value, l.cookie) })
}
