// Package simulate plays a release with the planner, in a simulated world whose events a trace
// lists.
//
//	release, workload, Trace ──► Run ──► Timeline ──► table, JSON
//	                              │
//	     plan.Next over rollout/sim, on a clock of its own
//
// The same input gives the same timeline. What the world is not asked for does not happen: requests
// never fail, caches never lag, and pods are made at once.
package simulate

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kinds"
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
	// Release is the train, or the member, that the row is about; empty for a release without a train.
	Release string `json:"release,omitempty"`
	// Event is an event of the trace; empty in rows of what Sluice does.
	Event string `json:"event,omitempty"`
	// Done are the writes to the workload, its ReplicaSets or pods, and Gates.
	Done []string `json:"done,omitempty"`
	// Replicas is spec.replicas, or the number of nodes of a DaemonSet; Old and New are pods of the
	// earlier templates and of the newest, for a Deployment the numbers that its ReplicaSets ask
	// for; Available are the pods of both that serve.
	Replicas  int32 `json:"replicas"`
	Old       int32 `json:"old"`
	New       int32 `json:"new"`
	Available int32 `json:"available"`
	// Requests is the share of the new version in the routes; empty while no route is shared.
	Requests string `json:"requests,omitempty"`
	// Status describes the release in one word, the column STATUS of "sluice list".
	Status string   `json:"status,omitempty"`
	Phase  string   `json:"phase"`
	Batch  string   `json:"batch,omitempty"`
	State  string   `json:"state,omitempty"`
	Gates  []string `json:"gates,omitempty"`
	Why    string   `json:"why,omitempty"`
}

// The templates: what runs, and what is released.
const (
	running = "v1"
	given   = "v2"
)

// Run simulates a release of a workload, nil if its manifest is not known. The release must be
// valid.
func Run(release *v1alpha1.BatchRelease, manifest kinds.Object, trace *Trace) (*Timeline, error) {
	r, err := begin(release, manifest, trace, &Timeline{Rows: []Row{}, Unmet: []string{}})
	if err != nil {
		return nil, err
	}
	if err := r.knowMembers(); err != nil {
		return nil, fmt.Errorf("simulate BatchRelease %s: trace: %w", release.Name, err)
	}
	if train := r.Release.Spec.Train; train != "" {
		r.note("train %s is left out: this member is played alone, and waits for no other one", train)
		r.Release.Spec.Train = ""
	}
	r.happens(sim.Event{Kind: sim.Give, Text: given})
	if err := r.toEnd(); err != nil {
		return nil, fmt.Errorf("simulate BatchRelease %s: %w", release.Name, err)
	}
	r.timeline.Broken = r.Broken
	return r.timeline, nil
}

// begin returns the simulation of a release before its new template is given.
func begin(release *v1alpha1.BatchRelease, manifest kinds.Object, trace *Trace, timeline *Timeline) (*run, error) {
	if err := trace.fits(release.Spec.WorkloadRef.Kind); err != nil {
		return nil, fmt.Errorf("simulate BatchRelease %s: trace: %w", release.Name, err)
	}
	o := ownOf(release.Spec.WorkloadRef.Kind, manifest)
	if err := o.fits(); err != nil {
		return nil, fmt.Errorf("simulate BatchRelease %s: %s %s: %w", release.Name, release.Spec.WorkloadRef.Kind, release.Spec.WorkloadRef.Name, err)
	}
	before := setup(release, o, trace)
	unavailable := before.MaxUnavailable
	before.MaxUnavailable = most(&before, release.Spec.Rollback)
	state := sim.NewState(before)
	r := &run{
		State: state, trace: trace, events: trace.Events, began: trace.start(), timeline: timeline,
		readyAfter: orElse(trace.ReadyAfter, defaultReadyAfter), named: naming{release.Name, release.Spec.WorkloadRef.Name, o.first, routesOf(release)},
	}
	state.Now = r.began
	state.Release.Spec = r.specOf(release, o, unavailable)
	r.label(&state.Release.Spec.Strategy)
	return r, nil
}

func routesOf(release *v1alpha1.BatchRelease) []v1alpha1.TrafficRoute {
	if release.Spec.Strategy.Traffic == nil {
		return nil
	}
	return release.Spec.Strategy.Traffic.Routes
}
