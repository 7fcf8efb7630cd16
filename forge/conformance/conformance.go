package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A Case is a merge, a closing or an attack, and what becomes of the gate.
type Case struct {
	// Reason says why the outcome is right.
	Reason string
	// Needs reports whether a forge can have the case; nil for all.
	Needs func(Abilities) bool
	// Before brings the release to the tracked branch. Default: ada pushes it.
	Before func(s *Scene)
	// Earlier brings what ran before; nil for the first commit.
	Earlier func(s *Scene)
	Policy  v1alpha1.PullRequestGate
	// Act has people act once the pull request is open. It reports false if the forge lacks the method
	// of merging.
	Act func(s *Scene) bool
	// Want is the decision, and Says a part of the message of one that is not passed.
	Want v1alpha1.Decision
	Says string
}

// Run plays all cases, and holds the client to the rules of its port.
func Run(t *testing.T, f Forge) {
	t.Helper()
	all := map[string]Case{}
	for _, some := range []map[string]Case{merges, reviews, origins, attacks} {
		maps.Copy(all, some)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all[name].play(t, f, name)
		})
	}
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if of := rules[name]; of.needs == nil || of.needs(f.Has()) {
				of.hold(newScene(t, f, name))
			}
		})
	}
}

func (c Case) play(t *testing.T, f Forge, name string) {
	t.Helper()
	if c.Needs != nil && !c.Needs(f.Has()) {
		t.Skip("the forge has no such thing")
	}
	s := newScene(t, f, name)
	if c.Earlier != nil {
		c.Earlier(s)
	}
	stable := s.Head("main")
	if c.Before == nil {
		c.Before = by("ada")
	}
	c.Before(s)
	s.Wait(stable, c.Policy)
	if !c.Act(s) {
		t.Skip("the forge has no such method")
	}
	got := s.Judge()
	if got.Decision != c.Want || !strings.Contains(got.Message, c.Says) {
		t.Errorf("%s: want %s saying %q, got %s: %s", c.Reason, c.Want, c.Says, got.Decision, got.Message)
	}
}

// by has somebody push the release.
func by(login string) func(s *Scene) {
	return func(s *Scene) { s.Commit(login, login, "main", "web.yaml", "image: web:2\n") }
}

// merged has somebody merge the gate's pull request.
func merged(login string, method Method) func(s *Scene) bool {
	return func(s *Scene) bool { return s.Merge(login, s.number, method) }
}

// reviewedBy has people approve the gate's pull request, and ada merge it.
func reviewedBy(logins ...string) func(s *Scene) bool {
	return func(s *Scene) bool {
		for _, login := range logins {
			s.Review(login, s.number, Approve)
		}
		return s.Merge("ada", s.number, Merge)
	}
}

// brings has the release come by a pull request of one person that grace merges, after a change to
// its branch.
func brings(author string, method Method, change func(s *Scene)) func(s *Scene) {
	return func(s *Scene) {
		s.Branch(author, author, "change", "CHANGES", "change\n")
		change(s)
		if !s.Merge("grace", s.Open(author, "change", "main"), method) {
			s.Skip("the forge has no such method")
		}
	}
}

// forges has eve commit to a branch in somebody else's name.
func forges(branch, author string) func(s *Scene) {
	return func(s *Scene) { s.Commit("eve", author, branch, "web.yaml", "image: evil\n") }
}

var (
	reviewed = v1alpha1.PullRequestGate{MinApprovals: 1}
	twice    = v1alpha1.PullRequestGate{MinApprovals: 2}
	fourEyes = v1alpha1.PullRequestGate{MinApprovals: 1, ForbidSelfApproval: true}
	another  = v1alpha1.PullRequestGate{ForbidSelfApproval: true}
	anybody  = v1alpha1.PullRequestGate{}
	named    = v1alpha1.PullRequestGate{Approvers: []string{"grace"}}
)
