package approvals_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// tipOf returns the commit of a branch, and its tree.
func (s *shop) tipOf(login, branch string) (commit, tree string) {
	s.Helper()
	var head struct {
		Commit struct {
			SHA    string
			Commit struct{ Tree struct{ SHA string } }
		}
	}
	s.call(login, http.MethodGet, "branches/"+branch, nil, &head)
	return head.Commit.SHA, head.Commit.Commit.Tree.SHA
}

// commitOf makes a commit in somebody's name.
func (s *shop) commitOf(login, author, tree, parent, message string) (commit string) {
	s.Helper()
	var made struct{ SHA string }
	s.call(login, http.MethodPost, "git/commits", map[string]any{
		"message": message, "tree": tree, "parents": []string{parent}, "author": map[string]string{"name": author, "email": author + "@localhost"},
	}, &made)
	return made.SHA
}

// rebase makes new commits of the contents of a branch, as the button "Update branch" with a rebase
// does, or a bot.
func (s *shop) rebase(login, branch, author string) {
	s.Helper()
	_, tree := s.tipOf(login, branch)
	s.setBranch(login, branch, s.commitOf(login, author, tree, s.commit, "Change"))
}

func (s *shop) deleteBranch(login, branch string) {
	s.Helper()
	s.call(login, http.MethodDelete, "git/refs/heads/"+branch, nil, nil)
}

// squashed has the release come by a pull request of ada's branch that grace squashes, after
// something happened to the branch. Ada opens it before that.
func squashed(change func(*shop)) func(*shop) {
	return func(s *shop) {
		s.Helper()
		s.newBranch("ada", "change", s.commit)
		s.put("ada", "change", "README", "ada's own change\n")
		own := s.proposed("main", "ada", "change")
		change(s)
		own.merge("grace", "squash")
		s.commit = s.sync()
	}
}

// hidden are ways to hide who is behind a release.
var hidden = map[string]approvalCase{
	"rebased-by-another": {
		reason: "a rebase makes new commits of what eve pushed",
		before: squashed(func(s *shop) { forges("change")(s); s.rebase("ci", "change", "ada") }),
		says:   "eve pushed to pull request #1 of the release",
	},
	"rebased-by-the-author": {
		reason: "the author rebases what eve pushed",
		before: squashed(func(s *shop) { forges("change")(s); s.rebase("ada", "change", "ada") }),
		says:   "eve pushed to pull request #1 of the release",
	},
	"dropped-and-pulled": {
		reason: "ada has pulled what eve pushed and dropped, and brings it with her next push",
		before: squashed(func(s *shop) {
			before, _ := s.tipOf("eve", "change")
			evil := s.putAs("eve", "ada", "change")
			s.setBranch("eve", "change", before)
			s.setBranch("ada", "change", evil)
		}),
		says: "eve pushed to pull request #1 of the release",
	},
	"deleted-and-made-again": {
		reason: "eve pushed to an earlier branch of that name, which ada has pulled",
		before: func(s *shop) {
			s.newBranch("ada", "change", s.commit)
			evil := s.putAs("eve", "ada", "change")
			s.deleteBranch("eve", "change")
			s.newBranch("ada", "change", evil)
			s.mergedPull("ada", "grace", "change", "squash")
			s.commit = s.sync()
		},
		says: "eve pushed to pull request #1 of the release",
	},
	"retargeted": {
		reason: "eve pushed while the pull request was into another branch",
		before: func(s *shop) {
			s.newBranch("ada", "other", s.commit)
			s.newBranch("ada", "change", s.commit)
			s.put("ada", "change", "README", "ada's own change\n")
			own := s.proposed("other", "ada", "change")
			forges("change")(s)
			s.rebase("ada", "change", "ada")
			s.call("ada", http.MethodPatch, own.pull(), map[string]string{"base": "main"}, nil)
			own.merge("grace", "squash")
			s.commit = s.sync()
		},
		says: "eve pushed to pull request #1 of the release",
	},
	"dropped-from-main": {
		reason: "eve pushed to the tracked branch and put it back, and ada, who has pulled, pushes it again",
		before: func(s *shop) {
			evil := s.putAs("eve", "ada", "main")
			s.setMain("eve", s.commit)
			s.setMain("ada", evil)
			s.commit = s.sync()
		},
		says: "eve pushed the release",
	},
	"merged-within-and-dropped": {
		reason: "eve's commits came to the branch by a pull request that the forge merged, before a rebase",
		before: squashed(func(s *shop) {
			tip, _ := s.tipOf("ada", "change")
			s.newBranch("ada", "part", tip)
			forges("part")(s)
			s.mergedInto("change", "ada", "grace", "part", "squash")
			s.rebase("ada", "change", "ada")
		}),
		says: "eve pushed to pull request #1 of the release",
	},
	"co-author-within": {
		reason: "a co-author of a commit of a pull request that was merged into the branch contributed to the release",
		before: func(s *shop) {
			s.commit = s.put("eve", "main", "README", "by which the forge knows eve's address\n")
			s.stable = s.commit
			squashed(func(s *shop) {
				tip, _ := s.tipOf("ada", "change")
				s.newBranch("ada", "part", tip)
				s.put("ada", "part", "web.yaml", "image: web:2\n")
				made, tree := s.tipOf("ada", "part")
				s.setBranch("ada", "part", s.commitOf("ada", "ada", tree, made, "Change\n\nCo-authored-by: Eve <eve@localhost>"))
				s.mergedInto("change", "ada", "grace", "part", "squash")
				s.rebase("ada", "change", "ada")
			})(s)
		},
		says: "eve wrote the release with others",
	},
	"author-of-what-it-was-made-from": {
		reason: "the author of the commit that a commit was made from wrote it, as far as that tells",
		before: func(s *shop) {
			s.commit = s.put("eve", "main", "README", "by which the forge knows eve's address\n")
			s.stable = s.commit
			squashed(func(s *shop) {
				tip, tree := s.tipOf("ada", "change")
				s.setBranch("ada", "change", s.commitOf("ada", "ada", tree, tip, "Render\n\nArgocd-reference-commit-sha: abc1234\nArgocd-reference-commit-author: Eve <eve@localhost>"))
			})(s)
		},
		says: "eve wrote the release with others",
	},
	"pushed-by-a-program": {
		reason: "anybody who may push a workflow has the forge's own app push for them",
		before: func(s *shop) {
			bot := s.bot("actions")
			squashed(func(s *shop) { s.putAs(bot, "ada", "change") })(s)
		},
		says: "pull request #1 was pushed to by actions[bot], a program",
	},
	"rebased-by-a-program": {
		reason: "what a program rebases is what others have it rebase",
		before: func(s *shop) {
			bot := s.bot("rebaser")
			squashed(func(s *shop) { s.rebase(bot, "change", "ada") })(s)
		},
		says: "pull request #1 was pushed to by rebaser[bot], a program",
	},
	"opened-by-a-program": {
		reason: "a program opens what others have it open",
		before: func(s *shop) {
			bot := s.bot("opener")
			s.newBranch("ada", "change", s.commit)
			s.put("ada", "change", "web.yaml", "image: web:2\n")
			s.mergedPull(bot, "grace", "change", "squash")
			s.commit = s.sync()
		},
		says: "pull request #1 was opened by opener[bot], a program",
	},
	"pushed-to-main-by-a-program": {
		reason: "a program pushes what others have it push",
		before: func(s *shop) { s.putAs(s.bot("pusher"), "ada", "main"); s.commit = s.sync() },
		says:   "was pushed by pusher[bot], a program",
	},
	"trusted-program": {
		reason: "a program that the policy names answers for what it pushes",
		policy: v1alpha1.PullRequestGate{MinApprovals: 1, ForbidSelfApproval: true, TrustedPushers: []string{"robot[bot]"}},
		before: func(s *shop) {
			bot := s.bot("robot")
			s.newBranch(bot, "change", s.commit)
			s.put(bot, "change", "web.yaml", "image: web:2\n")
			s.mergedPull(bot, "grace", "change", "squash")
			s.commit = s.sync()
		},
	},
	"trusted-program-hides-none": {
		reason: "whoever pushed what a trusted program rebased contributed to the release",
		policy: v1alpha1.PullRequestGate{MinApprovals: 1, ForbidSelfApproval: true, TrustedPushers: []string{"tidy[bot]"}},
		before: func(s *shop) {
			bot := s.bot("tidy")
			squashed(func(s *shop) { forges("change")(s); s.rebase(bot, "change", "ada") })(s)
		},
		says: "eve pushed to pull request #1 of the release",
	},
	"merged-by-a-program": {
		reason: "a program that merges brings nothing of its own",
		before: func(s *shop) {
			bot := s.bot("queue")
			s.newBranch("ada", "change", s.commit)
			s.put("ada", "change", "web.yaml", "image: web:2\n")
			s.mergedPull("ada", bot, "change", "squash")
			s.commit = s.sync()
		},
	},
	"long-lived-branch": {
		reason: "what was pushed before the branch was merged last is not part of what came since",
		before: func(s *shop) {
			s.newBranch("ada", "develop", s.commit)
			s.put("eve", "develop", "README", "eve's earlier change\n")
			s.stable = s.mergedPull("ada", "grace", "develop", "merge")
			s.put("ada", "develop", "web.yaml", "image: web:2\n")
			s.mergedPull("ada", "grace", "develop", "merge")
			s.commit = s.sync()
		},
	},
}

// TestAttacksThatHideWhoPushed: people who hide that they contributed to a release can't approve
// it, and others still can.
func TestAttacksThatHideWhoPushed(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	var shops []*shop
	for _, name := range slices.Sorted(maps.Keys(hidden)) {
		s := w.newShop(name)
		hidden[name].before(s)
		shops = append(shops, s.begin())
	}
	for _, s := range shops {
		policy := hidden[s.name].policy
		if policy.MinApprovals == 0 {
			policy = fourEyes()
		}
		s.waits(v1alpha1.GatePolicy{PullRequest: &policy})
	}
	for _, s := range shops {
		s.opened()
		reviewedBy("eve")(s)
		s.sync()
		s.hint(s.gate)
	}
	t.Logf("hidden: %s", outcomes(shops, func(s *shop) (says, reason string) { return hidden[s.name].says, hidden[s.name].reason }))
}

// teamNumber returns the number of a team.
func (w *forgeWorld) teamNumber(organization, slug string) (id int64) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.forge.APIURL()+"orgs/"+organization+"/teams/"+slug, nil)
	if err != nil {
		w.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+w.tokens["ada"])
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		w.Fatal(err)
	}
	defer response.Body.Close()
	var team struct{ ID int64 }
	if err := json.NewDecoder(response.Body).Decode(&team); err != nil || team.ID == 0 {
		w.Fatalf("read team %s/%s: %+v, %v", organization, slug, team, err)
	}
	return team.ID
}

// TestTeamThatChangesHands: Sluice keeps the number of a team that it meets. Another team that
// takes the slug later does not count, until the policy has its number.
func TestTeamThatChangesHands(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	team := func(members ...string) (id int64) {
		t.Helper()
		if err := w.forge.CreateTeam("shop", "sre", members...); err != nil {
			t.Fatal(err)
		}
		return w.teamNumber("shop", "sre")
	}
	ask := func(s *shop, approver string, teams ...string) *shop {
		t.Helper()
		policy := v1alpha1.PullRequestGate{MinApprovals: 1, Teams: teams}
		s.begin().waits(v1alpha1.GatePolicy{PullRequest: &policy}).opened()
		reviewedBy(approver)(s)
		s.sync()
		s.hint(s.gate)
		return s
	}
	before := team("grace")
	first := ask(w.newShop("team-first-met"), "grace", "SRE")
	first.awaitDecision(first.gate, v1alpha1.DecisionPassed)
	want := v1alpha1.NamedAccount{Kind: v1alpha1.AccountTeam, Name: "shop/sre", ID: before}
	if got := first.accounts(); !slices.Contains(got, want) {
		t.Errorf("want %+v kept, got %+v", want, got)
	}

	now := team("eve") // a new team, after the other was renamed
	later := w.newShop("team-later")
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"accounts": first.accounts()}})
	if err != nil {
		t.Fatal(err)
	}
	source := &v1alpha1.ReleaseSource{}
	source.Namespace, source.Name = later.namespace, later.name
	if err := w.Status().Patch(t.Context(), source, client.RawPatch("application/merge-patch+json", patch), client.FieldOwner(v1alpha1.OwnerApprovals)); err != nil {
		t.Fatal(err)
	}
	ask(later, "eve", "shop/sre")
	later.awaitMessage(later.gate, fmt.Sprintf("team shop/sre was number %d when the policy was first met and is number %d now", before, now))

	numbered := ask(w.newShop("team-numbered"), "eve", fmt.Sprintf("sre#%d", before))
	numbered.awaitMessage(numbered.gate, fmt.Sprintf("team sre is number %d now, which does not count: the policy means number %d", now, before))
	accepted := ask(w.newShop("team-accepted"), "eve", fmt.Sprintf("shop/sre#%d", now))
	accepted.awaitDecision(accepted.gate, v1alpha1.DecisionPassed)
}

// TestWhoMayReject: who closes the pull request of an approval rejects the gate only if they may
// approve it.
func TestWhoMayReject(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	closes := func(login string) func(*shop) {
		return func(s *shop) { s.call(login, http.MethodPatch, s.pull(), map[string]string{"state": "closed"}, nil) }
	}
	named := v1alpha1.PullRequestGate{MinApprovals: 1, Approvers: []string{"grace"}}
	cases := map[string]struct {
		policy v1alpha1.PullRequestGate
		before func(*shop)
		act    func(*shop)
		says   string
		actor  string
	}{
		"approver":       {policy: named, act: closes("grace"), actor: "grace"},
		"anyone":         {act: closes("eve"), actor: "eve"},
		"not-named":      {policy: named, act: closes("eve"), says: "closed by eve, who is not one of the approvers"},
		"program":        {before: func(s *shop) { s.bot("stale") }, act: closes("stale[bot]"), says: "closed by stale[bot], who is not a person"},
		"our-own":        {act: closes("sluice"), says: "closed by Sluice's own account sluice"},
		"branch-deleted": {policy: named, act: func(s *shop) { s.deleteBranch("eve", s.readGate(s.gate).Status.PullRequest.Branch) }, says: "closed by eve, who is not"},
		"lost-the-right": {
			before: func(s *shop) { s.stranger("triager", devforge.RoleWrite) },
			act: func(s *shop) {
				closes("triager")(s)
				if err := s.forge.Grant("shop/"+s.name, "triager", devforge.RoleRead); err != nil {
					s.Fatal(err)
				}
			},
			says: "closed by triager, who has no write access",
		},
	}
	for name, tc := range cases {
		s := w.newShop("reject-" + name)
		if tc.before != nil {
			tc.before(s)
		}
		s.begin().waits(v1alpha1.GatePolicy{PullRequest: new(tc.policy)}).opened()
		tc.act(s)
		s.hint(s.gate)
		if tc.says != "" {
			if status := s.awaitMessage(s.gate, tc.says); status.Decision != v1alpha1.DecisionWaiting || status.Refusal == nil {
				t.Errorf("%s: want it to wait and say why, got %+v", name, status)
			}
			continue
		}
		s.awaitDecision(s.gate, v1alpha1.DecisionRejected)
		evidence := s.readGate(s.gate).Status.Evidence
		if len(evidence) != 1 || evidence[0].Actor != tc.actor || evidence[0].ActorID == 0 {
			t.Errorf("%s: the evidence must name who rejected, got %+v", name, evidence)
		}
	}
	// Reopened, it can be answered.
	s := w.newShop("reopened-in-vain")
	s.begin().waits(v1alpha1.GatePolicy{PullRequest: &named}).opened()
	closes("eve")(s)
	s.hint(s.gate)
	s.awaitMessage(s.gate, "closed by eve")
	s.call("ada", http.MethodPatch, s.pull(), map[string]string{"state": "open"}, nil)
	s.hint(s.gate)
	if status := s.awaitMessage(s.gate, "waits for"); status.Refusal != nil {
		t.Errorf("what was refused is past when it is reopened: got %+v", status)
	}
	reviewedBy("grace")(s)
	s.sync()
	s.hint(s.gate)
	s.awaitDecision(s.gate, v1alpha1.DecisionPassed)
}

// TestAnApproverUpdatesTheBranch: the approver who presses "Update branch" still counts, and so
// does the review from before that.
func TestAnApproverUpdatesTheBranch(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	for name, again := range map[string]bool{"once": false, "again": true} {
		s := w.newShop("update-" + name)
		by("ada")(s)
		s.begin().waits(v1alpha1.GatePolicy{PullRequest: new(fourEyes())}).opened()
		s.review("grace", "APPROVE")
		s.put("ada", "main", "docs.md", "unrelated\n")
		s.call("grace", http.MethodPut, s.pull()+"/update-branch", nil, nil)
		if again {
			s.review("grace", "APPROVE")
		}
		s.merge("grace", "merge")
		s.sync()
		s.hint(s.gate)
		s.awaitDecision(s.gate, v1alpha1.DecisionPassed)
		if evidence := fmt.Sprint(s.readGate(s.gate).Status.Evidence); evidence == "" {
			t.Errorf("%s: want evidence", name)
		}
	}
}
