package approvals_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// fourEyes returns the policy of the cookbook: an approver other than the authors of the change.
func fourEyes() v1alpha1.PullRequestGate {
	return v1alpha1.PullRequestGate{MinApprovals: 1, ForbidSelfApproval: true}
}

// another returns the policy where the merge is the approval, by somebody else.
func another() v1alpha1.PullRequestGate { return v1alpha1.PullRequestGate{ForbidSelfApproval: true} }

// stranger signs up at the forge and reads what is public.
func (s *shop) stranger(login string, role devforge.Role) {
	s.Helper()
	if err := s.forge.MakePublic("shop/" + s.name); err != nil {
		s.Fatal(err)
	}
	if _, err := s.forge.CreateUser(login); err != nil {
		s.Fatal(err)
	}
	token, err := s.forge.CreateToken(login, nil)
	if err != nil {
		s.Fatal(err)
	}
	s.tokens = maps.Clone(s.tokens)
	s.tokens[login] = token
	if err := s.forge.Grant("shop/"+s.name, login, role); err != nil {
		s.Fatal(err)
	}
}

// bot installs an app that may review, and gives its login.
func (s *shop) bot(name string) (login string) {
	s.Helper()
	app, err := s.forge.CreateApp(name, devforge.Permissions{"pull_requests": "write", "contents": "write"})
	if err != nil {
		s.Fatal(err)
	}
	installed, err := s.forge.InstallApp(app.ID, "shop")
	if err != nil {
		s.Fatal(err)
	}
	token, err := s.forge.CreateInstallationToken(app.ID, installed)
	if err != nil {
		s.Fatal(err)
	}
	s.tokens = maps.Clone(s.tokens)
	s.tokens[name+"[bot]"] = token
	return name + "[bot]"
}

// putAs commits a change as somebody, in somebody else's name.
func (s *shop) putAs(login, author, branch string) (commit string) {
	s.Helper()
	var known struct{ SHA string }
	s.call(login, "GET", "contents/web.yaml?ref="+branch, nil, &known)
	who := map[string]string{"name": author, "email": author + "@localhost"}
	var made struct{ Commit struct{ SHA string } }
	s.call(login, "PUT", "contents/web.yaml", map[string]any{
		"message": "Change", "content": []byte("image: evil\n"), "branch": branch, "sha": known.SHA, "author": who, "committer": who,
	}, &made)
	return made.Commit.SHA
}

func (s *shop) newBranch(login, name, at string) {
	s.Helper()
	s.call(login, "POST", "git/refs", map[string]string{"ref": "refs/heads/" + name, "sha": at}, nil)
}

// mergedPull opens a pull request of a branch as one, and merges it as another.
func (s *shop) mergedPull(author, merger, branch, method string) (commit string) {
	s.Helper()
	return s.mergedInto("main", author, merger, branch, method)
}

func (s *shop) mergedInto(base, author, merger, branch, method string) (commit string) {
	s.Helper()
	return s.proposed(base, author, branch).merge(merger, method)
}

// proposed returns the shop with the pull request that somebody opens of a branch in place of the
// gate's.
func (s *shop) proposed(base, author, branch string) *shop {
	s.Helper()
	var opened struct{ Number int64 }
	s.call(author, "POST", "pulls", map[string]string{"title": "Change", "head": branch, "base": base}, &opened)
	own := *s
	own.number = opened.Number
	return &own
}

// brings has the release come by a pull request of one person that grace merges, after a change to
// its branch.
func brings(author, method string, change func(s *shop)) func(s *shop) {
	return func(s *shop) {
		s.Helper()
		s.newBranch(author, "change", s.commit)
		change(s)
		s.mergedPull(author, "grace", "change", method)
		s.commit = s.sync()
	}
}

// forges has eve commit to a branch in ada's name.
func forges(branch string) func(s *shop) {
	return func(s *shop) { s.putAs("eve", "ada", branch) }
}

// reviewedBy has somebody approve the gate's pull request, and ada merge it.
func reviewedBy(login string) func(s *shop) {
	return func(s *shop) {
		s.Helper()
		s.review(login, "APPROVE")
		s.merge("ada", "merge")
	}
}

// mergedAs has somebody merge the gate's pull request.
func mergedAs(login, method string) func(s *shop) {
	return func(s *shop) { s.merge(login, method) }
}

// attacks holds attempts to get past the rules of approval, and everyday work that looks like one.
var attacks = map[string]approvalCase{
	"stranger": {
		reason: "on a public repository anybody can review",
		policy: fourEyes(),
		before: func(s *shop) { s.stranger("stranger", devforge.RoleNone); by("ada")(s) },
		act:    reviewedBy("stranger"),
		says:   "stranger has no write access to the repository",
	},
	"reader": {
		reason: "who may only read does not approve",
		policy: reviewed(),
		before: func(s *shop) { s.stranger("reader", devforge.RoleRead) },
		act:    reviewedBy("reader"),
		says:   "reader has no write access to the repository",
	},
	"reader-who-is-named": {
		reason: "to be named is not to be let write",
		policy: v1alpha1.PullRequestGate{MinApprovals: 1, Approvers: []string{"guest"}},
		before: func(s *shop) { s.stranger("guest", devforge.RoleRead) },
		act:    reviewedBy("guest"),
		says:   "guest has no write access to the repository",
	},
	"lost-the-right": {
		reason: "who may no longer write when it is decided does not approve",
		policy: reviewed(),
		before: func(s *shop) { s.stranger("leaver", devforge.RoleWrite) },
		act: func(s *shop) {
			s.review("leaver", "APPROVE")
			if err := s.forge.Grant("shop/"+s.name, "leaver", devforge.RoleNone); err != nil {
				s.Fatal(err)
			}
			s.merge("ada", "merge")
		},
		says: "leaver has no write access to the repository",
	},
	"bot": {
		reason: "a workflow of any branch can review as the forge's own app",
		policy: reviewed(),
		before: func(s *shop) { s.bot("robot") },
		act:    reviewedBy("robot[bot]"),
		says:   "robot[bot] is not a person, and not named in approvers",
	},
	"bot-that-is-named": {
		reason: "a program counts if it is named",
		policy: v1alpha1.PullRequestGate{MinApprovals: 1, Approvers: []string{"checker[bot]"}},
		before: func(s *shop) { s.bot("checker") },
		act:    reviewedBy("checker[bot]"),
	},
	"bot-merges": {
		reason: "where the merge is the approval a program gives none",
		before: func(s *shop) { s.bot("merger") },
		act:    mergedAs("merger[bot]", "merge"),
		says:   "by merger[bot], who is not a person, and not named in approvers",
	},
	"forged-author": {
		reason: "who pushed is behind the release, whoever the commit names",
		policy: another(),
		before: func(s *shop) { s.putAs("eve", "grace", "main"); s.commit = s.sync() },
		act:    mergedAs("eve", "merge"),
		says:   "by eve, who pushed the release: another person must approve",
	},
	"forged-author-frames": {
		reason: "a name in a commit keeps somebody out, and nothing else",
		policy: another(),
		before: func(s *shop) { s.putAs("eve", "grace", "main"); s.commit = s.sync() },
		act:    merged("merge"),
		says:   "by grace, who wrote the release",
	},
	"later-commit": {
		reason: "the release is all that came since, not its last commit",
		policy: fourEyes(),
		before: func(s *shop) {
			s.put("eve", "main", "web.yaml", "image: evil\n")
			s.put("grace", "main", "README", "harmless\n")
			s.commit = s.sync()
		},
		act:  reviewedBy("eve"),
		says: "eve wrote the release",
	},
	"commits-of-the-pull-request": {
		reason: "who made the commits of a pull request that another opened is behind it",
		policy: another(),
		before: brings("ada", "merge", func(s *shop) { s.put("eve", "change", "web.yaml", "image: evil\n") }),
		act:    mergedAs("eve", "squash"),
		says:   "by eve, who wrote the release",
	},
	"forged-commits-of-the-pull-request": {
		reason: "who pushed them, too, in whoever's name",
		policy: another(),
		before: brings("ada", "squash", forges("change")),
		act:    mergedAs("eve", "squash"),
		says:   "by eve, who pushed to pull request #1 of the release",
	},
	"opened-the-pull-request": {
		reason: "who opened it is behind it",
		policy: another(),
		before: brings("eve", "rebase", forges("change")),
		act:    mergedAs("eve", "rebase"),
		says:   "by eve, who opened pull request #1 of the release",
	},
	"flood-after-the-merge": {
		reason: "who pushed can't be washed out by moving the branch afterwards",
		policy: another(),
		before: func(s *shop) {
			start := s.commit
			s.newBranch("ada", "change", start)
			s.putAs("eve", "ada", "change")
			done := s.mergedPull("ada", "grace", "change", "squash")
			for range 55 { // more than the forge tells at once
				s.setBranch("eve", "change", start)
				s.setBranch("eve", "change", done)
			}
			s.commit = s.sync()
		},
		act:  mergedAs("eve", "squash"),
		says: "by eve, who pushed to pull request #1 of the release",
	},
	"merged-into-the-pull-request": {
		reason: "who proposed what was merged into a pull request is behind it, too",
		policy: another(),
		before: brings("ada", "squash", func(s *shop) {
			s.newBranch("ada", "part", s.commit)
			forges("part")(s)
			s.mergedInto("change", "eve", "grace", "part", "rebase")
		}),
		act:  mergedAs("eve", "squash"),
		says: "by eve, who pushed to pull request #2 of the release",
	},
	"merged-the-pull-request": {
		reason: "who merged the change has looked at it, and may let it go on",
		policy: another(),
		before: brings("eve", "rebase", func(s *shop) { s.put("eve", "change", "web.yaml", "image: web:2\n") }),
		act:    merged("merge"),
	},
	"merge-of-ones-own": {
		reason: "a merge that was made at home is a push",
		policy: another(),
		before: func(s *shop) {
			s.newBranch("ada", "change", s.commit)
			s.put("ada", "change", "web.yaml", "image: web:2\n")
			own := s.proposed("main", "ada", "change")
			forges("change")(s)
			s.setMain("eve", own.head())
			s.commit = s.sync()
		},
		act:  mergedAs("eve", "merge"),
		says: "by eve, who pushed to pull request #1 of the release",
	},
	"approved-before": {
		reason: "who approved an earlier step is not behind the next release",
		policy: another(),
		before: func(s *shop) {
			s.newBranch("sluice", "sluice/earlier", s.commit)
			s.put("sluice", "sluice/earlier", record.Folder+"/other/api.yaml", "earlier: true\n")
			s.mergedPull("sluice", "grace", "sluice/earlier", "merge")
			s.put("ada", "main", "web.yaml", "image: web:2\n")
			s.commit = s.sync()
		},
		act: merged("merge"),
	},
	"rides-in-another-merge": {
		reason: "an approval that comes along with something else approves nothing",
		policy: v1alpha1.PullRequestGate{Approvers: []string{"grace"}},
		act: func(s *shop) {
			s.newBranch("eve", "docs", s.head())
			s.put("eve", "docs", "README", "docs\n")
			s.mergedPull("eve", "grace", "docs", "merge")
		},
		says: "changes more than",
	},
	"rides-in-a-push": {
		reason: "nor one that is pushed along with something else",
		policy: v1alpha1.PullRequestGate{Approvers: []string{"grace"}},
		act: func(s *shop) {
			s.newBranch("eve", "docs", s.head())
			docs := s.put("eve", "docs", "README", "docs\n")
			s.setMain("grace", docs)
		},
		says: "the forge does not say that it came to branch main alone",
	},
	"committed-to-the-approval": {
		reason: "who made a commit of the gate's own pull request does not approve it",
		policy: another(),
		before: by("ada"),
		act: func(s *shop) {
			s.pushBranch("grace")
			s.merge("grace", "squash")
		},
		says: "its head is not the commit that Sluice wrote",
	},
}

// TestAttacksOnApprovals: no attempt gets past the rules of approval, and each is answered with
// the reason.
func TestAttacksOnApprovals(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	var shops []*shop
	for _, name := range slices.Sorted(maps.Keys(attacks)) {
		s := w.newShop(name)
		if before := attacks[name].before; before != nil {
			before(s)
		}
		shops = append(shops, s.begin())
	}
	for _, s := range shops {
		s.waits(v1alpha1.GatePolicy{PullRequest: new(attacks[s.name].policy)})
	}
	for _, s := range shops {
		s.opened()
		attacks[s.name].act(s)
		s.sync()
		s.hint(s.gate)
	}
	seen := outcomes(shops, func(s *shop) (says, reason string) { return attacks[s.name].says, attacks[s.name].reason })
	t.Logf("attacks: %s", seen)
}

// TestApprovalIsNotGivenWhereTheForgeDoesNotAnswer: where the forge does not say what somebody may
// do, or what is released, the gate waits.
func TestApprovalIsNotGivenWhereTheForgeDoesNotAnswer(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	for name, pattern := range map[string]string{"rights": "/collaborators/grace/permission$", "range": "/compare/", "merge": "/commits/[0-9a-f]{40}$"} {
		s := w.newShop("silent-" + name)
		by("ada")(s)
		s.begin().waits(v1alpha1.GatePolicy{PullRequest: new(fourEyes())}).opened()
		off := s.inject(devforge.Fault{Kind: devforge.FaultStatus, Status: http.StatusForbidden}, http.MethodGet, pattern)
		s.review("grace", "APPROVE")
		s.merge("ada", "merge")
		s.sync()
		s.hint(s.gate)
		if status := s.awaitMessage(s.gate, "the forge can't be asked"); status.Decision != v1alpha1.DecisionWaiting {
			t.Errorf("%s: want it to wait, got %+v", name, status)
		}
		off()
		s.hint(s.gate)
		s.awaitDecision(s.gate, v1alpha1.DecisionPassed)
	}
}
