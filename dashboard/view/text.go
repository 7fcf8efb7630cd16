package view

import (
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/internal/plain"
)

// The maximum lengths of texts that others have written, in bytes: in a row of a list, and on the
// page of one release.
const (
	mostCell = 200
	mostText = 2000
)

// cell returns a text in a row of a list.
func cell(text string) string { return plain.UpTo(plain.Line(text), mostCell) }

// line returns a text on the page of one thing.
func line(text string) string { return plain.UpTo(plain.Line(text), mostText) }

// Mark is the state of something, as the name of its style: good, moving, waiting, bad or plain.
type Mark string

// The marks.
const (
	Plain   Mark = "plain"
	Good    Mark = "good"
	Moving  Mark = "moving"
	Waiting Mark = "waiting"
	Bad     Mark = "bad"
)

// markOf returns the mark of a state.
func markOf(state show.State) Mark { return [...]Mark{Plain, Good, Moving, Waiting, Bad}[state] }

// Sign returns the mark for people who can't see its color.
func (m Mark) Sign() string {
	return map[Mark]string{Good: "✔", Moving: "▸", Waiting: "◷", Bad: "✖"}[m]
}

// Moment is a time that is shown as how long ago it was.
type Moment struct{ time.Time }

// ISO returns the time for programs.
func (m Moment) ISO() string { return m.UTC().Format(time.RFC3339) }

// Ago returns how long before now the time was, such as 5m.
func (m Moment) Ago(now time.Time) string { return duration.HumanDuration(max(0, now.Sub(m.Time))) }

// Form returns the form of a word that agrees with a number of things.
func Form(number int, one, more string) string {
	if number == 1 {
		return one
	}
	return more
}

// link returns an address that a page may link to; empty if it is neither http nor https, has no
// host, has a user, or is too long.
func link(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "" || parsed.User != nil || len(address) > mostText {
		return ""
	}
	return parsed.String()
}

// commitAt returns the address of a commit on the forge of its source, if a page may link to it.
func commitAt(source *v1alpha1.ReleaseSource, commit string) string {
	return link(show.CommitURL(source, commit))
}
