package devlab

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Levels of access.
const (
	NoAccess   = 0
	Guest      = 10
	Reporter   = 20
	Developer  = 30
	Maintainer = 40
)

// user is an account.
type user struct {
	id              int64
	username, email string
	bot             bool
	token           string
}

// group has members of its own.
type group struct {
	id      int64
	path    string
	members []*user
}

// CreateUser makes an account and returns a token of it.
func (l *Lab) CreateUser(username string) (token string, err error) { return l.create(username, false) }

// CreateBot makes the account of an access token.
func (l *Lab) CreateBot(username string) (token string, err error) { return l.create(username, true) }

func (l *Lab) create(username string, bot bool) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.user(username) != nil {
		return "", fmt.Errorf("user %s is there", username)
	}
	made := &user{id: l.next(), username: username, email: strings.ToLower(username) + "@localhost", bot: bot, token: "glpat-" + rand.Text()}
	l.users = append(l.users, made)
	return made.token, nil
}

// Rename gives an account another name.
func (l *Lab) Rename(username, to string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.user(username)
	if found == nil {
		return fmt.Errorf("there is no user %s", username)
	}
	found.username = to
	return nil
}

// Delete removes an account, with its memberships and approvals.
func (l *Lab) Delete(username string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := l.user(username)
	if found == nil {
		return fmt.Errorf("there is no user %s", username)
	}
	l.users = slices.DeleteFunc(l.users, func(u *user) bool { return u == found })
	for _, p := range l.projects {
		delete(p.members, found)
		for _, m := range p.merges {
			m.approvals = slices.DeleteFunc(m.approvals, func(a approval) bool { return a.by == found })
		}
	}
	return nil
}

// CreateGroup makes a group with members.
func (l *Lab) CreateGroup(path string, members ...string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	made := &group{id: l.next(), path: path}
	for _, name := range members {
		who := l.user(name)
		if who == nil {
			return fmt.Errorf("there is no user %s", name)
		}
		made.members = append(made.members, who)
	}
	l.groups = append(l.groups, made)
	return nil
}

func (l *Lab) user(username string) *user {
	i := slices.IndexFunc(l.users, func(u *user) bool { return strings.EqualFold(u.username, username) })
	if i < 0 {
		return nil
	}
	return l.users[i]
}

// userOf returns who sends a request; nil for nobody. The caller holds the lock.
func (l *Lab) userOf(r *http.Request) *user {
	token := r.Header.Get("Private-Token")
	if bearer, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); is {
		token = bearer
	}
	if _, password, is := r.BasicAuth(); is {
		token = password
	}
	i := slices.IndexFunc(l.users, func(u *user) bool { return token != "" && u.token == token })
	if i < 0 {
		return nil
	}
	return l.users[i]
}

// loginOf returns the name of who sends a request, for the request log.
func (l *Lab) loginOf(r *http.Request) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if by := l.userOf(r); by != nil {
		return by.username
	}
	return ""
}

// basic returns an account as lists have it.
func (l *Lab) basic(u *user) any {
	if u == nil {
		return nil
	}
	return object{
		"id": u.id, "username": u.username, "name": u.username, "state": "active", "locked": false, "public_email": u.email,
		"avatar_url": nil, "web_url": l.url + "/" + u.username,
	}
}

// whole returns an account as a request for it alone has it.
func (l *Lab) whole(u *user) object {
	told := l.basic(u).(object)
	told["bot"] = u.bot
	return told
}
