package devforge_test

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

func TestPullRequestFollowsItsBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	pull := w.open(clone, "topic")
	if !pull.GetMergeable() || pull.GetCommits() != 1 || pull.GetChangedFiles() != 1 || pull.GetUser().GetLogin() != "ada" {
		t.Errorf("a new pull request tells what it holds: got %v", pull)
	}

	second := w.push(clone, "topic", "more.txt", "more\n")
	pull = w.pull(pull.GetNumber())
	if pull.GetHead().GetSHA() != second || pull.GetCommits() != 2 {
		t.Errorf("the head follows a push: got %s with %d commits, want %s with 2", pull.GetHead().GetSHA(), pull.GetCommits(), second)
	}
	files, _, err := w.bob.PullRequests.ListFiles(w.ctx(), owner, web, 1, nil)
	must(t, err)
	if diff := cmp.Diff([]string{"more.txt added 1", "topic.txt added 1"}, describe(files)); diff != "" {
		t.Errorf("the files are those of the branch (-want +got):\n%s", diff)
	}
	commits, _, err := w.bob.PullRequests.ListCommits(w.ctx(), owner, web, 1, nil)
	must(t, err)
	if len(commits) != 2 || commits[1].GetSHA() != second || commits[1].GetAuthor().GetLogin() != "ada" {
		t.Errorf("the commits come oldest first, with the account of their author: got %v", commits)
	}

	git(t, clone, "push", "--quiet", "origin", "--delete", "topic")
	pull = w.pull(pull.GetNumber())
	if pull.GetState() != "closed" || pull.GetMerged() {
		t.Errorf("a pull request whose branch is deleted is closed unmerged: got %s, merged %t", pull.GetState(), pull.GetMerged())
	}
}

func describe(files []*github.CommitFile) []string {
	var lines []string
	for _, f := range files {
		lines = append(lines, fmt.Sprintf("%s %s %d", f.GetFilename(), f.GetStatus(), f.GetAdditions()))
	}
	return lines
}

func TestMergeMethods(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason  string
		parents int
		subject string
		author  string
	}{
		"merge":  {"a merge commit joins both histories", 2, "Merge pull request #1 from shop/topic", "bob"},
		"squash": {"a squash puts all on top of the base as one", 1, "Add topic (#1)", "ada"},
		"rebase": {"a rebase replays each commit", 1, "write two.txt", "ada"},
	}
	for method, tc := range tests {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, devforge.Options{})
			clone := w.cloneAs(w.tokens["ada"])
			pull := w.open(clone, "topic")
			w.push(clone, "topic", "two.txt", "two\n")
			git(t, clone, "checkout", "--quiet", "main")
			before := w.push(clone, "main", "aside.txt", "aside\n")

			result, _, err := w.bob.PullRequests.Merge(w.ctx(), owner, web, 1, "", &github.PullRequestOptions{MergeMethod: method})
			must(t, err)
			merged := w.pull(pull.GetNumber())
			if !merged.GetMerged() || merged.GetMergedBy().GetLogin() != "bob" || merged.GetMergeCommitSHA() != result.GetSHA() {
				t.Errorf("%s: got %v", tc.reason, merged)
			}
			if got := w.tip("main"); got != result.GetSHA() {
				t.Errorf("%s: the base is at %s, want %s", tc.reason, got, result.GetSHA())
			}
			git(t, clone, "fetch", "--quiet", "origin")
			git(t, clone, "merge-base", "--is-ancestor", before, "origin/main")
			got := git(t, clone, "log", "-1", "--format=%s|%an", "origin/main")
			if want := tc.subject + "|" + tc.author; got != want {
				t.Errorf("%s: got commit %q, want %q", tc.reason, got, want)
			}
			if got := git(t, clone, "rev-list", "--parents", "-1", "origin/main"); len(got) != 40+41*tc.parents {
				t.Errorf("%s: want %d parents: %s", tc.reason, tc.parents, got)
			}
			git(t, clone, "diff", "--exit-code", "origin/topic", "origin/main", "--", "topic.txt", "two.txt")
			_, _, err = w.bob.PullRequests.IsMerged(w.ctx(), owner, web, 1)
			must(t, err)
		})
	}
}

func TestMergeIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	base := git(t, clone, "rev-parse", "HEAD")
	w.open(clone, "topic")

	_, _, err := w.bob.PullRequests.Merge(w.ctx(), owner, web, 1, "", &github.PullRequestOptions{SHA: base})
	wantStatus(t, "a merge of another head than the one seen", err, 409)
	_, _, err = w.eve.PullRequests.Merge(w.ctx(), owner, web, 1, "", nil)
	wantStatus(t, "a merge by somebody who may not see the repository", err, 404)

	git(t, clone, "checkout", "--quiet", "main")
	w.push(clone, "main", "topic.txt", "something else\n")
	if pull := w.pull(1); pull.GetMergeable() || pull.GetMergeableState() != "dirty" {
		t.Errorf("a pull request with conflicts says so: got %t, %s", pull.GetMergeable(), pull.GetMergeableState())
	}
	_, _, err = w.bob.PullRequests.Merge(w.ctx(), owner, web, 1, "", nil)
	wantStatus(t, "a merge with conflicts", err, 405)

	_, _, err = w.bob.PullRequests.Edit(w.ctx(), owner, web, 1, &github.PullRequest{State: new("closed")})
	must(t, err)
	_, _, err = w.bob.PullRequests.Merge(w.ctx(), owner, web, 1, "", nil)
	wantStatus(t, "a merge of what is closed", err, 405)
	if merged, _, err := w.bob.PullRequests.IsMerged(w.ctx(), owner, web, 1); merged || err != nil {
		t.Errorf("what is closed is not merged: %t, %v", merged, err)
	}
}

func TestABaseThatIsRewrittenFromItsRoot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	w.open(clone, "topic")
	git(t, clone, "checkout", "--quiet", "--orphan", "other")
	git(t, clone, "commit", "--quiet", "--message=another root")
	git(t, clone, "push", "--quiet", "--force", "origin", "other:main")

	if pull := w.pull(1); pull.GetState() != "open" || pull.GetMergeable() {
		t.Errorf("what has nothing in common can't be merged: got %s, %t", pull.GetState(), pull.GetMergeable())
	}
}

func TestAPushOfTheHeadIntoTheBaseMerges(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"--ff-only", "--no-ff"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, devforge.Options{})
			clone := w.cloneAs(w.tokens["ada"])
			w.open(clone, "topic")

			other := w.cloneAs(w.tokens["bob"])
			git(t, other, "merge", "--quiet", how, "-m", "by hand", "origin/topic")
			merge := git(t, other, "rev-parse", "HEAD")
			git(t, other, "commit", "--quiet", "--allow-empty", "--message=later")
			git(t, other, "push", "--quiet", "origin", "main")

			pull := w.pull(1)
			if !pull.GetMerged() || pull.GetMergedBy().GetLogin() != "bob" || pull.GetMergeCommitSHA() != merge {
				t.Errorf("the commit that brought the head in is the merge, and who pushed it merged: got %t by %s at %s, want %s",
					pull.GetMerged(), pull.GetMergedBy().GetLogin(), pull.GetMergeCommitSHA(), merge)
			}
			pulls, _, err := w.bob.PullRequests.ListPullRequestsWithCommit(w.ctx(), owner, web, pull.GetHead().GetSHA(), nil)
			must(t, err)
			if len(pulls) != 1 || pulls[0].GetNumber() != 1 {
				t.Errorf("a commit of the head leads to the pull request: got %v", pulls)
			}
		})
	}
}

func TestCloseAndReopen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	w.open(clone, "topic")
	edit := func(change *github.PullRequest) error {
		_, _, err := w.ada.PullRequests.Edit(w.ctx(), owner, web, 1, change)
		return err
	}
	must(t, edit(&github.PullRequest{State: new("closed"), Title: new("Other"), Body: new("because")}))
	moved := w.push(clone, "topic", "late.txt", "late\n")
	if got := w.pull(1); got.GetHead().GetSHA() == moved || got.GetTitle() != "Other" || got.GetBody() != "because" {
		t.Errorf("what is closed does not follow its branch: got %v", got)
	}
	second := w.openPull("topic")
	wantStatus(t, "reopening beside another one for the same branches", edit(&github.PullRequest{State: new("open")}), 422)
	_, _, err := w.ada.PullRequests.Edit(w.ctx(), owner, web, second.GetNumber(), &github.PullRequest{State: new("closed")})
	must(t, err)
	must(t, edit(&github.PullRequest{State: new("open")}))
	if got := w.pull(1); got.GetState() != "open" || got.GetHead().GetSHA() != moved {
		t.Errorf("what is reopened is where its branch is: got %s at %s, want %s", got.GetState(), got.GetHead().GetSHA(), moved)
	}
}

func TestPullRequestsThatCanNotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	w.open(w.cloneAs(w.tokens["ada"]), "topic")
	tests := map[string]struct{ reason, head, base, title string }{
		"Twice":    {"one for the same branches is open", "shop:topic", "main", "x"},
		"NoBranch": {"there is no such head", "none", "main", "x"},
		"NoBase":   {"there is no such base", "topic", "none", "x"},
		"Empty":    {"there is nothing to merge", "main", "topic", "x"},
		"Untitled": {"it has no title", "topic", "main", ""},
		"Fork":     {"there are no forks", "eve:topic", "main", "x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := w.ada.PullRequests.Create(w.ctx(), owner, web, &github.NewPullRequest{
				Title: &tc.title, Head: &tc.head, Base: &tc.base,
			})
			wantStatus(t, tc.reason, err, 422)
		})
	}
}

func TestOnePullRequestForTwoBranches(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	w.push(w.cloneAs(w.tokens["ada"]), "topic", "topic.txt", "topic\n")
	var wg sync.WaitGroup
	var made atomic.Int32
	for range 8 {
		wg.Go(func() {
			_, _, err := w.ada.PullRequests.Create(w.ctx(), owner, web, &github.NewPullRequest{
				Title: new("Topic"), Head: new("topic"), Base: new("main"),
			})
			switch statusOf(err) {
			case http.StatusOK:
				made.Add(1)
			case http.StatusUnprocessableEntity:
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := made.Load(); got != 1 {
		t.Errorf("of requests at once exactly one makes it: got %d", got)
	}
}

func TestListsOfPullRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	clone := w.cloneAs(w.tokens["ada"])
	for _, branch := range []string{"a", "b", "c"} {
		w.open(clone, branch)
	}
	_, _, err := w.bob.PullRequests.Merge(w.ctx(), owner, web, 2, "", nil)
	must(t, err)
	tests := map[string]struct {
		reason string
		opts   github.PullRequestListOptions
		want   []int
	}{
		"Open":   {"open ones come newest first", github.PullRequestListOptions{}, []int{3, 1}},
		"Closed": {"a merged one is closed", github.PullRequestListOptions{State: "closed"}, []int{2}},
		"All":    {"oldest first if asked for", github.PullRequestListOptions{State: "all", Direction: "asc"}, []int{1, 2, 3}},
		"Head":   {"one branch", github.PullRequestListOptions{State: "all", Head: "shop:b"}, []int{2}},
		"Other":  {"another owner's branch", github.PullRequestListOptions{State: "all", Head: "eve:b"}, nil},
		"Base":   {"another base", github.PullRequestListOptions{State: "all", Base: "next"}, nil},
		"Page": {"the second page", github.PullRequestListOptions{
			State: "all", Direction: "asc", ListOptions: github.ListOptions{PerPage: 2, Page: 2},
		}, []int{3}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pulls, _, err := w.bob.PullRequests.List(w.ctx(), owner, web, &tc.opts)
			must(t, err)
			var got []int
			for _, p := range pulls {
				got = append(got, p.GetNumber())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	_, resp, err := w.bob.PullRequests.List(w.ctx(), owner, web, &github.PullRequestListOptions{
		State: "all", ListOptions: github.ListOptions{PerPage: 1},
	})
	must(t, err)
	if resp.NextPage != 2 || resp.LastPage != 3 {
		t.Errorf("the Link header leads on: got next %d, last %d", resp.NextPage, resp.LastPage)
	}
}

func TestReviews(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	w.open(w.cloneAs(w.tokens["ada"]), "topic")
	review := func(client *github.Client, event string) (*github.PullRequestReview, error) {
		v, _, err := client.PullRequests.CreateReview(w.ctx(), owner, web, 1, &github.PullRequestReviewRequest{
			Event: &event, Body: new("words"),
		})
		return v, err
	}
	_, _, err := w.ada.PullRequests.RequestReviewers(w.ctx(), owner, web, 1, github.ReviewersRequest{Reviewers: []string{"bob"}})
	must(t, err)
	approval, err := review(w.bob, "APPROVE")
	must(t, err)
	if approval.GetState() != "APPROVED" || approval.GetCommitID() != w.pull(1).GetHead().GetSHA() {
		t.Errorf("an approval is of the head: got %v", approval)
	}
	_, err = review(w.ada, "APPROVE")
	wantStatus(t, "approving one's own", err, 422)
	_, err = review(w.ada, "COMMENT")
	must(t, err)
	_, err = review(w.bob, "MAYBE")
	wantStatus(t, "an event that is none", err, 422)
	_, err = review(w.eve, "APPROVE")
	wantStatus(t, "reviewing what one can't see", err, 404)

	_, _, err = w.bob.PullRequests.DismissReview(w.ctx(), owner, web, 1, approval.GetID(),
		&github.PullRequestReviewDismissalRequest{Message: new("stale")})
	must(t, err)
	reviews, _, err := w.bob.PullRequests.ListReviews(w.ctx(), owner, web, 1, nil)
	must(t, err)
	var states []string
	for _, v := range reviews {
		states = append(states, v.GetUser().GetLogin()+" "+v.GetState())
	}
	if diff := cmp.Diff([]string{"bob DISMISSED", "ada COMMENTED"}, states); diff != "" {
		t.Errorf("reviews come in their order, as they are now (-want +got):\n%s", diff)
	}
	left, _, err := w.bob.PullRequests.ListReviewers(w.ctx(), owner, web, 1, nil)
	must(t, err)
	if len(left.Users) != 0 {
		t.Errorf("who has reviewed is asked no more: got %v", left.Users)
	}
	_, _, err = w.bob.Issues.CreateComment(w.ctx(), owner, web, 1, &github.IssueComment{Body: new("remark")})
	must(t, err)
	comments, _, err := w.bob.Issues.ListComments(w.ctx(), owner, web, 1, nil)
	must(t, err)
	if len(comments) != 1 || comments[0].GetBody() != "remark" {
		t.Errorf("a comment is listed: got %v", comments)
	}
	if _, _, err := w.bob.PullRequests.Get(w.ctx(), owner, web, 9); !errors.As(err, new(*github.ErrorResponse)) {
		t.Errorf("there is no ninth: %v", err)
	}
}
