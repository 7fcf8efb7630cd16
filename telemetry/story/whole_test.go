package story_test

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/sim"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// course is a whole release as the API server had it: each status that was written.
type course []*v1alpha1.BatchRelease

// twist is an event after a batch is done.
type twist struct {
	batch int32
	event sim.Event
}

// run lets a release of the real planner go from its begin to its end, in a toy world in which
// nothing goes wrong but the twist. Each of the templates is given once the one before is there;
// the workload runs v1.
func run(t interface{ Fatalf(string, ...any) }, setup sim.Setup, twist *twist, templates ...string) course {
	state := sim.NewState(setup)
	sim.Event{Kind: sim.Give, Text: templates[0]}.Apply(state)
	return runOn(t, state, nil, twist, templates...)
}

// runOn goes on from a state with these events, and then as run does.
func runOn(t interface{ Fatalf(string, ...any) }, state *sim.State, events []sim.Event, twist *twist, templates ...string) course {
	var all course
	see := func() {
		status := state.Release.Status
		if n := len(all); n > 0 && all[n-1].Status.Message == status.Message && cmp.Equal(&all[n-1].Status, status) {
			return
		}
		all = append(all, &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: *state.Release.Spec, Status: *status.DeepCopy()})
	}
	see()
	for _, event := range events {
		event.Apply(state)
		see()
	}
	for range 5000 {
		if s := state.Release.Status; twist != nil && s.CurrentStepIndex == twist.batch && s.CurrentStepState == v1alpha1.StepBlocking {
			twist.event.Apply(state)
			twist = nil
		}
		next, _ := sim.Calm(state)
		if next == nil && len(templates) == 1 {
			return all
		} else if next == nil {
			templates = templates[1:]
			next = state.Clone()
			sim.Event{Kind: sim.Give, Text: templates[0]}.Apply(next)
		}
		state = next
		see()
	}
	t.Fatalf("the release does not end: %s", state.World)
	return nil
}

// facts returns the facts of a course of which only some versions were seen.
func (c course) facts(seen func(int) bool) []story.Fact {
	var facts []story.Fact
	before := c[0]
	for i, after := range c[1:] {
		if seen(i + 1) {
			facts = append(facts, story.OfRelease(before, after, after.CreationTimestamp.Time)...)
			before = after
		}
	}
	return facts
}

func all(int) bool { return true }

func kinds(facts []story.Fact) []told {
	var got []told
	for _, f := range facts {
		got = append(got, told{Kind: f.Kind, Batch: f.Batch})
	}
	return got
}

func ten(steps ...string) sim.Setup {
	return sim.Setup{Replicas: 10, Steps: sim.Steps(steps...), HistoryLimit: 10, MaxSurge: intstr.FromString("25%"), MaxUnavailable: intstr.FromString("25%")}
}

// queued lets a release complete before the next one begins: the end is written first, and then the
// begin.
func queued(setup sim.Setup) sim.Setup {
	setup.Supersede = v1alpha1.SupersedeQueue
	return setup
}

func TestFactsOfWholeReleases(t *testing.T) {
	t.Parallel()
	started := []told{{Kind: story.ReleaseStarted}, {Kind: story.BatchStarted, Batch: 1}, {Kind: story.BatchDone, Batch: 1}, {Kind: story.BatchStarted, Batch: 2}, {Kind: story.BatchDone, Batch: 2}}
	rest := []told{{Kind: story.BatchStarted, Batch: 3}, {Kind: story.BatchDone, Batch: 3}, {Kind: story.ReleaseCompleted, Batch: 3}}
	back := []told{
		{Kind: story.RollbackStarted}, {Kind: story.BatchStarted, Batch: 1}, {Kind: story.BatchDone, Batch: 1},
		{Kind: story.BatchStarted, Batch: 2}, {Kind: story.BatchDone, Batch: 2}, {Kind: story.RolledBack, Batch: 2},
	}
	gates := ten("1", "50%", "100%")
	adopted := []told{{Kind: story.ReleaseAdopted}}
	born := gates
	born.Newborn = true
	late := &twist{0, sim.Event{Kind: sim.Give, Text: "v2"}}
	for name, test := range map[string]struct {
		setup sim.Setup
		twist *twist
		give  string
		want  []told
	}{
		"adopted":                {gates, nil, "v1", adopted},
		"adopted when just made": {born, nil, "v1", adopted},
		"adopted, then released": {gates, nil, "v1 v2", slices.Concat(adopted, started, rest)},
		"adopted, superseded":    {gates, late, "v1 v3", slices.Concat(adopted, started[:3], []told{{Kind: story.ReleaseSuperseded, Batch: 1}}, started, rest)},
		"with gates":             {gates, nil, "v2", slices.Concat(started, rest)},
		"without gates":          {ten("1 none", "50% none", "100%"), nil, "v2", slices.Concat(started, rest)},
		"rolled back":            {gates, &twist{1, sim.Event{Kind: sim.Rollback, Text: "true"}}, "v2", slices.Concat(started, back)},
		"Git goes back":          {gates, &twist{1, sim.Event{Kind: sim.Give, Text: "v1"}}, "v2", slices.Concat(started, back)},
		"superseded":             {gates, &twist{1, sim.Event{Kind: sim.Give, Text: "v3"}}, "v2", slices.Concat(started, []told{{Kind: story.ReleaseSuperseded, Batch: 2}}, started, rest)},
		"queued":                 {queued(gates), &twist{1, sim.Event{Kind: sim.Give, Text: "v3"}}, "v2", slices.Concat(started, rest, started, rest)},
		"deleted":                {gates, &twist{1, sim.Event{Kind: sim.DeleteRelease}}, "v2", started},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := kinds(run(t, test.setup, test.twist, strings.Fields(test.give)...).facts(all))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("facts (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFactsDoNotDependOnWhatIsSeen: a watch that is interrupted misses versions. As long as the end
// of each attempt is seen, the same facts are told.
func TestFactsDoNotDependOnWhatIsSeen(t *testing.T) {
	t.Parallel()
	twists := []*twist{nil, {1, sim.Event{Kind: sim.Rollback, Text: "true"}}, {0, sim.Event{Kind: sim.Give, Text: "v3"}}, {0, sim.Event{Kind: sim.Give, Text: "v1"}}}
	var courses []course
	for _, setup := range []sim.Setup{ten("1", "50%", "100%"), ten("1 none", "30% none", "60% none", "100%"), ten("1 soak", "50%", "100%")} {
		for _, twist := range twists {
			if twist != nil && setup.Steps[0].Gates != nil { // it happens at a gate that waits for a person
				continue
			}
			courses = append(courses, run(t, setup, twist, "v2"), run(t, setup, twist, "v1", "v2"))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(courses).Draw(t, "course")
		missed := map[int]bool{}
		for i := 1; i < len(c)-1; i++ {
			missed[i] = rapid.Bool().Draw(t, "missed")
		}
		for i := range c[:len(c)-1] {
			if c[i].Status.Attempt != c[i+1].Status.Attempt {
				missed[i] = false
			}
		}
		got := ids(c.facts(func(i int) bool { return !missed[i] }))
		if diff := cmp.Diff(ids(c.facts(all)), got); diff != "" {
			t.Errorf("facts (-all seen +some missed):\n%s", diff)
		}
	})
}

func ids(facts []story.Fact) []string {
	var all []string
	for i := range facts {
		all = append(all, facts[i].ID())
	}
	return all
}
