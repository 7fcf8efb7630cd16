package sim

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// script is a walk as a text that a person can read and edit: a line for each thing that is not by
// default in the setup, and then a line for each event, as Event.String has it.
//
//	# why it is worth to be kept
//	setup replicas 3
//	setup steps 1 none, 100%
//	give v2
//	4 times: pass; sync workload
//	expect template v2
//
// Once all has happened, everybody takes turns until nothing is left to do.
type script struct {
	setup         Setup
	sick, refused string
	lines         []scriptLine
}

// scriptLine is an event, or an expectation if expect is not nil.
type scriptLine struct {
	event  Event
	expect func(*State) string
}

// begin returns the state before the first event.
func (s *script) begin() *State {
	state := newState(s.setup)
	state.Sick, state.API.Refused = s.sick, s.refused
	return state
}

// field is a value of a setup, with the text that stands for it; empty if it is not set.
type field struct {
	name string
	text func() string
	read func(string) error
}

// fields returns the values that a script can set.
func (s *script) fields() []field {
	u := &s.setup
	return []field{
		word("kind", &u.Kind), number("replicas", &u.Replicas), stepsField("steps", &u.Steps), stepsField("rollback", &u.Rollback),
		limitField("maxSurge", &u.MaxSurge), limitField("maxUnavailable", &u.MaxUnavailable), number("historyLimit", &u.HistoryLimit),
		word("strategy", &u.Strategy), number("partition", &u.Partition), flagField("oneVersion", &u.OneVersion), flagField("paused", &u.Paused),
		flagField("newborn", &u.Newborn), flagField("minReady", &u.MinReady), flagField("graceful", &u.Graceful), flagField("ordered", &u.Ordered),
		flagField("several", &u.Several), durationField("deadline", &u.Deadline), word("guard", &u.Guard), word("drift", &u.Drift), word("onFailure", &u.OnFailure),
		word("deletionPolicy", &u.DeletionPolicy), word("supersede", &u.Supersede), word("podReplacement", &u.PodReplacement), word("stepBack", &u.StepBack),
		trafficField("traffic", &u.Traffic), flagField("policied", &u.Policied), flagField("fromGit", &u.FromGit), flagField("follow", &u.Follow),
		word("sick", &s.sick), word("refused", &s.refused),
	}
}

func word[T ~string](name string, at *T) field {
	return field{name, func() string { return string(*at) }, func(text string) error { *at = T(text); return nil }}
}

func number[T ~int | ~int32](name string, at *T) field {
	return field{name, func() string {
		if *at == 0 {
			return ""
		}
		return strconv.Itoa(int(*at))
	}, func(text string) error {
		n, err := strconv.ParseInt(text, 10, 32)
		*at = T(n)
		return err
	}}
}

func flagField(name string, at *bool) field {
	return field{name, func() string {
		if *at {
			return "true"
		}
		return ""
	}, func(text string) (err error) {
		*at, err = strconv.ParseBool(text)
		return err
	}}
}

func durationField(name string, at *time.Duration) field {
	return field{name, func() string {
		if *at == 0 {
			return ""
		}
		return at.String()
	}, func(text string) (err error) {
		*at, err = time.ParseDuration(text)
		return err
	}}
}

func limitField(name string, at *intstr.IntOrString) field {
	return field{name, func() string {
		if *at == (intstr.IntOrString{}) {
			return ""
		}
		return at.String()
	}, func(text string) error {
		*at = intstr.Parse(text)
		_, err := intstr.GetScaledValueFromIntOrPercent(at, 1, true)
		return err
	}}
}

func stepsField(name string, at *[]v1alpha1.Step) field {
	return field{name, func() string { return stepsText(*at) }, func(text string) error {
		*at = Steps(strings.Split(text, ", ")...)
		if is := stepsText(*at); !slices.Equal(slices.Sorted(strings.FieldsSeq(is)), slices.Sorted(strings.FieldsSeq(text))) {
			return fmt.Errorf("%q reads as %q", text, is)
		}
		return nil
	}}
}

func trafficField(name string, at **v1alpha1.Traffic) field {
	return field{name, func() string {
		if *at == nil {
			return ""
		}
		text, _ := json.Marshal(*at)
		return string(text)
	}, func(text string) error { return json.Unmarshal([]byte(text), at) }}
}

// stepsText returns what Steps reads.
func stepsText(steps []v1alpha1.Step) string {
	var texts []string
	for i := range steps {
		words := []string{steps[i].Replicas.String()}
		for _, gate := range steps[i].Gates {
			name := "manual"
			switch {
			case gate.None != nil:
				name = "none"
			case gate.Soak != nil:
				name = "soak"
			}
			if gate.OnReject == v1alpha1.RejectRollback {
				name += "-"
			}
			words = append(words, name)
		}
		if steps[i].Traffic != "" {
			words = append(words, steps[i].Traffic)
		}
		if len(steps[i].Matches) > 0 {
			words = append(words, "matches")
		}
		texts = append(texts, strings.Join(words, " "))
	}
	return strings.Join(texts, ", ")
}

// String returns the text of the script.
func (s *script) String() string {
	var text strings.Builder
	for _, f := range s.fields() {
		if value := f.text(); value != "" {
			fmt.Fprintf(&text, "setup %s %s\n", f.name, value)
		}
	}
	for _, line := range s.lines {
		fmt.Fprintf(&text, "%s\n", line.event)
	}
	return text.String()
}

// readScript reads a script. Its errors name file and line.
func readScript(file, text string) (*script, error) {
	s := &script{}
	for i, line := range strings.Split(text, "\n") {
		if err := s.read(strings.TrimSpace(line)); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	return s, nil
}

var times = regexp.MustCompile(`^(\d+) times: (.+)$`)

// read reads a line.
func (s *script) read(line string) error {
	command, rest, _ := strings.Cut(line, " ")
	switch parts := times.FindStringSubmatch(line); {
	case line == "" || strings.HasPrefix(line, "#"):
		return nil
	case parts != nil:
		return s.readTimes(parts[1], strings.Split(parts[2], ";"))
	case command == "setup":
		return s.readSetup(rest)
	case command == "expect":
		expect, err := readExpectation(rest)
		s.lines = append(s.lines, scriptLine{expect: expect})
		return err
	default:
		event, err := readEvent(line)
		s.lines = append(s.lines, scriptLine{event: event})
		return err
	}
}

func (s *script) readTimes(count string, lines []string) error {
	n, err := strconv.Atoi(count)
	for range n {
		for _, line := range lines {
			err = cmp.Or(err, s.read(strings.TrimSpace(line)))
		}
	}
	return err
}

func (s *script) readSetup(text string) error {
	if len(s.lines) > 0 {
		return fmt.Errorf("setup %s: the setup comes before all events", text)
	}
	name, value, _ := strings.Cut(text, " ")
	fields := s.fields()
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return fmt.Errorf("setup %s: there is no such field", name)
	}
	if err := fields[i].read(value); err != nil {
		return fmt.Errorf("setup %s: %w", name, err)
	}
	return nil
}

// numbered are the kinds of events whose last word may be a number.
var numbered = []Kind{PassDies, PassRaces, SyncWorkloadLate, Scale, Shift, Spoil, EditStep, Jump, ReleaseTo, Leap, RestoreRoute, ShareRouteAgain}

// readEvent reads what Event.String returns.
func readEvent(text string) (Event, error) {
	text, raced, races := strings.Cut(text, " with ")
	name := ""
	for _, known := range kindNames {
		if len(known) > len(name) && (text == known || strings.HasPrefix(text, known+" ")) {
			name = known
		}
	}
	if name == "" {
		return Event{}, fmt.Errorf("%q is no event", text)
	}
	e := Event{Kind: Kind(slices.Index(kindNames[:], name)), Text: strings.TrimSpace(strings.TrimPrefix(text, name))}
	if slices.Contains(numbered, e.Kind) {
		words := strings.Fields(e.Text)
		if n, err := strconv.ParseInt(cmp.Or(lastOf(words), "none"), 10, 32); err == nil {
			e.N, e.Text = int32(n), strings.Join(words[:len(words)-1], " ")
		}
	}
	if races != (e.Kind == PassRaces) {
		return Event{}, fmt.Errorf("%q: what races is a pass, with an event", text)
	}
	if races {
		race, err := readEvent(raced)
		e.Race = &race
		return e, err
	}
	return e, nil
}

func lastOf(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// readExpectation reads what is to be so at a point of a script.
func readExpectation(text string) (func(*State) string, error) {
	name, want, _ := strings.Cut(text, " ")
	of, found := map[string]func(*State) string{
		"phase":    func(s *State) string { return string(s.Release.Status.Phase) },
		"state":    func(s *State) string { return string(s.Release.Status.State) },
		"batch":    func(s *State) string { return s.Release.Status.Batch },
		"template": func(s *State) string { return s.Workload.Template },
		"held":     func(s *State) string { return strconv.FormatBool(s.Workload.Hold != nil) },
	}[name]
	if !found {
		return nil, fmt.Errorf("expect %s: there is no such thing; there are phase, state, batch, template and held", name)
	}
	return func(s *State) string {
		if got := of(s); got != want {
			return fmt.Sprintf("expected %s %s, got %s", name, want, got)
		}
		return ""
	}, nil
}

// scriptFiles are the walks that are kept.
const scriptFiles = "testdata/walks/*.txt"

// scriptOf reads a file.
func scriptOf(file string) (*script, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return readScript(file, string(text))
}
