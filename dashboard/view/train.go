package view

import "github.com/sluice-dev/sluice/cli/show"

// Member is a member of a train's last run.
type Member struct {
	Name string
	Mark Mark
	// Text says how far it is.
	Text string
	// Found says that there is a page of it.
	Found bool
}

// mostMembers bounds the members of a page.
const mostMembers = 500

func membersOf(w *show.Whole) []Member {
	run := show.RunOf(w.Release, w.Members)
	members := make([]Member, 0, len(run))
	for _, m := range run[:min(len(run), mostMembers)] {
		members = append(members, Member{Name: cell(m.Name), Mark: markOf(m.State), Text: line(m.Text()), Found: m.Release != nil})
	}
	return members
}
