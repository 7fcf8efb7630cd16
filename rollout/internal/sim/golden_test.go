package sim

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden traces anew")

// twist is what happens in a story once the release has come to a point.
type twist struct {
	when  func(*State) bool
	event Event
}

// story is a release that is told from its first write to its last.
type story struct {
	setup  Setup
	twists []twist
}

func ten(steps ...string) Setup {
	return Setup{
		Replicas: 10, Steps: Steps(steps...), HistoryLimit: 10,
		MaxSurge: intstr.FromString("25%"), MaxUnavailable: intstr.FromString("25%"),
	}
}

func (s Setup) limits(surge, unavailable int32) Setup {
	s.MaxSurge, s.MaxUnavailable = intstr.FromInt32(surge), intstr.FromInt32(unavailable)
	return s
}

// atStep is when a step blocks.
func atStep(index int32) func(*State) bool {
	return func(s *State) bool {
		status := s.Release.Status
		return status.CurrentStepIndex == index && status.CurrentStepState == v1alpha1.StepBlocking
	}
}

// inStep is when a step is under way.
func inStep(index int32) func(*State) bool {
	return func(s *State) bool {
		status := s.Release.Status
		return status.CurrentStepIndex == index && status.CurrentStepState == v1alpha1.StepUpgrade
	}
}

func completed(s *State) bool { return s.Release.Status.Phase == v1alpha1.PhaseCompleted }

func stories() map[string]story {
	rollback := Event{Kind: Rollback, Text: "true"}
	return map[string]story{
		"one-half-all":     {setup: ten("1", "50%", "100%")},
		"one-third-all":    {setup: ten("1", "30%", "100%")},
		"five-steps":       {setup: ten("1", "10%", "30%", "60%", "100%")},
		"no-gates":         {setup: ten("25% none", "50% none", "100%")},
		"no-surge":         {setup: ten("1", "50% none", "100%").limits(0, 1)},
		"no-unavailable":   {setup: ten("1", "50% none", "100%").limits(1, 0)},
		"v1-v2-v3":         {setup: ten("1", "50%", "100%"), twists: []twist{{atStep(1), Event{Kind: Give, Text: "v3"}}}},
		"rollback-midway":  {setup: ten("1", "50%", "100%"), twists: []twist{{atStep(1), rollback}}},
		"rollback-after":   {setup: ten("1", "100%"), twists: []twist{{completed, rollback}}},
		"scaling":          {setup: ten("30%", "100%"), twists: []twist{{inStep(0), Event{Kind: Scale, N: 15}}, {atStep(0), Event{Kind: Scale, N: 6}}}},
		"deleted-midway":   {setup: ten("1", "50%", "100%"), twists: []twist{{atStep(0), Event{Kind: DeleteRelease}}}},
		"somebody-resumes": {setup: ten("1", "100%"), twists: []twist{{atStep(0), Event{Kind: Unpause}}}},
	}
}

// TestStories compares what is written in whole releases, and why, with testdata.
func TestStories(t *testing.T) {
	t.Parallel()
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tell(t, s)
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the story is another one (-want +got); if it is meant, run with -update:\n%s", diff)
			}
		})
	}
}

// maxEvents is more than any story has.
const maxEvents = 2000

// tell lets a release go its way, and people do what the story says.
func tell(t *testing.T, s story) string {
	t.Helper()
	state := NewState(s.setup)
	state.Give("v2")
	twists := s.twists
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", state.World)
	for range maxEvents {
		if len(twists) > 0 && twists[0].when(state) {
			fmt.Fprintf(&text, "\n> %s\n", twists[0].event)
			twists[0].event.Apply(state)
			twists = twists[1:]
		}
		if !turn(&text, state) {
			break
		}
	}
	if left := state.Unfinished(); left != "" || len(state.Broken) > 0 || len(twists) > 0 {
		t.Fatalf("the story does not end well: %s %v, %d twists left\n%s", left, state.Broken, len(twists), text.String())
	}
	return text.String()
}

// turn lets the next thing happen and writes down what people, and the controller, do.
func turn(text *strings.Builder, s *State) bool {
	for _, event := range calmTurns(s) {
		before := s.Clone()
		if event.Kind == Pass {
			if tellPass(text, s) {
				return true
			}
			continue
		}
		if event.idle(s) || !event.Apply(s) {
			*s = *before
			continue
		}
		if event.Kind == Confirm || event.Kind == Retry {
			fmt.Fprintf(text, "\n> %s\n", event)
		}
		return true
	}
	return false
}

// tellPass writes down each write of a pass with its reason, and the world after it.
func tellPass(text *strings.Builder, s *State) bool {
	report := s.Process.Pass(s.World, Mishaps{})
	for _, write := range report.Done {
		if write.Action != nil {
			fmt.Fprintf(text, "  %-44s %s\n", write.Action, write.Action.Why())
			continue
		}
		fmt.Fprintf(text, "  status %s %s: %s\n", write.Status.Phase, write.Status.CurrentStepState, write.Status.Message)
	}
	for _, event := range report.Events {
		fmt.Fprintf(text, "  event %s\n", event.Reason)
	}
	if len(report.Done) > 0 {
		fmt.Fprintf(text, "%s\n", s.World)
	}
	return len(report.Done) > 0
}
