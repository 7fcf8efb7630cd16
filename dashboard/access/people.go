package access

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/sluice-dev/sluice/internal/lru"
	"github.com/sluice-dev/sluice/internal/plain"
)

const (
	// maxPeople is how many people's clients are kept.
	maxPeople = 256
	// Requests that one person's pages make of the API server.
	personPerSecond = 100
	personBurst     = 300
	// maxAnswer bounds the answer of the API server to one request: large objects in a namespace
	// make its page fail, and don't fill the dashboard's memory. Watches send one object after the
	// other.
	maxAnswer = 4 << 20
)

// ErrBusy says that a viewer or the dashboard has too much to read.
var ErrBusy = errors.New("too many pages at once")

// people are the clients that act as the people who log in. They share the connections of the
// dashboard's own account.
type people struct {
	own     client.Client
	config  *rest.Config
	through http.RoundTripper
	scheme  *runtime.Scheme
	mapper  meta.RESTMapper
	clients *lru.Cache[string, *acting]
}

// acting is a client that acts as a person, and the limit on their requests.
type acting struct {
	client.WithWatch

	limit flowcontrol.RateLimiter
}

func newPeople(cfg *rest.Config, scheme *runtime.Scheme) (*people, error) {
	config := rest.CopyConfig(cfg)
	if config.Impersonate.UserName != "" {
		return nil, errors.New("the dashboard's own account can't be impersonated: it impersonates others")
	}
	through, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API server: %w", err)
	}
	shared := &http.Client{Transport: through, Timeout: config.Timeout}
	mapper, err := apiutil.NewDynamicRESTMapper(config, shared)
	if err != nil {
		return nil, fmt.Errorf("ask the API server for its resources: %w", err)
	}
	own, err := client.New(config, client.Options{HTTPClient: shared, Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	clients := lru.New[string, *acting](maxPeople)
	return &people{own: own, config: config, through: through, scheme: scheme, mapper: mapper, clients: clients}, nil
}

// client acts as a person.
func (p *people) client(who identity) (*acting, error) {
	key := who.key()
	if kept := p.clients.Get(key); kept != nil {
		return kept, nil
	}
	config, limit := rest.CopyConfig(p.config), flowcontrol.NewTokenBucketRateLimiter(personPerSecond, personBurst)
	config.QPS, config.RateLimiter = -1, nil
	as := transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{
		UserName: who.Name, UID: who.UID, Groups: who.Groups, Extra: who.Extra,
	}, rationed{sparing{p.through}, limit})
	through, err := client.NewWithWatch(config, client.Options{
		HTTPClient: &http.Client{Transport: as, Timeout: config.Timeout}, Scheme: p.scheme, Mapper: p.mapper,
	})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	made := &acting{through, limit}
	p.clients.Put(key, made, 1)
	return made, nil
}

// waitedKey marks a context whose request has waited already.
type waitedKey struct{}

// wait waits for the limit.
func (a *acting) wait(ctx context.Context) (context.Context, error) {
	if err := a.limit.Wait(ctx); err != nil {
		return nil, fmt.Errorf("wait for the limit on one's requests: %w: %w", ErrBusy, err)
	}
	return context.WithValue(ctx, waitedKey{}, true), nil
}

// rationed sends so many requests in a time, and has others wait.
type rationed struct {
	next  http.RoundTripper
	limit flowcontrol.RateLimiter
}

// RoundTrip sends a request.
func (r rationed) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Context().Value(waitedKey{}) == nil {
		if err := r.limit.Wait(request.Context()); err != nil {
			if request.Body != nil {
				_ = request.Body.Close() // it is not sent
			}
			return nil, fmt.Errorf("wait for the limit on one's requests: %w: %w", ErrBusy, err)
		}
	}
	return r.next.RoundTrip(request)
}

// sparing reads only so much of an answer. A longer answer fails with an http.MaxBytesError.
type sparing struct{ next http.RoundTripper }

// RoundTrip sends a request.
func (s sparing) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := s.next.RoundTrip(request)
	if err == nil && !request.URL.Query().Has("watch") {
		answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	}
	return answer, err
}

// viewer returns the person of a session.
func (p *people) viewer(s session) (*Viewer, error) {
	acts, err := p.client(s.Who)
	if err != nil {
		return nil, err
	}
	return &Viewer{
		Name: s.Who.Name, Groups: s.Who.Groups, Client: acts, CSRF: s.csrf(), Leaves: true, waits: acts.wait, person: s.Who.key(),
	}, nil
}

// whoami returns who a client acts as, according to the API server.
func whoami(ctx context.Context, acts client.Client) (authenticationv1.UserInfo, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := acts.Create(ctx, review); err != nil {
		return authenticationv1.UserInfo{}, fmt.Errorf("ask the API server who this is: %w", err)
	}
	return review.Status.UserInfo, nil
}

// proven checks that the API server attributes a person's requests to that person.
func (p *people) proven(ctx context.Context, who identity) error {
	acts, err := p.client(who)
	if err != nil {
		return err
	}
	is, err := whoami(ctx, acts)
	if err != nil {
		return err
	}
	known, err := admit(userOf(is))
	if err != nil {
		return err
	}
	if known.key() != who.key() {
		return refuse("The API server takes %s for %s in %s with %s, which is somebody else.", who.Name, known.Name,
			plain.Count(len(known.Groups), "group"), plain.Count(len(known.Extra), "attribute"))
	}
	return nil
}

// userOf returns who the API server says that somebody is.
func userOf(is authenticationv1.UserInfo) identity {
	who := identity{Name: is.Username, UID: is.UID, Groups: is.Groups}
	for key, values := range is.Extra {
		if who.Extra == nil {
			who.Extra = map[string][]string{}
		}
		who.Extra[key] = values
	}
	return who
}
