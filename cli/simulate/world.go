package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
	"github.com/sluice-dev/sluice/rollout/sim"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// own holds the fields of a workload's manifest; nil for those that the API server would default.
type own struct {
	kinds.Sizes
	deadline *int32
	// first is the first ordinal.
	first int32
	// ordered reports whether the native controller waits for each pod before it makes the next.
	ordered bool
}

// ordinals is a workload whose pods have ordinals.
type ordinals interface {
	Ordered() bool
	FirstOrdinal() int32
}

// ownOf reads the manifest of a workload of a kind; nil if it is not known.
func ownOf(kind string, manifest kinds.Object) own {
	w := workload.New(kind)
	if manifest != nil {
		w, _ = workload.Of(manifest) // which is of a kind that can be released
	}
	of := kinds.Named(kind)
	o := own{Sizes: of.Sizes(w.Object()), deadline: w.Deadline()}
	if !of.BySets() { // a pod with a place goes before the next comes
		o.MaxSurge = nil
	}
	if placed, are := w.(ordinals); are {
		o.first, o.ordered = placed.FirstOrdinal(), placed.Ordered()
	}
	return o
}

// fits returns an error for a manifest that can't be simulated: no API server has checked it.
func (o own) fits() error {
	problems := []error{countable("spec.replicas", o.Replicas), limit("maxSurge", o.MaxSurge), limit("maxUnavailable", o.MaxUnavailable)}
	if o.first < 0 || o.first > math.MaxInt32-MaxPods {
		problems = append(problems, fmt.Errorf("spec.ordinals.start: must be from 0 to %d", math.MaxInt32-MaxPods))
	}
	return errors.Join(problems...)
}

func limit(field string, of *intstr.IntOrString) error {
	if of == nil {
		return nil
	}
	if n, err := intstr.GetScaledValueFromIntOrPercent(of, MaxPods, true); err != nil || n < 0 {
		return fmt.Errorf("%s of its strategy: must be a number of pods >= 0 or a percentage such as 25%%", field)
	}
	return nil
}

// setup returns the world before the release.
func setup(release *v1alpha1.BatchRelease, o own, trace *Trace) sim.Setup {
	strategy := &release.Spec.Strategy
	s := sim.Setup{
		Kind: release.Spec.WorkloadRef.Kind, Replicas: defaultReplicas, Steps: strategy.Steps, HistoryLimit: 10,
	}
	kind := kinds.Named(s.Kind)
	s.Ordered = o.ordered
	if strategy.Traffic != nil && kind.BySets() {
		s.Traffic = numbered(strategy.Traffic)
	}
	s.MaxSurge, s.MaxUnavailable = defaultBounds(kind)
	setFrom(&s.MaxSurge, cmp.Or(strategy.MaxSurge, o.MaxSurge))
	setFrom(&s.MaxUnavailable, cmp.Or(strategy.MaxUnavailable, o.MaxUnavailable))
	switch {
	case !kind.ByNodes:
		setFrom(&s.Replicas, cmp.Or(trace.Replicas, o.Replicas))
	case len(trace.Nodes) > 0:
		s.Replicas = trace.nodes()
	default:
		s.Replicas = defaultNodes
	}
	return s
}

// most returns the greatest maxUnavailable that a release allows in any step: the laws of the world
// know one only.
func most(s *sim.Setup, rollback *v1alpha1.RollbackStrategy) intstr.IntOrString {
	greatest, steps := s.MaxUnavailable, s.Steps
	if rollback != nil {
		steps = append(slices.Clip(steps), rollback.Steps...)
	}
	for i := range steps {
		if step := steps[i].MaxUnavailable; step != nil && pods(step, s.Replicas) > pods(&greatest, s.Replicas) {
			greatest = *step
		}
	}
	return greatest
}

func pods(limit *intstr.IntOrString, of int32) int {
	n, _ := intstr.GetScaledValueFromIntOrPercent(limit, int(of), true) // a release with another limit is not valid
	return n
}

// defaultBounds returns those of workloads that have none.
func defaultBounds(kind *kinds.Kind) (surge, unavailable intstr.IntOrString) {
	if kind.BySets() {
		return deployment.DefaultBound, deployment.DefaultBound
	}
	return intstr.FromInt32(0), inplace.DefaultUnavailable
}

func setFrom[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// specOf returns the spec of the release with what its workload says in its place, its own
// maxUnavailable too, less what the world does not know.
func (r *run) specOf(release *v1alpha1.BatchRelease, o own, unavailable intstr.IntOrString) *v1alpha1.BatchReleaseSpec {
	spec := release.Spec.DeepCopy()
	spec.Template = nil
	if spec.Strategy.ProgressDeadlineSeconds == nil {
		seconds := int32(plan.DefaultProgressDeadline / time.Second)
		setFrom(&seconds, o.deadline)
		spec.Strategy.ProgressDeadlineSeconds = &seconds
	}
	spec.Strategy.OnFailure = cmp.Or(spec.Strategy.OnFailure, v1alpha1.FailurePause)
	spec.DeletionPolicy = cmp.Or(spec.DeletionPolicy, v1alpha1.DeletionRevert)
	spec.Drift = cmp.Or(spec.Drift, v1alpha1.DriftReport)
	spec.Strategy.MaxUnavailable = &unavailable
	r.leaveOut(&spec.Strategy)
	return spec
}

// numbered returns the traffic of a release with routes of the world, which are known by name
// alone.
func numbered(of *v1alpha1.Traffic) *v1alpha1.Traffic {
	t := of.DeepCopy()
	for i := range t.Routes {
		t.Routes[i].Name = strconv.Itoa(i)
	}
	return t
}

// leaveOut takes away what is not simulated, and says so.
func (r *run) leaveOut(strategy *v1alpha1.ReleaseStrategy) {
	if r.Traffic != nil {
		r.note("routes are in effect at once: a real Gateway takes a moment to accept what is written")
	}
	switch {
	case r.onNodes() && strategy.PausePoints:
		strategy.PausePoints = false
		r.note("pausePoints are left out: pods of the simulation have no annotations")
	case !r.onNodes() && (len(strategy.Order) > 0 || strategy.PausePoints):
		strategy.Order, strategy.PausePoints = nil, false
		r.note("order and pausePoints are left out: which pod goes first is not simulated")
	}
}

// onNodes reports whether there is a pod on each node.
func (r *run) onNodes() bool { return preflight.FollowsNodes(r.Kind()) }

// label gives the nodes their labels, and says so where nobody has told of them.
func (r *run) label(strategy *v1alpha1.ReleaseStrategy) {
	if !r.onNodes() {
		return
	}
	if len(r.trace.Nodes) == 0 {
		r.note("there are %d nodes, by default: --nodes, or nodes in a trace, says how many", defaultNodes)
	}
	labels := r.trace.labels()
	r.NodeLabels = map[string]map[string]string{}
	for i, node := range r.Nodes[:min(len(labels), len(r.Nodes))] {
		r.NodeLabels[node] = labels[i]
	}
	for _, key := range strategy.Order {
		if key.NodeLabel != nil && !r.trace.hasLabel(key.NodeLabel.Key) {
			r.note("no node has the label %s: nodes in a trace says which have", key.NodeLabel.Key)
		}
	}
}
