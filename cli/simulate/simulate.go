// Package simulate plays a release with the planner, in a simulated world whose events a trace lists.
//
//	release, Deployment, Trace ──► Run ──► Timeline ──► table, JSON
//	                                │
//	     plan.Next over rollout/sim, on a clock of its own
//
// The same input gives the same timeline. What the world is not asked for does not happen: requests never fail, caches
// never lag, and pods are made at once.
package simulate

import (
	"cmp"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	mover "github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/sim"
)

// Timeline is the course of a release.
type Timeline struct {
	Rows []Row `json:"rows"`
	// Unmet are the expectations of the trace that did not come true.
	Unmet []string `json:"unmet"`
	// Broken are promises of Sluice that were broken on the way: there are none, or Sluice has a bug.
	Broken []string `json:"broken,omitempty"`
	// Notes say what was left out of the simulation.
	Notes []string `json:"notes,omitempty"`
}

// Row is the situation after something has happened.
type Row struct {
	// At is how long after the start.
	At string `json:"at"`
	// Event is what happens by the trace; empty in rows of what Sluice does.
	Event string `json:"event,omitempty"`
	// Done are the writes to ReplicaSets, Deployment and Gates.
	Done []string `json:"done,omitempty"`
	// Replicas is spec.replicas; Old and New are pods of the earlier templates and of the newest, as their ReplicaSets
	// ask for them; Available are those of both that serve.
	Replicas  int32    `json:"replicas"`
	Old       int32    `json:"old"`
	New       int32    `json:"new"`
	Available int32    `json:"available"`
	Phase     string   `json:"phase"`
	Batch     string   `json:"batch,omitempty"`
	State     string   `json:"state,omitempty"`
	Gates     []string `json:"gates,omitempty"`
	Why       string   `json:"why,omitempty"`
}

// The templates: what runs, and what is released.
const (
	running = "v1"
	given   = "v2"
)

// Run simulates a release of a Deployment, nil if its manifest is not known. The release must be valid.
func Run(release *v1alpha1.BatchRelease, deployment *appsv1.Deployment, trace *Trace) (*Timeline, error) {
	state := sim.NewState(setup(release, deployment, trace))
	r := &run{
		State: state, trace: trace, events: trace.Events, began: trace.start(), timeline: &Timeline{Rows: []Row{}, Unmet: []string{}},
		readyAfter: orElse(trace.ReadyAfter, defaultReadyAfter), coming: map[string][]time.Time{},
	}
	state.Now = r.began
	state.Release.Spec = r.specOf(release, deployment)
	state.Give(given)
	if err := r.toEnd(); err != nil {
		return nil, fmt.Errorf("simulate BatchRelease %s: %w", release.Name, err)
	}
	r.timeline.Broken = state.Broken
	return r.timeline, nil
}

// setup is the world before the release.
func setup(release *v1alpha1.BatchRelease, deployment *appsv1.Deployment, trace *Trace) sim.Setup {
	s := sim.Setup{
		Replicas: defaultReplicas, Steps: release.Spec.Strategy.Steps, HistoryLimit: 10,
		MaxSurge: mover.DefaultBound, MaxUnavailable: mover.DefaultBound,
	}
	if deployment != nil {
		setFrom(&s.Replicas, deployment.Spec.Replicas)
		if rolling := deployment.Spec.Strategy.RollingUpdate; rolling != nil {
			setFrom(&s.MaxSurge, rolling.MaxSurge)
			setFrom(&s.MaxUnavailable, rolling.MaxUnavailable)
		}
	}
	setFrom(&s.Replicas, trace.Replicas)
	return s
}

func setFrom[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// specOf is the spec of the release with what the Deployment says in its place, less what the world does not know.
func (r *run) specOf(release *v1alpha1.BatchRelease, deployment *appsv1.Deployment) *v1alpha1.BatchReleaseSpec {
	spec := release.Spec.DeepCopy()
	spec.Template = nil
	if spec.Strategy.ProgressDeadlineSeconds == nil {
		seconds := int32(plan.DefaultProgressDeadline / time.Second)
		if deployment != nil {
			setFrom(&seconds, deployment.Spec.ProgressDeadlineSeconds)
		}
		spec.Strategy.ProgressDeadlineSeconds = &seconds
	}
	spec.Strategy.OnFailure = cmp.Or(spec.Strategy.OnFailure, v1alpha1.FailurePause)
	spec.DeletionPolicy = cmp.Or(spec.DeletionPolicy, v1alpha1.DeletionRevert)
	spec.Drift = cmp.Or(spec.Drift, v1alpha1.DriftReport)
	if len(spec.Strategy.Order) > 0 || spec.Strategy.PausePoints {
		spec.Strategy.Order, spec.Strategy.PausePoints = nil, false
		r.timeline.Notes = append(r.timeline.Notes, "order and pausePoints are left out: which pod goes first is not simulated")
	}
	return spec
}
