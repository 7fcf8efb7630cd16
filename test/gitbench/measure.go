// Package gitbench measures what it costs to follow a large repository: a look with
// nothing new, and a change of one file, next to what git itself takes for the same.
package gitbench

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// Report has the medians of what was measured.
type Report struct {
	// Manifests in the repository, and Releases among them.
	Manifests, Releases int
	// FirstRead is from nothing known to all releases.
	FirstRead time.Duration
	// IdleLook is a look with nothing new, IdleRequests how many requests to the repository it took.
	IdleLook     time.Duration
	IdleRequests int64
	// Change is from the look that finds a change of one file to all releases; ChangeRequests the
	// requests it took, and ChangeFetch the part of it that the repository's server had a part in.
	Change, ChangeFetch time.Duration
	ChangeRequests      int64
	// GitFetch is the time of `git fetch --depth 1` for the same change.
	GitFetch time.Duration
	// PeakMemory is the most memory that the process held meanwhile, in bytes.
	PeakMemory uint64
}

// rounds is how often what is measured is done.
const rounds = 5

// Measure makes a repository of so many manifests in dir, serves it over HTTP on
// loopback, and follows it. It needs git.
func Measure(ctx context.Context, dir string, manifests int) (Report, error) {
	bench, err := newBench(dir, manifests)
	if err != nil {
		return Report{}, err
	}
	defer bench.server.Close()
	runtime.GC()
	peak := watchMemory()
	report, err := bench.run(ctx)
	report.Manifests, report.PeakMemory = manifests, peak()
	return report, err
}

type bench struct {
	repo    *gittest.Repository
	handler *gittest.Handler
	server  *http.Server
	clone   string
	source  gitrepo.Source
	git     *gitrepo.Reader
	spec    *spec.Reader
}

func newBench(dir string, manifests int) (*bench, error) {
	repo, err := gittest.Init(dir, "many")
	if err != nil {
		return nil, err
	}
	if _, err := repo.Commit(gittest.Commit{Files: files(manifests)}); err != nil {
		return nil, err
	}
	handler, err := gittest.NewHandler(dir)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // nothing to cancel
	if err != nil {
		return nil, fmt.Errorf("listen for git: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // it returns when the server is closed
	b := &bench{
		repo:    repo,
		handler: handler,
		server:  server,
		clone:   filepath.Join(dir, "clone"),
		source:  gitrepo.Source{URL: "http://" + listener.Addr().String() + "/" + repo.Name(), Branch: gittest.Branch},
		git:     gitrepo.NewReader(gitrepo.Options{AllowHTTP: true, Networks: dialer.Rules{Allowed: dialer.Loopback()}}),
		spec:    spec.NewReader(spec.Options{Namespace: "bench"}),
	}
	return b, nil
}

// files returns Deployments in folders of a hundred, of which every tenth has a release.
func files(manifests int) map[string]string {
	all := map[string]string{}
	for i := 0; len(all) < manifests; i++ {
		name := fmt.Sprintf("app-%05d", i)
		folder := fmt.Sprintf("team-%03d", i/100)
		all[folder+"/"+name+".yaml"] = deployment(name, 1)
		if i%10 == 0 && len(all) < manifests {
			all[folder+"/"+name+"-release.yaml"] = release(name)
		}
	}
	return all
}

func deployment(name string, version int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 3
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - name: app
        image: registry.example.com/%[1]s:%[2]d
        ports: [{containerPort: 8080}]
`, name, version)
}

func release(name string) string {
	return fmt.Sprintf(`apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: %[1]s}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  strategy: {steps: [{replicas: 1}, {replicas: 100%%}]}
`, name)
}

func (b *bench) run(ctx context.Context) (Report, error) {
	first, err := b.read(ctx, gitrepo.Known{})
	if err != nil {
		return Report{}, err
	}
	report := Report{FirstRead: first.all, Releases: first.releases}
	if err := b.runGit(ctx, "clone", "--quiet", "--bare", "--depth", "1", b.source.URL, b.clone); err != nil {
		return report, err
	}
	if err := b.idle(ctx, first.head, &report); err != nil {
		return report, err
	}
	return report, b.changes(ctx, first.head, &report)
}

// look holds the result of one read, the time until the files were there, and the total time.
type look struct {
	head       string
	releases   int
	fetch, all time.Duration
}

// read looks at the repository and reads what is new.
func (b *bench) read(ctx context.Context, known gitrepo.Known) (look, error) {
	began := time.Now()
	head, err := b.git.Read(ctx, b.source, known)
	if err != nil {
		return look{}, fmt.Errorf("read repository: %w", err)
	}
	found := look{head: head.Commit, fetch: time.Since(began)}
	if head.Commit == known.Content {
		return found, nil
	}
	result, err := b.spec.Read(head.FS(), ".")
	if err != nil {
		return look{}, fmt.Errorf("read manifests: %w", err)
	}
	found.releases, found.all = len(result.Releases), time.Since(began)
	return found, nil
}

func (b *bench) idle(ctx context.Context, head string, report *Report) error {
	var looks []time.Duration
	before := b.handler.Requests()
	for range rounds {
		found, err := b.read(ctx, gitrepo.Known{Ancestor: head, Content: head})
		if err != nil {
			return err
		}
		looks = append(looks, found.fetch)
	}
	report.IdleLook, report.IdleRequests = median(looks), (b.handler.Requests()-before)/rounds
	return nil
}

func (b *bench) changes(ctx context.Context, head string, report *Report) error {
	var all, fetches, git []time.Duration
	for round := range rounds {
		change := map[string]string{"team-000/app-00000.yaml": deployment("app-00000", round+2)}
		if _, err := b.repo.Commit(gittest.Commit{Files: change}); err != nil {
			return err
		}
		before := b.handler.Requests()
		found, err := b.read(ctx, gitrepo.Known{Ancestor: head, Content: head})
		if err != nil {
			return err
		}
		report.ChangeRequests = b.handler.Requests() - before
		began := time.Now()
		if err := b.runGit(ctx, "--git-dir", b.clone, "fetch", "--quiet", "--depth", "1", "origin", gittest.Branch); err != nil {
			return err
		}
		git = append(git, time.Since(began))
		all, fetches, head = append(all, found.all), append(fetches, found.fetch), found.head
	}
	report.Change, report.ChangeFetch, report.GitFetch = median(all), median(fetches), median(git)
	return nil
}

func (b *bench) runGit(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Env = gittest.Environment()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run git %s: %w: %s", args[0], err, out)
	}
	return nil
}

func median(durations []time.Duration) time.Duration {
	slices.Sort(durations)
	return durations[len(durations)/2]
}

// watchMemory samples how much memory the process holds until the returned function
// is called, which returns the most.
func watchMemory() func() uint64 {
	stop, peak := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, memory())
			select {
			case <-tick.C:
			case <-stop:
				peak <- most
				return
			}
		}
	}()
	return func() uint64 {
		close(stop)
		return <-peak
	}
}

// memory returns what the runtime has from the system and has not given back.
func memory() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
