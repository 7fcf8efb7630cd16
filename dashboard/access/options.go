package access

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Options are how people log in to a dashboard in a cluster.
type Options struct {
	// ExternalURL is the address that people open, such as https://sluice.example.com. OIDC needs it.
	ExternalURL string
	// Keys seal sessions. Default: a random one, which no other replica and no later process knows.
	Keys Keys
	// KeysFile has the keys instead, one in each line, the newest first. It is read again when it
	// changes: to rotate, put a new line before the old one, and remove the old one once sessions of it
	// have ended.
	KeysFile string
	// Lifetime is how long a session lasts, at most; one never outlasts the token that it was opened
	// with. Default: 8 hours.
	Lifetime time.Duration
	// Tokens allows logins with a token of the Kubernetes API.
	Tokens bool
	// Audiences are the audiences that a token may have. Default: the API server.
	Audiences []string
	// OIDC lets people log in at a login service.
	OIDC *OIDC
	// TrustedProxies are the proxies whose X-Forwarded-For is trusted to name the client that tries to
	// log in.
	TrustedProxies []netip.Prefix
	// PlainHTTP lets browsers send the session without TLS. Only for tests on loopback.
	PlainHTTP bool
	// Logger logs who logged in and who was refused.
	Logger logr.Logger
	// Clock says what time it is. Default: the machine's.
	Clock clock.PassiveClock
}

// OIDC is a login service. User names and groups must equal those that the API server makes of the
// same claims by its flags --oidc-*.
type OIDC struct {
	// Issuer is its https address, as it is in tokens.
	Issuer string
	// ClientID and ClientSecret are the dashboard's own with it. A public client has no secret.
	ClientID, ClientSecret string
	// ClientSecretFile has the secret instead, and is read for each login.
	ClientSecretFile string
	// CABundle are certificates in PEM to trust besides the public ones.
	CABundle []byte
	// Scopes are requested in addition to openid. Default: profile, email.
	Scopes []string
	// UsernameClaim has the user name. Default: sub.
	UsernameClaim string
	// UsernamePrefix begins user names; "-" stands for none. Default: none for the claim email,
	// otherwise the issuer and "#".
	UsernamePrefix string
	// GroupsClaim has the groups, if any count.
	GroupsClaim string
	// GroupsPrefix begins groups.
	GroupsPrefix string
	// GroupsFilter says which groups count, before they have the prefix. Default: all.
	GroupsFilter *regexp.Regexp
	// RequiredClaims are values that a login must have.
	RequiredClaims map[string]string
}

// defaultLifetime is a working day.
const defaultLifetime = 8 * time.Hour

// completed returns the options with their defaults, or what is wrong with them.
func (o Options) completed() (Options, error) {
	if !o.Tokens && o.OIDC == nil {
		return o, errors.New("nobody could log in: allow tokens (--login-tokens) or name a login service (--oidc-issuer-url)")
	}
	if o.Lifetime == 0 {
		o.Lifetime = defaultLifetime
	}
	if o.Lifetime < time.Minute || o.Lifetime > 7*24*time.Hour {
		return o, fmt.Errorf("a session lifetime of %v: use a minute to seven days (--session-lifetime)", o.Lifetime)
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if len(o.Keys) == 0 && o.KeysFile == "" {
		keys, err := RandomKeys()
		if err != nil {
			return o, err
		}
		o.Keys = keys
	}
	if o.ExternalURL == "" {
		if o.OIDC != nil {
			return o, errors.New("the login service needs an address to send people back to: set the dashboard's own address (--external-url)")
		}
		return o, nil
	}
	origin, err := originOf(o.ExternalURL, o.PlainHTTP)
	if err != nil {
		return o, fmt.Errorf("external URL %q: %w", o.ExternalURL, err)
	}
	o.ExternalURL = origin
	return o, nil
}

// originOf returns an address without its last slash. It is of https, or of loopback if plain HTTP
// is allowed.
func originOf(address string, plain bool) (string, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "", errors.New("it is not a URL")
	case u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("want https://HOST, without a path")
	case u.Scheme != "https" && (!plain || !isLoopback(u)):
		return "", errors.New("want https")
	}
	return u.Scheme + "://" + u.Host, nil
}

// isLoopback reports whether an address is of plain HTTP to this machine.
func isLoopback(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && err == nil && ip.IsLoopback()
}
