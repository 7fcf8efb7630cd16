package sim

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/internal/testbed/crdcheck"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// TestWalked plays the walks in testdata/walks, as short as they get, that ended badly once: for a
// law, or for how the world goes on that was not thought out.
func TestWalked(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(scriptFiles)
	if err != nil || len(files) == 0 {
		t.Fatalf("no walks in %s: %v", scriptFiles, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			s, err := scriptOf(file)
			if err != nil {
				t.Fatal(err)
			}
			w := play(t, script{setup: s.setup, sick: s.sick, refused: s.refused})
			for _, line := range s.lines {
				if line.expect == nil {
					w.step(line.event)
				} else if unmet := line.expect(w.state); unmet != "" {
					w.fail("%s", unmet)
				}
			}
			w.calmDown()
		})
	}
}

// player plays a walk, and holds it against the laws.
type player struct {
	rapid.TB

	state *State
	// script is what was played so far, and story how the world became.
	script script
	story  strings.Builder
}

// play begins a walk.
func play(t rapid.TB, s script) *player {
	w := &player{TB: t, state: s.begin(), script: s}
	w.state.Next = w.next
	fmt.Fprintf(&w.story, "\n  %-28s %s", "start", w.state.World)
	return w
}

// fail prints what is wrong, and the walk as a file that repeats it.
func (w *player) fail(format string, args ...any) {
	w.Helper()
	w.Fatalf("%s\nthe walk, for a file in testdata/walks:\n\n%s\nhow it went:%s", fmt.Sprintf(format, args...), &w.script, w.story.String())
}

// step lets an event happen.
func (w *player) step(e Event) {
	if e.idle(w.state) {
		return
	}
	w.script.lines = append(w.script.lines, scriptLine{event: e})
	if e.Kind == Pass {
		w.passAgain()
	}
	if e.Apply(w.state) || len(w.state.Broken) > 0 {
		w.tell(e)
	}
}

func (w *player) tell(e Event) {
	if e.Kind == Pass || e.Kind == PassDies || e.Kind == PassRaces {
		for _, write := range checkerOf(w.state.World).done {
			fmt.Fprintf(&w.story, "\n      %s", write)
		}
	}
	fmt.Fprintf(&w.story, "\n  %-28s %s", e, w.state.World)
	if len(w.state.Broken) > 0 {
		w.fail("%s", w.state.Broken[0])
	}
}

// maxPasses is more than a release has steps, each of which may take a pass.
const maxPasses = 10

// passAgain is I9: passes to which nothing is new soon write nothing, and keep to it. By then
// what somebody has unpaused is paused again (I8).
func (w *player) passAgain() {
	s := w.state.Clone()
	if s.Lag.any() {
		return // what was deleted is still in a cache
	}
	passes := 0
	busy := func(r Report) bool { return len(r.Done) > 0 || r.Unasked || s.Process.entering() }
	for report := s.Process.passUnasked(s.World, Mishaps{}); busy(report); report = s.Process.passUnasked(s.World, Mishaps{}) {
		if passes++; passes > maxPasses {
			w.fail("I9 passes soon write nothing; after passes: %s", s.World)
		}
	}
	if again := s.Process.Pass(s.World, Mishaps{}); len(again.Done)+again.Refused > 0 {
		w.fail("I9 another pass sends no write: %+v, %d refused; after passes: %s", again.Done, again.Refused, s.World)
	}
	if how := mistold(s.World); how != "" {
		w.fail("what the status says of pods is true: %s; after passes: %s", how, s.World)
	}
	// I8 can be kept only if the API server takes that very write, and leaves it as it is; one that it refused is sent again later, and one that it
	// has changed again and again (plan.Refusal.Until) only once somebody asks for it.
	held := s.Process.heldBack(s.Release.Generation, s.Now).takeOver
	if d := &s.World.Workload; d.exposed() && !s.Release.Purged && takesOver(s.World) && !s.awaitsRetry() && !held {
		w.fail("I8 what is held is paused; after passes: %s", s.World)
	}
}

// calmDown is I11 and I7: from here on everybody takes turns until nobody has anything left to do.
func (w *player) calmDown() {
	for range maxEvents {
		next, event := Calm(w.state)
		if next == nil {
			if left := unfinished(w.state.World); left != "" {
				w.fail("I7 the end is a clean one: %s", left)
			}
			return
		}
		w.state = next
		w.tell(event)
	}
	w.fail("I11 the end is reached: it goes on and on")
}

// next asks the plan twice, and the second time of a status with other words: the same answer, and the question left as it
// was. The API server takes the status.
func (w *player) next(o plan.Observation) plan.Plan {
	asked := copyOf(o)
	answer := plan.Next(o)
	if !reflect.DeepEqual(o, asked) {
		w.fail("the plan changes its observation")
	}
	reword(&asked.Release.Status)
	again := plan.Next(asked)
	again.Events, again.Status.Log = answer.Events, answer.Status.Log // which tell what is news
	if !reflect.DeepEqual(answer, again) {
		w.fail("the plan is another one the second time: %s", cmp.Diff(&answer.Status, &again.Status))
	}
	if err := crdcheck.Status(&answer.Status); err != nil {
		w.fail("the API server refuses the status: %.500s", err)
	}
	return answer
}
