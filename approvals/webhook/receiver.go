package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/forge/github"
)

// Path is where the webhooks of a source are taken, as a pattern of net/http.
const Path = "/hooks/{namespace}/{source}"

// Limits of the server. GitHub waits 10 seconds for an answer.
const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 15 * time.Second
	writeTimeout    = 30 * time.Second
	idleTimeout     = time.Minute
	maxHeaderBytes  = 16 << 10
	shutdownTimeout = 10 * time.Second
	// handlingTimeout is for all that is asked of the API server for one webhook.
	handlingTimeout = 8 * time.Second
)

// maxBody is more than the payloads of the events that are of use here have; GitHub sends up to 25 MB.
const maxBody = 5 << 20

// bodiesAtOnce bounds the memory that bodies take.
const bodiesAtOnce = 32

// Options of a Receiver.
type Options struct {
	// Address is the host:port that Start listens on.
	Address string
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

	addresses  *addresses
	deliveries *deliveries
	bodies     chan struct{}
	// complaints are logged now and then: whoever can reach us must not fill the log.
	complaints rate.Sometimes
}

// New makes a Receiver that finds objects in the cache of a client and writes by it, and reads Secrets, which
// are not cached, from live.
func New(cached client.Client, live client.Reader, options Options) *Receiver {
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	r := &Receiver{
		cached:     cached,
		secrets:    newSecrets(live, options.Clock),
		options:    options,
		routes:     http.NewServeMux(),
		addresses:  newAddresses(),
		deliveries: newDeliveries(),
		bodies:     make(chan struct{}, bodiesAtOnce),
		complaints: rate.Sometimes{Interval: 10 * time.Second},
	}
	r.routes.HandleFunc(http.MethodPost+" "+Path, func(w http.ResponseWriter, req *http.Request) {
		r.reply(w, req, r.take(w, req))
	})
	return r
}

// ServeHTTP implements http.Handler.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	defer r.survive(w, req)
	if !r.addresses.allow(req.RemoteAddr, r.options.Clock.Now()) {
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
	count(req.Header.Get(github.EventHeader), a)
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	if a.retry {
		header.Set("Retry-After", "1")
	}
	w.WriteHeader(a.status)
	fmt.Fprintln(w, a.text)
}

// NeedLeaderElection is false: every replica takes webhooks.
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
