package rollout

import (
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// process is what this process knows of one release beyond what the caches say. Losing it costs requests, nothing else.
type process struct {
	overlays

	whole         wholeTemplate
	given         givenDigest
	refused       refusedTemplate
	refusals      plan.Refusals
	watches       plan.Watches
	statusRefused string
	otherDefaults int64
	drift         knownDrift
	fits          knownFit
	statusWritten time.Time
	scaled        time.Time
	// outdated counts the passes in a row that ended because what they decided on had changed.
	outdated int
}

// overlays are answers to our own writes and live reads, until the caches have them too.
type overlays struct {
	release    *kube.Overlay[*v1alpha1.BatchRelease]
	deployment *kube.Overlay[*appsv1.Deployment]
	sets       *kube.Overlay[*appsv1.ReplicaSet]
	gates      *kube.Overlay[*v1alpha1.Gate]
	kept       *kube.Overlay[*metav1.PartialObjectMetadata]
}

// unseenFor is how long a Gate, or what is kept of a template, may be missing in the cache before it is looked up again.
// A ReplicaSet may be missing for as long as it takes: a decision without one that has pods would make others too large.
const unseenFor = 10 * time.Second

func newProcess(now clock.PassiveClock) *process {
	return &process{overlays: overlays{
		release:    kube.NewOverlay[*v1alpha1.BatchRelease](now, unseenFor),
		deployment: kube.NewOverlay[*appsv1.Deployment](now, unseenFor),
		sets:       kube.NewOverlay[*appsv1.ReplicaSet](now, 0),
		gates:      kube.NewOverlay[*v1alpha1.Gate](now, unseenFor),
		kept:       kube.NewOverlay[*metav1.PartialObjectMetadata](now, unseenFor),
	}}
}

// nextTry is after how long to decide again on what has changed: at once, and then with growing delays where a cache lags behind
// live reads, or somebody writes all the time.
func (p *process) nextTry() time.Duration {
	const doublings = 10 // about a second
	wait := time.Millisecond << min(p.outdated, doublings)
	p.outdated++
	return wait
}

// givenDigest is the digest of spec.template at a generation.
type givenDigest struct {
	uid        types.UID
	generation int64
	digest     string
}

// refusedTemplate is a template as given that the API server would not take, and why.
type refusedTemplate struct {
	given, text string
	at          time.Time
}

// knownDrift is how a template of the Deployment differs from a released one: neither changes any more.
type knownDrift struct {
	from    plan.Template
	given   string
	present string
	drift   *plan.Drift
}

// processes are those of all releases. A release is worked on by one goroutine at a time, so only the map needs the lock.
type processes struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	entries map[types.NamespacedName]*process
}

func newProcesses(now clock.PassiveClock) *processes {
	return &processes{clock: now, entries: map[types.NamespacedName]*process{}}
}

func (p *processes) of(name types.NamespacedName) *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry := p.entries[name]
	if entry == nil {
		entry = newProcess(p.clock)
		p.entries[name] = entry
	}
	return entry
}

func (p *processes) forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.entries, name)
}
