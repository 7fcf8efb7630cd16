package devforge

import (
	"net/http"
	"strings"
)

// actor is on whose behalf a request is served.
type actor struct {
	account *account
	// anonymous is set where nobody signed in and somebody could have.
	anonymous bool
	// credential is nil where nobody signed in, and for an app that signed the request itself.
	credential *credential
	app        *app
}

// name says who it was in the request log.
func (a actor) name() string {
	if a.anonymous {
		return ""
	}
	return a.account.login
}

// integration returns the app that acts, by an installation's token, or nil.
func (a actor) integration() *app {
	if a.credential == nil || a.credential.installation == nil {
		return nil
	}
	return a.credential.installation.app
}

// permissions returns the permissions that narrow the actor's rights, or nil for no limit.
func (a actor) permissions() Permissions {
	if a.credential == nil {
		return nil
	}
	return a.credential.permissions
}

// authenticate finds out who sends a request. It is false for credentials that are wrong.
func (f *Forge) authenticate(r *http.Request) (actor, bool) {
	token, given := bearer(r)
	if !given {
		return actor{account: f.who.ghost, anonymous: !f.who.open()}, true
	}
	return f.actorOf(token)
}

func (f *Forge) actorOf(token string) (actor, bool) {
	now := f.now()
	if c := f.who.credential(token, now); c != nil {
		return actor{account: c.account, credential: c}, true
	}
	if looksSigned(token) {
		if a := f.who.appOf(token, now); a != nil {
			return actor{account: a.bot, app: a}, true
		}
	}
	if f.who.open() {
		return actor{account: f.who.ghost}, true
	}
	return actor{}, false
}

// bearer returns the token of a request: "Bearer X", "token X", or the password of basic
// authentication. As on GitHub the name that goes with the password is not looked at.
func bearer(r *http.Request) (token string, given bool) {
	if _, password, ok := r.BasicAuth(); ok {
		return password, true
	}
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || (!strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token")) {
		return "", r.Header.Get("Authorization") != ""
	}
	return strings.TrimSpace(token), true
}

// roleIn returns what an actor may do with a repository.
func (f *Forge) roleIn(a actor, repo *repository) Role {
	switch {
	case a.app != nil:
		return RoleNone
	case a.anonymous:
		return publicRole(repo)
	case a.integration() != nil:
		return f.installedRole(a.credential, repo)
	}
	return f.who.roleOf(a.account, repo)
}

// installedRole lets the permissions of an installation's token decide where it is installed.
func (f *Forge) installedRole(c *credential, repo *repository) Role {
	if c.installation.covers(repo) && (c.repositories == nil || c.repositories[repo.id]) {
		return RoleAdmin
	}
	return publicRole(repo)
}

// publicRole returns what everybody may do.
func publicRole(repo *repository) Role {
	if repo.public.Load() {
		return RoleRead
	}
	return RoleNone
}
