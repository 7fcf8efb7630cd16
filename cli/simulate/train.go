package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/preflight"
	"github.com/sluice-dev/sluice/rollout/sim"
)

// Member is a member of a train.
type Member struct {
	// Release is the release with the steps of the train.
	Release *v1alpha1.BatchRelease
	// Group is the entry of the train's spec.members that it belongs to.
	Group string
	// Manifest is its workload; nil if not known.
	Manifest kinds.Object
}

// MaxMembers limits the members of a train that is simulated.
const MaxMembers = 100

// RunTrain simulates a run of a train in which all members change. The releases must be valid.
func RunTrain(train *v1alpha1.BatchRelease, members []Member, trace *Trace) (*Timeline, error) {
	if len(members) > MaxMembers {
		return nil, fmt.Errorf("simulate train %s: it has %d members, and at most %d are simulated", train.Name, len(members), MaxMembers)
	}
	timeline := &Timeline{Rows: []Row{}, Unmet: []string{}}
	strategy := &train.Spec.Strategy
	state := sim.NewState(sim.Setup{Steps: strategy.Steps, OnFailure: strategy.OnFailure, Supersede: strategy.Supersede})
	r := &run{State: state, trace: trace, events: trace.Events, began: trace.start(), timeline: timeline, inTrain: train.Name}
	spec := train.Spec.DeepCopy()
	spec.MemberTemplates = nil
	spec.Strategy.OnFailure = cmp.Or(spec.Strategy.OnFailure, v1alpha1.FailurePause)
	state.Release.Spec = spec
	names, groups := []string{train.Name}, []string(nil)
	states := make([]*sim.State, 0, len(members))
	for _, member := range members {
		one, err := begin(member.Release, member.Manifest, trace.of(member.Release.Spec.WorkloadRef.Kind), timeline)
		if err != nil {
			return nil, err
		}
		one.inTrain = member.Release.Name
		r.members, states = append(r.members, one), append(states, one.State)
		names, groups = append(names, one.inTrain), append(groups, member.Group)
	}
	if err := r.knowMembers(); err != nil {
		return nil, fmt.Errorf("simulate train %s: trace: %w", train.Name, err)
	}
	r.fleet = sim.Assemble(state, states, names, groups)
	state.Now = r.began
	if err := r.settle(); err != nil { // what runs is known to all
		return nil, fmt.Errorf("simulate train %s: %w", train.Name, err)
	}
	timeline.Rows = []Row{}
	for _, one := range r.all() {
		one.last = nil
	}
	r.give(given, "")
	if err := r.toEnd(); err != nil {
		return nil, fmt.Errorf("simulate train %s: %w", train.Name, err)
	}
	for _, one := range r.all() {
		timeline.Broken = append(timeline.Broken, one.Broken...)
	}
	slices.Sort(timeline.Notes)
	timeline.Notes = slices.Compact(timeline.Notes)
	return timeline, nil
}

// of returns the trace without the sizes of workloads of other kinds.
func (t *Trace) of(kind string) *Trace {
	own := *t
	if preflight.FollowsNodes(kind) {
		own.Replicas = nil
	} else {
		own.Nodes = nil
	}
	return &own
}

// knowMembers returns an error for an event about a member that there is not.
func (r *run) knowMembers() error {
	var names []string
	for _, one := range r.members {
		names = append(names, one.inTrain)
	}
	for i, event := range r.trace.Events {
		switch {
		case r.subject(event.Member) != nil:
		case len(names) == 0:
			return fmt.Errorf("events[%d].member: only a train has members", i)
		default:
			return fmt.Errorf("events[%d].member: the train has no member %q, but %s", i, event.Member, strings.Join(names, ", "))
		}
	}
	return nil
}

// give gives another template to the release, or in one commit to the members of a train: to all or
// to the named one.
func (r *run) give(template, member string) {
	if r.fleet == nil {
		r.newest = template
		r.happens(sim.Event{Kind: sim.Give, Text: template})
		return
	}
	var changed []int
	seats := []int{0}
	for i, one := range r.members {
		seats = append(seats, i+1)
		if member == "" || member == one.inTrain {
			changed, one.newest = append(changed, i), template
		}
	}
	r.newest = template
	r.fleet.Push(template, changed, seats)
}

// subject returns the member of a name, or without one the train, or the release itself; nil if
// there is none.
func (r *run) subject(member string) *run {
	if member == "" {
		return r
	}
	for _, one := range r.members {
		if one.inTrain == member {
			return one
		}
	}
	return nil
}

// about returns the releases to whose pods an event happens: the named one, or all.
func (r *run) about(event *Event) []*run {
	if event.Member != "" || r.fleet == nil {
		return []*run{r.subject(event.Member)}
	}
	return r.members
}
