package sim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// story is a release that is told from its first write to its last.
type story struct {
	setup Setup
	// sick is a revision whose pods do not become available until the release has failed.
	sick string
	// failing is how many pods of v1 fail before the release begins.
	failing int
	twists  []twist
}

// twist is what happens in a story once the release has come to a point.
type twist struct {
	when  func(*State) bool
	event Event
}

func ten(steps ...string) Setup {
	return Setup{
		Replicas: 10, Steps: Steps(steps...), HistoryLimit: 10, Deadline: time.Hour,
		MaxSurge: intstr.FromString("25%"), MaxUnavailable: intstr.FromString("25%"),
	}
}

func (s Setup) limits(surge, unavailable int32) Setup {
	s.MaxSurge, s.MaxUnavailable = intstr.FromInt32(surge), intstr.FromInt32(unavailable)
	return s
}

func (s Setup) of(replicas int32) Setup {
	s.Replicas = replicas
	return s
}

// turning has a release that fails rolled back.
func (s Setup) turning() Setup {
	s.OnFailure = v1alpha1.FailureRollback
	return s
}

func (s Setup) queue() Setup {
	s.Supersede = v1alpha1.SupersedeQueue
	return s
}

// back has jumps back remove updated pods.
func (s Setup) back() Setup {
	s.StepBack = v1alpha1.StepBackRemovePods
	return s
}

// waiting has pods take time to go, and be waited for.
func (s Setup) waiting() Setup {
	s.Graceful, s.PodReplacement = true, v1alpha1.ReplaceWhenTerminated
	return s
}

func (s Setup) born() Setup {
	s.Newborn = true
	return s
}

// atStep is when a step blocks.
func atStep(index int32) func(*State) bool { return inState(index, v1alpha1.StepBlocking) }

// inStep is when a step is in progress.
func inStep(index int32) func(*State) bool { return inState(index, v1alpha1.StepUpgrade) }

func inState(index int32, state v1alpha1.StepState) func(*State) bool {
	return func(s *State) bool {
		status := s.Release.Status
		return status.CurrentStepIndex == index && status.CurrentStepState == state
	}
}

func completed(s *State) bool { return s.Release.Status.Phase == v1alpha1.PhaseCompleted }

func rolledBack(s *State) bool { return completed(s) && s.Release.Status.Rollback != nil }

// failing is when the first step is in progress and an updated pod fails.
func failing(s *State) bool {
	set := s.Set("v2")
	fails := set != nil && set.Pods.Failing > 0 || subjectOf(s.World, Event{Kind: PodHeals, Text: "v2"}) != nil
	return inStep(0)(s) && fails && untouched(s)
}

// untouched is when nobody has changed what is ours, or it is acknowledged.
func untouched(s *State) bool {
	hold := s.Workload.Hold
	return s.Workload.kind.secured(&s.Workload) && hold != nil && hold.Change == (plan.ExternalChange{})
}

func atOnce(*State) bool { return true }

func held(s *State) bool { return s.Workload.Hold != nil }

func stories() map[string]story {
	rollback, late := Event{Kind: Rollback, Text: "true"}, Event{Kind: SyncWorkloadLate, N: 1}
	all := map[string]story{
		"one-half-all":      {setup: ten("1", "50%", "100%")},
		"one-third-all":     {setup: ten("1", "30%", "100%")},
		"five-steps":        {setup: ten("1", "10%", "30%", "60%", "100%")},
		"no-gates":          {setup: ten("25% none", "50% none", "100%")},
		"soak":              {setup: ten("1 soak", "50% soak manual", "100%")},
		"no-surge":          {setup: ten("1", "50% none", "100%").limits(0, 1)},
		"terminated":        {setup: ten("1", "50% none", "100%").of(4).limits(1, 1).waiting()},
		"no-surge-one-pod":  {setup: ten("1", "100%").of(1).limits(0, 1)},
		"no-unavailable":    {setup: ten("1", "50% none", "100%").limits(1, 0)},
		"v1-v2-v3":          {setup: ten("1", "50%", "100%"), twists: []twist{{atStep(1), Event{Kind: Give, Text: "v3"}}}},
		"rollback-midway":   {setup: ten("1", "50%", "100%"), twists: []twist{{atStep(1), rollback}}},
		"rollback-after":    {setup: ten("1", "100%"), twists: []twist{{completed, rollback}}},
		"scaling":           {setup: ten("30%", "100%"), twists: []twist{{inStep(0), Event{Kind: Scale, N: 15}}, {atStep(0), Event{Kind: Scale, N: 6}}}},
		"broken-stable":     {setup: ten("1", "50%", "100%"), sick: "v1", failing: 6},
		"deadline-rollback": {setup: ten("1", "50%", "100%").turning(), sick: "v2", twists: []twist{{failing, Event{Kind: Elapse}}}},
		"rejected-rollback": {setup: ten("1", "50% manual-", "100%"), twists: []twist{{atStep(1), Event{Kind: Reject}}}},
		"reverted-midway":   {setup: ten("1", "50%", "100%"), twists: []twist{{atStep(1), Event{Kind: Give, Text: "v1"}}}},
		"reverted-after":    {setup: ten("1", "100%"), twists: []twist{{completed, Event{Kind: Give, Text: "v1"}}}},
		"released-again": {setup: ten("1", "100%"), twists: []twist{
			{atStep(0), rollback}, {rolledBack, Event{Kind: Give, Text: "v3"}}, {completed, Event{Kind: Give, Text: "v2"}},
		}},
		"v1-v2-v3-queued": {setup: ten("1", "50%", "100%").queue(), twists: []twist{
			{atStep(0), Event{Kind: Give, Text: "v3"}}, {atStep(1), Event{Kind: Give, Text: "v4"}},
		}},
		"back-by-jump":     {setup: ten("1", "50%", "100%").back(), twists: []twist{{atStep(1), Event{Kind: Jump}}}},
		"deadline":         {setup: ten("1", "50%", "100%"), sick: "v2", twists: []twist{{failing, Event{Kind: Elapse}}}},
		"deleted-midway":   {setup: ten("1", "50%", "100%"), twists: []twist{{atStep(0), Event{Kind: DeleteRelease}}}},
		"recreated":        {setup: ten("1", "50%", "100%"), twists: []twist{{atStep(1), Event{Kind: DeleteWorkload}}, {atOnce, Event{Kind: Pass}}}},
		"somebody-resumes": {setup: ten("1", "100%"), twists: []twist{{atStep(0), Event{Kind: Unpause}}}},
		"native-lags": {setup: ten("30%", "100%"), twists: []twist{
			{held, late}, {atStep(0), Event{Kind: Scale, N: 15}}, {atOnce, Event{Kind: Pass}}, {atOnce, late},
		}},
		"just-created": {setup: ten("30%", "100%").born(), twists: []twist{{atOnce, Event{Kind: Pass}}, {atOnce, late}}},
	}
	maps.Copy(all, kindStories())
	return all
}

// maxEvents is more than any story has.
const maxEvents = 2000

// telling is a story while it is told.
type telling struct {
	*State

	twists []twist
	text   strings.Builder
	// writes counts those of the process, which stops after number stop.
	writes, stop int
	// requests counts those of the process.
	requests int
	fault    fault
	// unharmed says that the fault changes nothing where it is to happen.
	unharmed bool
}

// tell lets a release go its way, and people do what the story says. The process stops after
// a number of writes, never if that is 0.
func tell(s story, stop int) *telling { return s.begin(stop, fault{}).toEnd() }

// wholeStory is a story in which nothing goes wrong, with how it stands before each turn.
type wholeStory struct {
	*telling

	turns []*telling
}

func tellWhole(s story) *wholeStory {
	whole := &wholeStory{telling: s.begin(0, fault{})}
	for range maxEvents {
		whole.turns = append(whole.turns, whole.clone())
		if !whole.goOn() {
			break
		}
	}
	return whole
}

// faulty is the story in which something goes wrong. It is told from the turn on in which that happens.
func (w *wholeStory) faulty(f fault) *telling {
	after := slices.IndexFunc(w.turns, func(t *telling) bool { return t.requests >= max(f.before, 1) })
	if after < 0 {
		after = len(w.turns)
	}
	told := w.turns[after-1].clone()
	told.fault = f
	if told.toEnd(); told.unharmed {
		return w.telling
	}
	return told
}

// clone can be told on its own.
func (s *telling) clone() *telling {
	c := &telling{State: s.State.Clone(), twists: s.twists, writes: s.writes, stop: s.stop, requests: s.requests, fault: s.fault}
	c.text.WriteString(s.text.String())
	return c
}

func (s story) begin(stop int, f fault) *telling {
	state := newState(s.setup)
	state.Sick = s.sick
	for range s.failing {
		Event{Kind: PodFails, Text: "v1"}.Apply(state)
	}
	Event{Kind: Give, Text: "v2"}.Apply(state)
	told := &telling{State: state, twists: s.twists, stop: stop, fault: f}
	fmt.Fprintf(&told.text, "%s\n", state.World)
	return told
}

func (s *telling) toEnd() *telling {
	for range maxEvents {
		if s.unharmed || !s.goOn() {
			break
		}
	}
	return s
}

// goOn lets the next thing happen. It reports whether there is one.
func (s *telling) goOn() bool {
	switch {
	case s.twist(), s.turn():
	case s.Lag.any():
		s.fault.lasts = 0
	default:
		return false
	}
	return true
}

// unfinished says what is wrong with how the story has ended.
func (s *telling) unfinished() string {
	parts := slices.DeleteFunc(append([]string{unfinished(s.State.World)}, s.Broken...), func(text string) bool { return text == "" })
	if len(s.twists) > 0 {
		parts = append(parts, fmt.Sprintf("%d twists left", len(s.twists)))
	}
	return strings.Join(parts, "; ")
}

// twist lets the next twist of the story happen, if it is time for it.
func (s *telling) twist() bool {
	if len(s.twists) == 0 || !s.twists[0].when(s.State) {
		return false
	}
	event := s.twists[0].event
	s.twists = s.twists[1:]
	fmt.Fprintf(&s.text, "\n> %s\n", event)
	if event.Kind == Pass {
		s.pass()
		return true
	}
	event.Apply(s.State)
	if event.Kind == SyncWorkloadLate {
		fmt.Fprintf(&s.text, "%s\n", s.World)
	}
	return true
}

// byPeople are the calm events that people bring about.
var byPeople = []Kind{Confirm, Retry, Cure, CreateWorkload, Wait}

// turn lets the next thing happen and writes down what people, and the controller, do.
func (s *telling) turn() bool {
	for _, event := range calmTurns(s.State) {
		switch {
		case event.Kind == Thaw && s.lagging():
		case event.Kind == Cure && s.Release.Status.Phase != v1alpha1.PhaseFailed:
		case event.Kind == Pass:
			if s.pass() {
				return true
			}
		case !event.idle(s.State) && event.Apply(s.State):
			if slices.Contains(byPeople, event.Kind) {
				fmt.Fprintf(&s.text, "\n> %s\n", event)
			}
			return true
		}
	}
	return s.runOut()
}

// runOut lets the time run out for pods that do not become available. In a story that a fault has stopped for
// a while it may have to do so again.
func (s *telling) runOut() bool {
	if s.Sick == "" || s.Release.Status.CurrentStepState != v1alpha1.StepUpgrade || s.Release.Status.Phase == v1alpha1.PhaseFailed || !untouched(s.State) {
		return false
	}
	return Event{Kind: Elapse}.Apply(s.State)
}

// request lets go wrong what does before a request.
func (s *telling) request(*World) {
	if s.requests++; s.requests != s.fault.before {
		return
	}
	if s.unharmed = s.fault.event.idle(s.State) || !s.fault.event.Apply(s.State); !s.unharmed {
		fmt.Fprintf(&s.text, "\n> %s\n", s.fault.event)
	}
}

// lagging reports whether a cache is still to lag.
func (s *telling) lagging() bool {
	if !s.Lag.any() || s.fault.lasts == 0 {
		return false
	}
	s.fault.lasts--
	return true
}

// pass writes down each write of a pass with its reason, and the world after it.
func (s *telling) pass() bool {
	s.Now = s.Now.Add(tick)
	before := s.World.version
	report := s.Process.Pass(s.World, Mishaps{Before: s.request, Dies: func() bool { s.writes++; return s.writes == s.stop }})
	for _, write := range report.Done {
		fmt.Fprintf(&s.text, "  %s\n", write)
	}
	for _, event := range report.Events {
		fmt.Fprintf(&s.text, "  event %s\n", event.Reason)
	}
	if report.Ended != "" {
		fmt.Fprintf(&s.text, "  %s\n", report.Ended)
	}
	if len(report.Done) > 0 {
		fmt.Fprintf(&s.text, "%s\n", s.World)
	}
	return len(report.Done) > 0 || report.Ended != "" || s.Process.entering() || s.World.version != before // as by a fault
}
