package devlab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/smarthttp"
)

// maxProcesses is how many git processes may run at a time.
const maxProcesses = 8

// Lab serves projects until it is closed.
type Lab struct {
	dir    string
	log    *slog.Logger
	git    *gitcmd.Runner
	url    string
	server *http.Server
	served chan struct{}
	watch  watch

	// mu guards all that follows.
	mu       sync.Mutex
	last     time.Time
	ids      int64
	users    []*user
	groups   []*group
	projects []*project
}

// Start serves a GitLab without projects, from a folder. Close ends it, and must be called.
func Start(ctx context.Context, dir string, log *slog.Logger) (*Lab, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make state folder: %w", err)
	}
	git, err := gitcmd.NewRunner(dir, maxProcesses)
	if err != nil {
		return nil, err
	}
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	l := &Lab{dir: dir, log: log, git: git, url: "http://" + listener.Addr().String(), served: make(chan struct{})}
	l.server = &http.Server{Handler: l.watch.around(l.handler(), l.loginOf), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(l.served)
		if err := l.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			l.log.Error("cannot go on serving", "error", err)
		}
	}()
	return l, nil
}

// URL returns the root of the server.
func (l *Lab) URL() string { return l.url }

// Close ends everything that runs. The repositories stay.
func (l *Lab) Close() error {
	l.git.End()
	err := l.server.Close()
	<-l.served
	l.git.Wait()
	if err != nil {
		return fmt.Errorf("close server: %w", err)
	}
	return nil
}

// now returns a time after all that it has returned before. The caller holds the lock.
func (l *Lab) now() time.Time {
	now := time.Now().UTC().Truncate(time.Millisecond)
	if !now.After(l.last) {
		now = l.last.Add(time.Millisecond)
	}
	l.last = now
	return now
}

// next returns a number that nothing has. The caller holds the lock.
func (l *Lab) next() int64 {
	l.ids++
	return l.ids
}

func (l *Lab) handler() http.Handler {
	api := l.routes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, apiPrefix) {
			l.serveAPI(w, r, api)
			return
		}
		l.serveGit(w, r)
	})
}

// serveGit serves a project by Git's own protocol, at its path with .git at the end.
func (l *Lab) serveGit(w http.ResponseWriter, r *http.Request) {
	path, rest, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), ".git/")
	svc, wanted := smarthttp.UploadPack, 0
	switch {
	case !found:
		http.NotFound(w, r)
		return
	case rest == "info/refs":
		var ok bool
		if svc, ok = smarthttp.ServiceOf(w, r); !ok {
			return
		}
	case rest == "git-receive-pack":
		svc = smarthttp.ReceivePack
	case rest != "git-upload-pack":
		http.NotFound(w, r)
		return
	}
	if svc == smarthttp.ReceivePack {
		wanted = Developer
	}
	by, p := l.gitAccess(w, r, path, wanted)
	if p == nil {
		return
	}
	server := smarthttp.Server{Git: l.git, Log: l.log}
	switch rest {
	case "info/refs":
		server.AdvertiseRefs(w, r, svc, p.git.Dir())
	case "git-upload-pack":
		server.Fetch(w, r, p.git.Dir())
	default:
		var commands smarthttp.Commands
		server.Push(w, r, p.git.Dir(), &commands, func(ctx context.Context) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.pushed(ctx, p, by, commands.Named()...)
		})
	}
}

// gitAccess finds the project of a request of Git and who sends it, or answers why it is not
// served.
func (l *Lab) gitAccess(w http.ResponseWriter, r *http.Request, path string, wanted int) (*user, *project) {
	l.mu.Lock()
	defer l.mu.Unlock()
	by, p := l.userOf(r), l.project(path)
	switch {
	case by == nil && (p == nil || !p.public || wanted > 0):
		smarthttp.AskForPassword(w, "GitLab")
	case p == nil || !p.visibleTo(by):
		http.Error(w, "The project you were looking for could not be found.", http.StatusNotFound)
	case p.level(by) < wanted:
		http.Error(w, "You are not allowed to push code to this project.", http.StatusForbidden)
	default:
		return by, p
	}
	return nil, nil
}
