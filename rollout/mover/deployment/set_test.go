package deployment

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWhichSetIsTheNewOne(t *testing.T) {
	t.Parallel()
	twin := func(name string) Set { return set("v2", 1, func(s *Set) { s.Name = name }) }
	young := func(s Set) Set {
		s.Created = noon.Add(time.Hour)
		return s
	}
	tests := map[string]struct {
		sets []Set
		want string
		old  []string
	}{
		"that of the workload's template, the others by age": {
			[]Set{set("v1", 9), set("v0", 1), set("v2", 1)}, "web-v2", []string{"web-v0", "web-v1"},
		},
		"the oldest of several":              {[]Set{young(twin("web-a")), twin("web-b")}, "web-b", []string{"web-a"}},
		"of one age the first by name":       {[]Set{twin("web-b"), twin("web-a")}, "web-a", []string{"web-b"}},
		"there may be none":                  {[]Set{set("v1", 9)}, "", []string{"web-v1"}},
		"none of those that are being ended": {[]Set{set("v2", 1, func(s *Set) { s.Deleting = true })}, "", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, others := "", []string(nil)
			if set := updated(test.sets, "digest-v2"); set != nil {
				got = set.Name
			}
			for _, set := range old(test.sets, "digest-v2") {
				others = append(others, set.Name)
			}
			if got != test.want {
				t.Errorf("the new set is %q, want %q", got, test.want)
			}
			if diff := cmp.Diff(test.old, others); diff != "" {
				t.Errorf("old sets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhichRevisionServes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sets []Set
		want string
	}{
		"the one before the release":                  {[]Set{set("v0", 9), set("v1", 1), set("v2", 1)}, "v1"},
		"the one that others have, where it has none": {[]Set{set("v1", 0), set("v0", 2), set("v3", 7), set("v2", 1)}, "v3"},
		"or where it is gone":                         {[]Set{set("v3", 7), set("v2", 1)}, "v3"},
		"the one before, where nobody has pods":       {[]Set{set("v1", 0), set("v3", 0), set("v2", 9)}, "v1"},
	}
	for name, test := range tests {
		if got := (Mover{Sets: test.sets}).Serving("digest-v2", "v1"); got != test.want {
			t.Errorf("%s: it is %s, want %s", name, got, test.want)
		}
	}
}
