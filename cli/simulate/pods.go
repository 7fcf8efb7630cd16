package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/sim"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// waiting are pods that wait to be ready.
type waiting struct {
	// key identifies them, and event is their name in the world.
	key, event string
	pods       int
}

// waiting returns those of a ReplicaSet together, and of other kinds each pod by itself.
func (r *run) waiting() []waiting {
	var all []waiting
	for i := range r.Sets {
		set := &r.Sets[i]
		all = append(all, waiting{set.Revision, set.Revision, int(set.Pods.Pending)})
	}
	for i := range r.Places {
		if p := &r.Places[i]; p.Stage == sim.Pending && !p.Going {
			all = append(all, waiting{string(p.UID), p.Name, 1})
		}
	}
	return all
}

// expectPods notes when the pods that were made are ready. Of those that are gone the last made
// went first.
func (r *run) expectPods() {
	expected := map[string][]time.Time{}
	for _, w := range r.waiting() {
		coming := r.coming[w.key]
		for len(coming) < w.pods {
			coming = append(coming, r.Now.Add(r.readyAfter))
		}
		expected[w.key] = coming[:w.pods]
	}
	r.coming = expected
}

// comeUp lets those pods be ready whose time has come.
func (r *run) comeUp() {
	for _, w := range r.waiting() {
		coming := r.coming[w.key]
		for len(coming) > 0 && !coming[0].After(r.Now) {
			r.happens(sim.Event{Kind: sim.PodReady, Text: w.event})
			coming = coming[1:]
		}
		r.coming[w.key] = coming
	}
}

// count adds the pods to a row; to that of a train the pods of its members.
func (r *run) count(row *Row) {
	for _, one := range r.members {
		row.Replicas += one.Workload.Replicas
		one.count(row)
	}
	update := r.Release.Status.UpdateRevision
	if r.Release.Status.Queued != nil || r.inTrain != "" && r.last == nil {
		update = r.newest
	}
	add := func(revision string, pods, available int32) {
		row.Available += available
		if revision == update || update == "" && revision == r.newest {
			row.New += pods
		} else {
			row.Old += pods
		}
	}
	for i := range r.Sets {
		set := &r.Sets[i]
		add(set.Revision, set.Replicas, set.Pods.Available)
	}
	for i := range r.Places {
		p := &r.Places[i]
		available := int32(0)
		if p.Stage == sim.Available {
			available = 1
		}
		add(p.Revision, 1, available)
	}
}

// requests returns what the new version gets by the routes; empty while they refer to the Service
// of both.
func (r *run) requests() string {
	switch route := r.shared(); {
	case route == nil:
		return ""
	case route.Matched:
		return fmt.Sprintf("%d%% + matches", route.Weight)
	default:
		return fmt.Sprintf("%d%%", route.Weight)
	}
}

// shared returns the first route that shares requests; nil if none does.
func (r *run) shared() *sim.Route {
	if r.Traffic == nil {
		return nil
	}
	for i := range r.Traffic.Routes {
		if r.Traffic.Routes[i].Shared {
			return &r.Traffic.Routes[i]
		}
	}
	return nil
}

// naming maps the names of the world to those of the user.
type naming struct {
	// release is empty for a train, whose name the world knows.
	release, workload string
	// first is the first ordinal of a StatefulSet.
	first int32
	// routes are the routes of the release, which the world numbers.
	routes []v1alpha1.TrafficRoute
}

// text returns an action with the names of the release.
func (n naming) text(action plan.Action) string {
	if moved, is := action.(plan.MovePods); is {
		moved.Write = n.replaced(moved.Write)
		return moved.String()
	}
	if opened, is := action.(plan.OpenGate); is {
		opened.Name = n.gate(opened.Name)
		return opened.String()
	}
	if closed, is := action.(plan.CloseGate); is {
		closed.Name = n.gate(closed.Name)
		return closed.String()
	}
	if moved, is := action.(plan.Traffic); is {
		moved.Write = n.routed(moved.Write)
		return moved.String()
	}
	return action.String()
}

func (n naming) routed(write traffic.Write) traffic.Write {
	switch w := write.(type) {
	case traffic.ShareRoute:
		w.Route = n.route(w.Route)
		return w
	case traffic.RestoreRoute:
		w.Route = n.route(w.Route)
		return w
	case traffic.PointSide, traffic.DropSides:
	}
	return write
}

func (n naming) route(of v1alpha1.TrafficRoute) v1alpha1.TrafficRoute {
	if i, err := strconv.Atoi(of.Name); err == nil && i >= 0 && i < len(n.routes) {
		return n.routes[i]
	}
	return of
}

func (n naming) replaced(write mover.Write) mover.Write {
	replace, is := write.(inplace.Replace)
	if !is {
		return write
	}
	replace.Pods = slices.Clone(replace.Pods)
	for i := range replace.Pods {
		replace.Pods[i].Name = n.pod(&replace.Pods[i])
	}
	return replace
}

func (n naming) pod(pod *inplace.Pod) string {
	if pod.Node != "" {
		return n.workload + "-" + pod.Node
	}
	return fmt.Sprintf("%s-%d", n.workload, pod.Index+n.first)
}

func (n naming) gate(name string) string {
	if n.release == "" { // a train has its own
		return name
	}
	return n.release + strings.TrimPrefix(name, sim.Name)
}
