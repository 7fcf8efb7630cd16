package rollout

import (
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// process holds the knowledge of this process about one release beyond the caches. Losing it costs
// requests, and for seconds the places of pods of a DaemonSet that are gone (vacant).
type process struct {
	overlays

	// uid identifies the release; empty until it was observed.
	uid           types.UID
	whole         wholeTemplate
	given         givenDigest
	members       map[string]*givenDigest
	refused       refusedTemplate
	tried         triedHold
	refusals      plan.Refusals
	watches       plan.Watches
	podLooks      plan.PodLooks
	statusRefused string
	drift         knownDrift
	named         named
	nodes         map[string]knownNode
	nodesLeft     bool // some are to be read yet
	vacant        daemonset.Vacancies
	fits          knownFit
	// traffic is nil while the release has none.
	traffic       *trafficProcess
	statusWritten time.Time
	putBackLogged time.Time
	unwritten     unwritten
	scaled        time.Time
	setsAsAsked   time.Time
	grown         types.UID // the ReplicaSet that grew last, as asked
	native        nativeSight
	// outdated counts the passes in a row that ended because what they decided on had changed.
	outdated int
	// underWay says that the workload is held, or has just been handed back.
	underWay bool
}

// triedHold is the workload, at a generation, that a dry run has held with the given template.
type triedHold struct {
	uid        types.UID
	generation int64
	given      string
	at         time.Time
}

// nativeSight is up to which change of a workload the native controller was seen to have come, and
// when that was first.
type nativeSight struct {
	uid        types.UID
	generation int64
	at         time.Time
}

// of returns the sight of a workload as it is now.
func (n nativeSight) of(w workload.Workload, now time.Time) nativeSight {
	if w.Seen() < w.GetGeneration() || n.uid == w.GetUID() && n.generation == w.GetGeneration() {
		return n
	}
	return nativeSight{w.GetUID(), w.GetGeneration(), now}
}

// unwritten is a status that need not be written, as another one soon takes its place: the workload
// has just been handed back, and the release completes once the native controller has seen that; or
// the release goes through steps without gates. The next pass begins with it.
type unwritten struct {
	// handedBack is when the workload was handed back; zero if it was not by this process.
	handedBack time.Time
	// status is not written yet, and stored is the one that the release of this UID has instead; both
	// are nil if there is none.
	release        types.UID
	stored, status *v1alpha1.BatchReleaseStatus
}

// waits notes a status that is not written yet.
func (e *unwritten) waits(release types.UID, stored, status *v1alpha1.BatchReleaseStatus) {
	e.release, e.stored, e.status = release, withoutReports(stored), status.DeepCopy()
}

// of returns the status that a release has though it is not written yet; nil if there is none.
// Others may write to the release meanwhile, as they do once its last batch is reported on its
// commit: the status counts as long as what it began with is stored.
func (e *unwritten) of(release *v1alpha1.BatchRelease) *v1alpha1.BatchReleaseStatus {
	if e.status == nil || e.release != release.UID || !equality.Semantic.DeepEqual(e.stored, withoutReports(&release.Status)) {
		return nil
	}
	status := e.status.DeepCopy()
	status.Report, status.Refusal, status.Revert = release.Status.Report, release.Status.Refusal, release.Status.Revert
	return status
}

// withoutReports returns a status without what is not ours.
func withoutReports(status *v1alpha1.BatchReleaseStatus) *v1alpha1.BatchReleaseStatus {
	ours := status.DeepCopy()
	ours.Report, ours.Refusal, ours.Revert = nil, nil, nil
	return ours
}

// endsWithin is how long the end of a release may take without anybody being told of the hand-back:
// as long as a native controller takes that has hundreds of workloads to look at.
const endsWithin = 10 * time.Second

// overlays are answers to our own writes and live reads, until the caches have them too.
type overlays struct {
	release  *kube.Overlay[*v1alpha1.BatchRelease]
	workload *kube.Overlay[client.Object]
	sets     *kube.Overlay[*appsv1.ReplicaSet]
	pods     *kube.Overlay[*corev1.Pod]
	gates    *kube.Overlay[*v1alpha1.Gate]
	kept     *kube.Overlay[*metav1.PartialObjectMetadata]
}

// unseenFor is how long a Gate, or what is kept of a template, may be missing in the cache before
// it is looked up again. A ReplicaSet may be missing for as long as it takes: a decision without
// one that has pods would make others too large.
const unseenFor = 10 * time.Second

func newProcess(now clock.PassiveClock) *process {
	return &process{nodes: map[string]knownNode{}, overlays: overlays{
		release:  kube.NewOverlay[*v1alpha1.BatchRelease](now, unseenFor),
		workload: kube.NewOverlay[client.Object](now, unseenFor),
		sets:     kube.NewOverlay[*appsv1.ReplicaSet](now, 0),
		pods:     kube.NewOverlay[*corev1.Pod](now, unseenFor),
		gates:    kube.NewOverlay[*v1alpha1.Gate](now, unseenFor),
		kept:     kube.NewOverlay[*metav1.PartialObjectMetadata](now, unseenFor),
	}}
}

// nextTry returns after how long to decide again on what has changed: at once, and then with
// growing delays where a cache lags behind live reads, or somebody writes all the time.
func (p *process) nextTry() time.Duration {
	const doublings = 10 // about a second
	wait := time.Millisecond << min(p.outdated, doublings)
	p.outdated++
	return wait
}

// wakes lists when to observe again what no watch shows.
func (p *process) wakes() []plan.Wake {
	var wakes []plan.Wake
	if p.gates.Ahead() {
		wakes = append(wakes, plan.Wake{After: unseenFor, Why: plan.WakeGateUnseen})
	}
	if p.nodesLeft {
		wakes = append(wakes, plan.Wake{After: nextNodes, Why: plan.WakeNodes})
	}
	if p.vacant.Any() {
		wakes = append(wakes, plan.Wake{After: daemonset.VacantFor, Why: plan.WakeVacantNodes})
	}
	return wakes
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

// driftQuestion asks how a template of the workload differs from a released one.
type driftQuestion struct {
	from    plan.Template
	given   string
	present string
}

// knownDrift holds the answer to a question. The two templates don't change any more.
type knownDrift struct {
	driftQuestion

	drift *plan.Drift
	// again is when to ask again whether the released template is still refused.
	again time.Time
}

// refused reports whether the API server has refused the released template.
func (k knownDrift) refused() bool { return k.drift.Digest == "" }

// processes hold the process of each release. One goroutine at a time works on a release, so only
// the map needs the lock.
type processes struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	entries map[types.NamespacedName]*process
	// busy is how many of them are in progress.
	busy int
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

// known returns the process of a release; nil if there is none yet.
func (p *processes) known(name types.NamespacedName) *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.entries[name]
}

// ofRelease returns the process of a release, given that of its name. Another release that had the
// name before leaves it nothing but the readings of releases that the cache may lack.
func (p *processes) ofRelease(name types.NamespacedName, known *process, uid types.UID) *process {
	if known.uid == "" {
		known.uid = uid
	}
	if known.uid == uid {
		return known
	}
	p.forget(name)
	fresh := p.of(name)
	fresh.uid, fresh.release = uid, known.release
	return fresh
}

func (p *processes) forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if entry := p.entries[name]; entry != nil && entry.underWay {
		p.busy--
	}
	delete(p.entries, name)
}

// note notes whether a release is in progress.
func (p *processes) note(entry *process, underWay bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if entry.underWay == underWay {
		return
	}
	entry.underWay = underWay
	if underWay {
		p.busy++
	} else {
		p.busy--
	}
}

// countsInterval returns how long a status that only counts pods may wait to be written: longer
// where many releases are in progress, so that all of them together write no more than four of
// these in a second.
func (p *processes) countsInterval() time.Duration {
	const share = time.Second / 4
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(leastInterval, time.Duration(p.busy)*share)
}

// leastInterval delays such a status where few releases are in progress.
const leastInterval = 5 * time.Second
