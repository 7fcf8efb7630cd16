package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/dashboard/page"
	"github.com/sluice-dev/sluice/dashboard/view"
)

// The rights that viewers need to see.
var (
	listSources   = access.Verb{Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: "releasesources"}
	listHistories = access.Verb{Verb: "list", Group: appsv1.GroupName, Resource: "controllerrevisions"}
)

// visible returns the rows that a viewer may see, in the order of the list.
func (d *Dashboard) visible(ctx context.Context, viewer *access.Viewer) ([]*view.Row, error) {
	rows, _, err := d.sight(ctx, viewer)
	return rows, err
}

// sight returns the rows that a viewer may see, in the order of the list, and the namespaces whose
// releases they see.
func (d *Dashboard) sight(ctx context.Context, viewer *access.Viewer) ([]*view.Row, access.Seen, error) {
	rows, err := d.board.all(ctx)
	if err != nil {
		return nil, access.Seen{}, err
	}
	var namespaces []string
	known := map[string]bool{}
	for _, row := range rows {
		if !known[row.Namespace] {
			known[row.Namespace] = true
			namespaces = append(namespaces, row.Namespace)
		}
	}
	seen, err := d.rights.Namespaces(ctx, viewer, namespaces)
	if err != nil || seen.All {
		return rows, seen, err
	}
	own := make([]*view.Row, 0, len(rows))
	for _, row := range rows {
		if seen.Has(row.Namespace) {
			own = append(own, row)
		}
	}
	return own, seen, nil
}

func (d *Dashboard) listReleases(r *http.Request, viewer *access.Viewer) (*answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	rows, err := d.visible(ctx, viewer)
	if err != nil {
		return nil, err
	}
	var failed error
	may := func(what access.Verb) func(string) bool {
		return func(namespace string) bool {
			allowed, err := d.rights.In(ctx, viewer, namespace, what)
			if err != nil {
				failed = err
			}
			return allowed
		}
	}
	if rows, err = d.withRefused(ctx, viewer, rows); err != nil {
		return nil, err
	}
	who := view.Viewer{Name: viewer.Name, Approves: may(patching(verb.PatchStatus)), Operates: may(patching(verb.PatchRelease))}
	list := view.Select(rows, view.QueryOf(r.URL.Query()), who, d.options.Clock.Now())
	if failed != nil {
		return nil, failed
	}
	return &answer{name: page.Releases, frame: page.Frame{Title: "Releases", Live: topic("page", "releases"), Content: list}}, nil
}

// withRefused marks the releases whose newest commit is not applied, as far as the viewer may see
// their sources.
func (d *Dashboard) withRefused(ctx context.Context, viewer *access.Viewer, rows []*view.Row) ([]*view.Row, error) {
	sources, err := d.sourcesFor(ctx, viewer)
	return view.WithRefused(rows, sources), err
}

// sourcesFor returns the sources that a viewer may see, whose changes pages hear of from now on.
func (d *Dashboard) sourcesFor(ctx context.Context, viewer *access.Viewer) ([]v1alpha1.ReleaseSource, error) {
	seen, err := d.seen(ctx, viewer, listSources)
	if err != nil || seen == nil {
		return nil, err
	}
	all, err := d.board.sources(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s v1alpha1.ReleaseSource) bool { return !seen(s.Namespace) }), d.followSources()
}

// topic returns the query of a page for /live.
func topic(pairs ...string) string {
	values := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Set(pairs[i], pairs[i+1])
	}
	return values.Encode()
}

// releasePage is the page of a release, with what the viewer may do.
type releasePage struct {
	Release *view.Release
	Actions []Action
}

// Action is a button with its address.
type Action struct {
	verb.Button

	Address string
}

func (d *Dashboard) showRelease(r *http.Request, viewer *access.Viewer) (*answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	key := keyOf(r)
	done, err := d.reads.take(ctx, viewer.Name)
	if err != nil {
		return nil, err
	}
	defer done()
	sight, err := lookup.Visible(ctx, viewer.Client, key)
	if err != nil {
		return nil, err
	}
	shown := view.ReleaseOf(sight, r.URL.Query().Get("by") == "zone", d.options.Clock.Now())
	actions, err := d.actions(ctx, viewer, sight)
	if err != nil {
		return nil, err
	}
	return &answer{name: page.Release, frame: page.Frame{
		Title: key.Namespace + "/" + key.Name, Live: topic("page", "release", "namespace", key.Namespace, "name", key.Name),
		Notice: d.noticeOf(r, viewer, sight), Content: releasePage{shown, actions},
	}}, nil
}

func keyOf(r *http.Request) client.ObjectKey {
	return client.ObjectKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
}

// named serves a page of a release. Names that can't be part of a path are no names of objects, and
// are not sent to the API server.
func named(make func(*http.Request, *access.Viewer) (*answer, error)) func(*http.Request, *access.Viewer) (*answer, error) {
	return func(r *http.Request, viewer *access.Viewer) (*answer, error) {
		if !canBe(keyOf(r)) {
			return nil, errNoPage
		}
		return make(r, viewer)
	}
}

// canBe reports whether an object can have a key.
func canBe(key client.ObjectKey) bool {
	const most = 253
	return key.Name != "" && len(key.Name) <= most && len(key.Namespace) <= most &&
		len(content.IsPathSegmentName(key.Namespace)) == 0 && len(content.IsPathSegmentName(key.Name)) == 0
}

func (d *Dashboard) showDiff(r *http.Request, viewer *access.Viewer) (*answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	done, err := d.reads.take(ctx, viewer.Name)
	if err != nil {
		return nil, err
	}
	defer done()
	release := &v1alpha1.BatchRelease{}
	if err := viewer.Client.Get(ctx, keyOf(r), release); err != nil {
		return nil, err
	}
	kept, err := lookup.Kept(ctx, viewer.Client, release)
	if err != nil {
		return nil, err
	}
	shown, found := view.DiffOf(release, kept, r.URL.Query().Get("from"), r.URL.Query().Get("to"))
	if !found {
		return nil, errNoPage
	}
	return &answer{name: page.Diff, frame: page.Frame{Title: "Diff of " + release.Name, Content: shown}}, nil
}

func (d *Dashboard) listSources(r *http.Request, viewer *access.Viewer) (*answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	own, err := d.sourcesFor(ctx, viewer)
	if err != nil {
		return nil, err
	}
	return &answer{name: page.Sources, frame: page.Frame{
		Title: "Sources", Live: topic("page", "sources"), Content: view.SourcesOf(own, d.options.Clock.Now()),
	}}, nil
}

func (d *Dashboard) showHistory(r *http.Request, viewer *access.Viewer) (*answer, error) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	seen, err := d.seen(ctx, viewer, listHistories)
	if err != nil {
		return nil, err
	}
	var own []appsv1.ControllerRevision
	var left []view.Superseded
	if seen != nil {
		all, err := d.board.kept(ctx)
		if err != nil {
			return nil, err
		}
		own = slices.DeleteFunc(all, func(k appsv1.ControllerRevision) bool { return !seen(k.Namespace) })
		rows, err := d.visible(ctx, viewer)
		if err != nil {
			return nil, err
		}
		left = slices.DeleteFunc(view.SupersededOf(rows), func(s view.Superseded) bool { return !seen(s.Namespace) })
	}
	days, _ := strconv.Atoi(r.URL.Query().Get("days")) // 0 is not among the choices
	query := view.HistoryQuery{Namespace: r.URL.Query().Get("namespace"), Days: days}
	return &answer{name: page.History, frame: page.Frame{Title: "History", Content: view.HistoryOf(own, left, query, d.options.Clock.Now())}}, nil
}

// seen returns the namespaces with releases in which a viewer may do something; nil if that is
// nowhere.
func (d *Dashboard) seen(ctx context.Context, viewer *access.Viewer, what access.Verb) (func(string) bool, error) {
	if everywhere, err := d.rights.May(ctx, viewer, "", what); err != nil || everywhere {
		return func(string) bool { return true }, err
	}
	rows, err := d.visible(ctx, viewer)
	if err != nil {
		return nil, err
	}
	in := map[string]bool{}
	for _, row := range rows {
		if _, asked := in[row.Namespace]; asked {
			continue
		}
		if in[row.Namespace], err = d.rights.May(ctx, viewer, row.Namespace, what); err != nil {
			return nil, err
		}
	}
	for _, may := range in {
		if may {
			return func(namespace string) bool { return in[namespace] }, nil
		}
	}
	return nil, nil
}
