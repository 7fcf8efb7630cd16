package github_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	gogithub "github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
)

// full asks all there is to know.
func (w *world) full(pull forge.PullRequest, stable, release string) forge.ApprovalQuery {
	return forge.ApprovalQuery{
		Number: pull.Number, Tip: w.tip("main"), Branch: "main", Reviews: true, Commits: true, StableCommit: stable, ReleaseCommit: release,
		Approvers: []string{"ada", "nobody"}, Teams: []string{"approvers"},
	}
}

func (w *world) read(q forge.ApprovalQuery) forge.Approval {
	w.t.Helper()
	approval, err := w.client.ReadApproval(w.t.Context(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	return approval
}

func (w *world) team(members ...string) {
	w.t.Helper()
	if err := w.forge.CreateTeam("shop", "approvers", members...); err != nil {
		w.t.Fatal(err)
	}
}

func TestReadApprovalBeforeTheMerge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pull := w.open(request("waiting"))
	query := w.full(pull, w.tip("main"), w.tip("main"))
	if got := w.read(query); got.PullRequest.Merged || got.PullRequest.MergeCommit != "" || got.Files != nil || got.OnTracked {
		t.Errorf("before the merge nothing may speak for the approval: got %+v", got)
	}
	asked := w.asked(func(context.Context) { w.read(query) })
	if diff := cmp.Diff([]string{"GET /pulls/1"}, asked); diff != "" {
		t.Errorf("waiting must be one request (-want +got):\n%s", diff)
	}
	if got := w.client.Budget(); got.Unchanged != 1 {
		t.Errorf("it must cost nothing while nothing changes: got %+v", got)
	}
	w.team("bob")
	w.setState("ada", pull.Number, "closed")
	if got := w.read(query); !got.PullRequest.Rejected() || got.PullRequest.ClosedBy.Login != "ada" || len(got.Teams) != 1 || len(got.Approvers) != 2 {
		t.Errorf("a rejection must be seen, with who closed it and who may: got %+v", got)
	}
}

func TestReadApprovalAfterEachKindOfMerge(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"merge", "squash", "rebase"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.team("bob")
			r := request(method)
			pull := w.open(r)
			stable := w.tip("main")
			release := w.write("ada", "main", "deploy/web.yaml", "image: two\n")
			w.review("bob", pull.Number, "APPROVE")
			result := w.merge("bob", pull.Number, method)
			w.write("ada", "main", "README", "later\n")

			got := w.read(w.full(pull, stable, release))
			w.wantMerged(r, pull, result, got)
			if of := got.Release.Commits; len(of) != 1 || of[0].SHA != release || of[0].Author.Login != "ada" || !of[0].Author.Known() {
				t.Errorf("who made the release commit must be known: got %+v", got.Release)
			}
			if last := got.Pushes[1]; last.After != result || !last.ByForge() || last.Actor.Login != "bob" || !got.PushesTold {
				t.Errorf("who moved the branch must be known: got %+v", got.Pushes)
			}
		})
	}
}

func (w *world) wantMerged(r forge.ChangeRequest, pull forge.PullRequest, result string, got forge.Approval) {
	w.t.Helper()
	sha := forge.BlobSHA(r.Content)
	if p := got.PullRequest; !p.Merged || p.MergeCommit != result || p.MergedBy.Login != "bob" || p.MergedAt.IsZero() || p.Head.SHA != pull.Head.SHA {
		w.t.Errorf("the merge must be told: got %+v", p)
	}
	want := forge.Approval{
		Repository: forge.Repository{FullName: "shop/web", DefaultBranch: "main"},
		Self:       forge.Account{Login: "sluice", Type: forge.TypeUser},
		Files:      []forge.ChangedFile{{Path: recordPath, Status: forge.FileAdded, BlobSHA: sha}},
		OnTracked:  true,
		PushesTold: true,
		Result: forge.Result{
			Commit: forge.Commit{SHA: result},
			Files:  []forge.ChangedFile{{Path: recordPath, Status: forge.FileAdded, BlobSHA: sha}},
		},
		Reviews: []forge.Review{{
			Reviewer: forge.Account{Login: "bob", Type: forge.TypeUser}, State: forge.ReviewApproved, CommitID: pull.Head.SHA, Belongs: true,
		}},
		Approvers: []forge.Account{{Login: "ada", Type: forge.TypeUser}, {Login: "nobody"}}, Trusted: []forge.Account{},
		Teams: []forge.Team{{Organization: "shop", Slug: "approvers", Members: []forge.Account{{Login: "bob", Type: forge.TypeUser}}}},
	}
	opts := cmp.Options{
		cmpopts.IgnoreFields(forge.Approval{}, "PullRequest", "Release", "Commits", "Pushes"),
		cmpopts.IgnoreFields(forge.Commit{}, "Author", "Committer", "AuthorAddress", "Parents", "Verification"),
		cmpopts.IgnoreFields(forge.Repository{}, "ID"), cmpopts.IgnoreFields(forge.Account{}, "ID"),
		cmpopts.IgnoreFields(forge.Review{}, "ID", "SubmittedAt", "URL"), cmpopts.IgnoreFields(forge.Team{}, "ID"),
	}
	if diff := cmp.Diff(want, got, opts); diff != "" {
		w.t.Errorf("all that the approval is judged by must be there (-want +got):\n%s", diff)
	}
	if len(got.Commits) != 1 || got.Commits[0].SHA != pull.Head.SHA || got.Commits[0].Author.ID != got.Self.ID {
		w.t.Errorf("the commits must be told with their authors: got %+v", got.Commits)
	}
	if got.Repository.ID == 0 || !got.Self.Known() || !got.Approvers[0].Known() || got.Approvers[1].Known() ||
		!got.Teams[0].Members[0].Same(got.Reviews[0].Reviewer) {
		w.t.Errorf("accounts must be told by id: got %+v", got)
	}
}

// TestReadApprovalInFewRequests: facts that no rule needs cost no request.
func TestReadApprovalInFewRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pull := w.open(request("few"))
	query := forge.ApprovalQuery{Number: pull.Number, Tip: w.tip("main"), Branch: "main"}
	w.read(query)
	query.Tip = w.merge("bob", pull.Number, "squash")
	asked := w.asked(func(context.Context) { w.read(query) })
	want := []string{"GET /pulls/1", "GET /pulls/1/files", "GET /commits/" + query.Tip, "GET /activity"}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("only what is needed may be asked (-want +got):\n%s", diff)
	}
}

func TestReadApprovalSeesWhatSpeaksAgainstIt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		act    func(w *world, pull forge.PullRequest)
		holds  func(forge.Approval) bool
	}{
		"OtherFile": {
			"another file was touched",
			func(w *world, p forge.PullRequest) { w.write("eve", p.Head.Ref, "deploy/web.yaml", "image: evil\n") },
			func(a forge.Approval) bool { return len(a.Files) == 2 && len(a.Commits) == 2 },
		},
		"OtherRecord": {
			"the record was changed",
			func(w *world, p forge.PullRequest) { w.write("eve", p.Head.Ref, recordPath, "nonce: two\n") },
			func(a forge.Approval) bool { return a.Files[0].BlobSHA == forge.BlobSHA([]byte("nonce: two\n")) },
		},
		"Stale": {
			"the review was of an older head",
			func(w *world, p forge.PullRequest) {
				w.review("ada", p.Number, "APPROVE")
				w.write("eve", p.Head.Ref, "README", "more\n")
			},
			func(a forge.Approval) bool {
				return len(a.Reviews) == 1 && a.Reviews[0].CommitID != a.PullRequest.Head.SHA
			},
		},
		"Dismissed": {
			"the review was dismissed",
			func(w *world, p forge.PullRequest) { w.dismiss(p, w.review("ada", p.Number, "APPROVE")) },
			func(a forge.Approval) bool { return a.Reviews[0].State == forge.ReviewDismissed },
		},
		"ChangesRequested": {
			"changes were requested afterwards",
			func(w *world, p forge.PullRequest) {
				w.review("ada", p.Number, "APPROVE")
				w.review("ada", p.Number, "REQUEST_CHANGES")
			},
			func(a forge.Approval) bool {
				return a.Reviews[1].State == forge.ReviewChangesRequested && a.Reviews[1].ID > a.Reviews[0].ID
			},
		},
		"ManyReviews": {
			"the objection is on the second page",
			func(w *world, p forge.PullRequest) {
				for range 100 {
					w.review("ada", p.Number, "COMMENT")
				}
				w.review("ada", p.Number, "REQUEST_CHANGES")
			},
			func(a forge.Approval) bool {
				return len(a.Reviews) == 101 && a.Reviews[100].State == forge.ReviewChangesRequested
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.team("bob")
			pull := w.open(request("against"))
			tc.act(w, pull)
			w.merge("bob", pull.Number, "merge")
			if got := w.read(w.full(pull, "", "")); !tc.holds(got) {
				t.Errorf("it must be seen that %s: got %+v", tc.reason, got)
			}
		})
	}
}

func (w *world) dismiss(pull forge.PullRequest, review *gogithub.PullRequestReview) {
	w.t.Helper()
	_, _, err := w.as("bob").PullRequests.DismissReview(w.t.Context(), "shop", "web", pull.Number, review.GetID(),
		&gogithub.PullRequestReviewDismissalRequest{Message: new("no")})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestReadApprovalOffTheTrackedBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pull, before := w.open(request("off")), w.tip("main")
	query := w.full(pull, "", "")
	query.Teams = nil
	merged := w.merge("bob", pull.Number, "merge")
	query.Tip = before
	if got := w.read(query); got.OnTracked {
		t.Error("a tip from before the merge does not hold it")
	}
	query.Tip = merged
	if got := w.read(query); !got.OnTracked {
		t.Error("the merge is on the branch that it made")
	}
	w.force("main", before)
	query.Tip = w.write("ada", "main", "README", "rewritten\n")
	if got := w.read(query); got.OnTracked || !got.PullRequest.Merged {
		t.Errorf("a merge that was rewritten away does not count: got %+v", got)
	}
	query.Tip = "main"
	_, err := w.client.ReadApproval(t.Context(), query)
	wantKind(t, err, forge.Invalid, "a branch can move between two looks; the tip is a commit")
}

func (w *world) force(branch, sha string) {
	w.t.Helper()
	ref := &gogithub.Reference{Ref: new("refs/heads/" + branch), Object: &gogithub.GitObject{SHA: &sha}}
	if _, _, err := w.as("ada").Git.UpdateRef(w.t.Context(), "shop", "web", ref, true); err != nil {
		w.t.Fatal(err)
	}
}

// TestReadApprovalNamesWhoBroughtTheRelease: a release that came in by a pull request has more
// people behind it than its commit names.
func TestReadApprovalNamesWhoBroughtTheRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stable := w.tip("main")
	w.branch("eve", "change")
	w.write("ada", "change", "deploy/web.yaml", "image: two\n")
	change := w.propose("eve", "change")
	release := w.merge("bob", change, "squash")
	pull := w.open(request("origin"))
	w.merge("bob", pull.Number, "merge")
	query := w.full(pull, stable, release)
	query.Teams = nil
	got := w.read(query).Release
	if len(got.Proposals) != 1 || got.Proposals[0].PullRequest.Author.Login != "eve" || got.Total != 1 || got.Commits[0].SHA != release {
		t.Fatalf("who proposed the release must be known: got %+v", got)
	}
	of := got.Proposals[0]
	if len(of.Commits) != 1 || of.Commits[0].Author.Login != "ada" || len(of.Pushers) != 2 || of.Pushers[0].Login != "ada" || of.Pushers[1].Login != "eve" {
		t.Errorf("who made and pushed its commits must be known: got %+v", of)
	}
	asked := w.asked(func(context.Context) { w.read(query) })
	for _, line := range asked {
		if strings.Contains(line, "/commits/"+release) || strings.Contains(line, fmt.Sprintf("/pulls/%d/", change)) {
			t.Errorf("what does not change must not be asked again: %s", line)
		}
	}
}

func (w *world) branch(login, name string) {
	w.t.Helper()
	ref := &gogithub.Reference{Ref: new("refs/heads/" + name), Object: &gogithub.GitObject{SHA: new(w.tip("main"))}}
	if _, _, err := w.as(login).Git.CreateRef(w.t.Context(), "shop", "web", ref); err != nil {
		w.t.Fatal(err)
	}
}

// propose opens a pull request of a branch.
func (w *world) propose(login, branch string) (number int) {
	w.t.Helper()
	made, _, err := w.as(login).PullRequests.Create(w.t.Context(), "shop", "web",
		&gogithub.NewPullRequest{Title: new("Change " + branch), Head: &branch, Base: new("main")})
	if err != nil {
		w.t.Fatal(err)
	}
	return made.GetNumber()
}

// TestReadApprovalOfAVeryLongRelease: of a release of very many commits it is told that there are
// so many, and nothing else is asked.
func TestReadApprovalOfAVeryLongRelease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stable := w.tip("main")
	w.pushMany("ada", "main", forge.MaxCommits+1)
	release := w.tip("main")
	pull := w.open(request("long"))
	w.merge("bob", pull.Number, "merge")
	query := w.full(pull, stable, release)
	query.Teams = nil
	if got := w.read(query).Release; got.Total != forge.MaxCommits+1 || len(got.Commits)+len(got.Changes) != 0 {
		t.Errorf("want %d commits counted and none read, got %d, %d and %d changes", forge.MaxCommits+1, got.Total, len(got.Commits), len(got.Changes))
	}
}

// TestReadApprovalSurvivesEachFault: for any fault of one answer, the result is an error or the
// truth.
func TestReadApprovalSurvivesEachFault(t *testing.T) {
	t.Parallel()
	for name, kind := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.team("ada", "bob")
			stable := w.tip("main")
			w.branch("eve", "change")
			w.write("ada", "change", "deploy/web.yaml", "image: two\n")
			release := w.merge("bob", w.propose("eve", "change"), "merge")
			pull := w.open(request("faults"))
			w.review("ada", pull.Number, "APPROVE")
			w.review("ada", pull.Number, "REQUEST_CHANGES")
			w.merge("bob", pull.Number, "squash")
			w.write("ada", "main", "README", "later\n")
			query := w.full(pull, stable, release)
			var truth forge.Approval
			requests := w.asked(func(context.Context) { truth = w.read(query) })
			for _, line := range requests {
				w.faulty(kind, line, func(ctx context.Context, client *github.Client) error {
					got, err := client.ReadApproval(ctx, query)
					want := truth
					if kept := len(got.Pushes); err == nil && strings.HasSuffix(line, "/activity") && kept < len(truth.Pushes) {
						// The newest pushes count though the forge does not list the rest. Older commits have
						// no pusher then.
						want.Pushes, want.PushesTold = truth.Pushes[:kept:kept], got.PushesTold
						got.Pushes = append([]forge.Push{}, got.Pushes...)
					}
					if err == nil && strings.HasSuffix(line, "/activity") {
						want.Release.Proposals, got.Release.Proposals = nil, nil
					}
					if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err == nil && diff != "" {
						t.Errorf("%s: want the truth or an error (-want +got):\n%s", line, diff)
					}
					return err
				})
			}
			t.Logf("%d requests met the fault", len(requests))
		})
	}
}

func TestReadApprovalOfNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.client.ReadApproval(t.Context(), forge.ApprovalQuery{Number: 7})
	wantKind(t, err, forge.NotFound, "there is no such pull request")
}

func TestTeamOfAnotherOrganization(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.forge.CreateOrganization("platform"); err != nil {
		t.Fatal(err)
	}
	var members []string
	for i := range 120 {
		name := "member-" + strconv.Itoa(i)
		if _, err := w.forge.CreateUser(name); err != nil {
			t.Fatal(err)
		}
		members = append(members, name)
	}
	if err := w.forge.CreateTeam("platform", "sre", members...); err != nil {
		t.Fatal(err)
	}
	team, err := w.client.Team(t.Context(), "platform/sre")
	if err != nil || len(team.Members) != 120 || team.Organization != "platform" {
		t.Errorf("all members must be read: got %d, %v", len(team.Members), err)
	}
	_, err = w.client.Team(t.Context(), "sre")
	wantKind(t, err, forge.NotFound, "a slug alone is a team of the repository's owner")
}

// TestRepositoryThatIsMadeAgain: a repository that was deleted and made again under its name has
// another ID, which the first pull request in it shows.
func TestRepositoryThatIsMadeAgain(t *testing.T) {
	t.Parallel()
	var id atomic.Int64
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body := `{"id":1,"login":"sluice"}`
		switch {
		case strings.HasSuffix(r.URL.Path, "/pulls/1"):
			body = fmt.Sprintf(`{"number":1,"state":"open","base":{"ref":"main","repo":{"id":%d}}}`, id.Load())
		case strings.HasSuffix(r.URL.Path, "/repos/shop/web"):
			body = fmt.Sprintf(`{"id":%d,"full_name":"shop/web"}`, id.Load())
		}
		answering(http.StatusOK, body)(w, r)
	})
	client := clientOf(t, s.URL)
	for _, want := range []int64{7, 8} {
		id.Store(want)
		got, err := client.ReadApproval(t.Context(), forge.ApprovalQuery{Number: 1})
		if err != nil || got.Repository.ID != want {
			t.Errorf("want repository %d, got %+v, %v", want, got.Repository, err)
		}
	}
}
