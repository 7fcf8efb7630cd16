// Package train has the order of a train's members: which steps each may start, and which may go
// back. It is arithmetic over the steps that they have done; pure.
package train

import (
	"maps"
	"slices"
)

// Member is a member of a run.
type Member struct {
	Name string
	// Group is the entry of spec.members that it belongs to.
	Group string
	// Done is how many steps it has done.
	Done int32
	// Returned says that it runs what it ran before the run.
	Returned bool
}

// Order lists, by group, the groups that must be ahead of it.
type Order map[string][]Edge

// Edge is a group that another one waits for before its first step, and how many steps its members
// must have done. A group without members in the run holds nobody.
type Edge struct {
	Group   string
	Reached int32
}

// Rules are the limits of a run.
type Rules struct {
	Order Order
	// Steps is how many steps there are, and Passed how many of them have gates that have passed.
	Steps, Passed int32
	// MaxSkew is how many steps a member may be ahead of the slowest one; negative for no limit.
	MaxSkew int32
}

// Allowed returns how many steps each member may start, by name:
//
//	n <= Passed + 1                  the gates of the steps before n have passed
//	n <= min(done) + 1 + MaxSkew     in lockstep
//	n = 0                            if a group that it comes after has not reached its step
//
// No member loses a step that it has done.
func (r Rules) Allowed(members []Member) map[string]int32 {
	slowest, done := r.Steps, map[string]int32{}
	for _, m := range members {
		slowest = min(slowest, m.Done)
		if least, is := done[m.Group]; !is || m.Done < least {
			done[m.Group] = m.Done
		}
	}
	most := min(r.Passed+1, r.Steps)
	if r.MaxSkew >= 0 {
		most = min(most, slowest+1+r.MaxSkew)
	}
	ahead := func(e Edge) bool {
		least, is := done[e.Group]
		return !is || least >= min(e.Reached, r.Steps)
	}
	allowed := make(map[string]int32, len(members))
	for _, m := range members {
		n := most
		if !all(r.Order[m.Group], ahead) {
			n = 0
		}
		allowed[m.Name] = max(n, m.Done)
	}
	return allowed
}

func all(edges []Edge, holds func(Edge) bool) bool {
	return !slices.ContainsFunc(edges, func(e Edge) bool { return !holds(e) })
}

// Reach returns how many steps each member can do, by name, without the gates that have not passed.
func (r Rules) Reach(members []Member) map[string]int32 {
	at := slices.Clone(members)
	for {
		allowed, moved := r.Allowed(at), false
		for i := range at {
			moved = moved || at[i].Done < allowed[at[i].Name]
			at[i].Done = allowed[at[i].Name]
		}
		if !moved {
			return allowed
		}
	}
}

// Stuck returns the members that can never do all steps, though all gates pass: their order is a
// cycle, or leads further than lockstep allows. It returns none if the order is sound.
func (r Rules) Stuck(members []Member) []string {
	at := slices.Clone(members)
	for i := range at {
		at[i].Done = 0
	}
	r.Passed = r.Steps
	reach := r.Reach(at)
	maps.DeleteFunc(reach, func(_ string, done int32) bool { return done >= r.Steps })
	return slices.Sorted(maps.Keys(reach))
}

// MayReturn returns the groups whose members may go back: the members of all groups that come after
// them have.
func (o Order) MayReturn(members []Member) map[string]bool {
	may := map[string]bool{}
	for _, m := range members {
		may[m.Group] = true
	}
	for _, m := range members {
		if m.Returned {
			continue
		}
		for _, e := range o[m.Group] {
			if e.Group != m.Group {
				may[e.Group] = false
			}
		}
	}
	return may
}

// Dependents returns a group and those that come after it, directly or not.
func (o Order) Dependents(group string) map[string]bool {
	found := []string{group}
	for i := 0; i < len(found); i++ {
		for _, next := range slices.Sorted(maps.Keys(o)) {
			after := slices.ContainsFunc(o[next], func(e Edge) bool { return e.Group == found[i] })
			if after && !slices.Contains(found, next) {
				found = append(found, next)
			}
		}
	}
	set := map[string]bool{}
	for _, name := range found {
		set[name] = true
	}
	return set
}
