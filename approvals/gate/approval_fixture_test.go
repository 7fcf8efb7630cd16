package gate

import "github.com/sluice-dev/sluice/forge"

const unpushed = "the forge does not list everybody who pushed to pull request #3: it is from a fork, or its branch moved very often " +
	"or is too old, and not all of its commits are signed. Sign commits; for this release: 'sluice approve web -n shop --force --reason=...' overrides the gate's policy"

const unattributed = "nobody can tell who brought commit 1e1001e, whose author is free text: the forge merged no pull request with it and " +
	"does not say who pushed it, and no account's key signed it. Bring changes by pull requests, or sign commits; for this release: " +
	"'sluice approve web -n shop --force --reason=...' overrides the gate's policy"

const squashed = "5905459054590545905459054590545905459054"

var renovate = forge.Account{ID: 20, Login: "renovate[bot]", Type: forge.TypeBot}

// cameBy has the release come in a way.
func cameBy(b brought) func(approving) { return func(s approving) { s.broughtBy(b) } }

// earlier puts a commit before the release commit that somebody wrote and somebody pushed.
func (s approving) earlier(author, pusher forge.Account) {
	a := s.forge.Approval
	commit := forge.Commit{SHA: olderHead, Author: author, Committer: author, Parents: []string{stableCommit}}
	a.Release.Commits[0].Parents = []string{olderHead}
	a.Release.Commits, a.Release.Total = append([]forge.Commit{commit}, a.Release.Commits...), 2
	a.Release.Changes = append([]forge.Change{{SHA: olderHead}}, a.Release.Changes...)
	a.Pushes[1].Before = olderHead
	a.Pushes = append(a.Pushes, forge.Push{Before: stableCommit, After: olderHead, Kind: forge.PushPlain, Actor: pusher})
}

// list lets somebody approve.
func (s approving) list(who forge.Account) {
	s.policy.Approvers = append(s.policy.Approvers, who.Login)
	s.forge.Approval.Approvers = append(s.forge.Approval.Approvers, who)
}

// trust has the policy trust what a program pushes.
func (s approving) trust(who forge.Account) {
	s.policy.TrustedPushers = append(s.policy.TrustedPushers, who.Login)
	s.forge.Approval.Trusted = append(s.forge.Approval.Trusted, who)
}

// updatedBy has somebody press the button "Update branch" of the gate's pull request.
func (s approving) updatedBy(who forge.Account) {
	a := s.forge.Approval
	a.Commits[0].SHA = olderHead
	a.Commits = append(a.Commits, forge.Commit{SHA: headCommit, Author: who, Committer: webflow, Parents: []string{olderHead, stableCommit}})
}
