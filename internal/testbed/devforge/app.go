package devforge

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// tokenLifetime is how long an installation's token works, as on GitHub.
const tokenLifetime = time.Hour

// defaultAppPermissions are what an app may do that says nothing else.
var defaultAppPermissions = Permissions{
	"metadata": "read", "contents": "write", "pull_requests": "write", "issues": "write", "statuses": "write",
	"checks": "write", "deployments": "write", "members": "read", "repository_hooks": "write",
}

// App is a GitHub App as its owner sees it after CreateApp.
type App struct {
	ID   int64
	Slug string
	// Login is the account that the app acts as: the slug and "[bot]".
	Login string
	// PrivateKey signs the app's requests: PEM, PKCS #1, RSA of 2048 bits.
	PrivateKey []byte
}

// app never changes, save for its key and its installations, which the directory guards.
type app struct {
	id            int64
	slug          string
	owner         *account
	bot           *account
	key           atomic.Pointer[rsa.PublicKey]
	permissions   Permissions
	created       time.Time
	installations []*installation
}

// installation is an app's presence in an account: all of its repositories, or those selected by
// id.
type installation struct {
	id           int64
	app          *app
	account      *account
	repositories map[int64]bool
	created      time.Time
}

// covers reports whether the installation is on the repository.
func (i *installation) covers(repo *repository) bool {
	return i.account == repo.owner && (i.repositories == nil || i.repositories[repo.id])
}

func (i *installation) selection() string {
	if i.repositories == nil {
		return "all"
	}
	return "selected"
}

// CreateApp makes an app and its key, with default permissions if they are nil.
// It can do nothing before InstallApp.
func (f *Forge) CreateApp(slug string, permissions Permissions) (App, error) {
	bot, err := f.who.add(account{id: f.ids.next(), login: slug + "[bot]", kind: kindBot, created: f.now()})
	if err != nil {
		return App{}, fmt.Errorf("create app %s: %w", slug, err)
	}
	if permissions == nil {
		permissions = defaultAppPermissions
	}
	created := &app{
		id: f.ids.next(), slug: slug, owner: f.who.ghost, bot: bot, permissions: permissions, created: f.now(),
	}
	key, err := created.newKey()
	if err != nil {
		return App{}, fmt.Errorf("create app %s: %w", slug, err)
	}
	f.who.addApp(created)
	return App{ID: created.id, Slug: slug, Login: bot.login, PrivateKey: key}, nil
}

// RotateAppKey replaces the private key of an app and returns the new one. The forge rejects
// signatures by the old one.
func (f *Forge) RotateAppKey(id int64) ([]byte, error) {
	a := f.who.app(id)
	if a == nil {
		return nil, fmt.Errorf("rotate key of app %d: %w", id, ErrUnknown)
	}
	return a.newKey()
}

// newKey takes a new key and gives its private part in PEM.
func (a *app) newKey() ([]byte, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make key: %w", err)
	}
	a.key.Store(&key.PublicKey)
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), nil
}

// InstallApp puts an app into an account, on the repositories named (owner/name) or, with none, on
// all of them. It gives the installation's id.
func (f *Forge) InstallApp(id int64, owner string, repositories ...string) (int64, error) {
	a, target := f.who.app(id), f.who.account(owner)
	if a == nil || target == nil {
		return 0, fmt.Errorf("install app %d in %s: %w", id, owner, ErrUnknown)
	}
	made := &installation{id: f.ids.next(), app: a, account: target, created: f.now()}
	for _, name := range repositories {
		repo := f.repos.get(name)
		if repo == nil || repo.owner != target {
			return 0, fmt.Errorf("install app %d on %s: %w", id, name, ErrUnknown)
		}
		if made.repositories == nil {
			made.repositories = map[int64]bool{}
		}
		made.repositories[repo.id] = true
	}
	f.who.install(made)
	return made.id, nil
}

// CreateInstallationToken makes a token of an installation with all its rights, without the detour
// by which the app gets one itself.
func (f *Forge) CreateInstallationToken(app, installed int64) (string, error) {
	a := f.who.app(app)
	if a == nil {
		return "", fmt.Errorf("create token of app %d: %w", app, ErrUnknown)
	}
	i := f.who.installed(a, func(i *installation) bool { return i.id == installed })
	if i == nil {
		return "", fmt.Errorf("create token of installation %d: %w", installed, ErrUnknown)
	}
	token, _ := f.issueFor(i, a.permissions, nil)
	return token, nil
}

// issueFor makes a token of an installation for some repositories; nil for all that it has.
func (f *Forge) issueFor(i *installation, granted Permissions, repositories map[int64]bool) (token string, expires time.Time) {
	expires = f.now().Add(tokenLifetime)
	return f.who.issue("ghs_", &credential{
		account: i.app.bot, expires: expires, permissions: granted, installation: i, repositories: repositories,
	}), expires
}

func (d *directory) addApp(a *app) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.apps = append(d.apps, a)
}

func (d *directory) app(id int64) *app {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.apps {
		if a.id == id {
			return a
		}
	}
	return nil
}

func (d *directory) install(i *installation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	i.app.installations = append(i.app.installations, i)
}

// installed finds the installation of an app that a test accepts, or nil.
func (d *directory) installed(a *app, accept func(*installation) bool) *installation {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, i := range a.installations {
		if accept(i) {
			return i
		}
	}
	return nil
}

// appOf returns the app whose key has signed the token, or nil. GitHub takes RS256 only, an issuer
// that is the app's id, and a life of ten minutes at most.
func (d *directory) appOf(token string, now time.Time) *app {
	var signer *app
	claims := &jwt.RegisteredClaims{}
	_, err := jwt.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) {
		id, err := strconv.ParseInt(claims.Issuer, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("read issuer: %w", err)
		}
		if signer = d.app(id); signer == nil {
			return nil, fmt.Errorf("app %d: %w", id, ErrUnknown)
		}
		return signer.key.Load(), nil
	}, jwt.WithValidMethods([]string{"RS256"}), jwt.WithExpirationRequired(), jwt.WithIssuedAt(),
		jwt.WithLeeway(time.Minute), jwt.WithTimeFunc(func() time.Time { return now }))
	if err != nil || claims.ExpiresAt.Sub(now) > 10*time.Minute+time.Second {
		return nil
	}
	return signer
}

// looksSigned tells a JWT from a token.
func looksSigned(token string) bool { return strings.Count(token, ".") == 2 }
