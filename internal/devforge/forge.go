package devforge

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// defaultMaxProcesses is enough for a demo's clients and small enough for two cores.
const defaultMaxProcesses = 8

// Options say where a forge keeps its repositories and who may use it.
type Options struct {
	// Dir holds the repositories. It is made if it does not exist.
	Dir string
	// Users are passwords (or tokens) by user name. With none, everybody may read and push.
	Users map[string]string
	// MaxProcesses is how many git processes may run at a time. Default 8.
	MaxProcesses int
	// Logger takes what goes wrong while a request is served. Default: discarded.
	Logger *slog.Logger
}

// Forge serves the repositories of one folder until it is closed.
type Forge struct {
	dir    string
	users  map[string]string
	log    *slog.Logger
	git    *gitRunner
	url    string
	server *http.Server
	// served is closed when the server has ended.
	served chan struct{}
}

// withDefaults fills in what is left out.
func (o Options) withDefaults() Options {
	if o.MaxProcesses < 1 {
		o.MaxProcesses = defaultMaxProcesses
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Start serves the repositories of opts.Dir on a free port of 127.0.0.1. The context bounds the
// start alone: Close ends what it started, and must be called.
func Start(ctx context.Context, opts Options) (*Forge, error) {
	opts = opts.withDefaults()
	dir, err := prepareDir(opts.Dir)
	if err != nil {
		return nil, err
	}
	git, err := newGitRunner(dir, opts.MaxProcesses)
	if err != nil {
		return nil, err
	}
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	f := &Forge{
		dir:    dir,
		users:  opts.Users,
		log:    opts.Logger,
		git:    git,
		url:    "http://" + listener.Addr().String(),
		served: make(chan struct{}),
	}
	f.server = f.newServer()
	go f.serveOn(listener)
	return f, nil
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

func (f *Forge) newServer() *http.Server {
	return &http.Server{
		Handler:           f.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(f.log.Handler(), slog.LevelWarn),
	}
}

// URL is the root of the forge, without a slash at its end.
func (f *Forge) URL() string { return f.url }

// Close ends the git processes that are under way, drops all connections and
// returns when nothing of the forge runs any more. The repositories stay.
func (f *Forge) Close() error {
	f.git.end()
	err := f.server.Close()
	<-f.served
	f.git.wait()
	if err != nil {
		return fmt.Errorf("close server: %w", err)
	}
	return nil
}

func (f *Forge) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{owner}/{repo}/info/refs", f.advertiseRefs)
	mux.HandleFunc("POST /{owner}/{repo}/git-upload-pack", f.serveRPC(uploadPack))
	mux.HandleFunc("POST /{owner}/{repo}/git-receive-pack", f.serveRPC(receivePack))
	return f.authenticated(mux)
}

// authenticated lets requests of known users through; with no users, all of them.
func (f *Forge) authenticated(next http.Handler) http.Handler {
	if len(f.users) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		want, known := f.users[user]
		same := subtle.ConstantTimeCompare([]byte(password), []byte(want)) == 1
		if !known || !same {
			w.Header().Set("WWW-Authenticate", `Basic realm="devforge"`)
			http.Error(w, "authentication required", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
