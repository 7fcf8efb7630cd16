package dashboard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/dashboard/page"
	"github.com/sluice-dev/sluice/dashboard/view"
)

// Options are the options of a Dashboard.
type Options struct {
	// Objects has the BatchReleases, ReleaseSources and histories that lists show; see NewCache.
	Objects cache.Cache
	// Door lets viewers in.
	Door access.Door
	// Cluster is the name of the cluster on each page; empty for none.
	Cluster string
	Version string
	// Proxies are networks of those that bring requests of many people.
	Proxies []netip.Prefix
	Logger  logr.Logger
	Clock   clock.PassiveClock
}

// Dashboard serves the pages.
type Dashboard struct {
	options Options
	board   *board
	hub     *hub
	rights  *access.Rights
	streams *streams
	reads   *reads
	files   http.Handler
	acting  *acting

	// following is how long pages hear of changes.
	following atomic.Pointer[context.Context]
	// sources says whether pages hear of sources.
	sources     sync.Mutex
	hearSources bool
}

// New makes a Dashboard. Follow keeps its pages live.
func New(options Options) *Dashboard {
	return &Dashboard{
		options: options, board: newBoard(options.Objects, options.Clock), hub: newHub(),
		rights: access.NewRights(options.Clock), streams: newStreams(), reads: newReads(), files: newFiles(page.Assets()),
		acting: newActing(),
	}
}

// NewCache makes a cache of what lists show, for a process that has none: of the namespaces, or all
// if none is given. It keeps little of each object.
func NewCache(cfg *rest.Config, scheme *runtime.Scheme, namespaces ...string) (cache.Cache, error) {
	carrying, err := labels.Parse(v1alpha1.ReleaseLabel)
	if err != nil { // it is a constant
		return nil, fmt.Errorf("select histories: %w", err)
	}
	options := cache.Options{Scheme: scheme, DefaultTransform: slim, ByObject: map[client.Object]cache.ByObject{&appsv1.ControllerRevision{}: {Label: carrying}}}
	for _, namespace := range namespaces {
		if options.DefaultNamespaces == nil {
			options.DefaultNamespaces = map[string]cache.Config{}
		}
		options.DefaultNamespaces[namespace] = cache.Config{}
	}
	objects, err := cache.New(cfg, options)
	if err != nil {
		return nil, fmt.Errorf("make cache: %w", err)
	}
	return objects, nil
}

// Follow notifies the pages of changes until ctx ends.
func (d *Dashboard) Follow(ctx context.Context) error {
	d.following.Store(&ctx)
	return d.hear(ctx, &v1alpha1.BatchRelease{}, kindRelease)
}

// followSources notifies the pages of changes of sources, once a viewer who may list them does: not
// everybody who runs a dashboard may.
func (d *Dashboard) followSources() error {
	ctx := d.following.Load()
	if ctx == nil {
		return nil
	}
	if !d.sources.TryLock() { // somebody else's request sets it up, and may hang
		return nil
	}
	defer d.sources.Unlock()
	if d.hearSources {
		return nil
	}
	err := d.hear(*ctx, &v1alpha1.ReleaseSource{}, kindSource)
	d.hearSources = err == nil // one failure is none for the next
	return err
}

// Handler serves the pages to people whom the door admits.
func (d *Dashboard) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", d.page(d.listReleases))
	mux.Handle("GET /releases/{namespace}/{name}", d.page(named(d.showRelease)))
	mux.Handle("GET /releases/{namespace}/{name}/diff", d.page(named(d.showDiff)))
	d.handleActions(mux)
	mux.Handle("GET /sources", d.page(d.listSources))
	mux.Handle("GET /history", d.page(d.showHistory))
	mux.HandleFunc("GET /live", d.live)
	mux.Handle("GET /assets/", http.StripPrefix("/assets/", d.files))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", d.ready)
	mux.Handle("/", d.page(func(*http.Request, *access.Viewer) (*answer, error) { return nil, errNoPage }))
	return d.options.Door.Wrap(mux)
}

// answer is a page to be rendered, or a redirect.
type answer struct {
	name  page.Name
	frame page.Frame
	// to is an address to redirect to, in place of a page.
	to string
	// status is that of the page; 0 for one that is as it was asked for.
	status int
}

// errNoPage says that there is no page at an address.
var errNoPage = errors.New("there is no page at this address")

// page serves the page that a function makes for a viewer.
func (d *Dashboard) page(make func(*http.Request, *access.Viewer) (*answer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		viewer := access.ViewerOf(r.Context())
		if viewer == nil { // the door passes on only known viewers
			http.Error(w, "log in first", http.StatusUnauthorized)
			return
		}
		made, err := make(r, viewer)
		if err != nil {
			d.refuse(w, r, viewer, err)
			return
		}
		if made.to != "" {
			http.Redirect(w, r, made.to, http.StatusSeeOther)
			return
		}
		d.write(w, r, viewer, cmp.Or(made.status, http.StatusOK), made)
	})
}

func (d *Dashboard) write(w http.ResponseWriter, r *http.Request, viewer *access.Viewer, status int, made *answer) {
	frame := made.frame
	frame.Nav = navigation(r.URL.Path)
	frame.Cluster, frame.Viewer, frame.Version = d.options.Cluster, cmp.Or(viewer.Name, "you"), d.options.Version
	frame.CSRF, frame.Leaves, frame.Now = viewer.CSRF, viewer.Leaves, view.Moment{Time: d.options.Clock.Now()}
	body, err := page.Render(made.name, &frame)
	if err != nil {
		d.options.Logger.Error(err, "A page can't be shown", "path", r.URL.Path)
		http.Error(w, "the page can't be shown: see the log of the dashboard", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if _, err := w.Write(body); err != nil {
		d.options.Logger.V(1).Info("A viewer left before the page was sent", "path", r.URL.Path, "why", err.Error())
	}
}

// refuse answers with what went wrong.
func (d *Dashboard) refuse(w http.ResponseWriter, r *http.Request, viewer *access.Viewer, err error) {
	status, title, text := http.StatusInternalServerError, "Something went wrong", "The API server failed or could not be reached. Try again, or see the log of the dashboard."
	switch {
	case errors.Is(err, context.Canceled):
		return
	case errors.Is(err, errNoPage), apierrors.IsNotFound(err):
		status, title, text = http.StatusNotFound, "Not found", "There is no such page or object."
	case apierrors.IsForbidden(err):
		status, title, text = http.StatusForbidden, "Not allowed", "The API server refused: "+statusMessage(err)
	case errors.Is(err, access.ErrBusy):
		status, title, text = http.StatusTooManyRequests, "Too many pages at once", "You have many pages open, or the dashboard is busy. Close some pages, and try again."
		w.Header().Set("Retry-After", retryAfter)
	case errors.As(err, new(*http.MaxBytesError)):
		title, text = "Too much to show", "What belongs to the release is too large for a page. Look at it with 'sluice status', and see which objects of it are so large."
	case apierrors.IsUnauthorized(err):
		status, title, text = http.StatusUnauthorized, "Not logged in", "The API server no longer accepts your login. Log in again."
	default:
		d.options.Logger.Error(err, "A page can't be made", "path", r.URL.Path, "viewer", viewer.Name)
	}
	d.write(w, r, viewer, status, &answer{name: page.Problem, frame: page.Frame{Title: title, Content: text}})
}

// statusMessage returns the message of the API server, without what wraps it.
func statusMessage(err error) string {
	var told apierrors.APIStatus
	if errors.As(err, &told) {
		return told.Status().Message
	}
	return err.Error()
}

func navigation(path string) []page.NavLink {
	links := []page.NavLink{{Text: "Releases", Address: "/"}, {Text: "Sources", Address: "/sources"}, {Text: "History", Address: "/history"}}
	for i := range links {
		links[i].Current = links[i].Address == path
	}
	return links
}

// timeout is how long the API server may take for one page.
const timeout = 20 * time.Second

// retryAfter is when a viewer may ask again after they had to wait too long, in seconds.
const retryAfter = "5"

// patience is how long a readiness check waits for the cache.
const patience = time.Second

// ready reports whether lists can be shown.
func (d *Dashboard) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if !d.options.Objects.WaitForCacheSync(ctx) {
		http.Error(w, "the cache has not caught up with the API server yet", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}
