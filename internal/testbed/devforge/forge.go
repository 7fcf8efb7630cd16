package devforge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// defaultMaxProcesses is enough for a demo's clients and small enough for two cores.
const defaultMaxProcesses = 8

// Options say where a forge keeps its repositories and who may use it.
type Options struct {
	// Dir holds the repositories. It is made if it does not exist.
	Dir string
	// Host is the address to listen on. Default 127.0.0.1.
	Host string
	// Users are tokens (or passwords), all different, by user name. They may do everything with
	// every repository. With none, and none made by CreateToken or CreateApp, everybody may.
	Users map[string]string
	// MaxProcesses is how many git processes may run at a time. Default 8.
	MaxProcesses int
	// Logger takes what goes wrong while a request is served. Default: discarded.
	Logger *slog.Logger
	// Clock tells the time: of objects, expiry and rate limits. Default time.Now.
	Clock func() time.Time
	// Middleware, if not nil, stands in front of what the forge answers, behind its faults:
	// it sees what a forge without faults would say.
	Middleware func(http.Handler) http.Handler
}

// Forge serves the repositories of one folder until it is closed.
type Forge struct {
	dir    string
	log    *slog.Logger
	now    func() time.Time
	git    *gitcmd.Runner
	url    string
	server *http.Server
	// served is closed when the server has ended.
	served chan struct{}

	ids        sequence
	who        *directory
	repos      *registry
	shape      shapes
	limits     *limiter
	faults     *faultSet
	requests   *requestLog
	deliveries *dispatcher
	sessions   *sessions
}

// sequence gives out growing numbers. One sequence serves all kinds of object.
type sequence struct{ last atomic.Int64 }

func (s *sequence) next() int64 { return s.last.Add(1) }

// withDefaults fills in what is left out.
func (o Options) withDefaults() Options {
	if o.Host == "" {
		o.Host = "127.0.0.1"
	}
	if o.MaxProcesses < 1 {
		o.MaxProcesses = defaultMaxProcesses
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return o
}

// Start serves the repositories of opts.Dir on a free port of opts.Host. The context bounds the
// start alone: Close ends what it started, and must be called.
func Start(ctx context.Context, opts Options) (*Forge, error) {
	opts = opts.withDefaults()
	dir, err := prepareDir(opts.Dir)
	if err != nil {
		return nil, err
	}
	git, err := gitcmd.NewRunner(dir, opts.MaxProcesses)
	if err != nil {
		return nil, err
	}
	f := assemble(dir, git, opts)
	if err := f.addUsers(opts.Users); err != nil {
		return nil, err
	}
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", net.JoinHostPort(opts.Host, "0"))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	f.url = "http://" + listener.Addr().String()
	f.shape = shapes{root: f.url, who: f.who}
	f.server = f.newServer(opts.Middleware)
	go f.serveOn(listener)
	return f, nil
}

func assemble(dir string, git *gitcmd.Runner, opts Options) *Forge {
	f := &Forge{
		dir:      dir,
		log:      opts.Logger,
		now:      func() time.Time { return opts.Clock().UTC().Truncate(time.Second) },
		git:      git,
		served:   make(chan struct{}),
		repos:    &registry{byName: map[string]*repository{}},
		limits:   newLimiter(),
		faults:   newFaultSet(),
		requests: newRequestLog(),
		sessions: newSessions(),
	}
	f.who = newDirectory(&account{
		id: f.ids.next(), login: "ghost", kind: kindUser, email: "ghost@localhost", created: f.now(), everywhere: true,
	})
	f.deliveries = newDispatcher(opts.Logger, f.now)
	return f
}

func (f *Forge) addUsers(users map[string]string) error {
	for name, token := range users {
		if f.who.credential(token, f.now()) != nil {
			return fmt.Errorf("add user %s: another user has the same token", name)
		}
		a, err := f.who.add(account{id: f.ids.next(), login: name, kind: kindUser, created: f.now(), everywhere: true})
		if err != nil {
			return fmt.Errorf("add user %s: %w", name, err)
		}
		f.who.setToken(token, &credential{account: a})
	}
	return nil
}

func (f *Forge) serveOn(listener net.Listener) {
	defer close(f.served)
	if err := f.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		f.log.Error("cannot go on serving", "error", err)
	}
}

func prepareDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolve state folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make state folder: %w", err)
	}
	return dir, nil
}

func (f *Forge) newServer(middleware func(http.Handler) http.Handler) *http.Server {
	handler := f.handler()
	if middleware != nil {
		handler = middleware(handler)
	}
	return &http.Server{
		Handler:           f.recorded(f.faulty(handler)),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(f.log.Handler(), slog.LevelWarn),
	}
}

// URL returns the root of the forge, without a slash at its end.
func (f *Forge) URL() string { return f.url }

// APIURL returns the root of the REST API, with the slash at its end that go-github wants.
func (f *Forge) APIURL() string { return f.url + apiPrefix + "/" }

// Close ends the git processes that still run, drops all connections and
// returns when nothing of the forge runs any more. The repositories stay.
func (f *Forge) Close() error {
	f.git.End()
	f.faults.end()
	err := f.server.Close()
	<-f.served
	f.git.Wait()
	f.deliveries.close()
	if err != nil {
		return fmt.Errorf("close server: %w", err)
	}
	return nil
}

func (f *Forge) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{owner}/{repo}/info/refs", f.advertiseRefs)
	mux.HandleFunc("POST /{owner}/{repo}/git-upload-pack", f.fetch)
	mux.HandleFunc("POST /{owner}/{repo}/git-receive-pack", f.receive)
	f.pages(mux)
	api := f.api()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, apiPrefix+"/") {
			api.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
