package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Exploration tries every order of events from a start. Passes and the turns of the other
// controllers and of the pods may always happen; people confirm what blocks.
type Exploration struct {
	Start *State
	// Offers are what else may happen, each at any moment; a PassDies among them at every
	// write, a PassRaces at every request with each other offer.
	Offers []Event
	// Budget is how often events of a kind that is offered may happen; once if it is not named.
	Budget map[Kind]uint8
	// Limit is how many states to visit at most; all if 0.
	Limit int
}

// Explored is what an exploration has found.
type Explored struct {
	States, Passes int
	// Cut says that the limit was met.
	Cut bool
	// Fault is the first law broken, or end not reached, and the events that lead there; empty if none.
	Fault string
}

// node is a visited state: how it was reached, and what it calmly becomes.
type node struct {
	parent, calm int32
	event        Event
}

type explorer struct {
	Exploration
	nodes []node
	seen  map[Key]int32
	queue []queued
	out   Explored
}

type queued struct {
	id    int32
	state *State
}

// atRest marks a node that nothing is left to happen to.
const atRest = -1

// Explore visits every state that can be reached, the nearest first.
func Explore(e Exploration) Explored {
	x := &explorer{Exploration: e, seen: map[Key]int32{}}
	x.visit(e.Start, atRest, Event{})
	for len(x.queue) > 0 && x.out.Fault == "" {
		if e.Limit > 0 && len(x.nodes) >= e.Limit {
			x.out.Cut = true
			break
		}
		next := x.queue[0]
		x.queue[0].state, x.queue = nil, x.queue[1:]
		x.expand(next)
	}
	x.out.States = len(x.nodes)
	if x.out.Fault == "" && !x.out.Cut {
		x.findCircle()
	}
	return x.out
}

// visit notes a state, if it is new, and returns its number.
func (x *explorer) visit(s *State, parent int32, event Event) int32 {
	key := s.Key()
	if id, found := x.seen[key]; found && len(s.Broken) == 0 {
		return id
	}
	id := int32(len(x.nodes))
	x.seen[key] = id
	x.nodes = append(x.nodes, node{parent: parent, calm: atRest, event: event})
	x.queue = append(x.queue, queued{id, s})
	if len(s.Broken) > 0 && x.out.Fault == "" {
		x.out.Fault = s.Broken[0] + x.story(id)
	}
	return id
}

// expand visits what a state can become.
func (x *explorer) expand(from queued) {
	next, calmly := Calm(from.state)
	calm := x.calm(from, next, calmly)
	passed, changed := next, true
	if next == nil || calmly.Kind != Pass {
		passed, changed = afterPass(from.state)
	}
	x.out.Passes++
	for _, event := range x.offers(from.state, passed) {
		_, limited := x.budget(event.Kind)
		switch {
		case next != nil && event == calmly && !limited: // it is visited
		case event.Kind == Pass && changed:
			x.visit(passed, from.id, event)
		case event.Kind == Pass:
		default:
			if next := x.try(from.state, event); next != nil {
				x.visit(next, from.id, event)
			}
		}
	}
	x.nodes[from.id].calm = calm
}

// calm visits what a state becomes if from now on nothing goes wrong: everybody takes turns.
func (x *explorer) calm(from queued, next *State, event Event) int32 {
	last := from.state
	for range mostAlike {
		if next == nil {
			break
		}
		if id := x.visit(next, from.id, event); id != from.id {
			return id
		}
		last = next
		next, event = Calm(next)
	}
	if next != nil {
		return from.id // which findCircle finds
	}
	if left := unfinished(last.World); left != "" && x.out.Fault == "" {
		x.out.Fault = "I11 the end is reached: " + left + x.story(from.id)
	}
	return atRest
}

// mostAlike is how many turns may change nothing but what is no part of a state's key, such as
// counts in the status: more go round in circles.
const mostAlike = 5

// afterPass returns what a pass makes of a state, and whether it changes anything.
func afterPass(s *State) (passed *State, changed bool) {
	passed = s.Clone()
	changed = Event{Kind: Pass}.Apply(passed) || len(passed.Broken) > 0 // a law may be broken by what it leaves as it is
	return passed, changed
}

// try returns what the event makes of a state, nil if it changes nothing.
func (x *explorer) try(s *State, event Event) *State {
	if event.idle(s) {
		return nil
	}
	next := s.Clone()
	if _, limited := x.budget(event.Kind); limited {
		checkerOf(next.World).used[event.Kind]++
	}
	if event.Race != nil {
		checkerOf(next.World).used[event.Race.Kind]++
	}
	if event.Kind <= PassRaces {
		x.out.Passes++
	}
	if !event.Apply(next) && len(next.Broken) == 0 { // a law may be broken by what a pass leaves as it is
		return nil
	}
	return next
}

// budget returns how often a kind may happen, if that is limited.
func (x *explorer) budget(kind Kind) (uint8, bool) {
	offered := slices.ContainsFunc(x.Offers, func(e Event) bool { return e.Kind == kind })
	if n, named := x.Budget[kind]; named {
		return n, offered
	}
	return 1, offered
}

// offers returns the events that may happen next to a state, of which a pass makes another.
func (x *explorer) offers(s, passed *State) []Event {
	events := always(s)
	for _, offer := range x.Offers {
		if limit, _ := x.budget(offer.Kind); checkerOf(s.World).used[offer.Kind] >= limit {
			continue
		}
		switch offer.Kind {
		case PassDies:
			events = append(events, deaths(passed)...)
		case PassRaces:
			events = append(events, x.races(s, passed)...)
		default:
			events = append(events, offer)
		}
	}
	return events
}

// always returns the events that may happen at any time.
func always(s *State) []Event {
	events := []Event{{Kind: Pass}, {Kind: SyncWorkload}, {Kind: Approve}, {Kind: Thaw}}
	events = append(events, s.Workload.kind.podEvents(s.World, SyncSet, PodReady, PodAvailable, PodGone)...)
	events = append(events, trafficTurns(s.World)...)
	if s.Release.Status.CurrentStepState == v1alpha1.StepBlocking {
		events = append(events, Event{Kind: Confirm})
	}
	return events
}

// deaths returns a pass that stops after each of the writes that it makes.
func deaths(passed *State) []Event {
	var events []Event
	for n := range checkerOf(passed.World).writes {
		events = append(events, Event{Kind: PassDies, N: int32(n + 1)})
	}
	return events
}

// races returns a pass in which each other offer happens before each of its requests.
func (x *explorer) races(s, passed *State) []Event {
	var events []Event
	for _, offer := range append(always(s), x.Offers...) {
		limit, limited := x.budget(offer.Kind)
		if limited && checkerOf(s.World).used[offer.Kind] >= limit || offer.Kind <= Restart || offer.Kind == Thaw {
			continue
		}
		for n := range checkerOf(passed.World).requests {
			events = append(events, Event{Kind: PassRaces, N: int32(n + 1), Race: &offer})
		}
	}
	return events
}

// findCircle looks for calm states that become each other for ever.
func (x *explorer) findCircle() {
	ends := make([]bool, len(x.nodes))
	for start := range x.nodes {
		var path []int32
		onPath := map[int32]bool{}
		for id := int32(start); id != atRest && !ends[id]; id = x.nodes[id].calm {
			if onPath[id] {
				x.out.Fault = "I11 the end is reached: it goes round in circles" + x.story(id) + x.circle(id)
				return
			}
			onPath[id] = true
			path = append(path, id)
		}
		for _, id := range path {
			ends[id] = true
		}
	}
}

// circle tells of the events that lead from a state back to it.
func (x *explorer) circle(start int32) string {
	state, text := x.replay(start), strings.Builder{}
	text.WriteString("\n  and round:")
	for range 40 {
		next, event := Calm(state)
		if next == nil {
			break
		}
		fmt.Fprintf(&text, "\n  %-28s %s", event, next.World)
		state = next
	}
	return text.String()
}

// story tells how a state is reached.
func (x *explorer) story(id int32) string {
	var text strings.Builder
	state := x.Start.Clone()
	fmt.Fprintf(&text, "\n  %-28s %s", "start", state.World)
	for _, event := range x.events(id) {
		event.Apply(state)
		fmt.Fprintf(&text, "\n  %-28s %s", event, state.World)
	}
	return text.String()
}

func (x *explorer) replay(id int32) *State {
	state := x.Start.Clone()
	for _, event := range x.events(id) {
		event.Apply(state)
	}
	return state
}

// events lead from the start to a state.
func (x *explorer) events(id int32) []Event {
	var events []Event
	for ; x.nodes[id].parent != atRest; id = x.nodes[id].parent {
		events = append(events, x.nodes[id].event)
	}
	slices.Reverse(events)
	return events
}
