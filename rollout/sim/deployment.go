package sim

import (
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// deployments is the kind Deployment. Its pods are in ReplicaSets: world.go, native.go,
// replicaset.go and laws.go are about them.
type deployments struct{}

var _ kind = deployments{}

func (deployments) size(d *Workload, _ []Place) int32 { return d.Replicas }

func (deployments) born(spec Spec) Spec { return spec }

func (deployments) name() string { return Deployment }

// start makes the ReplicaSet of the workload's template, with all pods available.
func (deployments) start(w *World, newborn bool) {
	if newborn {
		return
	}
	n := w.Workload.Replicas
	w.addSet(Set{
		Revision: w.Workload.Template, Number: 1, Replicas: n, Desired: n, Max: n + w.native().surge(), Observed: true,
		Status: SetStatus{Current: n, Ready: n, Available: n}, Pods: Pods{Available: n},
	})
}

func (deployments) turn(w *World, sees Spec) bool { return native{w, sees}.turn() }

func (deployments) turnLate(w *World, sees Spec) bool { return native{w, sees}.turn() }

func (deployments) secure(d *Workload) { d.Paused, d.Strategy = true, Recreate }

func (deployments) giveBack(d *Workload, held v1alpha1.HeldWorkload) {
	d.Paused, d.Strategy = held.Paused, held.Strategy
}

func (deployments) secured(d *Workload) bool { return d.Paused }

func (deployments) close(d *Workload) { d.Paused = true }

func (deployments) contained(d *Workload) bool { return d.Paused }

func (deployments) loosen(d *Workload) { d.Paused = false }

func (deployments) loosens(w *World) bool { return w.Workload.Paused }

// observe has nothing to do: the pass has the ReplicaSets from their cache.
func (deployments) observe(*pass) {}

func (deployments) podEvents(w *World, kinds ...Kind) []Event {
	var events []Event
	for i := range w.Sets {
		for _, kind := range kinds {
			events = append(events, Event{Kind: kind, Text: w.Sets[i].Revision})
		}
	}
	return events
}

func (deployments) podEvent(w *World, e Event) bool {
	set := w.Set(e.Text)
	if set == nil {
		return false
	}
	switch e.Kind {
	case SyncSet:
		return syncSet(w, set)
	case PodReady:
		return makeReady(w, set)
	case PodAvailable:
		return warm(set)
	case PodGone:
		return podGone(set)
	case PodFails:
		return failPod(set)
	case PodHeals:
		return healPod(w, set)
	default:
		return losePod(set)
	}
}

func (deployments) podIdle(w *World, e Event) bool {
	set := w.Set(e.Text)
	if set == nil {
		return true
	}
	switch e.Kind {
	case SyncSet:
		return set.settled()
	case PodReady:
		return set.Pods.Pending == 0
	case PodAvailable:
		return set.Pods.Warming == 0
	case PodGone:
		return set.Pods.Going == 0
	default:
		return set.Pods.Failing == 0
	}
}

func (deployments) show(w *World, text *strings.Builder) {
	for i := range w.Sets {
		s := &w.Sets[i]
		fmt.Fprintf(text, " %s=%d(%d/%d%s)", s.Revision, s.Replicas, s.Pods.Available, s.Pods.total(), s.Pods.rest())
	}
}
