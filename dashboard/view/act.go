package view

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/steer"
)

// Verb is an action on a release, as in the addresses of pages.
type Verb string

// The verbs.
const (
	Approve  Verb = "approve"
	Reject   Verb = "reject"
	Force    Verb = "force"
	Pause    Verb = "pause"
	Resume   Verb = "resume"
	Jump     Verb = "jump"
	RollBack Verb = "rollback"
	Retry    Verb = "retry"
)

// MostWords is the maximum length of a message or reason in characters, as in the API.
const MostWords = 1024

// Confirm is the page that asks for confirmation of an action.
type Confirm struct {
	Namespace, Name string
	Verb            Verb
	Title, Button   string
	Danger          bool
	// Who is the person who acts.
	Who string
	// Why is the state of the release, What is what will happen, in sentences.
	Why  string
	What []string
	// Release is the commit and revision in question.
	Commit, Subject, Author, Revision string
	// Gates are the gates that the answer applies to. Pick says that the person chooses among them.
	Gates []Picked
	Pick  bool
	// Words is the field for a message or a reason; nil for none.
	Words *Words
	// Batches to choose from; Targets of a rollback.
	Batches, Targets []Choice
	Preview          *Rollback
	// Problem is what was wrong with the form that was sent.
	Problem string
	// Hidden are the fields that say what the person has seen.
	Hidden []Field
}

// Picked is a gate that can be answered, and whether it is selected.
type Picked struct {
	Gate

	Batch   int
	Checked bool
}

// Words is a field for a text.
type Words struct {
	Name, Label, Hint, Value string
	Required                 bool
	// Problem is what is wrong with the value.
	Problem string
	Most    int
}

// Choice is one of several options.
type Choice struct {
	Value, Text string
	Checked     bool
}

// Field is a hidden field of a form.
type Field struct{ Name, Value string }

// buttons are the texts of the buttons, and dangerous the verbs that people should think about
// twice.
var (
	buttons = map[Verb]string{
		Approve: "Approve", Reject: "Reject", Force: "Force gates", Pause: "Pause", Resume: "Resume", Jump: "Jump to a batch",
		RollBack: "Roll back", Retry: "Retry",
	}
	dangerous = map[Verb]bool{Reject: true, Force: true, RollBack: true}
)

// Button returns the text of the button for a verb.
func (v Verb) Button() string { return buttons[v] }

// Rare reports whether the button stands apart from those of every day.
func (v Verb) Rare() bool { return v == Jump || v == RollBack || v == Force }

// Danger reports whether the button should make people think twice.
func (v Verb) Danger() bool { return dangerous[v] }

// ConfirmOf returns the page for a verb. Gates are the gates that it would answer.
func ConfirmOf(verb Verb, sight *show.Sight, gates []v1alpha1.Gate, who string) *Confirm {
	release := sight.Release
	author, subject := show.CommitOf(release)
	page := &Confirm{
		Namespace: release.Namespace, Name: release.Name, Verb: verb, Button: verb.Button(), Danger: verb.Danger(), Who: who,
		Why: line(show.Progress(release)), Commit: plain.Commit(release.Status.Commit), Subject: cell(subject), Author: cell(author),
		Revision: cell(release.Status.UpdateRevision), Words: wordsFor(verb, release),
	}
	page.Title = titleOf(verb, release)
	page.What = whatOf(verb, release, gates)
	for i := range gates {
		page.Gates = append(page.Gates, Picked{Gate: gateOf(&gates[i]), Batch: int(gates[i].Spec.Step) + 1, Checked: verb != Force || len(gates) == 1})
	}
	page.Pick = verb == Force
	return page
}

func titleOf(verb Verb, release *v1alpha1.BatchRelease) string {
	name := release.Name
	if !release.Status.Entered() {
		return verb.Button() + ": " + name
	}
	batch := BatchWords(release)
	switch verb {
	case Approve:
		return fmt.Sprintf("Approve %s of %s", batch, name)
	case Reject:
		return fmt.Sprintf("Reject %s of %s", batch, name)
	case Force:
		return fmt.Sprintf("Force the gates of %s of %s", batch, name)
	default:
		return verb.Button() + ": " + name
	}
}

// BatchWords returns the batch that a release is at, or its start where it waits before the first
// one.
func BatchWords(release *v1alpha1.BatchRelease) string {
	if !release.Status.Entered() {
		return "the start of the release"
	}
	return fmt.Sprintf("batch %d of %d", release.Status.CurrentStepIndex+1, len(release.Spec.Steps(release.Status.Rollback != nil)))
}

// AtPausePoint reports whether a release waits at a pause point until a person confirms the pod.
func AtPausePoint(release *v1alpha1.BatchRelease) bool {
	at := release.Status.PausePoint
	return at != nil && release.Status.State == v1alpha1.StatePausePoint && at.Confirmed != at.Pod
}

func wordsFor(verb Verb, release *v1alpha1.BatchRelease) *Words {
	switch {
	case verb == Approve && !AtPausePoint(release):
		return &Words{Name: "message", Label: "Message (optional)", Hint: "It is stored in the evidence of the gate, with your name.", Most: MostWords}
	case verb == Reject:
		return &Words{Name: "reason", Label: "Reason", Hint: "It is stored with the gate, and everybody who can see the release can read it.", Required: true, Most: MostWords}
	case verb == Force:
		return &Words{
			Name: "reason", Label: "Reason", Required: true, Most: MostWords,
			Hint: "It is stored in the evidence, the history, an event and the commit status.",
		}
	default:
		return nil
	}
}

// whatOf says what a verb does, in sentences.
func whatOf(verb Verb, release *v1alpha1.BatchRelease, gates []v1alpha1.Gate) []string {
	switch verb {
	case Approve:
		return approveWords(release, gates)
	case Reject:
		return rejectWords(release, gates)
	case Force:
		return []string{
			"The gates that you choose pass, whatever their policies say. Use it for emergencies only.",
			"Your name and the reason stay in the evidence of each gate, in the history, in an event and in the commit status.",
		}
	case Pause:
		return []string{
			"No batch starts or continues, and new templates wait, until somebody resumes the release. A push does not resume it.",
			"The workload still follows spec.replicas, and rollbacks continue.",
		}
	case Resume:
		return []string{"The current batch continues, and a template that waited is released.", "This does not pass gates or end a freeze."}
	case Retry:
		return retryWords(release)
	case Jump:
		return []string{
			"Forward, the release goes through the batches in between without waiting for their manual and skippable gates. Other gates must pass.",
			backWords(release),
		}
	case RollBack:
	}
	return nil
}

func backWords(release *v1alpha1.BatchRelease) string {
	if release.Spec.Strategy.StepBack == v1alpha1.StepBackRemovePods {
		return "Back, the gates from that batch on must pass again, and pods beyond its share go back to the previous version."
	}
	return "Back, the gates from that batch on must pass again. No pod is removed."
}

func approveWords(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate) []string {
	if AtPausePoint(release) {
		return []string{fmt.Sprintf("The release continues past pod %s. It pauses again at the next pause point.", cell(release.Status.PausePoint.Pod))}
	}
	what := []string{plain.Count(len(gates), "manual gate") + " of " + BatchWords(release) + " " + Form(len(gates), "passes", "pass") + ", with your name in the evidence."}
	if !release.Status.Entered() {
		what = []string{"The template in Git replaces the one that the workload runs, in batches. Your name is in the evidence."}
	}
	if release.Spec.Suspend {
		what = append(what, "The release is paused: nothing else happens until somebody resumes it.")
	}
	return append(what, nextWords(release)...)
}

// nextWords say what happens when the gates of the batch have passed.
func nextWords(release *v1alpha1.BatchRelease) []string {
	rollback, next, when := release.Status.Rollback != nil, int(release.Status.CurrentStepIndex)+1, "When all gates of this batch have passed"
	if !release.Status.Entered() {
		next, when = 0, "Next"
	}
	steps := release.Spec.Steps(rollback)
	if next >= len(steps) {
		return []string{"This is the last batch: the release completes when all of its gates have passed."}
	}
	words := fmt.Sprintf("%s, batch %d of %d begins: %s", when, next+1, len(steps), shareWords(steps[next].Replicas))
	if weight, shared := release.Spec.TrafficOf(rollback, next); shared {
		words += ", " + v1alpha1.RequestWords(weight, len(steps[next].Matches))
	}
	return []string{words + "."}
}

func rejectWords(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate) []string {
	for i := range gates {
		if gates[i].Spec.Policy.OnReject == v1alpha1.RejectRollback {
			return []string{
				"This is final for " + BatchWords(release) + ".",
				"The release rolls back at once: the gate says onReject: Rollback.",
			}
		}
	}
	return []string{
		"This is final for " + BatchWords(release) + ": nobody can approve it afterwards.",
		"The release stays where it is until there is a new template, or a rollback. No pod is replaced now.",
	}
}

func retryWords(release *v1alpha1.BatchRelease) []string {
	status := &release.Status
	switch {
	case status.RefusedWrite != nil:
		return []string{"Sluice repeats the write that the API server refuses: " + line(status.RefusedWrite.Write) + "."}
	case status.StoppedFor(v1alpha1.StopWorkloadChanged):
		return []string{"Somebody has changed the workload. The release continues with its own template, from the batch where it stopped."}
	default:
		return []string{"The release continues from the batch where it failed, with a new deadline. Fix the cause first, or it fails again."}
	}
}

// BatchesOf returns the batches that a release can jump to, each with what the jump does.
func BatchesOf(release *v1alpha1.BatchRelease, chosen int32) []Choice {
	var choices []Choice
	for i := range release.Spec.Strategy.Steps {
		batch := int32(i) + 1
		change, err := steer.Jump(release, batch)
		if err != nil {
			continue
		}
		step := &release.Spec.Strategy.Steps[i]
		choices = append(choices, Choice{
			Value: fmt.Sprint(batch), Checked: batch == chosen,
			Text: fmt.Sprintf("Batch %d (%s): the release %s", batch, shareWords(step.Replicas), line(change.Done)),
		})
	}
	return choices
}
