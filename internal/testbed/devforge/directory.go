package devforge

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// directory holds the accounts, their tokens and their rights.
type directory struct {
	// ghost acts where nobody signed in and nobody has to.
	ghost *account

	mu       sync.Mutex
	accounts map[string]*account // by login in lower case
	byEmail  map[string]*account // by address in lower case
	tokens   map[string]*credential
	grants   map[[2]int64]Role // by repository and account
	teams    map[string]*team  // by organization/slug in lower case
	apps     []*app
}

// team is a team of an organization. It never changes: another one takes its place.
type team struct {
	id                 int64
	organization, slug string
	members            []*account
	made               time.Time
}

func newDirectory(ghost *account) *directory {
	return &directory{
		ghost:    ghost,
		accounts: map[string]*account{},
		byEmail:  map[string]*account{},
		tokens:   map[string]*credential{},
		grants:   map[[2]int64]Role{},
		teams:    map[string]*team{},
	}
}

// open reports whether nobody has to sign in, since nobody could.
func (d *directory) open() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.tokens) == 0 && len(d.apps) == 0
}

// account returns the one with the login, or nil.
func (d *directory) account(name string) *account {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.accounts[strings.ToLower(name)]
}

// author returns the account that commits from the address belong to, or nil. Each account has an
// address that the forge gave it: its number, a plus sign and its login.
func (d *directory) author(email string) *account {
	d.mu.Lock()
	defer d.mu.Unlock()
	name, host, _ := strings.Cut(strings.ToLower(email), "@")
	number, login, given := strings.Cut(name, "+")
	if given && strings.HasPrefix(host, "users.noreply.") {
		if a := d.accounts[login]; a != nil && strconv.FormatInt(a.id, 10) == number {
			return a
		}
		return nil
	}
	return d.byEmail[strings.ToLower(email)]
}

func (d *directory) issue(prefix string, c *credential) string {
	token := randomToken(prefix)
	d.setToken(token, c)
	return token
}

func (d *directory) setToken(token string, c *credential) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tokens[token] = c
}

func (d *directory) revoke(token string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// The token stays in the map, so that the forge does not become open to everybody.
	d.tokens[token] = nil
}

// credential returns what a token stands for now, or nil.
func (d *directory) credential(token string, now time.Time) *credential {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.tokens[token]
	if c == nil || (!c.expires.IsZero() && !now.Before(c.expires)) {
		return nil
	}
	return c
}

func (d *directory) grant(repository, account int64, role Role) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.grants[[2]int64{repository, account}] = role
}

// roleOf returns what an account may do with a repository.
func (d *directory) roleOf(a *account, repo *repository) Role {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.everywhere || a == repo.owner {
		return RoleAdmin
	}
	role := d.grants[[2]int64{repo.id, a.id}]
	if repo.public.Load() {
		role = max(role, RoleRead)
	}
	return role
}

func (d *directory) setTeam(t *team) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.teams[strings.ToLower(t.organization+"/"+t.slug)] = t
}

// team returns the one with that name, or nil.
func (d *directory) team(organization, slug string) *team {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.teams[strings.ToLower(organization+"/"+slug)]
}

// signInNames returns the logins of the people, for the sign-in page.
func (d *directory) signInNames() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for _, a := range d.accounts {
		if a.kind == kindUser {
			names = append(names, a.login)
		}
	}
	slices.Sort(names)
	return names
}
