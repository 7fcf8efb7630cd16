package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// Name is that of the release and of its workload.
const Name = "web"

// The strategies of a Deployment. They stand for the JSON of spec.strategy.
const (
	RollingUpdate = "RollingUpdate"
	Recreate      = "Recreate"
)

// World is the state of everything but the controller's process.
type World struct {
	// Now is the time as it goes by; the clock of the controller's node shows Skew more.
	Now      time.Time
	Skew     time.Duration
	Release  Release
	Workload Workload
	// Sound is the spec with the steps that were approved, whatever somebody has made of them since.
	Sound *v1alpha1.BatchReleaseSpec
	// Sets are the ReplicaSets of a Deployment, in the order of their creation.
	Sets []Set
	// Places are the pods of a workload of another kind.
	Places []Place
	// Nodes are the nodes that a DaemonSet is to have a pod on, and NodeLabels their labels.
	Nodes      []string
	NodeLabels map[string]map[string]string
	// Leaving is the fate of the pods of nodes that leave.
	Leaving Leaving
	// Ordered says that a StatefulSet makes its pods one after the other (podManagementPolicy
	// OrderedReady).
	Ordered bool
	// Start is its first ordinal.
	Start int32
	// Several says that its native controller replaces several at once (feature gate
	// MaxUnavailableStatefulSet).
	Several bool
	// Backoff says that pods of a DaemonSet that have failed stay for a while: it is not the first
	// time on their nodes (failedPodsBackoff).
	Backoff bool
	Gates   []Gate
	Kept    []plan.Kept
	// Traffic holds the routes and Services; nil of a workload without routes.
	Traffic *Traffic
	// Lag holds the objects that the caches show instead of the present ones.
	Lag Lag
	// API holds the rules by which the API server takes writes.
	API Admission
	// Sick is a revision whose new pods never become available.
	Sick string
	// MinReady says that pods are ready for a while before they count as available
	// (spec.minReadySeconds), and Graceful that they take a while to go.
	MinReady, Graceful bool
	// fleet has the train of the release, or its members; nil if it is in none. seat is its place in
	// the fleet: 0 is the train.
	fleet *Fleet
	seat  int
	// Broken says which laws were broken, and how.
	Broken []string

	// ownStrategy is the strategy with which a user made the workload, and ownPaused says that they
	// have paused it.
	ownStrategy string
	ownPaused   bool
	// noted reports whether the Deployment controller has noted a size on a ReplicaSet since the last
	// hand-back.
	noted    bool
	observer observer

	version, made, born, joined int64
}

// Release is the BatchRelease.
type Release struct {
	Version, Generation int64
	// Spec is that of the object but for the template.
	Spec *v1alpha1.BatchReleaseSpec
	// Spoiled says in which way the steps are invalid, 0 if they are not.
	Spoiled int32
	// Edited says that somebody has edited a step that is in progress.
	Edited bool
	// Template is the revision of spec.template, empty if there is none.
	Template    string
	Annotations map[string]string
	// FromGit says that it comes from a source, and that its workload runs a template that Git did not
	// have.
	FromGit                     bool
	Finalizer, Deleting, Purged bool
	Status                      *v1alpha1.BatchReleaseStatus
}

// Workload is the released object.
type Workload struct {
	Spec

	kind    kind
	Absent  bool
	UID     types.UID
	Version int64
	// Generation counts the specs that it has had, and Seen is the count that the native
	// controller has noted in the status.
	Generation, Seen int64
	// Earlier are the specs that the native controller may still take for the present one,
	// the oldest first.
	Earlier []Spec
	Hold    *plan.Hold
	// Follower is the release in the label of a followed workload. Waiting says that its template
	// waits, and Noted what the policies have changed then.
	Follower string
	Waiting  bool
	Noted    v1alpha1.HeldWorkload
	// MaxSurge and MaxUnavailable bound its own rolling update.
	MaxSurge, MaxUnavailable *intstr.IntOrString
	// HistoryLimit is spec.revisionHistoryLimit.
	HistoryLimit int
	// Status is that of a workload whose pods have places.
	Status Places
	// nodes is how many nodes are to have a pod of a DaemonSet, if some have left that its status may
	// still count; 0 otherwise.
	nodes int32
}

// Spec holds the fields that the native controller reads.
type Spec struct {
	Replicas int32
	Paused   bool
	Strategy string
	// Template is the revision of spec.template.
	Template string
	// Partition and AtOnce are the partition and maxUnavailable of a StatefulSet's strategy. AtOnce is
	// dropped without the feature gate for it.
	Partition, AtOnce int32
}

// Set is a ReplicaSet.
type Set struct {
	UID      types.UID
	Revision string
	Made     int64
	Version  int64
	// Generation counts the sizes that it has had.
	Generation int64
	Replicas   int32
	// Status is the last one of the ReplicaSet controller, and Observed reports whether it is about
	// the present spec.
	Status   SetStatus
	Observed bool
	// Desired is the native controller's desired-replicas annotation, -1 if there is none, Max its
	// max-replicas, 0 if there is none, and Number that of the revision.
	Desired, Max int32
	Number       int64
	Pods         Pods
}

// SetStatus is a ReplicaSet's status. The available pods are among the ready ones.
type SetStatus struct{ Current, Ready, Available, Terminating int32 }

// Pods counts the pods of a ReplicaSet as they really are: waiting to be ready, not ready any more,
// ready but not available yet, available. Pods that go away count only where pods are listed.
type Pods struct{ Pending, Failing, Warming, Available, Going int32 }

// Gate is a Gate object.
type Gate struct {
	Name     string
	Spec     *v1alpha1.GateSpec
	Decision v1alpha1.Decision
	Made     time.Time
}

// Setup describes the beginning of a world: a workload that runs v1, and a release without a
// template.
type Setup struct {
	// Kind is that of the workload, Deployment if empty.
	Kind                     string
	Replicas                 int32
	Steps                    []v1alpha1.Step
	Rollback                 []v1alpha1.Step
	MaxSurge, MaxUnavailable intstr.IntOrString
	// Strategy is that of the workload, RollingUpdate if empty, and Partition that of a StatefulSet.
	Strategy  string
	Partition int32
	// OneVersion says that the release of a Deployment of strategy Recreate may not mix versions,
	// until it is cured.
	OneVersion bool
	Paused     bool
	// Newborn says that the native controller has not seen the Deployment yet: it has no
	// ReplicaSet.
	Newborn bool
	// HistoryLimit is spec.revisionHistoryLimit of the Deployment.
	HistoryLimit int
	// MinReady, Graceful, Ordered and Several have the meaning of the World's fields.
	MinReady, Graceful, Ordered, Several bool
	// Deadline is spec.strategy.progressDeadlineSeconds; none if 0.
	Deadline time.Duration
	// Guard is the onReject of a guard of the release; there is none if it is empty.
	Guard v1alpha1.RejectPolicy
	// Drift is Report if empty.
	Drift v1alpha1.DriftPolicy
	// OnFailure is Pause if empty.
	OnFailure      v1alpha1.FailurePolicy
	DeletionPolicy v1alpha1.DeletionPolicy
	Supersede      v1alpha1.SupersedePolicy
	// PodReplacement is TerminationStarted if empty.
	PodReplacement v1alpha1.PodReplacementPolicy
	// StepBack is KeepPods if empty.
	StepBack v1alpha1.StepBackPolicy
	// Traffic has routes share requests.
	Traffic *v1alpha1.Traffic
	// Policied copies World.Policied, and FromGit copies Release.FromGit.
	Policied, FromGit bool
	// Follow says that the release follows its workload, which the policies of config/follow guard.
	Follow bool
}

// never is a progress deadline that does not come.
const never = 24 * 365 * time.Hour

// New makes a world.
func New(s Setup) *World {
	of := kindOf(s.Kind)
	w := &World{Now: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC), MinReady: s.MinReady, Graceful: s.Graceful, Ordered: s.Ordered, Several: s.Several, API: Admission{Policied: s.Policied}}
	seconds := int32(or(s.Deadline, never) / time.Second)
	spec := &v1alpha1.BatchReleaseSpec{
		WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: of.name(), Name: Name},
		Strategy: v1alpha1.ReleaseStrategy{
			Steps: s.Steps, ProgressDeadlineSeconds: &seconds, OnFailure: or(s.OnFailure, v1alpha1.FailurePause), Supersede: s.Supersede,
			PodReplacement: s.PodReplacement, StepBack: s.StepBack, AllowMixedVersions: s.Strategy == Recreate && !s.OneVersion,
		},
	}
	if s.Rollback != nil {
		spec.Rollback = &v1alpha1.RollbackStrategy{Steps: s.Rollback}
	}
	if s.Guard != "" {
		guard := policy(string(v1alpha1.GateMetrics))
		guard.OnReject = s.Guard
		spec.Strategy.Guards = []v1alpha1.GatePolicy{guard}
	}
	spec.Drift = or(s.Drift, v1alpha1.DriftReport)
	if s.Traffic != nil {
		spec.Strategy.Traffic = s.Traffic
		addRoutes(w, s.Traffic)
	}
	spec.DeletionPolicy = or(s.DeletionPolicy, v1alpha1.DeletionRevert)
	if s.Follow {
		spec.Follow, w.API.Guards = v1alpha1.FollowWorkload, true
	}
	w.Sound = spec
	w.Release = Release{Version: w.next(), Generation: 1, Spec: spec, Status: &v1alpha1.BatchReleaseStatus{}, FromGit: s.FromGit}
	w.Workload = Workload{kind: of, MaxSurge: &s.MaxSurge, MaxUnavailable: &s.MaxUnavailable, HistoryLimit: s.HistoryLimit}
	bearWorkload(w, Spec{Replicas: s.Replicas, Paused: s.Paused, Strategy: or(s.Strategy, RollingUpdate), Partition: s.Partition, Template: "v1"})
	if of.name() != Deployment {
		w.Workload.MaxSurge = nil
	}
	if of.name() == DaemonSet {
		joinNodes(w, s.Replicas)
	}
	if !s.Newborn {
		w.Workload.Seen = w.Workload.Generation
	}
	of.start(w, s.Newborn)
	return w
}

// bearWorkload creates the workload. The native controller has not seen it yet.
func bearWorkload(w *World, spec Spec) {
	d := &w.Workload
	w.born++
	spec = d.kind.born(spec)
	spec.Template = w.API.admitted(spec.Template)
	w.ownStrategy, w.ownPaused = strategyText(&spec), spec.Paused
	*d = Workload{
		Spec: spec, kind: d.kind, UID: types.UID(fmt.Sprintf("workload-%d", w.born)), Version: w.next(), Generation: 1,
		MaxSurge: d.MaxSurge, MaxUnavailable: d.MaxUnavailable, HistoryLimit: d.HistoryLimit,
	}
}

func or[T comparable](value, otherwise T) T {
	if value == *new(T) {
		return otherwise
	}
	return value
}

// Clone returns a copy that shares nothing that is changed in place.
func (w *World) Clone() *World {
	c := *w
	c.Sets = slices.Clone(w.Sets)
	c.Places = slices.Clone(w.Places)
	c.Gates = slices.Clone(w.Gates)
	c.Kept = slices.Clone(w.Kept)
	c.Lag.Sets = slices.Clone(w.Lag.Sets)
	c.Traffic = w.Traffic.clone()
	c.Broken = slices.Clone(w.Broken)
	if w.observer != nil {
		c.observer = w.observer.clone()
	}
	return &c
}

// next returns the resourceVersion of the next write.
func (w *World) next() int64 {
	w.version++
	return w.version
}

func (w *World) addSet(s Set) *Set {
	w.made++
	s.Made, s.Version = w.made, w.next()
	s.UID = types.UID(fmt.Sprintf("%s-%d", s.Revision, w.made))
	w.Sets = append(w.Sets, s)
	if w.Lag.NewSets {
		w.Lag.Sets = append(w.Lag.Sets, SetLag{UID: s.UID})
	}
	return &w.Sets[len(w.Sets)-1]
}

// Set returns the ReplicaSet of a revision, nil if there is none.
func (w *World) Set(revision string) *Set {
	for i := range w.Sets {
		if w.Sets[i].Revision == revision {
			return &w.Sets[i]
		}
	}
	return nil
}

func (w *World) setByUID(uid types.UID) *Set { return findSet(w.Sets, uid) }

func findSet(sets []Set, uid types.UID) *Set {
	for i := range sets {
		if sets[i].UID == uid {
			return &sets[i]
		}
	}
	return nil
}

// total returns what the ReplicaSets add up to.
func total(sets []Set) int32 {
	var n int32
	for i := range sets {
		n += sets[i].Replicas
	}
	return n
}

// resize writes spec.replicas.
func (w *World) resize(s *Set, replicas int32) {
	s.Version = w.next()
	if s.Replicas != replicas {
		s.Replicas, s.Observed = replicas, false
		s.Generation++
	}
}

// updateWorkload writes the workload, as admission has it.
func (w *World) updateWorkload(change func(*Workload)) {
	w.rescaleWorkload(func(d *Workload) {
		change(d)
		d.Template = w.API.admitted(d.Template)
	})
}

// rescaleWorkload writes the subresource scale of the workload, which has no template. Another spec
// is one that the native controller has not seen yet.
func (w *World) rescaleWorkload(change func(*Workload)) {
	d := &w.Workload
	before := d.Spec
	change(d)
	d.Version = w.next()
	if d.Spec != before {
		d.Generation++
		d.Earlier = append(slices.Clip(d.Earlier), before)
	}
}

// behind returns how many of the latest specs the native controller has not seen.
func (d *Workload) behind() int64 { return d.Generation - d.Seen }

// updateRelease writes the release's metadata or spec.
func (w *World) updateRelease(change func(*Release)) {
	change(&w.Release)
	w.Release.Version = w.next()
	if w.Release.Deleting && !w.Release.Finalizer {
		w.Release.Purged = true
	}
}

// annotate returns annotations with some of them changed; an empty value takes one away.
func annotate(annotations map[string]string, changes map[string]string) map[string]string {
	changed := maps.Clone(annotations)
	if changed == nil {
		changed = map[string]string{}
	}
	for key, value := range changes {
		changed[key] = value
		if value == "" {
			delete(changed, key)
		}
	}
	return changed
}

// breach notes that a law is broken.
func (w *World) breach(law, how string) {
	w.Broken = append(w.Broken, law+": "+how+" in "+w.String())
}

// String shows the world in one line.
func (w *World) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "replicas=%d", w.Workload.Replicas)
	w.Workload.kind.show(w, &text)
	showTraffic(w, &text)
	status := w.Release.Status
	fmt.Fprintf(&text, " %s %s %s target=%d", status.Phase, status.Batch, status.CurrentStepState, status.TargetReplicas)
	if hold := w.Workload.Hold; hold != nil {
		text.WriteString(" held")
	}
	return text.String()
}
