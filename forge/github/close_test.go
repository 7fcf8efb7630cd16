package github_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	gogithub "github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
)

func TestDeleteBranchThatCannotBeDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.forge.CreateRepository(t.Context(), "shop/odd", "sluice/main", fstest.MapFS{}); err != nil {
		t.Fatal(err)
	}
	client := w.newClient(func(o *github.Options) { o.Repository = "odd" })
	wantKind(t, client.DeleteBranch(t.Context(), "sluice/main"), forge.Invalid, "a branch that is there is not gone")
}

func TestRepositoryThatDeletesBranches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got, err := w.client.Repository(t.Context()); err != nil || got.DeleteBranchOnMerge {
		t.Errorf("branches must be ours to remove: got %+v, %v", got, err)
	}
	if err := w.forge.DeleteBranchesOnMerge("shop/web"); err != nil {
		t.Fatal(err)
	}
	if got, err := w.newClient().Repository(t.Context()); err != nil || !got.DeleteBranchOnMerge {
		t.Errorf("it must be known that the forge removes branches: got %+v, %v", got, err)
	}
	r := request("gone")
	w.merge("bob", w.open(r).Number, "squash")
	if err := w.client.DeleteBranch(t.Context(), r.Branch); err != nil {
		t.Errorf("a branch that is gone is as it should be: %v", err)
	}
}

func TestDeleteBranchTakesOneRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := request("there")
	w.open(r)
	asked := w.asked(func(ctx context.Context) {
		if err := w.client.DeleteBranch(ctx, r.Branch); err != nil {
			t.Error(err)
		}
	})
	if len(asked) != 1 {
		t.Errorf("a branch that is there must go in one request: got %v", asked)
	}
}

func TestCloseApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := request("void")
	pull := w.open(r)
	if err := w.client.CloseApproval(t.Context(), pull.Number, "sluice/another", "A newer release took its place."); err != nil {
		t.Fatal(err)
	}
	if got := w.pulls(r.Branch); got[0].GetState() != "open" {
		t.Errorf("a pull request of another branch must stay open: got %v", got)
	}
	for range 2 {
		if err := w.client.CloseApproval(t.Context(), pull.Number, r.Branch, "A newer release took its place."); err != nil {
			t.Fatal(err)
		}
		if err := w.client.DeleteBranch(t.Context(), r.Branch); err != nil {
			t.Fatal(err)
		}
	}
	w.wantClosedOnce(r.Branch)
	if err := w.client.CloseApproval(t.Context(), 99, r.Branch, "x"); forge.KindOf(err) != forge.NotFound {
		t.Errorf("what is not there can't be closed: got %v", err)
	}
}

func (w *world) wantClosedOnce(branch string) {
	w.t.Helper()
	pulls := w.pulls(branch)
	if len(pulls) != 1 || pulls[0].GetState() != "closed" {
		w.t.Fatalf("the pull request must be closed: got %v", pulls)
	}
	comments, _, err := w.as("ada").Issues.ListComments(w.t.Context(), "shop", "web", pulls[0].GetNumber(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(comments) != 1 {
		w.t.Errorf("the reason must be said once: got %d comments", len(comments))
	}
	if _, resp, err := w.as("ada").Git.GetRef(w.t.Context(), "shop", "web", "heads/"+branch); err == nil || resp.StatusCode != http.StatusNotFound {
		w.t.Errorf("the branch must be gone: got %v", err)
	}
}

// closing closes the approval of a void gate.
func closing(ctx context.Context, client *github.Client, number int, branch string) error {
	if err := client.CloseApproval(ctx, number, branch, "void"); err != nil {
		return err
	}
	return client.DeleteBranch(ctx, branch)
}

func TestCloseApprovalSurvivesEachFault(t *testing.T) {
	t.Parallel()
	for name, kind := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			free := request("fault-free")
			number := w.open(free).Number
			requests := w.asked(func(ctx context.Context) {
				if err := closing(ctx, w.newClient(), number, free.Branch); err != nil {
					t.Fatal(err)
				}
			})
			for i, line := range requests {
				r := request(fmt.Sprint("fault-", i))
				pull := w.open(r)
				met := strings.NewReplacer(free.Branch, r.Branch, fmt.Sprint(number), fmt.Sprint(pull.Number)).Replace(line)
				w.faulty(kind, met, func(ctx context.Context, client *github.Client) error {
					return closing(ctx, client, pull.Number, r.Branch)
				})
				if err := closing(t.Context(), w.newClient(), pull.Number, r.Branch); err != nil {
					t.Errorf("after a fault of %s it must be possible to do it again: %v", met, err)
				}
				w.wantClosedOnce(r.Branch)
			}
			t.Logf("%d requests met the fault", len(requests))
		})
	}
}

func TestCommentsOfOthersAreNotOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pull := w.open(request("talk"))
	text := "looks good\n"
	_, _, err := w.as("eve").Issues.CreateComment(t.Context(), "shop", "web", pull.Number, &gogithub.IssueComment{Body: &text})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.client.Comment(t.Context(), pull.Number, text); err != nil {
			t.Fatal(err)
		}
	}
	comments, _, err := w.as("ada").Issues.ListComments(t.Context(), "shop", "web", pull.Number, nil)
	if err != nil || len(comments) != 2 {
		t.Errorf("we must say it once, whoever said it before: got %v, %v", comments, err)
	}
}
