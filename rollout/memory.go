package rollout

import (
	"maps"
	"slices"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// memory is what the shell knows of one release beyond the caches: answers to its own writes
// and live reads, until the cache has them too. Losing it costs requests, nothing else.
type memory struct {
	release    *v1alpha1.BatchRelease
	deployment *appsv1.Deployment
	whole      wholeTemplate
	sets       map[types.UID]*rememberedSet
	gates      map[string]*rememberedGate
	kept       map[string]client.Object
	forgotten  map[string]bool

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

// nextTry is after how long to decide again on what has changed: at once, and ever later where a cache lags behind what live
// reads say, or somebody writes all the time.
func (m *memory) nextTry() time.Duration {
	const doublings = 10 // about a second
	wait := time.Millisecond << min(m.outdated, doublings)
	m.outdated++
	return wait
}

// rememberedGate is a Gate that the cache does not have yet.
type rememberedGate struct {
	*v1alpha1.Gate

	since time.Time
}

// unseenFor is how long a Gate may be missing in the cache before it is looked for anew: it may have been deleted before
// the cache ever had it, and then no watch tells.
const unseenFor = 10 * time.Second

// mergeGates puts Gates that the cache does not have yet over the cached ones, and forgets those that it should have by now.
func (m *memory) mergeGates(cached []v1alpha1.Gate, now time.Time) []v1alpha1.Gate {
	for i := range cached {
		delete(m.gates, cached[i].Name)
	}
	maps.DeleteFunc(m.gates, func(_ string, gate *rememberedGate) bool { return now.Sub(gate.since) >= unseenFor })
	for _, name := range slices.Sorted(maps.Keys(m.gates)) {
		cached = append(cached, *m.gates[name].Gate)
	}
	return cached
}

// rememberedSet is a ReplicaSet that is newer than the cache has it.
type rememberedSet struct {
	*appsv1.ReplicaSet
	// cached says that the cache had an older one: if it has none later on, the set was deleted.
	cached bool
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

// memories holds the memory of each release. A release is worked on by one goroutine at a
// time, so only the map needs the lock.
type memories struct {
	mu      sync.Mutex
	entries map[types.NamespacedName]*memory
}

func newMemories() *memories {
	return &memories{entries: map[types.NamespacedName]*memory{}}
}

func (m *memories) of(name types.NamespacedName) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	entry := m.entries[name]
	if entry == nil {
		entry = &memory{}
		m.entries[name] = entry
	}
	return entry
}

func (m *memories) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.entries, name)
}

// newest returns the remembered object if it is newer than the cached one, and whether it is.
func newest[T client.Object](remembered, cached T) (T, bool) {
	if kube.Newer(remembered, cached) {
		return remembered, true
	}
	return cached, false
}

func (m *memory) rememberSet(set *appsv1.ReplicaSet) {
	if m.sets == nil {
		m.sets = map[types.UID]*rememberedSet{}
	}
	m.sets[set.UID] = &rememberedSet{ReplicaSet: set}
}

func (m *memory) rememberGate(gate *v1alpha1.Gate, now time.Time) {
	if m.gates == nil {
		m.gates = map[string]*rememberedGate{}
	}
	m.gates[gate.Name] = &rememberedGate{gate, now}
}

func (m *memory) rememberKept(revision client.Object) {
	if m.kept == nil {
		m.kept = map[string]client.Object{}
	}
	delete(m.forgotten, revision.GetName())
	m.kept[revision.GetName()] = revision
}

func (m *memory) rememberForgotten(name string) {
	if m.forgotten == nil {
		m.forgotten = map[string]bool{}
	}
	delete(m.kept, name)
	m.forgotten[name] = true
}

// mergeKept puts newer readings, and templates that the cache does not have yet, over the cached ones, and
// leaves those out that were deleted.
func (m *memory) mergeKept(cached []*metav1.PartialObjectMetadata) []plan.Kept {
	var kept []plan.Kept
	still := map[string]bool{}
	for _, item := range cached {
		if still[item.Name] = m.forgotten[item.Name]; still[item.Name] {
			continue
		}
		if remembered := m.kept[item.Name]; remembered != nil && kube.Newer(remembered, item) {
			continue
		}
		delete(m.kept, item.Name)
		kept = append(kept, keptFrom(item))
	}
	maps.DeleteFunc(m.forgotten, func(name string, _ bool) bool { return !still[name] })
	for _, revision := range m.kept {
		kept = append(kept, keptFrom(revision))
	}
	return kept
}

// mergeSets puts newer readings, and sets that the cache does not have yet, over the cached ones.
func (m *memory) mergeSets(owner types.UID, cached []*appsv1.ReplicaSet) []*appsv1.ReplicaSet {
	present := map[types.UID]bool{}
	for i, set := range cached {
		present[set.UID] = true
		remembered, found := m.sets[set.UID]
		if !found {
			continue
		}
		remembered.cached = true
		var newer bool
		if cached[i], newer = newest(remembered.ReplicaSet, set); !newer {
			delete(m.sets, set.UID)
		}
	}
	for uid, set := range m.sets {
		switch {
		case present[uid]:
		case set.cached || !ownedBy(set, owner):
			delete(m.sets, uid)
		default:
			cached = append(cached, set.ReplicaSet)
		}
	}
	return cached
}
