package gate

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// somebody returns one of a few accounts, the empty one among them.
func somebody(t *rapid.T, label string) forge.Account {
	return rapid.SampledFrom([]forge.Account{sluice, webflow, ada, bob, carol, dave, {}, {Login: "carol"}}).Draw(t, label)
}

func someSHA(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"", releaseCommit, headCommit, mergeCommit, tipCommit}).Draw(t, label)
}

func sometimes(t *rapid.T, label string) bool { return rapid.IntRange(0, 3).Draw(t, label) == 0 }

// someReviews draws what people said, in the order of their ids or not.
func someReviews(t *rapid.T) []forge.Review {
	ids := rapid.SliceOfNDistinct(rapid.Int64Range(1, 300), 0, 6, rapid.ID).Draw(t, "reviews")
	var reviews []forge.Review
	for _, id := range ids {
		review := says(id, somebody(t, "reviewer"), rapid.SampledFrom([]forge.ReviewState{
			forge.ReviewApproved, forge.ReviewApproved, forge.ReviewApproved,
			forge.ReviewChangesRequested, forge.ReviewDismissed, forge.ReviewCommented, forge.ReviewPending, "NEW",
		}).Draw(t, "says"))
		if sometimes(t, "stale") {
			review.CommitID = someSHA(t, "review of")
		}
		reviews = append(reviews, review)
	}
	return reviews
}

// someOrigin draws a way in which a release comes.
func someOrigin(t *rapid.T) brought {
	b := brought{
		author: somebody(t, "wrote"), committer: somebody(t, "committed"), coAuthor: somebody(t, "helped"),
		signed: rapid.Bool().Draw(t, "signed"), merged: rapid.Bool().Draw(t, "in"),
	}
	if rapid.Bool().Draw(t, "by a proposal") {
		b.proposal, b.hidden = somebody(t, "proposed"), sometimes(t, "hidden")
	}
	if !b.merged && rapid.Bool().Draw(t, "by a push") {
		b.pusher = somebody(t, "pushed")
	}
	return b
}

// perturb changes some of what a good approval rests on; nothing where drawn so.
func perturb(t *rapid.T, s *approving) {
	a := s.forge.Approval
	changes := map[string]func(){
		"author":  func() { s.pull.Author = somebody(t, "author") },
		"base":    func() { s.pull.Base.Ref = rapid.SampledFrom([]string{"", "main", "dev"}).Draw(t, "base") },
		"blob":    func() { a.Files[0].BlobSHA = rapid.SampledFrom([]string{"", recordBlob, "other"}).Draw(t, "blob") },
		"branch":  func() { s.source.Spec.Ref.Branch = rapid.SampledFrom([]string{"", "main", "dev"}).Draw(t, "branch") },
		"commits": func() { a.Commits = []forge.Commit{{Author: somebody(t, "by"), Committer: somebody(t, "through")}} },
		"forbid":  func() { s.policy.ForbidSelfApproval = rapid.Bool().Draw(t, "forbid") },
		"head":    func() { s.pull.Head.SHA = someSHA(t, "head") },
		"made":    func() { s.pull.MergeCommit = someSHA(t, "made") },
		"members": func() { a.Teams = []forge.Team{{Members: []forge.Account{somebody(t, "member")}}} },
		"merger":  func() { s.pull.MergedBy = somebody(t, "merger") },
		"minimum": func() { s.policy.MinApprovals = rapid.Int32Range(0, 3).Draw(t, "minimum") },
		"nonce": func() {
			s.source.Status.Approvals[0].Nonce = rapid.SampledFrom([]string{"", "0", s.gate.Spec.Nonce}).Draw(t, "nonce")
		},
		"origin": func() { s.broughtBy(someOrigin(t)) },
		"write": func() {
			a.Permissions = []forge.Permission{{Account: carol, Write: rapid.Bool().Draw(t, "carol")}, {Account: dave, Write: rapid.Bool().Draw(t, "dave")}}
		},
		"result":     func() { a.Result.Commit.SHA = someSHA(t, "result") },
		"people":     func() { s.policy.Approvers, s.policy.Teams = nil, nil },
		"repository": func() { s.pull.Base.RepositoryID = rapid.SampledFrom([]int64{0, 7, 8}).Draw(t, "repository") },
		"reviews":    func() { a.Reviews = someReviews(t) },
		"tracked":    func() { a.OnTracked = rapid.Bool().Draw(t, "tracked") },
		"files": func() {
			a.Files = slices.Repeat([]forge.ChangedFile{a.Files[0]}, rapid.IntRange(1, 2).Draw(t, "files"))
			a.Files[0].Status = rapid.SampledFrom([]forge.FileStatus{"", forge.FileAdded, forge.FileModified, forge.FileRemoved}).Draw(t, "does")
		},
	}
	var names []string
	for name := range changes {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(t, "changed") {
		changes[name]()
	}
}

// mayPass says in the plainest words whether a merge passes the gate.
func mayPass(s *approving) bool {
	a, pull, policy := s.forge.Approval, s.pull, s.policy
	branch := s.source.Spec.Ref.Branch
	if branch == "" {
		branch = "main"
	}
	onBranch := s.source.Status.Approvals[0]
	good := pull.Base.Ref == branch && pull.Base.RepositoryID == 7 &&
		pull.Author.ID == sluice.ID && pull.MergedBy.ID != 0 && pull.MergedBy.ID != sluice.ID &&
		len(a.Files) == 1 && (a.Files[0].Status == forge.FileAdded || a.Files[0].Status == forge.FileModified) &&
		onBranch.Nonce == s.gate.Spec.Nonce && onBranch.Blob == a.Files[0].BlobSHA &&
		a.OnTracked && pull.MergeCommit != "" && pull.MergeCommit != releaseCommit
	good = good && a.Result.Commit.SHA == pull.MergeCommit && (pull.MergeCommit == mergeCommit)
	behind, known := whoBrought(a.Release, a.Pushes[1:])
	if policy.ForbidSelfApproval && (!known || len(a.Commits) == 0) {
		return false
	}
	made := func(id int64) bool {
		return slices.ContainsFunc(a.Commits, func(c forge.Commit) bool { return c.Author.ID == id || c.Committer.ID == id })
	}
	may := func(id int64) bool {
		listed := len(policy.Approvers)+len(policy.Teams) == 0
		for _, who := range append(slices.Clone(a.Approvers), a.Teams[0].Members...) {
			listed = listed || who.ID == id
		}
		writes := slices.ContainsFunc(a.Permissions, func(p forge.Permission) bool { return p.Account.ID == id && p.Write })
		return id != 0 && listed && writes && !(policy.ForbidSelfApproval && (slices.Contains(behind, id) || made(id)))
	}
	if policy.MinApprovals == 0 {
		return good && may(pull.MergedBy.ID)
	}
	approved := int32(0)
	for id := int64(2); id < 100; id++ {
		var last forge.Review
		for _, review := range a.Reviews {
			if review.Reviewer.ID == id && review.State != forge.ReviewCommented && review.State != forge.ReviewPending && review.ID > last.ID {
				last = review
			}
		}
		pushed := made(id)
		if last.State == forge.ReviewApproved && pull.Head.SHA != "" && last.CommitID == pull.Head.SHA && id != pull.Author.ID && !pushed && may(id) {
			approved++
		}
	}
	return good && len(a.Commits) > 0 && approved >= policy.MinApprovals
}

// whoBrought says in the plainest words who is behind a release of one commit, and whether that is
// known: by a push, by a pull request that the forge merged, or by a signature.
func whoBrought(release forge.ReleaseOrigin, pushes []forge.Push) (behind []int64, known bool) {
	commit := release.Commits[0]
	behind = []int64{commit.Author.ID, release.Addresses["co@example.com"].ID}
	proposed := len(release.Proposals) > 0 && release.Proposals[0].PullRequest.Author.ID != 0
	if proposed {
		behind = append(behind, release.Proposals[0].PullRequest.Author.ID)
	}
	merged := len(pushes) > 0 && pushes[0].Kind == forge.PushMerge && proposed
	if !merged {
		behind = append(behind, commit.Committer.ID)
	}
	known = merged || commit.Verified && commit.Committer.ID != 0 && (commit.Committer.ID != webflow.ID || proposed)
	if len(pushes) > 0 && pushes[0].Kind == forge.PushPlain {
		behind, known = append(behind, pushes[0].Actor.ID), known || pushes[0].Actor.ID != 0
	}
	return behind, known && !(proposed && !release.Proposals[0].PushersTold)
}

// TestAGatePassesIfAndOnlyIfEveryRuleHolds compares with the rules in plain words, on facts that
// are mostly good.
func TestAGatePassesIfAndOnlyIfEveryRuleHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scene := rapid.SampledFrom([]func() approving{mergeAlone, reviewed}).Draw(t, "scene")()
		perturb(t, &scene)
		got := scene.evaluate().Status
		want := v1alpha1.DecisionWaiting
		if mayPass(&scene) {
			want = v1alpha1.DecisionPassed
		}
		if got.Decision != want {
			t.Fatalf("want %s, got %s: %s", want, got.Decision, got.Message)
		}
	})
}

// TestOneBrokenRuleIsEnough: one broken rule keeps the gate shut, in spite of all other facts.
func TestOneBrokenRuleIsEnough(t *testing.T) {
	t.Parallel()
	rules := brokenRules()
	var names []string
	for name := range rules {
		names = append(names, name)
	}
	slices.Sort(names)
	rapid.Check(t, func(t *rapid.T) {
		broken := rules[rapid.SampledFrom(names).Draw(t, "broken")]
		scene := broken.scene()
		for range rapid.IntRange(0, 3).Draw(t, "others") { // of those who may not approve, whatever they say
			scene.also(says(rapid.Int64Range(1, 400).Draw(t, "id"), mallory, forge.ReviewApproved))
		}
		if rapid.Bool().Draw(t, "another record") {
			scene.source.Status.Approvals = append(scene.source.Status.Approvals, v1alpha1.ApprovalRecord{Namespace: "shop", Release: "api"})
		}
		broken.change(scene)
		if got := scene.evaluate().Status; got.Decision == v1alpha1.DecisionPassed {
			t.Fatalf("it must not pass: %s", got.Message)
		}
	})
}

// TestAnyFactsAreJudged: any facts of a forge, however incomplete, are judged without a panic and
// with the same result again, and a passed gate stays so.
func TestAnyFactsAreJudged(t *testing.T) {
	t.Parallel()
	policies := []v1alpha1.GatePolicy{
		pullPolicy(v1alpha1.PullRequestGate{}), pullPolicy(v1alpha1.PullRequestGate{MinApprovals: 1, ForbidSelfApproval: true}),
		statusPolicy("ci/smoke", "ci[bot]"), checkPolicy(),
	}
	rapid.Check(t, func(t *rapid.T) {
		scene := merged(v1alpha1.PullRequestGate{})
		status := scene.gate.Status
		scene.gate = newGate(rapid.SampledFrom(policies).Draw(t, "policy"))
		if rapid.Bool().Draw(t, "opened") {
			scene.gate.Status = status
		}
		scene.gate.Status.Decision = rapid.SampledFrom([]v1alpha1.Decision{
			"", v1alpha1.DecisionWaiting, v1alpha1.DecisionPassed, v1alpha1.DecisionRejected,
		}).Draw(t, "decision")
		scene.gate.Spec.Commit = someSHA(t, "commit")
		scene.forge = someFacts(t)
		if sometimes(t, "no forge") {
			scene.source.Spec.Forge = nil
		}
		if sometimes(t, "no source") {
			scene.source = nil
		}
		before := scene.gate.DeepCopy()
		got := scene.evaluate()
		if diff := cmp.Diff(before, scene.gate); diff != "" {
			t.Fatalf("the gate must be left as it is: -before +after:\n%s", diff)
		}
		if before.Status.Decision == v1alpha1.DecisionPassed && !cmp.Equal(before.Status, got.Status) {
			t.Fatal("what has passed must stay so")
		}
		scene.gate.Status = got.Status
		later := Evaluate(scene.gate, scene.facts(), made.Add(2*time.Hour))
		if diff := cmp.Diff(got, later); diff != "" {
			t.Fatalf("a later look at the same must say the same: -first +later:\n%s", diff)
		}
	})
}

// someFacts draws anything, or nothing.
func someFacts(t *rapid.T) *ForgeFacts {
	if sometimes(t, "not asked") {
		return nil
	}
	facts := &ForgeFacts{Self: somebody(t, "self"), OwnPrefix: rapid.SampledFrom([]string{"", "sluice/"}).Draw(t, "prefix")}
	if rapid.Bool().Draw(t, "creators") {
		facts.Creators = []forge.Account{somebody(t, "creator")}
	}
	for range rapid.IntRange(0, 3).Draw(t, "of each") {
		facts.Statuses = append(facts.Statuses, forge.Status{
			ID: rapid.Int64Range(0, 3).Draw(t, "id"), SHA: someSHA(t, "on"), Creator: somebody(t, "by"),
			Context: rapid.SampledFrom([]string{"", "ci/smoke", "CI/smoke", "sluice/x"}).Draw(t, "context"),
			State:   rapid.SampledFrom([]forge.State{"", forge.StateSuccess, forge.StateFailure}).Draw(t, "state"),
		})
		facts.CheckRuns = append(facts.CheckRuns, forge.CheckRun{
			ID: rapid.Int64Range(0, 3).Draw(t, "id"), HeadSHA: someSHA(t, "on"), Name: rapid.SampledFrom([]string{"", "e2e"}).Draw(t, "name"),
			App: forge.App{ID: rapid.Int64Range(0, 1).Draw(t, "app"), Slug: "github-actions"}, Status: forge.CheckCompleted,
			Branch:     rapid.SampledFrom([]string{"", "main"}).Draw(t, "branch"),
			Conclusion: rapid.SampledFrom([]forge.Conclusion{"", forge.ConclusionSuccess}).Draw(t, "conclusion"),
		})
	}
	if rapid.Bool().Draw(t, "has approval") {
		facts.Approval = someApproval(t)
	}
	return facts
}

func someApproval(t *rapid.T) *forge.Approval {
	approval := &forge.Approval{
		Repository: forge.Repository{ID: rapid.Int64Range(0, 1).Draw(t, "repository")},
		OnTracked:  rapid.Bool().Draw(t, "tracked"),
		Reviews:    someReviews(t),
		PullRequest: forge.PullRequest{
			Number: rapid.SampledFrom([]int{0, 12, 13}).Draw(t, "number"), Merged: rapid.Bool().Draw(t, "merged"),
			State:  rapid.SampledFrom([]forge.PullState{"", forge.PullOpen, forge.PullClosed}).Draw(t, "state"),
			Author: somebody(t, "author"), MergedBy: somebody(t, "merger"), MergeCommit: someSHA(t, "made"),
			Base: forge.Branch{Ref: "main", RepositoryID: rapid.Int64Range(0, 1).Draw(t, "base")}, Head: forge.Branch{SHA: someSHA(t, "head")},
		},
		Permissions: []forge.Permission{{Account: somebody(t, "writer"), Write: rapid.Bool().Draw(t, "writes")}},
	}
	for range rapid.IntRange(0, 2).Draw(t, "files") {
		approval.Files = append(approval.Files, forge.ChangedFile{
			Path:    rapid.SampledFrom([]string{"", recordPath}).Draw(t, "path"),
			Status:  rapid.SampledFrom([]forge.FileStatus{"", forge.FileAdded, forge.FileRenamed}).Draw(t, "does"),
			BlobSHA: rapid.SampledFrom([]string{"", recordBlob}).Draw(t, "blob"),
		})
	}
	return approval
}
