package approvals_test

import (
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/record"
)

// reviewed returns the policy of a gate that wants one approval.
func reviewed() v1alpha1.PullRequestGate { return v1alpha1.PullRequestGate{MinApprovals: 1} }

func merged(method string) func(*shop) {
	return func(s *shop) { s.merge("grace", method) }
}

func (s *shop) review(login, event string) (id int64) {
	s.Helper()
	var made struct{ ID int64 }
	s.call(login, "POST", s.pull()+"/reviews", map[string]string{"event": event, "body": "see there"}, &made)
	return made.ID
}

// put writes a file to a branch.
func (s *shop) put(login, branch, path, content string) (commit string) {
	s.Helper()
	var known struct{ SHA string }
	s.try(login, "GET", "contents/"+path+"?ref="+branch, nil, &known)
	body := map[string]any{"message": "Write " + path, "content": []byte(content), "branch": branch}
	if known.SHA != "" {
		body["sha"] = known.SHA
	}
	var made struct{ Commit struct{ SHA string } }
	s.call(login, "PUT", "contents/"+path, body, &made)
	return made.Commit.SHA
}

// pushBranch adds commits to the branch of the pull request that leave the record as it is in the
// end.
func (s *shop) pushBranch(login string) {
	s.Helper()
	branch, path := s.readGate(s.gate).Status.PullRequest.Branch, record.Path(s.namespace, s.name)
	var file struct{ Content string }
	s.call(login, "GET", "contents/"+path+"?ref="+branch, nil, &file)
	content, err := base64.StdEncoding.DecodeString(file.Content)
	if err != nil {
		s.Fatal(err)
	}
	s.put(login, branch, path, "changed: true\n")
	s.put(login, branch, path, string(content))
}

// setMain moves the tracked branch, by force.
func (s *shop) setMain(login, commit string) {
	s.Helper()
	s.setBranch(login, "main", commit)
}

func (s *shop) setBranch(login, branch, commit string) {
	s.Helper()
	s.call(login, "PATCH", "git/refs/heads/"+branch, map[string]any{"sha": commit, "force": true}, nil)
}

func (s *shop) head() string {
	s.Helper()
	var got struct{ Head struct{ SHA string } }
	s.call("ada", "GET", s.pull(), nil, &got)
	return got.Head.SHA
}

func (s *shop) team(members ...string) {
	s.Helper()
	if err := s.forge.CreateTeam("shop", s.name, members...); err != nil {
		s.Fatal(err)
	}
}

// approvalCase holds people's actions on a pull request, and the gate's decision.
type approvalCase struct {
	reason string
	policy v1alpha1.PullRequestGate
	// before is done before the release begins.
	before func(*shop)
	act    func(*shop)
	// says is part of the message of a gate that stays shut; empty for one that opens.
	says string
}

// by has the release commit be somebody's.
func by(login string) func(*shop) {
	return func(s *shop) {
		s.put(login, "main", "web.yaml", "image: web:2\n")
		s.commit = s.sync()
	}
}

var approvalCases = map[string]approvalCase{
	"merge":  {reason: "a merge commit is a merge", act: merged("merge")},
	"squash": {reason: "a squashed commit is a merge", act: merged("squash")},
	"rebase": {reason: "rebased commits are a merge", act: merged("rebase")},
	"fast-forward": {
		reason: "who pushes the head to the branch has merged it, as a merge queue does",
		act:    func(s *shop) { s.setMain("grace", s.head()) },
	},
	"merged-then-push-to-main": {
		reason: "what comes later changes nothing of the approval",
		act: func(s *shop) {
			s.merge("grace", "squash")
			s.put("ada", "main", "README", "later\n")
		},
	},
	"merged-then-push-to-branch": {
		reason: "what is pushed to the branch of a merged pull request is not part of it",
		act: func(s *shop) {
			s.merge("grace", "merge")
			s.pushBranch("eve")
		},
	},
	"reopened": {
		reason: "a rejection can be taken back",
		act: func(s *shop) {
			s.call("grace", "PATCH", s.pull(), map[string]string{"state": "closed"}, nil)
			s.hint(s.gate)
			s.awaitDecision(s.gate, v1alpha1.DecisionRejected)
			s.call("grace", "PATCH", s.pull(), map[string]string{"state": "open"}, nil)
			s.hint(s.gate)
			s.awaitDecision(s.gate, v1alpha1.DecisionWaiting)
			s.merge("grace", "squash")
		},
	},
	"approved": {
		reason: "an approval of what was merged counts",
		policy: reviewed(),
		act: func(s *shop) {
			s.review("grace", "APPROVE")
			s.merge("ada", "squash")
		},
	},
	"approved-then-push": {
		reason: "what was merged is not what Sluice wrote, and what was approved",
		policy: reviewed(),
		act: func(s *shop) {
			s.review("grace", "APPROVE")
			s.pushBranch("eve")
			s.merge("ada", "squash")
		},
		says: "its head is not the commit that Sluice wrote",
	},
	"dismissed": {
		reason: "a review that was dismissed does not count",
		policy: reviewed(),
		act: func(s *shop) {
			review := s.review("grace", "APPROVE")
			path := s.pull() + "/reviews/" + strconv.FormatInt(review, 10) + "/dismissals"
			s.call("ada", "PUT", path, map[string]string{"message": "no"}, nil)
			s.merge("ada", "merge")
		},
		says: "grace had the review dismissed",
	},
	"changes-requested": {
		reason: "who asks for changes takes the approval back",
		policy: reviewed(),
		act: func(s *shop) {
			s.review("grace", "APPROVE")
			s.review("grace", "REQUEST_CHANGES")
			s.merge("ada", "merge")
		},
		says: "grace asked for changes",
	},
	"approver-is-author": {
		reason: "who made the release does not approve it",
		policy: v1alpha1.PullRequestGate{MinApprovals: 1, ForbidSelfApproval: true},
		before: by("ada"),
		act: func(s *shop) {
			s.review("ada", "APPROVE")
			s.merge("grace", "merge")
		},
		says: "ada wrote the release",
	},
	"merger-is-author": {
		reason: "where the merge is the approval, who made the release does not merge it",
		policy: v1alpha1.PullRequestGate{ForbidSelfApproval: true},
		before: by("ada"),
		act:    func(s *shop) { s.merge("ada", "rebase") },
		says:   "by ada, who wrote the release: another person must approve",
	},
	"merger-is-another": {
		reason: "anybody else may",
		policy: v1alpha1.PullRequestGate{ForbidSelfApproval: true},
		before: by("ada"),
		act:    merged("merge"),
	},
	"removed-from-team": {
		reason: "who is not in the team any more does not approve",
		policy: v1alpha1.PullRequestGate{MinApprovals: 1, Teams: []string{"removed-from-team"}},
		before: func(s *shop) { s.team("grace", "eve") },
		act: func(s *shop) {
			s.review("grace", "APPROVE")
			s.team("eve")
			s.merge("ada", "merge")
		},
		says: "grace is not one of the approvers",
	},
	"in-team": {
		reason: "who is in the team does",
		policy: v1alpha1.PullRequestGate{MinApprovals: 1, Teams: []string{"in-team"}},
		before: func(s *shop) { s.team("grace", "eve") },
		act: func(s *shop) {
			s.review("grace", "APPROVE")
			s.merge("ada", "merge")
		},
	},
	"merged-by-us": {
		reason: "we approve nothing",
		act:    func(s *shop) { s.merge("sluice", "merge") },
		says:   "Sluice's own account",
	},
	"force-push": {
		reason: "a merge that was rewritten away is none",
		act: func(s *shop) {
			s.merge("grace", "merge")
			s.setMain("ada", s.commit)
		},
		says: "does not show its record on branch main",
	},
	"force-push-with-record": {
		reason: "the record alone, without the merge, is none",
		act: func(s *shop) {
			s.merge("grace", "merge")
			path := record.Path(s.namespace, s.name)
			content := string(record.Format(record.Of(s.gate)))
			s.setMain("ada", s.commit)
			s.put("eve", "main", path, content)
		},
		says: "the merge is not on branch main",
	},
	"other-file": {
		reason: "an approval touches nothing but the record",
		act: func(s *shop) {
			s.put("eve", s.readGate(s.gate).Status.PullRequest.Branch, "web.yaml", "image: evil\n")
			s.merge("grace", "merge")
		},
		says: "it touches 2 files",
	},
	"other-record": {
		reason: "a record that was changed is another",
		act: func(s *shop) {
			branch, path := s.readGate(s.gate).Status.PullRequest.Branch, record.Path(s.namespace, s.name)
			other := record.Of(s.gate)
			other.Nonce = "of-another-gate"
			s.put("eve", branch, path, string(record.Format(other)))
			s.merge("grace", "merge")
		},
		says: "its head is not the commit that Sluice wrote",
	},
	"pushed-past-the-pull-request": {
		reason: "who pushes the record to the branch has approved nothing",
		act: func(s *shop) {
			s.put("eve", "main", record.Path(s.namespace, s.name), string(record.Format(record.Of(s.gate))))
		},
		says: "waits for pull request #1 to be merged",
	},
	"closed": {
		reason: "who closes it rejects",
		act: func(s *shop) {
			s.call("grace", "PATCH", s.pull(), map[string]string{"state": "closed"}, nil)
		},
		says: "without being merged",
	},
}

// TestApprovalsByWhatPeopleDo: F20, what people do with the pull request of an approval opens its
// gate if the policy says so, and only then.
func TestApprovalsByWhatPeopleDo(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	var shops []*shop
	for _, name := range slices.Sorted(maps.Keys(approvalCases)) {
		s := w.newShop(name)
		if before := approvalCases[name].before; before != nil {
			before(s)
		}
		shops = append(shops, s.begin())
	}
	for _, s := range shops {
		s.waits(v1alpha1.GatePolicy{PullRequest: new(approvalCases[s.name].policy)})
	}
	for _, s := range shops {
		s.opened()
		approvalCases[s.name].act(s)
		s.sync()
		s.hint(s.gate)
	}
	seen := outcomes(shops, func(s *shop) (says, reason string) {
		return approvalCases[s.name].says, approvalCases[s.name].reason
	})
	t.Logf("F20: kinds of approval: %s", seen)
}

// tally counts the gates that are open in the end and those that are shut, and of each those that
// should not be.
type tally struct{ open, shut, falseOpens, falseHolds int }

func (t tally) String() string {
	return fmt.Sprintf("%d opened, %d stayed shut; %d false opens, %d false holds", t.open, t.shut, t.falseOpens, t.falseHolds)
}

// outcomes waits until each gate is open, or says why it is not, and counts how they are by then.
func outcomes(shops []*shop, wanted func(*shop) (says, reason string)) tally {
	for _, s := range shops {
		if says, _ := wanted(s); says == "" {
			s.awaitDecision(s.gate, v1alpha1.DecisionPassed)
		} else {
			s.awaitMessage(s.gate, says)
		}
	}
	// By now each has been looked at that many times that none opens late.
	var seen tally
	for _, s := range shops {
		says, reason := wanted(s)
		switch open := s.decision() == v1alpha1.DecisionPassed; {
		case open && says != "":
			seen.falseOpens++
			s.Errorf("%s: want the gate shut: %s", s.name, reason)
			fallthrough
		case open:
			seen.open++
		case says == "":
			seen.falseHolds++
			s.Errorf("%s: want the gate open: %s", s.name, reason)
			fallthrough
		default:
			seen.shut++
		}
	}
	return seen
}

// TestForgeThatDeletesBranches: where the forge removes the branch of what is merged, no request is
// sent for that.
func TestForgeThatDeletesBranches(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	s := w.newShop("tidy", func(s *shop) {
		if err := w.forge.DeleteBranchesOnMerge("shop/" + s.name); err != nil {
			t.Fatal(err)
		}
	})
	releaseAll(s)
	for _, r := range s.requests() {
		if r.Method == http.MethodDelete {
			t.Errorf("want nothing deleted, got %s %s", r.Method, r.Path)
		}
	}
	branch := s.readGate(s.gate).Status.PullRequest.Branch
	if got := s.try("ada", http.MethodGet, "git/ref/heads/"+branch, nil, nil); got != http.StatusNotFound {
		t.Errorf("want branch %s gone, got status %d", branch, got)
	}
}
