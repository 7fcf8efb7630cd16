package access

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/sluice-dev/sluice/internal/lru"
)

// Cluster is the door of the dashboard in a cluster. A person who has logged in has a session,
// sealed in a cookie, and is impersonated.
type Cluster struct {
	options  Options
	keys     *keyring
	people   *people
	service  *service // nil without OIDC
	attempts *attempts
	// left are sessions that people have logged out of before they expired. Other replicas do not know
	// them.
	left *lru.Cache[string, bool]
}

// maxLeft is how many of these sessions are remembered.
const maxLeft = 10_000

// sessionPurpose and tryPurpose keep the cookie of one from being taken for the other.
const (
	sessionPurpose = "session"
	tryPurpose     = "login"
)

// NewCluster returns the door of a dashboard that runs with the account of a client configuration.
// That account needs the rights to review tokens and to impersonate.
func NewCluster(cfg *rest.Config, scheme *runtime.Scheme, options Options) (*Cluster, error) {
	options, err := options.completed()
	if err != nil {
		return nil, err
	}
	known, err := newPeople(cfg, scheme)
	if err != nil {
		return nil, err
	}
	keys, err := newKeyring(options)
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: options, keys: keys, people: known, attempts: newAttempts(options.TrustedProxies), left: lru.New[string, bool](maxLeft)}
	if options.OIDC != nil {
		if c.service, err = newService(*options.OIDC, options); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Wrap puts the door before a handler.
func (c *Cluster) Wrap(next http.Handler) http.Handler {
	guarded, err := guard(c.options.ExternalURL, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, next) }))
	if err != nil {
		panic(err) // the external URL was checked
	}
	return guarded
}

func (c *Cluster) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	switch r.URL.Path {
	case loginPath:
		c.login(w, r)
	case startPath:
		c.start(w, r)
	case callbackPath:
		c.callback(w, r)
	default:
		if public(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		c.serveKnown(w, r, next)
	}
}

// serveKnown passes on the requests of people with a session, for as long as it lasts: a stream of
// events ends with it.
func (c *Cluster) serveKnown(w http.ResponseWriter, r *http.Request, next http.Handler) {
	s, known := c.session(r)
	if !known {
		c.sendToLogin(w, r)
		return
	}
	v, err := c.people.viewer(s)
	if err != nil {
		c.options.Logger.Error(err, "a viewer has no client", "user", s.Who.Name)
		tell(w, r, message{http.StatusInternalServerError, "Not possible now", "The dashboard can't reach the API server in your name. Its log says why."})
		return
	}
	if r.Method == http.MethodPost && !ownForm(w, r, v.CSRF) {
		return
	}
	if r.URL.Path == logoutPath {
		c.logout(w, r, s)
		return
	}
	left := time.Unix(s.Expires, 0).Sub(c.options.Clock.Now())
	ctx, cancel := context.WithTimeout(WithViewer(r.Context(), v), left)
	defer cancel()
	next.ServeHTTP(w, r.WithContext(ctx))
}

// session returns the session of a request, if it has a valid one. A person who may not be
// impersonated has none, whatever the cookie says.
func (c *Cluster) session(r *http.Request) (session, bool) {
	for _, cookie := range r.CookiesNamed(c.cookieName(sessionPurpose)) {
		var s session
		if !c.keys.now().open(sessionPurpose, cookie.Value, &s) || !c.options.Clock.Now().Before(time.Unix(s.Expires, 0)) {
			continue
		}
		who, err := admit(s.Who)
		if left := c.left.Get(string(s.ID)); err != nil || left || len(s.ID) == 0 {
			continue
		}
		s.Who = who
		return s, true
	}
	return session{}, false
}

// sendToLogin sends somebody without a session to the login. If OIDC is the only way to log in, it
// sends them straight to the issuer.
func (c *Cluster) sendToLogin(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost || !wantsPage(r) {
		tell(w, r, message{http.StatusUnauthorized, "Logged out", "Your session has ended, and nothing was changed. Log in at " + loginPath + " and try again."})
		return
	}
	to := loginPath
	if !c.options.Tokens {
		to = startPath
	}
	if next := ownPath(r.URL.RequestURI()); next != "/" {
		to += "?next=" + url.QueryEscape(next)
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// logout forgets a session, in the browser and here.
func (c *Cluster) logout(w http.ResponseWriter, r *http.Request, s session) {
	if r.Method != http.MethodPost {
		tell(w, r, message{http.StatusMethodNotAllowed, "Still logged in", "Log out by the button on a page of the dashboard."})
		return
	}
	c.left.Put(string(s.ID), true, 1)
	http.SetCookie(w, c.setting(sessionPurpose, "", -1))
	http.Redirect(w, r, loginPath, http.StatusSeeOther)
}

// admitted opens a session for somebody whose login was genuine, and sends them on. The session
// ends when their token does.
func (c *Cluster) admitted(w http.ResponseWriter, r *http.Request, who identity, until time.Time, next string) {
	claimed := who.Name
	who, err := admit(who)
	if err == nil {
		err = c.people.proven(r.Context(), who)
	}
	if err != nil {
		c.refused(w, r, claimed, err, next)
		return
	}
	now := c.options.Clock.Now()
	expires := now.Add(c.options.Lifetime)
	if !until.IsZero() && until.Before(expires) {
		expires = until
	}
	if !now.Before(expires) {
		c.refused(w, r, who.Name, refuse("Your token or login has expired. Get a new one and try again."), next)
		return
	}
	sealed, err := c.keys.now().seal(sessionPurpose, newSession(who, expires))
	if errors.Is(err, errTooLarge) {
		err = refuse("You are in %d groups, which is more than a session can hold. %s", len(who.Groups), tooManyHint)
	}
	if err != nil {
		c.refused(w, r, who.Name, err, next)
		return
	}
	c.options.Logger.Info("logged in", "user", who.Name, "groups", len(who.Groups), "until", expires.UTC().Format(time.RFC3339))
	http.SetCookie(w, c.setting(sessionPurpose, sealed, int(expires.Sub(now).Seconds())))
	http.Redirect(w, r, ownPath(next), http.StatusSeeOther) //nolint:gosec // it is a path of the dashboard
}

// refused shows the login page again, with the reason. Errors that are not meant for the person go
// to the log.
func (c *Cluster) refused(w http.ResponseWriter, r *http.Request, user string, err error, next string) {
	status, problem := http.StatusForbidden, "The dashboard can't log anybody in now. Try again in a while; its log says why."
	var why *refusal
	switch {
	case errors.As(err, &why):
		problem = why.why
		c.options.Logger.Info("login refused", "user", user, "reason", problem)
	case apierrors.IsForbidden(err):
		problem = "The dashboard may not act for you. Ask who runs it to check the rights of its service account; its log says which one is missing."
		c.options.Logger.Error(err, "login failed", "user", user)
	default:
		status = http.StatusBadGateway
		c.options.Logger.Error(err, "login failed", "user", user)
	}
	c.show(w, r, status, problem, next)
}

// show shows the login page.
func (c *Cluster) show(w http.ResponseWriter, r *http.Request, status int, problem, next string) {
	if !wantsPage(r) && problem != "" {
		http.Error(w, problem, status)
		return
	}
	page := loginPage{Problem: problem, Next: ownPath(next), Tokens: c.options.Tokens}
	if c.service != nil {
		page.Service = c.service.host
	}
	render(w, status, "login", page)
}

// mayTry reports whether somebody may try to log in; otherwise it has answered.
func (c *Cluster) mayTry(w http.ResponseWriter, r *http.Request) bool {
	if c.attempts.allow(r, c.options.Clock.Now()) {
		return true
	}
	w.Header().Set("Retry-After", "10")
	tell(w, r, message{http.StatusTooManyRequests, "Too many tries", "There were too many tries to log in. Wait ten seconds and try again."})
	return false
}

// setting returns a cookie of the dashboard. SameSite is Lax: the login service, and links in
// commit statuses, lead here from other sites. Requests that change something need more than the
// cookie.
func (c *Cluster) setting(purpose, value string, age int) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure, unless a test on loopback has no TLS
		Name: c.cookieName(purpose), Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, Secure: !c.options.PlainHTTP, SameSite: http.SameSiteLaxMode,
	}
}

// cookieName begins with __Host-: a browser takes such a cookie from this host alone, over TLS.
func (c *Cluster) cookieName(purpose string) string {
	name := "sluice-" + purpose
	if c.options.PlainHTTP {
		return name
	}
	return "__Host-" + name
}
