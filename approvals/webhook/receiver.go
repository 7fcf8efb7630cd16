package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/limit"
	"github.com/sluice-dev/sluice/internal/remote"
)

// Path is where the webhooks of a source are taken, as a pattern of net/http.
const Path = "/hooks/{namespace}/{source}"

// Limits of the server. GitHub waits 10 seconds for an answer.
const (
	headerTimeout   = 5 * time.Second
	readTimeout     = headerTimeout + bodyTimeout
	writeTimeout    = 30 * time.Second
	idleTimeout     = time.Minute
	maxHeaderBytes  = 16 << 10
	shutdownTimeout = 10 * time.Second
	// bodyTimeout limits reading the body of one webhook.
	bodyTimeout = 3 * time.Second
	// handlingTimeout limits all requests to the API server for one webhook.
	handlingTimeout = 8 * time.Second
)

// maxBody is more than the payloads of the events that are of use here have; GitHub sends up to 25
// MB.
const maxBody = 5 << 20

// Options of a Receiver.
type Options struct {
	// Address is the host:port that Start listens on.
	Address string
	// TrustedProxies are the proxies whose X-Forwarded-For header names the client, for limits that
	// hold for each address.
	TrustedProxies []netip.Prefix
	// Logger for what is worth knowing; the zero value is silent.
	Logger logr.Logger
	// Clock is the time; nil means the machine's.
	Clock clock.PassiveClock
}

// Receiver takes webhooks. It is an http.Handler, and a runnable of a manager.
type Receiver struct {
	cached  client.Client
	secrets *secrets
	options Options
	routes  *http.ServeMux

	addresses  *limit.Limits[netip.Prefix]
	namespaces *limit.Limits[string]
	deliveries *deliveries
	places     *places
	// complaints limits log lines, so that no sender can fill the log.
	complaints rate.Sometimes
}

// New makes a Receiver that finds objects in the cache of a client and writes by it, and reads
// Secrets, which are not cached, from live.
func New(cached client.Client, live client.Reader, options Options) *Receiver {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	r := &Receiver{
		cached:     cached,
		secrets:    newSecrets(live, options.Clock),
		options:    options,
		routes:     http.NewServeMux(),
		addresses:  limit.New[netip.Prefix](perSecond, burst, maxSeen),
		namespaces: limit.New[string](perSecond, burst, maxSeen),
		deliveries: newDeliveries(),
		places:     newPlaces(),
		complaints: rate.Sometimes{Interval: 10 * time.Second},
	}
	r.routes.HandleFunc(http.MethodPost+" "+Path, func(w http.ResponseWriter, req *http.Request) {
		a := r.take(w, req)
		if a.unsigned && !r.allow(req) {
			a = limited
		}
		r.reply(w, req, a)
	})
	return r
}

// allow counts a request that is not signed, and reports whether its address may send so many.
func (r *Receiver) allow(req *http.Request) bool {
	from := remote.Network(remote.Client(req, r.options.TrustedProxies))
	return r.addresses.Allow(from, r.options.Clock.Now())
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	defer r.survive(w, req)
	if _, pattern := r.routes.Handler(req); pattern == "" && !r.allow(req) { // of no path that there is
		r.reply(w, req, limited)
		return
	}
	r.routes.ServeHTTP(w, req)
}

// survive keeps what one request brings about from ending the process.
func (r *Receiver) survive(w http.ResponseWriter, req *http.Request) {
	reason := recover()
	if reason == nil {
		return
	}
	if err, ok := reason.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(reason)
	}
	r.options.Logger.Error(fmt.Errorf("panic: %v", reason), "Cannot take a webhook", "path", req.URL.Path, "stack", string(debug.Stack()))
	r.reply(w, req, panicked)
}

// reply answers a request and counts it.
func (r *Receiver) reply(w http.ResponseWriter, req *http.Request, a answer) {
	count(req.Header, a)
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	if a.retry {
		header.Set("Retry-After", "1")
	}
	w.WriteHeader(a.status)
	fmt.Fprintln(w, a.text)
}

// NeedLeaderElection returns false: every replica takes webhooks.
func (r *Receiver) NeedLeaderElection() bool { return false }

// Start serves until ctx ends, and then until the requests that are being answered are.
func (r *Receiver) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", r.options.Address)
	if err != nil {
		return fmt.Errorf("listen for webhooks: %w", err)
	}
	server := &http.Server{
		Handler:           r,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logr.ToSlogHandler(r.options.Logger.V(1)), slog.LevelInfo),
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	r.options.Logger.Info("Taking webhooks", "address", listener.Addr().String())
	select {
	case err := <-ended:
		return fmt.Errorf("serve webhooks: %w", err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("stop serving webhooks: %w", err)
	}
	return nil
}
