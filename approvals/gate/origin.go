package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/internal/plain"
)

// behind holds the contributors to a release, by the number of their account, with their
// contributions.
//
// It keeps two kinds of fact apart. The forge itself knows who opened a pull request, who pushed,
// and whose key signed a commit. Authors, committers and co-authors are text that the maker of a
// commit chooses: it can keep an account from approving, and never proves that another account did
// not contribute.
type behind struct {
	parts map[int64]string
	// unknown is the reason that the contributors are not known; empty if they are.
	unknown string
}

// part says what somebody did for the release; empty if nothing.
func (b behind) part(who forge.Account) string { return b.parts[who.ID] }

// add records the contribution of an account. An earlier record of the account stays.
func (b behind) add(who forge.Account, did string) {
	if _, noted := b.parts[who.ID]; who.Known() && !noted {
		b.parts[who.ID] = did
	}
}

// maxContributors limits the contributors in a status.
const maxContributors = 100

// numbers returns the numbers of the contributors, sorted; nil if there are too many to list.
func (b behind) numbers() []int64 {
	if len(b.parts) > maxContributors {
		return nil
	}
	return slices.Sorted(maps.Keys(b.parts))
}

// addCommit notes those whom a commit names.
func (b behind) addCommit(commit forge.Commit, addresses map[string]forge.Account, committed bool) {
	b.add(commit.Author, "wrote the release")
	if committed {
		b.add(commit.Committer, "committed the release")
	}
	for _, address := range commit.CoAuthors {
		b.add(addresses[strings.ToLower(address)], "wrote the release with others")
	}
}

// addProposal notes who opened a pull request, and made and pushed its commits.
func (b behind) addProposal(proposal forge.Proposal, addresses map[string]forge.Account) {
	number := proposal.PullRequest.Number
	for _, commit := range proposal.All() {
		b.addCommit(commit, addresses, true)
	}
	b.add(proposal.PullRequest.Author, fmt.Sprintf("opened pull request #%d of the release", number))
	for _, who := range proposal.Pushers {
		b.add(who, fmt.Sprintf("pushed to pull request #%d of the release", number))
	}
}

// behindRelease finds out who contributed to a release, from what the forge says of it.
func (a approval) behindRelease() behind {
	found := behind{parts: map[int64]string{}, unknown: a.unknownOrigin()}
	if found.unknown != "" {
		return found
	}
	origin := a.Release
	line := forge.Line(origin.Commits, origin.Head)
	pushed := forge.PushesOf(line, a.Pushes)
	for _, commit := range line {
		if a.recordsAlone(commit.SHA) {
			continue // an approval of an earlier step or release changes nothing that is released
		}
		push, known := pushed[commit.SHA]
		proposals := a.proposalsOf(commit.SHA)
		byForge := known && push.ByForge() && len(proposals) > 0
		if found.unknown = a.unattributed(commit, push, proposals); found.unknown != "" {
			return found
		}
		// Whoever merges a pull request has looked at it and is not its author, though the forge
		// names them in the merge commit, and as the committer of what it squashes or rebases.
		if !byForge || len(commit.Parents) < 2 {
			found.addCommit(commit, origin.Addresses, !byForge)
		}
		for _, inner := range mergedBy(commit, line, origin.Commits) {
			found.addCommit(inner, origin.Addresses, true)
		}
		for _, proposal := range proposals {
			found.addProposal(proposal, origin.Addresses)
			if found.unknown = a.unanswered(proposal); found.unknown != "" {
				return found
			}
		}
	}
	a.addPushers(found, line, pushed)
	return found
}

// addPushers notes who pushed the release.
func (a approval) addPushers(found behind, line []forge.Commit, pushed map[string]forge.Push) {
	for _, push := range a.pushesOfRelease() {
		if !push.ByForge() && !a.pushedRecords(push, line, pushed) {
			found.add(push.Actor, "pushed the release")
		}
	}
}

// untraceable says which of the two commits, between which people contributed to the release, is
// not known; empty if both are. No merge makes up for that.
func (a approval) untraceable() string {
	switch spec := a.gate.Spec; {
	case spec.Commit == "":
		return "the released commit is unknown, so nobody can tell who may approve it: " + a.pastPolicy()
	case spec.StableCommit == "":
		return "the commit that ran before is unknown, so nobody can tell who contributed since: " + a.pastPolicy()
	}
	return ""
}

// unknownOrigin says why the contents of a release are not known; empty if they are.
func (a approval) unknownOrigin() string {
	if unknown := a.untraceable(); unknown != "" {
		return unknown
	}
	origin, spec := a.Release, a.gate.Spec
	otherwise := ": " + a.pastPolicy()
	switch {
	case origin.Head != spec.Commit:
		return "the released commit is unknown, so nobody can tell who may approve it" + otherwise
	case origin.Stable != spec.StableCommit:
		return "it is not known who contributed to the release"
	case a.PushesCut:
		return fmt.Sprintf("branch %s moved so often since %s that the forge does not list everybody who pushed to it%s",
			a.branch(), plain.Commit(origin.Stable), otherwise)
	case origin.Total > forge.MaxCommits:
		return fmt.Sprintf("%d commits came since %s, and the authors of at most %d can be checked%s",
			origin.Total, plain.Commit(origin.Stable), forge.MaxCommits, otherwise)
	case a.namesTooMany() != "":
		return fmt.Sprintf("the release has too many co-authors: those of commit %s are%s", plain.Commit(a.namesTooMany()), otherwise)
	case origin.Total == 0 || len(origin.Commits) != origin.Total:
		return fmt.Sprintf("%s adds no commit to %s, so nobody is known to have contributed to the release%s",
			plain.Commit(origin.Head), plain.Commit(origin.Stable), otherwise)
	}
	return ""
}

// namesTooMany returns a commit of the release with a co-author about whom the forge was not asked;
// empty if there is none. One whom the forge does not know is nobody.
func (a approval) namesTooMany() string {
	all := slices.Clone(a.Release.Commits)
	for _, proposal := range a.Release.Proposals {
		all = append(all, proposal.All()...)
	}
	for _, commit := range all {
		for _, address := range commit.CoAuthors {
			if _, asked := a.Release.Addresses[strings.ToLower(address)]; !asked {
				return commit.SHA
			}
		}
	}
	return ""
}

// unattributed says that no account answers for a commit of the tracked branch; empty if one does:
// the forge merged a pull request with it, an account that answers pushed it, or a key signed it. A
// push that is not known has no kind.
func (a approval) unattributed(commit forge.Commit, push forge.Push, proposals []forge.Proposal) string {
	pushed := push.Kind != "" && !push.ByForge()
	switch {
	case push.ByForge() && len(proposals) > 0, pushed && a.answers(push.Actor), a.signed(commit, proposals):
		return ""
	case pushed && push.Actor.Known():
		return a.byProgram("commit "+plain.Commit(commit.SHA)+" was pushed", push.Actor)
	}
	return fmt.Sprintf("nobody can tell who brought commit %s, whose author is free text: the forge merged no pull request with it and "+
		"does not say who pushed it, and no account's key signed it. Bring changes by pull requests, or sign commits; for this release: %s", plain.Commit(commit.SHA), a.pastPolicy())
}

// answers reports whether an account answers for what it pushes or proposes. A program does what
// somebody has it do, so it answers only if the policy names it, or if it is Sluice's own.
func (a approval) answers(who forge.Account) bool {
	return who.Known() && (who.Type == forge.TypeUser || who.Same(a.self) || slices.ContainsFunc(a.Trusted, who.Same))
}

// unanswered says why it is not known who made a pull request what it is; empty if it is known: by
// who opened it and moved its branch or, where the forge does not list all of them or one is a
// program, by the key that signed each commit.
func (a approval) unanswered(proposal forge.Proposal) string {
	pull := proposal.PullRequest
	unsigned := func(c forge.Commit) bool { return !a.answers(signer(c)) }
	if len(proposal.Commits) > 0 && !slices.ContainsFunc(proposal.Commits, unsigned) {
		return ""
	}
	if !proposal.PushersTold {
		return a.unpushed(pull)
	}
	if !a.answers(pull.Author) {
		return a.byProgram(fmt.Sprintf("pull request #%d was opened", pull.Number), pull.Author)
	}
	for _, who := range proposal.Pushers {
		if !a.answers(who) {
			return a.byProgram(fmt.Sprintf("pull request #%d was pushed to", pull.Number), who)
		}
	}
	return ""
}

// signer returns the account whose key answers for a commit of a pull request; the zero account if
// none does. The forge signs what people do on its pages with its own key, and names them as the
// author. But of a squash, also in a fork, the author opened another pull request, and others may
// have pushed to that.
func signer(commit forge.Commit) forge.Account {
	switch byForge := strings.EqualFold(commit.Committer.Login, forgesOwn); {
	case !commit.Verified, byForge && len(commit.Parents) < 2:
		return forge.Account{}
	case !byForge:
		return commit.Committer
	}
	return commit.Author
}

// unpushed says that nobody knows who pushed to a pull request.
func (a approval) unpushed(pull forge.PullRequest) string {
	return fmt.Sprintf("the forge does not list everybody who pushed to pull request #%d: it is from a fork, or its branch moved very often "+
		"or is too old, and not all of its commits are signed. Sign commits; for this release: %s", pull.Number, a.pastPolicy())
}

// byProgram says that a program did something, which answers for no commit, and what helps.
func (a approval) byProgram(did string, who forge.Account) string {
	text := fmt.Sprintf("%s by %s, a program, and nobody can tell who has it do that. Sign commits, or name it in trustedPushers", did, name(who))
	if a.untrusted != "" {
		text += " (" + a.untrusted + ")"
	}
	return text + "; for this release: " + a.pastPolicy()
}

// pastPolicy returns the way out where nobody can approve.
func (a approval) pastPolicy() string {
	return fmt.Sprintf("'sluice approve %s -n %s --force --reason=...' overrides the gate's policy", a.gate.Spec.ReleaseRef.Name, a.gate.Namespace)
}

// signed reports whether a key answers for a commit: the forge's own, with which it signs what it
// merges, or that of the committer's account.
func (a approval) signed(commit forge.Commit, proposals []forge.Proposal) bool {
	if !commit.Verified || !commit.Committer.Known() {
		return false
	}
	if !strings.EqualFold(commit.Committer.Login, forgesOwn) {
		return a.answers(commit.Committer)
	}
	return slices.ContainsFunc(proposals, func(p forge.Proposal) bool { return p.PullRequest.MergeCommit == commit.SHA })
}

// forgesOwn is the account in whose name GitHub commits what is done on its pages.
const forgesOwn = "web-flow"

// proposalsOf returns the pull requests into the tracked branch that brought a commit, and whose
// author is known.
func (a approval) proposalsOf(sha string) []forge.Proposal {
	var found []forge.Proposal
	for _, change := range a.Release.Changes {
		if change.SHA != sha {
			continue
		}
		for _, proposal := range a.Release.Proposals {
			pull := proposal.PullRequest
			into := pull.Merged && pull.Base.Ref == a.branch() && pull.Base.RepositoryID == a.Repository.ID
			if into && pull.Author.Known() && slices.Contains(change.PullRequests, pull.Number) {
				found = append(found, proposal)
			}
		}
	}
	return found
}

// recordsAlone reports whether a commit brings records of approvals and nothing else.
func (a approval) recordsAlone(sha string) bool {
	at := slices.IndexFunc(a.Release.Changes, func(c forge.Change) bool { return c.SHA == sha })
	if at < 0 {
		return false
	}
	result := a.Release.Changes[at].Result
	elsewhere := func(f forge.ChangedFile) bool {
		return !strings.HasPrefix(f.Path, record.Folder+"/") || f.PreviousPath != "" && !strings.HasPrefix(f.PreviousPath, record.Folder+"/")
	}
	return result.Commit.SHA == sha && len(result.Files) > 0 && !result.More && !slices.ContainsFunc(result.Files, elsewhere)
}

// pushesOfRelease returns all moves of the branch since the stable commit first came, as far as the
// forge listed them, up to the one that brought the release. A contributor can push the release,
// and then move the branch to before the stable commit and back.
func (a approval) pushesOfRelease() []forge.Push {
	from := slices.IndexFunc(a.Pushes, func(p forge.Push) bool { return p.After == a.Release.Head })
	if from < 0 {
		return nil
	}
	pushes := a.Pushes[from:]
	for until, push := range slices.Backward(pushes) {
		if push.Brought(a.Release.Stable) {
			return pushes[:until]
		}
	}
	return pushes
}

// pushedRecords reports whether all that a push brought are records of approvals.
func (a approval) pushedRecords(push forge.Push, line []forge.Commit, by map[string]forge.Push) bool {
	brought := slices.DeleteFunc(slices.Clone(line), func(c forge.Commit) bool { return by[c.SHA] != push })
	other := func(c forge.Commit) bool { return !a.recordsAlone(c.SHA) }
	return len(brought) > 0 && !slices.ContainsFunc(brought, other)
}

// mergedBy returns the commits that a commit of the line has merged, and that none before it in the
// line has.
func mergedBy(merge forge.Commit, line, all []forge.Commit) []forge.Commit {
	if len(merge.Parents) < 2 {
		return nil
	}
	known := map[string]forge.Commit{}
	for _, c := range all {
		known[c.SHA] = c
	}
	for _, c := range line {
		delete(known, c.SHA)
	}
	var found []forge.Commit
	for next := slices.Clone(merge.Parents[1:]); len(next) > 0; next = next[1:] {
		if c, inside := known[next[0]]; inside {
			delete(known, c.SHA)
			found, next = append(found, c), append(next, c.Parents...)
		}
	}
	return found
}
