package metrics_test

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// cache has releases, as the cache of the controller has them.
type cache struct {
	client.Reader

	releases []v1alpha1.BatchRelease
	listed   atomic.Bool
}

// List implements client.Reader.
func (c *cache) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	c.listed.Store(true)
	list.(*v1alpha1.BatchReleaseList).Items = append([]v1alpha1.BatchRelease(nil), c.releases...)
	return nil
}

// show has a process with some releases hold the Lease. It returns what takes the Lease away.
func (w *world) show(releases ...*v1alpha1.BatchRelease) (lose func()) {
	w.Helper()
	c := &cache{}
	for _, release := range releases {
		c.releases = append(c.releases, *release)
	}
	return w.lead(c)
}

// lead has a process with a cache hold the Lease.
func (w *world) lead(c *cache) (lose func()) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.While(c).Start(ctx) }()
	cptest.Eventually(w.T, time.Minute, func() error {
		if w.gather(); !c.listed.Load() {
			return errors.New("no release is shown")
		}
		return nil
	})
	w.Cleanup(cancel)
	return func() {
		cancel()
		<-ended
	}
}

func release(namespace, name string, state v1alpha1.ReleaseState, changes ...func(*v1alpha1.BatchReleaseStatus)) *v1alpha1.BatchRelease {
	r := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Status: v1alpha1.BatchReleaseStatus{
		State: state, Phase: v1alpha1.PhaseRollingUpdate, LastUpdateTime: &metav1.Time{Time: time.Unix(1000, 0)},
	}}
	if state == v1alpha1.StateCompleted {
		r.Status.Phase = v1alpha1.PhaseCompleted
	}
	for _, change := range changes {
		change(&r.Status)
	}
	return r
}

// hostile returns releases of which people have written the status.
func hostile(name string) []*v1alpha1.BatchRelease {
	return []*v1alpha1.BatchRelease{
		release("shop", name, v1alpha1.StateStopped, func(s *v1alpha1.BatchReleaseStatus) {
			s.StoppedBy = []v1alpha1.StopCause{v1alpha1.StopFrozen, v1alpha1.StopSuspended, v1alpha1.StopFrozen}
			s.StalledBy = v1alpha1.StallWriteRefused
			s.Message, s.Reason, s.Commit, s.CommitSubject = "words", "Words", "words", "words"
		}),
		release("shop", name+"-2", "", func(s *v1alpha1.BatchReleaseStatus) { s.StalledBy, s.Phase = v1alpha1.StallNoTemplate, "" }),
	}
}

func TestReleasesAreShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lose := w.show(append(hostile("bad"),
		release("shop", "web", v1alpha1.StateCompleted), release("shop", "api", v1alpha1.StateCompleted), release("shop", "job", v1alpha1.StateBlocked),
		release("shop", "old", v1alpha1.StateDrifted, func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseCompleted }),
		release("blog", "web", v1alpha1.StateFailed, func(s *v1alpha1.BatchReleaseStatus) {
			s.Phase, s.StalledBy = v1alpha1.PhaseFailed, v1alpha1.StallDeadlineExceeded
			s.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, LastTransitionTime: metav1.Unix(2000, 0)}}
		}),
		release("blog", "new", v1alpha1.StateWaiting, func(s *v1alpha1.BatchReleaseStatus) {
			s.Phase, s.Queued = v1alpha1.PhaseCompleted, &v1alpha1.QueuedTemplate{Since: metav1.Unix(3000, 0)}
		}),
	)...)
	want := map[string]float64{
		"sluice_releases{namespace=shop,phase=Completed}":     3,
		"sluice_releases{namespace=shop,phase=RollingUpdate}": 2,
		"sluice_releases{namespace=shop,phase=None}":          1,
		"sluice_releases{namespace=blog,phase=Failed}":        1,
		"sluice_releases{namespace=blog,phase=Completed}":     1,

		"sluice_release_state{namespace=shop,release=bad,state=Stopped,train=}": 1,
		"sluice_release_state{namespace=shop,release=job,state=Blocked,train=}": 1,
		"sluice_release_state{namespace=shop,release=old,state=Drifted,train=}": 1,
		"sluice_release_state{namespace=blog,release=web,state=Failed,train=}":  1,
		"sluice_release_state{namespace=blog,release=new,state=Waiting,train=}": 1,
		"sluice_release_stopped{cause=Frozen,namespace=shop,release=bad}":       1,
		"sluice_release_stopped{cause=Suspended,namespace=shop,release=bad}":    1,

		"sluice_release_stalled{cause=WriteRefused,namespace=shop,release=bad}":             1,
		"sluice_release_stalled{cause=NoTemplate,namespace=shop,release=bad-2}":             1,
		"sluice_release_stalled{cause=ProgressDeadlineExceeded,namespace=blog,release=web}": 1,

		"sluice_release_state_since_timestamp_seconds{namespace=shop,release=bad}":   1000,
		"sluice_release_state_since_timestamp_seconds{namespace=shop,release=bad-2}": 1000,
		"sluice_release_state_since_timestamp_seconds{namespace=shop,release=job}":   1000,
		"sluice_release_state_since_timestamp_seconds{namespace=shop,release=old}":   1000,
		"sluice_release_state_since_timestamp_seconds{namespace=blog,release=web}":   2000,
		"sluice_release_state_since_timestamp_seconds{namespace=blog,release=new}":   3000,
	}
	w.want(want)
	// Tests run several controllers in one process; of a release that two of them have there is one
	// series.
	second := w.show(release("shop", "job", v1alpha1.StateBlocked), release("blog", "x", v1alpha1.StateCompleted))
	want["sluice_releases{namespace=blog,phase=Completed}"] = 2
	w.want(want)
	second()
	want["sluice_releases{namespace=blog,phase=Completed}"] = 1
	w.want(want)
	lose() // another replica shows them now
	w.want(map[string]float64{})
}

// TestSeriesGoWithTheirReleases: Previews of pull requests come and go: their series go an hour
// after them.
func TestSeriesGoWithTheirReleases(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.series()
	c := &cache{releases: []v1alpha1.BatchRelease{*release("preview-1", "web", v1alpha1.StateFailed)}}
	w.lead(c)
	w.Tell([]story.Fact{fact(story.ReleaseCompleted, 1, func(f *story.Fact) { f.Release.Namespace = "preview-1" })})
	c.releases = nil
	count := func(name string) (n int) {
		for _, series := range w.series() {
			if strings.HasPrefix(series, name) && strings.Contains(series, "preview-1") {
				n++
			}
		}
		return n
	}
	if n := count("sluice_release_state"); n != 0 {
		t.Errorf("want no state of a release that is gone, got %d series", n)
	}
	w.clock.SetTime(noon.Add(50 * time.Minute))
	if n := count("sluice_release_ends_total"); n != 7 {
		t.Errorf("want the ends still counted, got %d series", n)
	}
	w.clock.SetTime(noon.Add(70 * time.Minute))
	w.series() // this scrape forgets
	if n := len(w.series()); n != len(before) {
		t.Errorf("want %d series as before the release, got %d", len(before), n)
	}
}

// TestSeriesAreForgottenWithoutScrapes: without scrapes, previews leave no series either; values
// of the last hour are there for the next scrape.
func TestSeriesAreForgottenWithoutScrapes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tell := func(i int) {
		w.Tell([]story.Fact{fact(story.ReleaseCompleted, 1, func(f *story.Fact) { f.Release.Namespace = fmt.Sprint("preview-", i) })})
	}
	tell(0)
	first := w.series()
	for i := range 100 {
		w.clock.SetTime(noon.Add(time.Duration(i) * 70 * time.Minute))
		tell(i)
	}
	if last := w.series(); len(last) != len(first) {
		t.Errorf("want the series of one namespace, %d, got %d", len(first), len(last))
	}
}

// TestCountersOutliveMissedScrapes: a Prometheus that was away for hours finds the counters of
// releases that are still there as they were.
func TestCountersOutliveMissedScrapes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.show(release("shop", "web", v1alpha1.StateCompleted))
	w.Tell([]story.Fact{fact(story.ReleaseCompleted, 1)})
	for hours := 2; hours < 6; hours++ {
		w.clock.SetTime(noon.Add(time.Duration(hours) * time.Hour))
		w.Tell([]story.Fact{fact(story.ReleaseCompleted, 1, func(f *story.Fact) { f.Release.Namespace = fmt.Sprint("preview-", hours) })})
	}
	values := w.values()
	if got := values["sluice_release_ends_total{namespace=shop,outcome=Completed}"]; got != 1 {
		t.Errorf("want the end of a release that exists still counted, got %v", got)
	}
	if _, kept := values["sluice_release_ends_total{namespace=preview-2,outcome=Completed}"]; kept {
		t.Error("want the ends of a namespace that has no releases forgotten")
	}
}

// TestManyReleasesAreScraped: a scrape of many releases takes moments, and keeps nothing. It is not
// parallel: it counts what the process allocates.
func TestManyReleasesAreScraped(t *testing.T) {
	w := newWorld(t)
	const many = 10_000
	c := &cache{}
	for i := range many {
		state := v1alpha1.StateCompleted
		if i%100 == 0 {
			state = v1alpha1.StateBlocked
		}
		r := release(fmt.Sprintf("team-%d", i%100), fmt.Sprintf("web-%d", i), state)
		r.Spec.Template = &runtime.RawExtension{Raw: make([]byte, 2000)}
		c.releases = append(c.releases, *r)
	}
	w.lead(c)
	w.gather()
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	began := time.Now()
	n := len(w.gather())
	took := time.Since(began)
	goruntime.ReadMemStats(&after)
	allocated := float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20)
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	kept := (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / (1 << 20)
	t.Logf("a scrape of %d releases: %s, %.1f MiB allocated, %.2f MiB kept, %d families", many, took, allocated, kept, n)
	if took > 5*time.Second || allocated > 100 {
		t.Errorf("a scrape of %d releases took %s and %.1f MiB", many, took, allocated)
	}
}
