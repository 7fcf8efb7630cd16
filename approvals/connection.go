package approvals

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/proof"
)

const (
	// requestsAtOnce is how many requests a forge gets from one source at a time. Forges recommend few.
	requestsAtOnce = 4
	// secretFor is how long a Secret is used as it was read.
	secretFor = time.Minute
	// shortestPause and longestPause are how long a forge is left alone after a failure that may
	// go away by itself, the first and any later time.
	shortestPause = time.Second
	longestPause  = 2 * time.Minute
)

// Forges make the clients that talk to forges.
type Forges interface {
	Client(a forge.Access) (forge.Client, error)
}

// Options say how to talk to forges.
type Options struct {
	// Cluster is the name of this cluster in commit statuses; empty if there is only one.
	Cluster string
	// Page returns the address of a release's page; nil for no pages.
	Page func(release *v1alpha1.BatchRelease) string
	// SharedNamespaces are the namespaces that the sources of all namespaces may write into.
	SharedNamespaces []string
	// Cache holds the options of the manager's cache. Jobs have a cache of their own with the same
	// namespaces.
	Cache cache.Options
	// Forges make the clients that talk to forges.
	Forges Forges
	// Networks say which addresses of metric servers may be connected to.
	Networks dialer.Rules
	// Key returns the key that signs the statements about gates that have passed; nil for none.
	Key func() (*proof.Key, error)
}

// pausedError says that a forge is left alone for now.
type pausedError struct {
	until time.Time
	cause error
	// failures in a row that may go away by themselves.
	failures int
	// own says that only what can wait does, and every how often one is sent then.
	own   bool
	every time.Duration
}

func (e *pausedError) Error() string { return e.cause.Error() }
func (e *pausedError) Unwrap() error { return e.cause }

// lasting reports whether people should know of the failure: a single one passes, unless the forge
// limits us.
func (e *pausedError) lasting() bool {
	return e.failures > 1 || forge.KindOf(e.cause) == forge.Limited && !e.own
}

// connections are the forges of all sources. One that is slow, limited or gone delays its own
// source and no other.
type connections struct {
	writer   client.Client
	live     client.Reader
	clock    clock.PassiveClock
	options  Options
	rejected rejections

	mu  sync.Mutex
	all map[types.NamespacedName]*connection
}

func newConnections(writer client.Client, live client.Reader, now clock.PassiveClock, options Options) *connections {
	return &connections{writer: writer, live: live, clock: now, options: options, all: map[types.NamespacedName]*connection{}}
}

// connection is the forge of one source.
type connection struct {
	source types.NamespacedName
	clock  clock.PassiveClock
	slots  chan struct{}

	// setup is held while the client is made; who waits for it waits for the same thing.
	setup    sync.Mutex
	api      forge.Client
	identity identity
	readAt   time.Time

	mu       sync.Mutex
	failures int
	paused   *pausedError
	// letIn reports whether the current client has reached its repository once, and condition is the
	// last ForgeReady condition written.
	letIn     bool
	condition metav1.Condition
	// behind are the objects of which a report waits for the forge to allow more, and came counts them.
	behind map[types.UID]waiting
	came   int64
}

// identity holds all that a client is made from but its credentials.
type identity struct {
	uid   types.UID
	forge v1alpha1.Forge
	teams bool
}

// of returns the connection of a source; it is made if there is none.
func (c *connections) of(source *v1alpha1.ReleaseSource) *connection {
	key := client.ObjectKeyFromObject(source)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[key] == nil {
		c.all[key] = &connection{source: key, clock: c.clock, slots: make(chan struct{}, requestsAtOnce), behind: map[types.UID]waiting{}}
	}
	return c.all[key]
}

// forget drops what is known of a source that is gone.
func (c *connections) forget(key types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, key)
	forgetBudget(key)
}

// ask sends something to the source's forge. Its error is a *pausedError where
// trying again at a certain time may help.
func (c *connections) ask(ctx context.Context, source *v1alpha1.ReleaseSource, teams bool, what func(context.Context, forge.Client) error) error {
	con := c.of(source)
	select {
	case con.slots <- struct{}{}:
		defer func() { <-con.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := con.pausedNow(); err != nil {
		return err
	}
	err := c.send(ctx, con, source, teams, what)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	err = con.note(err)
	return errors.Join(err, c.publish(ctx, con, source.Generation, err))
}

// send makes the request, after the first one of a client has shown that it is let in.
func (c *connections) send(ctx context.Context, con *connection, source *v1alpha1.ReleaseSource, teams bool, what func(context.Context, forge.Client) error) error {
	api, err := c.client(ctx, con, source, teams)
	if err != nil {
		return err
	}
	defer func() { publishBudget(con.source, api.Budget()) }()
	if !con.proved() {
		if err := prove(ctx, api); err != nil {
			return err
		}
		con.mu.Lock()
		con.letIn = true
		con.mu.Unlock()
	}
	return what(ctx, api)
}

func (c *connection) pausedNow() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused != nil && c.clock.Now().Before(c.paused.until) {
		return c.paused
	}
	return nil
}

// note draws conclusions from how a request ended.
func (c *connection) note(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if kind := forge.KindOf(err); kind != "" && kind != forge.Limited {
		c.readAt = time.Time{} // the Secret may be what has to change, or have been changed since
	}
	switch forge.KindOf(err) {
	case forge.Limited:
		limited, _ := errors.AsType[*forge.LimitedError](err)
		if limited.Own {
			return &pausedError{until: limited.Until, cause: err, own: true, every: limited.Every}
		}
		c.paused = &pausedError{until: limited.Until, cause: err}
		return c.paused
	case forge.Transient:
		pause := min(shortestPause<<min(c.failures, 16), longestPause)
		c.failures++
		c.paused = &pausedError{until: c.clock.Now().Add(pause), cause: err, failures: c.failures}
		return c.paused
	case "":
		if err == nil {
			c.failures, c.paused = 0, nil
		}
	}
	return err
}

// client returns the one for the source as it is now, with the credentials as they are now.
func (c *connections) client(ctx context.Context, con *connection, source *v1alpha1.ReleaseSource, teams bool) (forge.Client, error) {
	con.setup.Lock()
	defer con.setup.Unlock()
	wanted := identity{uid: source.UID, forge: *source.Spec.Forge, teams: teams || con.identity.teams}
	wanted.forge.Interval.Duration = 0
	con.mu.Lock()
	fresh := c.clock.Since(con.readAt) < secretFor
	con.mu.Unlock()
	if con.api != nil && fresh && wanted == con.identity {
		return con.api, nil
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: source.Namespace, Name: source.Spec.Forge.SecretRef.Name}
	err := c.live.Get(ctx, key, &secret)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, &forge.Error{Kind: forge.Unauthorised, Message: fmt.Sprintf("read Secret %s: %v", key.Name, err)}
	case err != nil:
		return nil, fmt.Errorf("read Secret %s: %w", key, err)
	}
	if err := kube.CheckCredentials(&secret); err != nil {
		return nil, &forge.Error{Kind: forge.Unauthorised, Message: err.Error()}
	}
	api, err := c.connect(source, &secret, wanted.teams)
	con.mu.Lock()
	defer con.mu.Unlock()
	con.letIn = con.letIn && api == con.api && wanted == con.identity
	con.api, con.identity = api, wanted
	if err == nil {
		con.readAt = c.clock.Now()
	}
	return api, err
}

func (c *connections) connect(source *v1alpha1.ReleaseSource, secret *corev1.Secret, teams bool) (forge.Client, error) {
	where := source.Spec.Forge
	api, err := c.options.Forges.Client(forge.Access{
		Type: forge.Type(where.Type), BaseURL: where.BaseURL, Owner: where.Owner, Repository: where.Repo,
		Secret: secret.Data, Teams: teams, Deployments: where.Environment != "",
	})
	if err != nil {
		return nil, fmt.Errorf("connect to forge: %w", err)
	}
	return api, nil
}

// retryAt returns when what failed with err can be tried again, by what the forge or its failures
// say; zero where they say nothing.
func retryAt(err error) time.Time {
	if paused, ok := errors.AsType[*pausedError](err); ok {
		return paused.until
	}
	return time.Time{}
}
