package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"runtime"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilclock "k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/internal/kube"
)

// board is a bench of the dashboard: the cost of its first page with many releases, and of the
// viewers that follow it.
type board struct {
	releases, viewers, changes int
	// page, weight and memory are the goals for the time of a page, its bytes, and the growth of
	// the heap.
	page           time.Duration
	weight, memory int64
	// held is the goal for the memory of the releases; 0 means none.
	held int64
}

// boardSample holds the measurements of a dashboard.
type boardSample struct {
	// weight is how many bytes a browser loads for the first page.
	weight int64
	// kept are the times of pages when nothing has changed, fresh of those after a change, heard until
	// a viewer heard of one.
	kept, fresh, heard []time.Duration
	growth             int64
	// base is the heap before there is a dashboard, held what it takes with the releases and no viewer.
	base, held int64
}

// run makes the releases once, and looks at them a number of times.
func (b board) run(ctx context.Context, k *kit, runs int) (report, error) {
	var s boardSample
	err := k.inLab(ctx, func(ctx context.Context, l *lab) error {
		if err := b.create(ctx, l.client); err != nil {
			return err
		}
		l.say("  %d releases are there", b.releases)
		s.base = heap()
		return b.serve(ctx, l, func(ctx context.Context, address string, viewer *http.Client) error {
			for range runs {
				if err := b.measure(ctx, l, address, viewer, &s); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return b.report(s), err
}

// create makes releases that wait at a gate. No controller runs, which would change them.
func (b board) create(ctx context.Context, c client.Client) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(32)
	for i := range b.releases {
		group.Go(func() error {
			release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("service-%05d", i)}}
			release.Spec.WorkloadRef = v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: release.Name}
			release.Spec.Strategy.Steps = manualSteps(4)
			if err := c.Create(ctx, release); err != nil {
				return fmt.Errorf("create release: %w", err)
			}
			now := metav1.Now()
			release.Status = v1alpha1.BatchReleaseStatus{
				Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateBlocked, CurrentStepState: v1alpha1.StepBlocking, CurrentStepIndex: 1,
				Gates:  []v1alpha1.GateReference{{Name: "gate", Type: v1alpha1.GateManual}},
				Commit: "0123456789abcdef0123456789abcdef01234567", CommitAuthor: "Margaret Hamilton", CommitSubject: "Rank titles above texts when the search has one word",
				UpdateRevision: "58b88c8b56", Replicas: 12, TargetReplicas: 6, UpdatedReplicas: 6, UpdatedAvailableReplicas: 6,
				Message: "batch 2/4 done with 6 pods of 12, waiting for gate: manual", LastUpdateTime: &now,
			}
			if err := c.Status().Update(ctx, release); err != nil {
				return fmt.Errorf("write status: %w", err)
			}
			return nil
		})
	}
	return group.Wait()
}

// serve runs the dashboard in this process for as long as somebody looks at it.
func (b board) serve(ctx context.Context, l *lab, look func(context.Context, string, *http.Client) error) error {
	cfg, err := l.plane.Config()
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	door, err := access.NewLocal(ctx, cfg, kube.NewScheme())
	if err != nil {
		return err
	}
	objects, err := dashboard.NewCache(cfg, kube.NewScheme())
	if err != nil {
		return err
	}
	listener, err := access.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return err
	}
	pages := dashboard.New(dashboard.Options{Objects: objects, Door: door, Logger: logr.Discard(), Clock: utilclock.RealClock{}})
	ctx, end := context.WithCancel(ctx)
	ready, served := make(chan struct{}), make(chan error, 1)
	go func() { served <- pages.Serve(ctx, listener, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-served:
		end()
		return fmt.Errorf("serve dashboard: %w", err)
	}
	jar, err := cookiejar.New(nil)
	if err == nil {
		viewer := &http.Client{Jar: jar, Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: b.viewers}}
		if _, _, err = get(ctx, viewer, door.PlainURL(listener.Addr().String()), ""); err == nil {
			err = look(ctx, "http://"+listener.Addr().String(), viewer)
		}
	}
	end()
	return errors.Join(err, <-served)
}

// get reads an address, and tells how long it took until the last byte.
func get(ctx context.Context, viewer *http.Client, address, encoding string) ([]byte, time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("ask for %s: %w", address, err)
	}
	request.Header.Set("Accept", "text/html")
	if encoding != "" {
		request.Header.Set("Accept-Encoding", encoding)
	}
	began := time.Now()
	answer, err := viewer.Do(request)
	if err != nil {
		return nil, 0, fmt.Errorf("ask for %s: %w", address, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", address, err)
	}
	return body, time.Since(began), nil
}

func (b board) measure(ctx context.Context, l *lab, address string, viewer *http.Client, s *boardSample) error {
	page := []byte(nil)
	err := poll(ctx, func(ctx context.Context) bool {
		var err error
		page, _, err = get(ctx, viewer, address+"/", "")
		return err == nil && strings.Contains(string(page), fmt.Sprintf("of %d releases", b.releases))
	})
	if err != nil {
		return fmt.Errorf("wait for the list: %w", err)
	}
	s.weight = int64(len(page))
	for _, asset := range []string{"style.css", "live.js", "idiomorph.min.js", "icon.svg"} {
		data, _, err := get(ctx, viewer, address+"/assets/"+asset, "gzip")
		if err != nil {
			return err
		}
		s.weight += int64(len(data))
	}
	for range 5 * b.changes {
		_, took, err := get(ctx, viewer, address+"/", "")
		if err != nil {
			return err
		}
		s.kept = append(s.kept, took)
	}
	before := heap()
	s.held = max(s.held, before-s.base)
	group, ctx := errgroup.WithContext(ctx)
	ctx, end := context.WithCancel(ctx)
	defer end()
	heard := make(chan time.Time, b.viewers)
	for range b.viewers {
		group.Go(func() error { return follows(ctx, viewer, address, heard) })
	}
	for range b.viewers {
		<-heard // that it may begin
	}
	err = b.change(ctx, l, heard, s, func() (time.Duration, error) {
		_, took, err := get(ctx, viewer, address+"/", "")
		return took, err
	})
	s.growth = max(s.growth, heap()-before)
	end()
	return errors.Join(err, group.Wait())
}

// change changes a release a number of times, at each of which all viewers hear of it, and reads
// the list then.
func (b board) change(ctx context.Context, l *lab, heard <-chan time.Time, s *boardSample, read func() (time.Duration, error)) error {
	for i := range b.changes {
		release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("service-%05d", i)}}
		began := time.Now()
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"bench":%q}}}`, began.String())
		if err := l.client.Patch(ctx, release, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			return fmt.Errorf("change release: %w", err)
		}
		for range b.viewers {
			select {
			case at := <-heard:
				s.heard = append(s.heard, at.Sub(began))
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		took, err := read()
		if err != nil {
			return err
		}
		s.fresh = append(s.fresh, took)
		if err := pass(ctx, 400*time.Millisecond); err != nil { // a stream tells of the next change a moment after the last
			return err
		}
	}
	return nil
}

// follows hears of changes until the context ends.
func follows(ctx context.Context, viewer *http.Client, address string, heard chan<- time.Time) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/live?page=releases", nil)
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	answer, err := viewer.Do(request)
	if err != nil {
		return fmt.Errorf("follow: %w", err)
	}
	defer answer.Body.Close()
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "event:") || strings.HasPrefix(line, "retry:") {
			heard <- time.Now()
		}
	}
	return nil
}

// heap returns how much of it is in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return int64(now.HeapAlloc)
}

func (b board) report(s boardSample) report {
	if len(s.kept) == 0 || len(s.fresh) == 0 || len(s.heard) == 0 {
		return report{}
	}
	kept, fresh := median(s.kept), median(s.fresh)
	kibibytes := func(bytes int64) string { return fmt.Sprintf("%d KiB", bytes>>10) }
	held := row{label: "memory of the releases in it", sluice: mebibytes(s.held)}
	if b.held > 0 {
		held.wanted, held.verdict = "<= "+mebibytes(b.held), atMost(s.held, b.held)
	}
	return report{rows: []row{
		{label: "first page and all that it loads", sluice: kibibytes(s.weight), wanted: "<= " + kibibytes(b.weight), verdict: atMost(s.weight, b.weight)},
		{label: "first page until its last byte, median", sluice: seconds(kept), wanted: "<= " + seconds(b.page), verdict: atMost(kept, b.page)},
		{label: "  after a change", sluice: seconds(fresh), wanted: "<= " + seconds(b.page), verdict: atMost(fresh, b.page)},
		{label: fmt.Sprintf("a change until %d viewers hear of it, median", b.viewers), sluice: seconds(median(s.heard))},
		{label: "memory of these viewers", sluice: mebibytes(s.growth), wanted: "<= " + mebibytes(b.memory), verdict: atMost(s.growth, b.memory)},
		held,
	}}
}
