package verb

import (
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/steer"
)

// Verb is one thing that people can request of a release.
type Verb struct {
	// Name is the verb in addresses; commands have the same name.
	Name string
	// Needs is the object to patch: its right.
	Needs Right
	// Asks is the input of the user.
	Asks Input
	// Picks reports whether the user picks some of the gates to answer.
	Picks bool
	// Text is the text to write; nil for none.
	Text *Text
	// Compares are the facts that must still be as the person saw them.
	Compares Facts
	Command  Command
	Button   Button
	// Title is the heading of the confirmation, with "%s" for the batch; empty for the button's text.
	Title string
	// Written, Again and Declined are the words for each outcome, with "%s" for the subject.
	Written, Again, Declined string
	// Taken reports whether the controller has acted; nil for verbs that only decide gates.
	Taken Taken

	// decide returns the changes to write.
	decide func(Situation, Request) ([]steer.Change, error)
	// done reports whether the changes were made before.
	done func(Situation, Request) bool
	// undecided reports whether a gate still has to count what a person wrote; nil for other verbs.
	undecided func(Situation, string) bool
	// choices returns the batches or versions to choose from; nil for other verbs.
	choices func(Situation) []Choice
	// effects returns what the verb does, in sentences.
	effects func(*v1alpha1.BatchRelease, []v1alpha1.Gate) []string
	// subject returns what a request is about; nil for the release.
	subject func(*v1alpha1.BatchRelease, Request) string
}

// Right is the right to patch a resource of Sluice.
type Right struct{ Resource, Subresource string }

// Input is the input that a verb needs.
type Input int

// The inputs.
const (
	// Nothing is no input.
	Nothing Input = iota
	// Answer is the answer to gates.
	Answer
	// Batch is a batch, counted from 1.
	Batch
	// Version is an earlier version; the previous one by default.
	Version
)

// Facts are the parts of a release that must still be as a person saw them.
type Facts int

// The facts. A pod that becomes ready must not keep people from pausing or rolling back.
const (
	// ReleaseFacts are the release and its template.
	ReleaseFacts Facts = iota
	// PhaseFacts are also the phase, and the previous version.
	PhaseFacts
	// BatchFacts are also the batch, and the batches and gates to come.
	BatchFacts
	// EveryFact adds the gates that the release waits for, and the pod of a pause point.
	EveryFact
)

// MaxText is the maximum length of a message or reason in characters, as in the API.
const MaxText = 1024

// Text is a message or a reason.
type Text struct {
	Name     string
	Required bool
	// Label and Hint describe the field of a form; Flag and Short the flag of the command.
	Label, Hint, Flag, Short string
}

// Command is the help of a command; empty for verbs that are a flag of another one.
type Command struct {
	Args, Short, Long, Example string
	// Gate is the help of the flag that chooses gates.
	Gate string
}

// Button is the button of a verb in the dashboard.
type Button struct {
	Text string
	// Kind is "primary", "danger", or empty.
	Kind string
	// Apart reports whether the button stands apart from everyday ones.
	Apart bool
}

// Choice is a batch or a version to choose.
type Choice struct{ Value, Text string }

// Situation is a release with its gates and earlier templates.
type Situation struct {
	Release *v1alpha1.BatchRelease
	// Gates are the gates that it waits for; All includes earlier ones.
	Gates, All []v1alpha1.Gate
	Kept       []plan.Kept
}

// Request is a request of a person.
type Request struct {
	By, Text string
	// Gates are the UIDs of the gates to answer; Only narrows them to a name or a type.
	Gates []string
	Only  string
	Batch int32
	// To is a revision or a commit, and Number a number in the history. Before is the previous version
	// as the person saw it.
	To, Before string
	Number     int64
}

// Named returns the verb with a name; nil if there is none.
func Named(name string) *Verb {
	i := slices.IndexFunc(All, func(v *Verb) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return All[i]
}

// Decide returns the changes to write, or why there are none.
func (v *Verb) Decide(now Situation, r Request) ([]steer.Change, error) {
	changes, err := v.decide(now, r)
	for i := range changes {
		changes[i] = changes[i].By(r.By)
	}
	return changes, err
}

// Done reports whether what is requested was written before.
func (v *Verb) Done(now Situation, r Request) bool { return v.done(now, r) }

// Pending reports whether the controller still has to act on what a person wrote.
func (v *Verb) Pending(now Situation, who string) bool {
	if v.undecided != nil && v.undecided(now, who) {
		return true
	}
	if v.Taken == nil {
		return false
	}
	taken, err := v.Taken(now.Release)
	return err == nil && !taken
}

// Possible reports whether the release allows the verb now.
func (v *Verb) Possible(now Situation, who string) bool {
	if v.choices != nil {
		return len(v.choices(now)) > 0
	}
	_, err := v.Decide(now, Request{By: who, Gates: UIDs(now.Gates)})
	return err == nil
}

// Refusal returns why the release does not allow the verb now.
func (v *Verb) Refusal(now Situation, who string) error {
	_, err := v.Decide(now, Request{By: who, Gates: UIDs(now.Gates), Batch: now.Release.Status.CurrentStepIndex + 1})
	return err
}

// Answers returns the gates that a person can answer.
func (v *Verb) Answers(now Situation, who string) []v1alpha1.Gate {
	if v.Asks != Answer {
		return nil
	}
	changes, err := v.Decide(now, Request{By: who, Gates: UIDs(now.Gates)})
	if err != nil {
		return nil
	}
	var gates []v1alpha1.Gate
	for i := range changes {
		gates = append(gates, changes[i].Decides...)
	}
	return gates
}

// Choices returns the batches or versions to choose from, the default first.
func (v *Verb) Choices(now Situation) []Choice {
	if v.choices == nil {
		return nil
	}
	return v.choices(now)
}

// Reads reports whether a request depends on gates or on the history.
func (v *Verb) Reads(r Request) bool {
	return v.Asks == Answer || v.Asks == Version && (r.To != "" || r.Number != 0)
}

// Effects returns what the verb does to a release, in sentences.
func (v *Verb) Effects(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate) []string {
	if v.effects == nil {
		return nil
	}
	return v.effects(release, gates)
}

// Subject returns what a request is about, for the words of its outcome.
func (v *Verb) Subject(release *v1alpha1.BatchRelease, r Request) string {
	if v.subject == nil {
		return ""
	}
	return v.subject(release, r)
}

// Heading returns the title of the confirmation.
func (v *Verb) Heading(release *v1alpha1.BatchRelease) string {
	if v.Title == "" || !release.Status.Entered() {
		return v.Button.Text + ": " + release.Name
	}
	return About(v.Title, BatchWords(release)) + " of " + release.Name
}

// About puts a subject into words.
func About(words, subject string) string { return strings.ReplaceAll(words, "%s", subject) }

// UIDs returns the UIDs of gates.
func UIDs(gates []v1alpha1.Gate) []string {
	all := make([]string, len(gates))
	for i := range gates {
		all[i] = string(gates[i].UID)
	}
	return all
}
