package devforge

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"strings"
	"sync"
)

// session is a browser's. It never changes: signing in makes another one.
type session struct {
	id, csrf string
	// token is that of the user who has signed in; empty for nobody.
	token string
}

// sessions are kept until the forge ends.
type sessions struct {
	mu   sync.Mutex
	byID map[string]session
}

func newSessions() *sessions { return &sessions{byID: map[string]session{}} }

func (s *sessions) start(token string) session {
	made := session{id: rand.Text(), csrf: rand.Text(), token: token}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byID[made.id] = made
	return made
}

func (s *sessions) get(id string) (session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.byID[id]
	return found, ok
}

func (s *sessions) end(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byID, id)
}

// visit is one request of a browser.
type visit struct {
	forge   *Forge
	w       http.ResponseWriter
	r       *http.Request
	session session
	by      actor
}

// cookieName differs from forge to forge: browsers send cookies to all ports of a host.
func (f *Forge) cookieName() string {
	return "devforge-" + f.url[strings.LastIndex(f.url, ":")+1:]
}

// visited serves a page. A browser that has no session gets one.
func (f *Forge) visited(serve func(*visit) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'")
		w.Header().Set("Cache-Control", "no-store")
		v := &visit{forge: f, w: w, r: r}
		v.resume()
		err := v.guard()
		if err == nil {
			err = serve(v)
		}
		if err != nil {
			v.fail(err)
		}
	}
}

// resume finds the session and who it belongs to. A token that works no more signs out.
func (v *visit) resume() {
	cookie, err := v.r.Cookie(v.forge.cookieName())
	known := false
	if err == nil {
		v.session, known = v.forge.sessions.get(cookie.Value)
	}
	if !known {
		v.begin("")
	}
	v.by = actor{account: v.forge.who.ghost, anonymous: !v.forge.who.open()}
	if by, ok := v.forge.actorOf(v.session.token); ok && v.session.token != "" {
		v.by = by
	}
}

// begin gives the browser a new session.
func (v *visit) begin(token string) {
	v.session = v.forge.sessions.start(token)
	http.SetCookie(v.w, &http.Cookie{ //nolint:gosec // G124: on loopback there is no TLS that Secure could ask for
		Name: v.forge.cookieName(), Value: v.session.id, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
}

// guard refuses a form that is not from a page of this session.
func (v *visit) guard() error {
	if v.r.Method != http.MethodPost {
		return nil
	}
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, 1<<20)
	if subtle.ConstantTimeCompare([]byte(v.r.PostFormValue("csrf")), []byte(v.session.csrf)) != 1 {
		return refuse(http.StatusForbidden, "This form is out of date. Go back, reload the page and try again.")
	}
	return nil
}

func (v *visit) signIn() error {
	token := v.r.PostFormValue("token")
	c := v.forge.who.credential(token, v.forge.now())
	if c == nil || c.installation != nil || !strings.EqualFold(c.account.login, v.r.PostFormValue("login")) {
		return refuse(http.StatusForbidden, "This token is not that user's.")
	}
	v.forge.sessions.end(v.session.id)
	v.begin(token)
	http.Redirect(v.w, v.r, ownPath(v.r.PostFormValue("next")), http.StatusSeeOther)
	return nil
}

// ownPath keeps a form from leading elsewhere.
func ownPath(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.Contains(next, `\`) {
		return "/signin"
	}
	return next
}

func (v *visit) signOut() error {
	v.forge.sessions.end(v.session.id)
	v.begin("")
	http.Redirect(v.w, v.r, "/signin", http.StatusSeeOther)
	return nil
}
