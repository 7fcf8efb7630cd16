package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// serviceTimeout bounds each request to the login service.
	serviceTimeout = 10 * time.Second
	// serviceRetry is the pause after a failure, so that people who log in meanwhile do not wait for it
	// one after the other.
	serviceRetry = 5 * time.Second
	// maxServiceAnswer bounds its responses.
	maxServiceAnswer = 1 << 20
	// tryLifetime is how long a person may take at the login service.
	tryLifetime = 10 * time.Minute
)

// service is a login service, whose addresses are read when the first person needs them.
type service struct {
	OIDC

	host   string
	back   string
	client *http.Client
	secret *ownSecret
	plain  bool
	now    func() time.Time

	mu       sync.Mutex
	provider *oidc.Provider
	// failed is the error of the last try; there is no other before again.
	failed error
	again  time.Time
}

func newService(o OIDC, options Options) (*service, error) {
	issuer, err := url.Parse(o.Issuer)
	if err != nil || issuer.Host == "" || issuer.Scheme != "https" && !(options.PlainHTTP && isLoopback(issuer)) {
		return nil, fmt.Errorf("login service %q: want its https address (--oidc-issuer-url)", o.Issuer)
	}
	if o.ClientID == "" {
		return nil, fmt.Errorf("login service %s: the client ID of the dashboard is missing (--oidc-client-id)", o.Issuer)
	}
	if o.UsernameClaim == "" {
		o.UsernameClaim = "sub"
	}
	switch {
	case o.UsernamePrefix == "-":
		o.UsernamePrefix = ""
	case o.UsernamePrefix == "" && o.UsernameClaim != "email":
		o.UsernamePrefix = o.Issuer + "#"
	}
	if o.Scopes == nil {
		o.Scopes = []string{"profile", "email"}
	}
	secret, err := newOwnSecret(o, options.Logger)
	if err != nil {
		return nil, fmt.Errorf("login service %s: %w", o.Issuer, err)
	}
	through := http.DefaultTransport.(*http.Transport).Clone()
	if len(o.CABundle) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			return nil, fmt.Errorf("login service %s: read the public certificates: %w", o.Issuer, err)
		}
		if !roots.AppendCertsFromPEM(o.CABundle) {
			return nil, fmt.Errorf("login service %s: the file of certificates (--oidc-ca-file) has none in PEM", o.Issuer)
		}
		through.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &service{
		OIDC: o, host: issuer.Host, back: options.ExternalURL + callbackPath, plain: options.PlainHTTP, now: options.Clock.Now, secret: secret,
		client: &http.Client{Transport: bounded{through}, Timeout: serviceTimeout},
	}, nil
}

// bounded truncates responses that are too long.
type bounded struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(req)
	if err == nil {
		answer.Body = &cut{io.LimitReader(answer.Body, maxServiceAnswer), answer.Body}
	}
	return answer, err
}

type cut struct {
	io.Reader
	io.Closer
}

// known returns the configuration that the service publishes, requested when it is first needed.
func (s *service) known() (*oidc.Provider, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.provider == nil && (s.failed == nil || s.now().After(s.again)) {
		s.provider, s.failed = s.discovered()
		s.again = s.now().Add(serviceRetry)
	}
	return s.provider, s.failed
}

func (s *service) discovered() (*oidc.Provider, error) {
	// The provider keeps the context for the keys that it asks for later.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.Background(), s.client), s.Issuer)
	if err != nil {
		return nil, fmt.Errorf("ask the login service for its addresses: %w", err)
	}
	var keys struct {
		Address string `json:"jwks_uri"`
	}
	if err := provider.Claims(&keys); err != nil {
		return nil, fmt.Errorf("ask the login service for its addresses: %w", err)
	}
	for _, address := range []string{provider.Endpoint().AuthURL, provider.Endpoint().TokenURL, keys.Address} { // whoever gives keys makes anybody's tokens
		if u, err := url.Parse(address); err != nil || u.Scheme != "https" && !(s.plain && isLoopback(u)) {
			return nil, fmt.Errorf("ask the login service for its addresses: %q is not of https", address)
		}
	}
	return provider, nil
}

func (s *service) config(p *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: s.ClientID, ClientSecret: s.secret.now(), Endpoint: p.Endpoint(), RedirectURL: s.back,
		Scopes: append([]string{oidc.ScopeOpenID}, s.Scopes...),
	}
}

// try is a login in progress, which the browser keeps, sealed, while its person is at the login
// service.
type try struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Next     string `json:"p"`
	Expires  int64  `json:"x"`
}

// start sends somebody to the login service.
func (c *Cluster) start(w http.ResponseWriter, r *http.Request) {
	if !c.hasService(w, r) || !c.mayTry(w, r) {
		return
	}
	next := ownPath(r.URL.Query().Get("next"))
	provider, err := c.service.known()
	if err != nil {
		c.refused(w, r, "", err, next)
		return
	}
	t := try{randomText(16), randomText(16), oauth2.GenerateVerifier(), next, c.options.Clock.Now().Add(tryLifetime).Unix()}
	sealed, err := c.keys.now().seal(tryPurpose, t)
	if err != nil {
		c.refused(w, r, "", err, next)
		return
	}
	http.SetCookie(w, c.setting(tryPurpose, sealed, int(tryLifetime.Seconds())))
	http.Redirect(w, r, c.service.config(provider).AuthCodeURL(t.State, oidc.Nonce(t.Nonce), oauth2.S256ChallengeOption(t.Verifier)), http.StatusSeeOther)
}

func (c *Cluster) hasService(w http.ResponseWriter, r *http.Request) bool {
	if c.service == nil || r.Method != http.MethodGet {
		tell(w, r, message{http.StatusNotFound, "No login service", "This dashboard has no login service. Log in at " + loginPath + "."})
		return false
	}
	return true
}

// callback receives people who come back from the login service.
func (c *Cluster) callback(w http.ResponseWriter, r *http.Request) {
	if !c.hasService(w, r) || !c.mayTry(w, r) {
		return
	}
	t, known := c.tried(r)
	http.SetCookie(w, c.setting(tryPurpose, "", -1))
	query := r.URL.Query()
	if !known || !same(query.Get("state"), t.State) {
		c.refused(w, r, "", refuse("This login began in another browser or tab, or more than ten minutes ago. Log in again."), t.Next)
		return
	}
	if code := query.Get("error"); code != "" {
		c.refused(w, r, "", refuse("The login service has not logged you in%s. Log in again, or ask its operator.", because(code)), t.Next)
		return
	}
	who, until, err := c.service.exchange(r.Context(), query.Get("code"), t)
	if err != nil {
		c.refused(w, r, "", err, t.Next)
		return
	}
	c.admitted(w, r, who, until, t.Next)
}

var errorCode = regexp.MustCompile(`^[a-z_]{1,40}$`)

// because returns the code of an error, if it is a code and not free text.
func because(code string) string {
	if errorCode.MatchString(code) {
		return " (" + code + ")"
	}
	return ""
}

// tried returns the login that a browser began.
func (c *Cluster) tried(r *http.Request) (try, bool) {
	for _, cookie := range r.CookiesNamed(c.cookieName(tryPurpose)) {
		var t try
		if c.keys.now().open(tryPurpose, cookie.Value, &t) && c.options.Clock.Now().Before(time.Unix(t.Expires, 0)) {
			return t, true
		}
	}
	return try{}, false
}

// exchange asks the login service whom a code belongs to, and until when.
func (s *service) exchange(ctx context.Context, code string, t try) (identity, time.Time, error) {
	provider, err := s.known()
	if err != nil {
		return identity{}, time.Time{}, err
	}
	ctx = oidc.ClientContext(ctx, s.client)
	tokens, err := s.config(provider).Exchange(ctx, code, oauth2.VerifierOption(t.Verifier))
	if err != nil {
		return identity{}, time.Time{}, exchangeError(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	token, err := provider.Verifier(&oidc.Config{ClientID: s.ClientID, Now: s.now}).Verify(ctx, raw)
	if err != nil {
		return identity{}, time.Time{}, fmt.Errorf("verify what the login service says: %w", err)
	}
	if !same(token.Nonce, t.Nonce) {
		return identity{}, time.Time{}, refuse("The login service answered another login. Log in again.")
	}
	var claims map[string]json.RawMessage
	if err := token.Claims(&claims); err != nil {
		return identity{}, time.Time{}, fmt.Errorf("read what the login service says: %w", err)
	}
	who, err := s.person(claims)
	return who, token.Expiry, err
}

// exchangeError leaves out the body of the answer, which may have tokens in it.
func exchangeError(err error) error {
	if answer := (*oauth2.RetrieveError)(nil); errors.As(err, &answer) {
		return fmt.Errorf("have the login service exchange a code: it answers %s%s", answer.Response.Status, because(answer.ErrorCode))
	}
	return fmt.Errorf("have the login service exchange a code: %w", err)
}

// person returns the user that the API server makes of these claims.
func (s *service) person(claims map[string]json.RawMessage) (identity, error) {
	for claim, want := range s.RequiredClaims {
		if got, _ := text(claims[claim]); got != want {
			return identity{}, refuse("The login service's %q is not %q for you. Log in with another account.", claim, want)
		}
	}
	name, _ := text(claims[s.UsernameClaim])
	if name == "" {
		return identity{}, refuse("The login service sends no claim %q for you, which the dashboard needs as your user name. Ask the operator of the dashboard to check --oidc-username-claim.", s.UsernameClaim)
	}
	if verified, given := claims["email_verified"]; given && s.UsernameClaim == "email" && string(verified) != "true" {
		return identity{}, refuse("The login service has not verified your email address. Verify it there and log in again.")
	}
	who := identity{Name: s.UsernamePrefix + name}
	if s.GroupsClaim != "" {
		for _, group := range texts(claims[s.GroupsClaim]) {
			if s.GroupsFilter == nil || s.GroupsFilter.MatchString(group) {
				who.Groups = append(who.Groups, s.GroupsPrefix+group)
			}
		}
	}
	if strings.HasPrefix(who.Name, reserved) {
		return identity{}, refuse("%s is a part of Kubernetes. Log in as a person.", who.Name)
	}
	return who, nil
}

func text(claim json.RawMessage) (string, bool) {
	var value string
	err := json.Unmarshal(claim, &value)
	return value, err == nil
}

// texts returns a claim that is a list, or a single value.
func texts(claim json.RawMessage) []string {
	var values []string
	if json.Unmarshal(claim, &values) == nil {
		return values
	}
	if value, is := text(claim); is {
		return []string{value}
	}
	return nil
}
