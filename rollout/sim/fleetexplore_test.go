package sim

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A fleet is explored in larger moves than a release: between two passes of a member its pods and
// native controllers come to rest, or do not move at all. What they do in between is explored
// release by release.

// move is one thing that happens to a fleet.
type move struct {
	seat int
	what string
	n    int
}

func (m move) String() string { return fmt.Sprintf("seat %d: %s %d", m.seat, m.what, m.n) }

// The moves.
const (
	passes  = "pass"
	dies    = "pass that dies"
	settles = "pods come to rest"
	allows  = "the gate passes"
	rejects = "the gate is rejected"
	returns = "rollback"
	fails   = "the deadline goes by"
	commits = "commit"
	lags    = "the cache of the other side lags"
	catches = "all caches catch up"
	stops   = "suspend"
)

// fleetNode is a visited fleet: how it was reached, and what it calmly becomes.
type fleetNode struct {
	parent, calm int
	move         move
	fleet        *Fleet
	laws         *fleetLaws
	used         map[string]int
}

// fleetExplorer visits every state that a fleet can reach, the nearest first.
type fleetExplorer struct {
	// offers are the moves that may happen besides passes, pods and gates, and how often each may.
	offers map[string]int
	limit  int
	nodes  []*fleetNode
	seen   map[Key]int
	fault  string
}

// clone returns a fleet that shares nothing that can change, with laws of its own.
func (l *fleetLaws) clone() (*Fleet, *fleetLaws) {
	f := &Fleet{
		Train: l.f.Train.Clone(), names: l.f.names, groups: l.f.groups, left: slices.Clone(l.f.left),
		trainSeen: slices.Clone(l.f.trainSeen), seen: slices.Clone(l.f.seen),
	}
	for _, member := range l.f.Members {
		f.Members = append(f.Members, member.Clone())
	}
	f.board()
	laws := &fleetLaws{
		f: f, proved: slices.Clone(l.proved), updated: slices.Clone(l.updated), run: l.run,
		let: slices.Clone(l.let), turned: slices.Clone(l.turned), opened: maps.Clone(l.opened),
	}
	for seat := range len(f.Members) + 1 {
		checkerOf(f.State(seat).World).fleet = laws
	}
	return f, laws
}

func (x *fleetExplorer) key(n *fleetNode) Key {
	h := sha256.New()
	for seat := range len(n.fleet.Members) + 1 {
		key := n.fleet.State(seat).Key()
		h.Write(key[:])
	}
	e := encoder{world: n.fleet.Train.World}
	for i := range n.fleet.Members {
		train, member := n.fleet.trainSeen[i], n.fleet.seen[i]
		e.flag(train != nil, member != nil)
		if train != nil {
			e.status(&train.Status)
		}
		if member != nil {
			e.status(&member.Release.Status)
			e.text(member.Given)
		}
		e.number(int64(n.laws.proved[i]))
		e.number(int64(n.laws.updated[i]))
	}
	fmt.Fprint(h, e.bytes, n.used)
	return Key(h.Sum(nil)[:16])
}

// visit notes a fleet, if it is new, and returns its number.
func (x *fleetExplorer) visit(n *fleetNode) int {
	key := x.key(n)
	if id, found := x.seen[key]; found {
		return id
	}
	id := len(x.nodes)
	x.seen[key] = id
	x.nodes = append(x.nodes, n)
	for seat := range len(n.fleet.Members) + 1 {
		if broken := n.fleet.State(seat).Broken; len(broken) > 0 && x.fault == "" {
			x.fault = broken[0] + x.story(id)
		}
	}
	return id
}

func (x *fleetExplorer) story(id int) string {
	var text []string
	for ; id > 0; id = x.nodes[id].parent {
		text = append(text, fmt.Sprintf("\n  %s\n    %s", x.nodes[id].move, x.nodes[id].fleet))
	}
	slices.Reverse(text)
	return strings.Join(text, "")
}

// after returns what a move makes of a node; nil if it changes nothing.
func (x *fleetExplorer) after(id int, m move) *fleetNode {
	from := x.nodes[id]
	f, laws := from.laws.clone()
	next := &fleetNode{parent: id, calm: -1, move: m, fleet: f, laws: laws, used: from.used}
	if _, limited := x.offers[m.what]; limited {
		next.used = map[string]int{}
		maps.Copy(next.used, from.used)
		next.used[m.what]++
	}
	if !m.happen(f) {
		return nil
	}
	return next
}

// happen lets a move happen. It reports whether it changes anything.
func (m move) happen(f *Fleet) bool {
	s := f.State(m.seat)
	switch m.what {
	case passes:
		return Event{Kind: Pass}.Apply(s) || len(s.Broken) > 0
	case dies:
		return Event{Kind: PassDies, N: int32(m.n)}.Apply(s) || len(s.Broken) > 0
	case settles:
		return settle(s)
	case allows:
		if !waitsForPerson(s.World) {
			return false
		}
		confirm(s.World)
		return Event{Kind: Approve}.Apply(s)
	case rejects:
		return Event{Kind: Reject}.Apply(s)
	case returns:
		return Event{Kind: Rollback, Text: "true"}.Apply(s)
	case fails:
		return Event{Kind: Elapse}.Apply(s)
	case stops:
		return Event{Kind: Suspend}.Apply(s)
	case commits:
		f.Push("v3", []int{0}, seats(f))
		return true
	case lags:
		if m.seat == 0 {
			f.Freeze(m.n, false)
		} else {
			f.Freeze(m.seat-1, true)
		}
		return true
	default:
		if !slices.ContainsFunc(f.trainSeen, func(r *v1alpha1.BatchRelease) bool { return r != nil }) && !slices.ContainsFunc(seats(f)[1:], func(i int) bool { return f.seen[i-1] != nil }) {
			return false
		}
		f.Thaw()
		return true
	}
}

// settle lets the pods of a member, and its native controllers, come to rest.
func settle(s *State) bool {
	any := false
	for changed := true; changed; {
		changed = false
		for _, e := range append(s.Workload.kind.podEvents(s.World, SyncSet, PodReady, PodAvailable, PodGone), Event{Kind: SyncWorkload}) {
			if !e.idle(s) && e.Apply(s) {
				changed, any = true, true
			}
		}
	}
	return any
}

// moves returns all that may happen to a node.
func (x *fleetExplorer) moves(n *fleetNode) []move {
	var all []move
	for seat := range len(n.fleet.Members) + 1 {
		all = append(all, move{seat: seat, what: passes})
		if seat > 0 {
			all = append(all, move{seat: seat, what: settles})
		}
	}
	all = append(all, move{what: allows}, move{what: catches})
	for what, most := range x.offers {
		if n.used[what] >= most {
			continue
		}
		switch what {
		case dies:
			for seat := range len(n.fleet.Members) + 1 {
				for i := range 4 {
					all = append(all, move{seat, what, i + 1})
				}
			}
		case lags:
			for i := range n.fleet.Members {
				all = append(all, move{0, what, i}, move{i + 1, what, 0})
			}
		case rejects, commits:
			all = append(all, move{what: what})
		case returns:
			for seat := range len(n.fleet.Members) + 1 {
				all = append(all, move{seat: seat, what: what})
			}
		default:
			all = append(all, move{seat: 1, what: what})
		}
	}
	slices.SortFunc(all, func(a, b move) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// calmly returns what a node becomes if nothing goes wrong any more; nil if it is at rest.
func (x *fleetExplorer) calmly(id int) *fleetNode {
	n := x.nodes[id]
	all := []move{{what: catches}, {what: allows}}
	for seat := range len(n.fleet.Members) + 1 {
		if seat > 0 {
			all = append(all, move{seat: seat, what: settles})
		}
		all = append(all, move{seat: seat, what: passes})
	}
	for _, m := range all {
		if next := x.after(id, m); next != nil && x.key(next) != x.key(n) {
			return next
		}
	}
	return nil
}

// explore visits the nearest states of a fleet. Each ends calmly with all members or none.
func (x *fleetExplorer) explore(setup FleetSetup) {
	x.seen = map[Key]int{}
	f := NewFleet(setup)
	laws := watchFleet(f)
	rest(f)
	f.Push("v2", membersOf(f), seats(f))
	x.visit(&fleetNode{parent: -1, calm: -1, fleet: f, laws: laws, used: map[string]int{}})
	for id := 0; id < len(x.nodes) && x.fault == ""; id++ {
		n := x.nodes[id]
		if next := x.calmly(id); next != nil {
			n.calm = x.visit(next)
		} else if left := n.laws.judgeEnd(); left != "" && !awaitsPerson(n.fleet) {
			x.fault = "the clean end: " + left + x.story(id)
		}
		if len(x.nodes) < x.limit {
			for _, m := range x.moves(n) {
				if next := x.after(id, m); next != nil {
					x.visit(next)
				}
			}
		}
	}
	for id := range x.nodes {
		if at := x.circle(id); at >= 0 && x.fault == "" {
			x.fault = "the fleet goes round in circles" + x.story(at)
		}
	}
}

// circle returns a node of a circle that a node calmly comes to; -1 if it comes to rest.
func (x *fleetExplorer) circle(id int) int {
	const most = 400
	for range most {
		if id = x.nodes[id].calm; id < 0 {
			return -1
		}
	}
	return id
}

// awaitsPerson reports whether a fleet waits for a person: a member is suspended or has failed, or
// a gate was rejected.
func awaitsPerson(f *Fleet) bool {
	status := f.Train.Release.Status
	for _, m := range f.Members {
		if m.Release.Spec.Suspend || m.Release.Status.Phase == v1alpha1.PhaseFailed {
			return true
		}
	}
	return status.State == v1alpha1.StateRejected || status.State == v1alpha1.StateFailed
}

// rest lets a fleet begin.
func rest(f *Fleet) {
	for changed := true; changed; {
		changed = false
		for seat := range len(f.Members) + 1 {
			changed = Event{Kind: Pass}.Apply(f.State(seat)) || changed
			if seat > 0 {
				changed = settle(f.State(seat)) || changed
			}
		}
	}
}

// TestEveryOrderOfTrains holds every order of passes, pods, gates and one fault of each kind
// against the laws, for trains of three members with three pods and three steps, as far as the
// nearest states.
func TestEveryOrderOfTrains(t *testing.T) {
	t.Parallel()
	member := Setup{Replicas: 3, HistoryLimit: 2, Deadline: time.Hour, MaxSurge: intstr.FromInt32(1), MaxUnavailable: intstr.FromInt32(0)}
	trains := map[string]FleetSetup{
		"in lockstep": {Lockstep: &v1alpha1.Lockstep{}},
		"in tiers":    {After: map[int][]int{1: {0}, 2: {1}}},
		"in any way":  {},
		"in percent":  {Lockstep: &v1alpha1.Lockstep{MaxSkew: intstr.FromString("20%")}},
	}
	faults := map[string]map[string]int{
		"none":                 {},
		"a process dies":       {dies: 1},
		"a cache lags":         {lags: 1},
		"somebody rolls back":  {returns: 1},
		"a member fails":       {fails: 1},
		"a commit comes":       {commits: 1},
		"a gate is rejected":   {rejects: 1},
		"a member is stopped":  {stops: 1},
		"back, and a lag":      {returns: 1, lags: 1},
		"a commit, and a lag":  {commits: 1, lags: 1},
		"back, and a death":    {returns: 1, dies: 1},
		"a failure, and a lag": {fails: 1, lags: 1},
	}
	for train, setup := range trains {
		setup.Steps, setup.OnFailure = Steps("1", "50% none", "100%"), v1alpha1.FailureRollback
		setup.Members = []Setup{member, member, member}
		for fault, offers := range faults {
			t.Run(train+", "+fault, func(t *testing.T) {
				t.Parallel()
				limit := nearestOfTrains
				if *deep {
					limit = whole
				}
				if *states > 0 {
					limit = *states
				}
				x := &fleetExplorer{offers: offers, limit: limit}
				x.explore(setup)
				if x.fault != "" {
					t.Fatalf("%d states: %s", len(x.nodes), x.fault)
				}
				fmt.Printf("train %-40s %8d states\n", train+", "+fault, len(x.nodes))
			})
		}
	}
}

// nearestOfTrains is how many states of each train are visited by default, and what they calmly
// become.
const nearestOfTrains = 300
