package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// follow is a bench of a large repository that is followed: polls with nothing new, and
// changes of one file that become changes in the cluster.
type follow struct {
	manifests int
	// memory, in bytes, that is wanted of the controller.
	memory int64
}

const (
	sourceName = "many"
	repository = "bench/many"
	branch     = "main"
)

// followSample holds the measurements of following a repository.
type followSample struct {
	releases, files int32
	first           time.Duration
	polls, changes  []exchange
	usage
}

// exchange is one sync that was asked for.
type exchange struct {
	// took is the time from asking to the answer; of a change, to the release in the cluster.
	took time.Duration
	// requests that the repository got.
	requests int64
	// git is the time of git fetch --depth 1 for the same change.
	git time.Duration
}

func (f follow) run(ctx context.Context, k *kit, runs int) (report, error) {
	var s followSample
	err := k.inLab(ctx, func(ctx context.Context, l *lab) (err error) {
		s, err = f.measure(ctx, l, runs)
		return err
	})
	if err != nil {
		return report{}, err
	}
	return f.report(s), nil
}

// upstream is the repository as the controller sees it, and a developer's clone of it.
type upstream struct {
	url      string
	requests *atomic.Int64
	work     *clone
	// mirror is a shallow clone that fetches what the controller does.
	mirror *clone
}

func (f follow) measure(ctx context.Context, l *lab, runs int) (s followSample, err error) {
	dir := filepath.Join(l.logs, fmt.Sprintf("git-%d", l.labs.Load()))
	forge, err := devforge.Start(ctx, devforge.Options{Dir: filepath.Join(dir, "forge")})
	if err != nil {
		return s, fmt.Errorf("start forge: %w", err)
	}
	defer func() { err = errors.Join(err, forge.Close()) }()
	up, server, err := f.seed(ctx, forge, dir)
	if err != nil {
		return s, err
	}
	defer server.Close()
	running, err := l.startController(ctx, "--git-allow-http", "--git-allowed-networks=127.0.0.0/8")
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	if err := f.exchanges(ctx, l, up, runs, &s); err != nil {
		return s, err
	}
	s.usage, err = running.usage()
	return s, err
}

// exchanges has the controller follow the repository, then asks for syncs.
func (f follow) exchanges(ctx context.Context, l *lab, up *upstream, runs int, s *followSample) error {
	log, err := l.watch(ctx, &v1alpha1.BatchReleaseList{}, &v1alpha1.ReleaseSourceList{})
	if err != nil {
		return err
	}
	if err := f.firstSync(ctx, l, log, up.url, s); err != nil {
		return err
	}
	l.say("  followed %d files with %d releases after %s", s.files, s.releases, seconds(s.first))
	if _, err := log.await(ctx, int(s.releases), released(1)); err != nil {
		return err
	}
	if err := pass(ctx, settle); err != nil {
		return err
	}
	for run := range runs {
		poll, err := up.poll(ctx, l, log, fmt.Sprintf("poll-%d", run))
		if err != nil {
			return err
		}
		change, err := up.change(ctx, l, log, run+2)
		if err != nil {
			return err
		}
		l.say("  run %d of %d: poll %s, change %s, git fetch %s",
			run+1, runs, seconds(poll.took), seconds(change.took), seconds(change.git))
		s.polls, s.changes = append(s.polls, poll), append(s.changes, change)
	}
	return nil
}

// seed makes the repository and its clones.
func (f follow) seed(ctx context.Context, forge *devforge.Forge, dir string) (*upstream, *httptest.Server, error) {
	seed := filepath.Join(dir, "seed")
	if err := writeManifests(seed, f.manifests); err != nil {
		return nil, nil, err
	}
	if err := forge.CreateRepository(ctx, repository, branch, os.DirFS(seed)); err != nil {
		return nil, nil, fmt.Errorf("seed repository: %w", err)
	}
	up := &upstream{requests: new(atomic.Int64)}
	server, err := counted(forge.CloneURL(repository), up.requests)
	if err != nil {
		return nil, nil, err
	}
	up.url = server.URL + "/" + repository + ".git"
	up.work, err = gitClone(ctx, up.url, filepath.Join(dir, "work"))
	if err == nil {
		up.mirror, err = gitClone(ctx, up.url, filepath.Join(dir, "mirror.git"), "--bare", "--depth=1")
	}
	if err != nil {
		server.Close()
	}
	return up, server, err
}

// counted serves what is at an address and counts the requests.
func counted(address string, requests *atomic.Int64) (*httptest.Server, error) {
	target, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read address: %w", err)
	}
	target.Path = ""
	proxy := httputil.NewSingleHostReverseProxy(target)
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		// Git's answer may begin before all of the question has been passed on.
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		proxy.ServeHTTP(w, r)
	})), nil
}

// firstSync makes the source and waits until all its releases are there.
func (f follow) firstSync(ctx context.Context, l *lab, log *watchLog, url string, s *followSample) error {
	begin := time.Now()
	source := sourceNamed()
	source.Spec = v1alpha1.ReleaseSourceSpec{
		URL: url, Ref: v1alpha1.GitReference{Branch: branch}, Interval: metav1.Duration{Duration: time.Hour},
	}
	if err := l.client.Create(ctx, source); err != nil {
		return fmt.Errorf("create source: %w", err)
	}
	end, err := log.await(ctx, 1, func(object client.Object) bool {
		source, ok := object.(*v1alpha1.ReleaseSource)
		if ok && source.Status.ObservedCommit != "" {
			s.files, s.releases = source.Status.Files, source.Status.Releases
		}
		return ok && source.Status.ObservedCommit != ""
	})
	s.first = end.Sub(begin)
	return err
}

func sourceNamed() *v1alpha1.ReleaseSource {
	return &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: sourceName}}
}

// poll asks for a sync that finds nothing new.
func (u *upstream) poll(ctx context.Context, l *lab, log *watchLog, token string) (exchange, error) {
	before := u.requests.Load()
	begin, err := askForSync(ctx, l, token)
	if err != nil {
		return exchange{}, err
	}
	end, err := log.await(ctx, 1, answered(token))
	return exchange{took: end.Sub(begin), requests: u.requests.Load() - before}, err
}

// askForSync annotates the source, as a user does who can't wait.
func askForSync(ctx context.Context, l *lab, token string) (time.Time, error) {
	begin := time.Now()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.RequestedAtAnnotation, token)
	if err := l.client.Patch(ctx, sourceNamed(), client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return begin, fmt.Errorf("ask for sync: %w", err)
	}
	return begin, nil
}

func answered(token string) func(client.Object) bool {
	return func(object client.Object) bool {
		source, ok := object.(*v1alpha1.ReleaseSource)
		return ok && source.Status.LastHandledSyncAt == token
	}
}

// change pushes another version of one Deployment and asks for a sync, then has git fetch the same.
func (u *upstream) change(ctx context.Context, l *lab, log *watchLog, version int) (exchange, error) {
	name := appName(0)
	commit, err := u.work.push(ctx, deploymentFile(0), deploymentManifest(name, version))
	if err != nil {
		return exchange{}, err
	}
	before := u.requests.Load()
	begin, err := askForSync(ctx, l, commit)
	if err != nil {
		return exchange{}, err
	}
	end, err := log.await(ctx, 1, func(object client.Object) bool {
		release, ok := object.(*v1alpha1.BatchRelease)
		return ok && release.Annotations[v1alpha1.CommitAnnotation] == commit
	})
	if err != nil {
		return exchange{}, err
	}
	e := exchange{took: end.Sub(begin), requests: u.requests.Load() - before}
	if _, err := log.await(ctx, 1, answered(commit)); err != nil {
		return e, err
	}
	begin = time.Now()
	_, err = u.mirror.git(ctx, "fetch", "--quiet", "--depth=1", "origin", "+"+branch+":"+branch)
	e.git = time.Since(begin)
	return e, err
}

func (f follow) report(s followSample) report {
	took := func(e exchange) time.Duration { return e.took }
	requests := func(e exchange) int64 { return e.requests }
	polled, changed := median(of(s.polls, took)), median(of(s.changes, took))
	fetched := median(of(s.changes, func(e exchange) time.Duration { return e.git }))
	perPoll := slices.Max(of(s.polls, requests))
	return report{rows: []row{
		{label: fmt.Sprintf("first sync: %d files, %d releases created", s.files, s.releases), sluice: seconds(s.first)},
		{
			label: "poll with nothing new, requests to Git", sluice: fmt.Sprint(perPoll),
			wanted: "1", verdict: atMost(perPoll, 1),
		},
		{label: "  until it is answered (the constant)", sluice: seconds(polled)},
		{
			label: "change of one file, until it is applied", sluice: seconds(changed),
			wanted: "<= " + seconds(2*fetched+polled), verdict: atMost(changed, 2*fetched+polled),
		},
		{label: "  git fetch --depth 1 of the same", sluice: seconds(fetched), wanted: "2 of these + constant"},
		{label: "  requests to Git", sluice: fmt.Sprint(slices.Max(of(s.changes, requests)))},
		{
			label: "controller memory, peak", sluice: mebibytes(s.peak),
			wanted: "< " + mebibytes(f.memory), verdict: ifKnown(s.peak, f.memory-1),
		},
		{label: "controller CPU, total", sluice: cpuSeconds(s.cpu)},
	}}
}
