package devforge

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"
)

// ErrUnknown says that an account, a repository or an app is not there.
var ErrUnknown = errors.New("unknown")

// Role is the level of access of an account to a repository.
type Role int

// Roles, each with all that the one before it may do.
const (
	RoleNone Role = iota
	RoleRead
	RoleWrite
	RoleAdmin
)

// String returns the role as GitHub's API calls it.
func (r Role) String() string { return [...]string{"none", "read", "write", "admin"}[r] }

// Permissions narrow a token: "read" or "write" by GitHub's name of the permission, such as
// contents, pull_requests, issues, statuses, checks, deployments, members or repository_hooks.
type Permissions map[string]string

// allows reports whether the permissions hold at least this level of that one. Nil holds all.
func (p Permissions) allows(name, level string) bool {
	if p == nil || name == "" || name == "metadata" {
		return true
	}
	return p[name] == "write" || p[name] == level
}

// Kinds of account, as GitHub's API calls them.
const (
	kindUser         = "User"
	kindBot          = "Bot"
	kindOrganization = "Organization"
)

// account is a person, a bot or an organization. It never changes.
type account struct {
	id      int64
	login   string
	kind    string
	email   string
	created time.Time
	// everywhere is set for accounts that may do everything with every repository.
	everywhere bool
}

// credential is the account and the rights of a token. It is immutable.
type credential struct {
	account *account
	// expires is the zero time for a token that does not.
	expires     time.Time
	permissions Permissions
	// installation is set for the token of an app; repositories, if not nil, narrows it by id.
	installation *installation
	repositories map[int64]bool
}

var login = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}$`)

// CreateUser creates a person, whom the forge recognizes as the author of commits from
// login@localhost. They can't sign in before CreateToken.
func (f *Forge) CreateUser(name string) (id int64, err error) { return f.createAccount(name, kindUser) }

// CreateOrganization makes an account that owns repositories and has teams. CreateRepository makes
// the owner that it names by itself, if there is none.
func (f *Forge) CreateOrganization(name string) (id int64, err error) {
	return f.createAccount(name, kindOrganization)
}

func (f *Forge) createAccount(name, kind string) (int64, error) {
	if !login.MatchString(name) {
		return 0, fmt.Errorf("create account %q: a login is made of letters, digits and '-'", name)
	}
	a, err := f.who.add(account{id: f.ids.next(), login: name, kind: kind, created: f.now()})
	if err != nil {
		return 0, fmt.Errorf("create account %s: %w", name, err)
	}
	return a.id, nil
}

// CreateToken makes a token with which a user signs in, narrowed to the permissions if they are not
// nil.
func (f *Forge) CreateToken(name string, permissions Permissions) (string, error) {
	a := f.who.account(name)
	if a == nil || a.kind == kindOrganization {
		return "", fmt.Errorf("create token: user %s: %w", name, ErrUnknown)
	}
	return f.who.issue("ghp_", &credential{account: a, permissions: permissions}), nil
}

// RevokeToken has a token refused from now on.
func (f *Forge) RevokeToken(token string) { f.who.revoke(token) }

// CreateTeam makes a team of an organization, or replaces the members of one that exists.
func (f *Forge) CreateTeam(organization, slug string, members ...string) error {
	org := f.who.account(organization)
	if org == nil || org.kind != kindOrganization {
		return fmt.Errorf("create team: organization %s: %w", organization, ErrUnknown)
	}
	accounts := make([]*account, 0, len(members))
	for _, name := range members {
		a := f.who.account(name)
		if a == nil {
			return fmt.Errorf("create team: user %s: %w", name, ErrUnknown)
		}
		accounts = append(accounts, a)
	}
	f.who.setTeam(&team{id: f.ids.next(), organization: org.login, slug: slug, members: accounts, made: f.now()})
	return nil
}

// Grant gives a user a role in a repository; RoleNone takes it away.
func (f *Forge) Grant(repository, name string, role Role) error {
	repo, a := f.repos.get(repository), f.who.account(name)
	if repo == nil || a == nil {
		return fmt.Errorf("grant %s on %s to %s: %w", role, repository, name, ErrUnknown)
	}
	f.who.grant(repo.id, a.id, role)
	return nil
}

// MakePublic lets everybody read a repository.
func (f *Forge) MakePublic(repository string) error {
	repo := f.repos.get(repository)
	if repo == nil {
		return fmt.Errorf("make %s public: %w", repository, ErrUnknown)
	}
	repo.public.Store(true)
	return nil
}

// DeleteBranchesOnMerge has a repository remove the branch of each pull request that is merged from
// now on.
func (f *Forge) DeleteBranchesOnMerge(repository string) error {
	repo := f.repos.get(repository)
	if repo == nil {
		return fmt.Errorf("have branches of %s deleted: %w", repository, ErrUnknown)
	}
	repo.tidy.Store(true)
	return nil
}

// randomToken returns a token as GitHub shapes them: a prefix that says what it is for, and a
// secret.
func randomToken(prefix string) string { return prefix + rand.Text() + rand.Text()[:10] }

func (d *directory) add(a account) (*account, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := strings.ToLower(a.login)
	if d.accounts[key] != nil {
		return nil, fs.ErrExist
	}
	if a.email == "" {
		a.email = a.login + "@localhost"
	}
	d.accounts[key] = &a
	d.byEmail[strings.ToLower(a.email)] = &a
	return &a, nil
}
