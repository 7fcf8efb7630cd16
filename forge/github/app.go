package github

import (
	"context"
	"crypto/rsa"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

const (
	// earlier is how long before its end a token is replaced.
	earlier = 5 * time.Minute
	// usable is how much of its life a token must have left to be used, if there is no newer one.
	usable = 30 * time.Second
	// signatureLife is below the ten minutes that GitHub allows, by the clock of either side.
	signatureLife = 8 * time.Minute
	// skew is how far our clock may be ahead.
	skew = time.Minute
	// mostKeyBytes is more than twice what a private key from GitHub has. To read one takes eight times
	// as long for twice the size, up to half a minute for 17 KB and hours for 130 KB, and nothing
	// interrupts that.
	mostKeyBytes = 4 << 10
)

// App is a GitHub App that is installed where the repository is.
type App struct {
	// ID of the app.
	ID int64
	// PrivateKey signs as the app: PEM, PKCS #1 or #8, RSA.
	PrivateKey []byte
	// InstallationID says which installation; 0 looks it up by the repository.
	InstallationID int64
	// Teams asks for the right to read the members of teams.
	Teams bool
	// Deployments asks for the right to write deployments.
	Deployments bool
	// GitOnly asks for the right to read the repository by Git, and for no other.
	GitOnly bool
}

func (a *App) signer(now func() time.Time) (*signer, error) {
	if a.ID <= 0 {
		return nil, wire.Misconfigured("the app has no id")
	}
	if len(a.PrivateKey) > mostKeyBytes {
		return nil, wire.Misconfigured("the app's private key is larger than %d bytes", mostKeyBytes)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(a.PrivateKey)
	if err != nil {
		return nil, wire.Misconfigured("the app's private key is not an RSA key in PEM")
	}
	return &signer{app: a.ID, key: key, now: now}, nil
}

// permissions returns the least that we need.
func (a *App) permissions() *github.InstallationPermissions {
	if a.GitOnly {
		return &github.InstallationPermissions{Metadata: new("read"), Contents: new("read")}
	}
	least := &github.InstallationPermissions{
		Metadata:     new("read"),
		Contents:     new("write"),
		PullRequests: new("write"),
		Statuses:     new("write"),
		Checks:       new("read"),
	}
	if a.Teams {
		least.Members = new("read")
	}
	if a.Deployments {
		least.Deployments = new("write")
	}
	return least
}

// signer has the credentials of the app itself: good for requesting an installation's token, and
// for little else.
type signer struct {
	app int64
	key *rsa.PrivateKey
	now func() time.Time
}

// Token signs a new one each time: it is requested once an hour.
func (s *signer) Token(context.Context) (string, error) {
	now := s.now()
	claims := jwt.RegisteredClaims{
		Issuer:    strconv.FormatInt(s.app, 10),
		IssuedAt:  jwt.NewNumericDate(now.Add(-skew)),
		ExpiresAt: jwt.NewNumericDate(now.Add(signatureLife)),
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(s.key)
	if err != nil {
		return "", wire.Misconfigured("the private key of the app can't sign")
	}
	return signed, nil
}

func (s *signer) Refused(string) {}

func (s *signer) Identity() string { return fmt.Sprintf("app %d", s.app) }

// installation has the credentials of an app in one repository.
type installation struct {
	client *Client
	app    App
	api    *github.Client
	now    func() time.Time
	// turn is held by whoever asks for a token. It's a channel so that the others can give up.
	turn chan struct{}

	mu      sync.Mutex
	id      int64
	current string
	expires time.Time
}

// Token returns the token that is known, or a new one in time before that ends.
func (i *installation) Token(ctx context.Context) (string, error) {
	if token := i.known(earlier); token != "" {
		return token, nil
	}
	select {
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if token := i.known(earlier); token != "" {
		return token, nil
	}
	token, err := i.renew(ctx)
	if err != nil {
		if old := i.known(usable); old != "" {
			return old, nil
		}
		return "", err
	}
	return token, nil
}

// known returns the present token if it is good for some time yet.
func (i *installation) known(left time.Duration) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.now().Add(left).Before(i.expires) {
		return i.current
	}
	return ""
}

// renew requests a token that is good only for this repository and what we do there.
func (i *installation) renew(ctx context.Context) (string, error) {
	id, err := i.find(ctx)
	if err != nil {
		return "", err
	}
	made, _, err := i.api.Apps.CreateInstallationToken(ctx, id, &github.InstallationTokenOptions{
		Repositories: []string{i.client.name},
		Permissions:  i.app.permissions(),
	})
	if err == nil && made.GetToken() == "" {
		err = wire.Distrusted("the answer has none")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if err = i.client.explain(err, "ask for a token of the app's installation"); err != nil {
		switch forge.KindOf(err) {
		case forge.NotFound:
			i.id = 0 // the app may have been installed again
		case forge.Invalid: // the installation lacks rights
			err = wire.Misconfigured("%v", err)
		}
		return "", err
	}
	i.id, i.current, i.expires = id, made.GetToken(), made.GetExpiresAt().Time
	return i.current, nil
}

func (i *installation) find(ctx context.Context) (int64, error) {
	if id := i.app.InstallationID; id != 0 {
		return id, nil
	}
	i.mu.Lock()
	id := i.id
	i.mu.Unlock()
	if id != 0 {
		return id, nil
	}
	found, _, err := i.api.Apps.FindRepositoryInstallation(ctx, i.client.owner, i.client.name)
	if err == nil && found.GetID() == 0 {
		err = wire.Distrusted("it has no id")
	}
	return found.GetID(), i.client.explain(err, "look up the app's installation in %s/%s", i.client.owner, i.client.name)
}

// Refused forgets a token that was revoked before its end, and which installation it was for.
func (i *installation) Refused(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.current == token {
		i.id, i.current, i.expires = 0, "", time.Time{}
	}
}

func (i *installation) Identity() string {
	return fmt.Sprintf("app %d in %s", i.app.ID, i.client.owner)
}
