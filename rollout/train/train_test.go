package train

import (
	"maps"
	"slices"
	"testing"
)

func done(name string, steps int32) Member { return Member{Name: name, Group: name, Done: steps} }

// bAfter orders b after a number of steps of a.
func bAfter(reached int32) Order { return Order{"b": {{"a", reached}}} }

func TestAllowed(t *testing.T) {
	t.Parallel()
	both := func(a, b int32) []Member { return []Member{done("a", a), done("b", b)} }
	tests := map[string]struct {
		rules   Rules
		members []Member
		want    map[string]int32
	}{
		"the gates let the first step start":    {Rules{nil, 3, 0, -1}, both(0, 0), map[string]int32{"a": 1, "b": 1}},
		"a member is not held by another":       {Rules{nil, 3, 2, -1}, both(1, 0), map[string]int32{"a": 3, "b": 3}},
		"a barrier holds the fast one":          {Rules{nil, 3, 2, 0}, both(1, 0), map[string]int32{"a": 1, "b": 1}},
		"a barrier opens once all are there":    {Rules{nil, 3, 2, 0}, both(1, 1), map[string]int32{"a": 2, "b": 2}},
		"a skew of 1 lets one step ahead":       {Rules{nil, 3, 2, 1}, both(1, 0), map[string]int32{"a": 2, "b": 2}},
		"one waits for another's step":          {Rules{bAfter(2), 3, 2, -1}, both(1, 0), map[string]int32{"a": 3, "b": 0}},
		"and starts once that is done":          {Rules{bAfter(2), 3, 2, -1}, both(2, 0), map[string]int32{"a": 3, "b": 3}},
		"one that is not in the run holds none": {Rules{bAfter(2), 3, 2, -1}, []Member{done("b", 0)}, map[string]int32{"b": 3}},
		"what is done stays":                    {Rules{nil, 3, 0, 0}, both(2, 0), map[string]int32{"a": 2, "b": 1}},
		"more steps than there are mean all":    {Rules{bAfter(9), 2, 2, -1}, both(2, 0), map[string]int32{"a": 2, "b": 2}},
		"the slowest of a group counts": {
			Rules{bAfter(1), 2, 2, -1}, []Member{{Name: "a1", Group: "a", Done: 1}, {Name: "a2", Group: "a"}, done("b", 0)},
			map[string]int32{"a1": 2, "a2": 2, "b": 0},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.rules.Allowed(test.members); !maps.Equal(got, test.want) {
				t.Errorf("Allowed: %v, want %v", got, test.want)
			}
		})
	}
}

func TestReachAndStuck(t *testing.T) {
	t.Parallel()
	cycle := Order{"a": {{"b", 1}}, "b": {{"a", 1}}}
	both := []Member{done("a", 0), done("b", 0)}
	tests := map[string]struct {
		rules   Rules
		members []Member
		reach   map[string]int32
		stuck   []string
	}{
		"in tiers, the second does not reach the first gate": {Rules{bAfter(3), 3, 0, -1}, both, map[string]int32{"a": 1, "b": 0}, nil},
		"once it may, it goes as far as the gates":           {Rules{bAfter(3), 3, 2, -1}, both, map[string]int32{"a": 3, "b": 3}, nil},
		"a cycle": {
			Rules{cycle, 3, 2, -1}, append(slices.Clone(both), done("c", 0)), map[string]int32{"a": 0, "b": 0, "c": 3}, []string{"a", "b"},
		},
		"one that comes after itself":                      {Rules{Order{"a": {{"a", 1}}}, 3, 2, -1}, both, map[string]int32{"a": 0, "b": 3}, []string{"a"}},
		"an order that leads further than lockstep allows": {Rules{bAfter(2), 3, 2, 0}, both, map[string]int32{"a": 1, "b": 0}, []string{"a", "b"}},
		"and one that does not":                            {Rules{bAfter(2), 3, 2, 1}, both, map[string]int32{"a": 3, "b": 3}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.rules.Reach(test.members); !maps.Equal(got, test.reach) {
				t.Errorf("Reach: %v, want %v", got, test.reach)
			}
			if got := test.rules.Stuck(test.members); !slices.Equal(got, test.stuck) {
				t.Errorf("Stuck: %v, want %v", got, test.stuck)
			}
		})
	}
}

func TestReturning(t *testing.T) {
	t.Parallel()
	order := Order{"api": {{"db", 2}}, "web": {{"api", 3}}}
	members := []Member{done("db", 2), done("api", 1), done("web", 0), done("docs", 3)}
	if got := order.Dependents("api"); !maps.Equal(got, map[string]bool{"api": true, "web": true}) {
		t.Errorf("Dependents: %v", got)
	}
	if may := order.MayReturn(members); may["api"] || may["db"] || !may["web"] || !may["docs"] {
		t.Errorf("MayReturn: %v", may)
	}
	members[2].Returned = true
	if may := order.MayReturn(members); !may["api"] || may["db"] {
		t.Errorf("once web has, MayReturn: %v", may)
	}
}
