package view

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Confirm is the page that asks for confirmation of an action.
type Confirm struct {
	Namespace, Name string
	Verb, Title     string
	Button          verb.Button
	// Who is the person who acts.
	Who string
	// Why is the state of the release, What are the effects of the verb, in sentences.
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
	// Problem is the mistake in the form that was sent.
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
	*verb.Text

	// Value is the text, Problem what is wrong with it.
	Value, Problem string
	// Most is the maximum length in characters.
	Most int
}

// Choice is one of several options.
type Choice struct {
	Value, Text string
	Checked     bool
}

// Field is a hidden field of a form.
type Field struct{ Name, Value string }

// ConfirmOf returns the page for a verb. Gates are the gates that it would answer.
func ConfirmOf(what *verb.Verb, sight *show.Sight, gates []v1alpha1.Gate, who string) *Confirm {
	release := sight.Release
	author, subject := show.CommitOf(release)
	page := &Confirm{
		Namespace: release.Namespace, Name: release.Name, Verb: what.Name, Title: what.Heading(release), Button: what.Button, Pick: what.Picks, Who: who,
		Why: line(show.Progress(release)), Commit: plain.Commit(release.Status.Commit), Subject: cell(subject), Author: cell(author),
		Revision: cell(release.Status.UpdateRevision),
	}
	for _, effect := range what.Effects(release, gates) {
		page.What = append(page.What, line(effect))
	}
	if what.Text != nil && len(gates) > 0 {
		page.Words = &Words{Text: what.Text, Most: verb.MaxText}
	}
	for i := range gates {
		page.Gates = append(page.Gates, Picked{Gate: gateOf(&gates[i]), Batch: int(gates[i].Spec.Step) + 1, Checked: !what.Picks || len(gates) == 1})
	}
	return page
}

// ChoicesOf returns choices, one of which is chosen.
func ChoicesOf(choices []verb.Choice, chosen string) []Choice {
	all := make([]Choice, 0, len(choices))
	for _, choice := range choices {
		all = append(all, Choice{Value: choice.Value, Text: line(choice.Text), Checked: choice.Value == chosen})
	}
	return all
}
