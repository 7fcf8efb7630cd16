package journeys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"

	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// controller is the product, as a test can start, halt and kill it.
type controller struct {
	w      *world
	agent  string
	cancel context.CancelFunc
	ended  chan error
	dead   atomic.Bool
	// killAt, if set, says at which request it dies.
	killAt killAt
	// halt, if set, is the request at which it is held up.
	halt *halt
	// sent counts its writes in the namespace.
	sent atomic.Int64

	// sight holds the answers that its writes can rest on.
	sight sight

	mu sync.Mutex
	// requested counts what it has sent, by verb and resource.
	requested map[string]int
	// answered are the writes that have had an answer, by method and path.
	answered map[string]bool
	// lacked are the requests that its role does not allow, as the API server says.
	lacked []string
	// mayLack ends the path of requests that its role need not allow.
	mayLack string
	// written records when its writes were done.
	written writeTimes
}

// startController runs the controller for the namespace until it is killed or the test ends.
func (w *world) startController() *controller {
	w.Helper()
	return w.start(&controller{})
}

// killAt says whether a request is the one at which the controller dies: before it is sent,
// after it was answered, or not at all.
type killAt func(*http.Request) moment

type moment int

const (
	goOn moment = iota
	before
	after
)

// startControllerUntil runs the controller until it sends a certain request.
func (w *world) startControllerUntil(kill killAt) *controller {
	w.Helper()
	return w.start(&controller{killAt: kill})
}

func (w *world) start(c *controller) *controller {
	w.Helper()
	w.controllers = append(w.controllers, c)
	version := fmt.Sprintf("%s-%d", w.Name(), len(w.controllers))
	ctx, cancel := context.WithCancel(context.Background())
	c.w, c.agent, c.cancel, c.ended = w, "sluice/"+version, cancel, make(chan error, 1)
	cfg := controllerAccount(w)
	if w.proxy != nil {
		cfg = w.proxy.config(cfg)
	}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return &fuse{next, c} })
	options := app.Options{Version: version, Logger: w.logger(version, &c.sight), Namespaces: []string{w.namespace}}
	options.Git.AllowHTTP, options.ForgeHTTP, options.Git.Networks.Allowed = true, true, dialer.Loopback()
	if w.options != nil {
		w.options(&options)
	}
	mgr, err := app.New(cfg, options)
	if err != nil {
		w.Fatalf("make controller: %v", err)
	}
	c.sight.follow(w, mgr.GetCache())
	go func() { c.ended <- mgr.Start(ctx) }()
	w.Cleanup(func() {
		c.kill()
		c.wantRights()
	})
	return c
}

// shared is what journeys have in common on a control plane.
var shared struct {
	sync.Mutex
	// applied are the files and folders of config that are applied, by kubeconfig and path.
	applied map[[2]string]bool
	// accounts are that of the controller, by kubeconfig.
	accounts map[string]*rest.Config
}

// applyShipped applies a file or folder of config, once for all journeys.
func (w *world) applyShipped(path string) {
	w.Helper()
	shared.Lock()
	defer shared.Unlock()
	key := [2]string{w.access.Kubeconfig, path}
	if shared.applied[key] {
		return
	}
	cfg, err := w.access.Config()
	if err == nil {
		err = controlplane.Apply(w.Context(), cfg, w.shipped(path))
	}
	if err != nil {
		w.Fatalf("apply %s: %v", path, err)
	}
	if shared.applied == nil {
		shared.applied = map[[2]string]bool{}
	}
	shared.applied[key] = true
}

// shipped returns the path of a file or folder of config.
func (w *world) shipped(path string) string {
	w.Helper()
	found, err := controlplane.InCheckout(filepath.Join("config", path))
	if err != nil {
		w.Fatal(err)
	}
	return found
}

// controllerAccount returns the account of the installed product, so that journeys have a user's
// rights and no more.
func controllerAccount(w *world) *rest.Config {
	w.Helper()
	w.applyShipped("rbac")
	shared.Lock()
	defer shared.Unlock()
	if made := shared.accounts[w.access.Kubeconfig]; made != nil {
		return rest.CopyConfig(made)
	}
	cfg, err := w.access.ServiceAccountConfig(w.Context(), "sluice-system", "sluice-controller")
	if err != nil {
		w.Fatalf("log in as the controller: %v", err)
	}
	if shared.accounts == nil {
		shared.accounts = map[string]*rest.Config{}
	}
	shared.accounts[w.access.Kubeconfig] = cfg
	return rest.CopyConfig(cfg)
}

// kill ends the controller where it stands and waits until it is gone.
func (c *controller) kill() {
	c.dead.Store(true)
	c.cancel()
	if c.halt != nil {
		c.halt.goOn()
	}
	if err, ok := <-c.ended; ok {
		close(c.ended)
		if err != nil {
			c.w.Errorf("run controller: %v", err)
		}
	}
}

// wantLost waits until the controller has lost its lease, which ends the process.
func (c *controller) wantLost() {
	c.w.Helper()
	select {
	case err := <-c.ended:
		if err == nil || !strings.Contains(err.Error(), "leader election lost") {
			c.w.Errorf("want the controller to end because it lost its lease, got %v", err)
		}
		c.dead.Store(true)
		c.ended <- nil
	case <-time.After(soon):
		c.w.Fatalf("the controller has not lost its lease within %v", soon)
	}
}

// died says whether the controller has sent the request at which it dies.
func (c *controller) died(*scene) error {
	if !c.dead.Load() {
		return errors.New("want the controller dead: it has not sent that request")
	}
	return nil
}

// requests returns the number of its requests to the namespace, by verb and resource, without
// watches. The audit log has them too, but only some time after their changes are visible.
func (c *controller) requests() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.requested)
}

// writes returns the number of requests that change an object.
func (c *controller) writes() map[string]int {
	writes := c.requests()
	maps.DeleteFunc(writes, func(request string, _ int) bool {
		return strings.HasPrefix(request, "get ") || strings.HasPrefix(request, "list ")
	})
	return writes
}

// verbs are the API's words for the methods that change something.
var verbs = map[string]string{
	http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

// note notes a request to the namespace.
func (c *controller) note(request *http.Request) {
	_, rest, found := strings.Cut(request.URL.Path, "/namespaces/"+c.w.namespace+"/")
	if !found || request.URL.Query().Has("watch") {
		return
	}
	parts := strings.Split(rest, "/") // resource, name, subresource
	verb, resource := verbs[request.Method], parts[0]
	switch {
	case verb != "":
	case len(parts) == 1:
		verb = "list"
	default:
		verb = "get"
	}
	if len(parts) > 2 {
		resource += "/" + parts[2]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requested == nil {
		c.requested = map[string]int{}
	}
	c.requested[verb+" "+resource]++
}

// hasAnswer notes that a write was answered, unless it failed.
func (c *controller) hasAnswer(request *http.Request, err error) {
	if err != nil || !c.w.changes(request) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered == nil {
		c.answered = map[string]bool{}
	}
	if path := request.Method + " " + request.URL.Path; !c.answered[path] {
		c.answered[path] = true
		c.w.journal.nudge()
	}
}

// fuse halts or kills the controller at a request. Requests of a dead one are dropped.
type fuse struct {
	next       http.RoundTripper
	controller *controller
}

var errKilled = errors.New("the controller was killed")

func (f *fuse) RoundTrip(request *http.Request) (*http.Response, error) {
	f.controller.note(request)
	f.controller.sight.watches(request)
	rests := f.controller.sight.of(request)
	f.controller.count(request)
	if f.controller.dead.Load() {
		return nil, errKilled
	}
	when := goOn
	if f.controller.killAt != nil {
		when = f.controller.killAt(request)
	}
	if when == before {
		return nil, f.blow()
	}
	response, err := f.next.RoundTrip(request)
	f.controller.sight.answered(request, response, rests)
	f.controller.hasAnswer(request, err)
	f.controller.noteOutage(request, response, err)
	if err == nil && response.StatusCode == http.StatusForbidden {
		f.controller.noteLack(request, response)
	}
	if when == after && err == nil {
		response.Body.Close()
		return nil, f.blow()
	}
	return response, err
}

// notAllowed matches what the API server says, in JSON or protobuf, of a request that no role
// allows.
var notAllowed = regexp.MustCompile(`sluice-controller\\?" cannot `)

// noteLack notes a request that the API server forbids because of the role, which it says in words
// alone.
func (c *controller) noteLack(request *http.Request, response *http.Response) {
	said, err := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(said))
	if err != nil || !notAllowed.Match(said) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mayLack != "" && strings.HasSuffix(request.URL.Path, c.mayLack) {
		return
	}
	c.lacked = append(c.lacked, request.Method+" "+request.URL.Path)
}

// wantRights fails the test if the role did not allow a request.
func (c *controller) wantRights() {
	c.w.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, lacked := range c.lacked {
		c.w.Errorf("the role of the controller does not allow %s", lacked)
	}
}

func (f *fuse) blow() error {
	f.controller.dead.Store(true)
	f.controller.cancel()
	f.controller.w.journal.nudge()
	return errKilled
}

// logger keeps what a controller says, for a test that fails, and has its sight know when a pass
// begins.
func (w *world) logger(name string, s *sight) logr.Logger {
	kept := &logbook{name: name}
	w.logs = append(w.logs, kept)
	write := func(prefix, args string) {
		if loud := s.listen(args); loud {
			kept.write(prefix, args)
		}
	}
	return funcr.New(write, funcr.Options{LogTimestamp: true, Verbosity: passVerbosity})
}

// logbook holds the log of one controller.
type logbook struct {
	name  string
	mu    sync.Mutex
	lines []string
}

func (l *logbook) write(prefix, args string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, prefix+" "+args)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return "log of " + l.name + ":\n" + strings.Join(l.lines, "\n")
}

// showLogs shows what all controllers have said, once the laws are judged.
func (w *world) showLogs() {
	for _, log := range w.logs {
		if w.Failed() {
			w.Log(log)
		}
	}
}
