package github_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	gogithub "github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/approvals/forge"
	"github.com/sluice-dev/sluice/approvals/github"
	"github.com/sluice-dev/sluice/internal/devforge"
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

func TestCloseApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := request("void")
	pull := w.open(r)
	for range 2 {
		if err := w.client.CloseApproval(t.Context(), pull.Number, "A newer release took its place."); err != nil {
			t.Fatal(err)
		}
		if err := w.client.DeleteBranch(t.Context(), r.Branch); err != nil {
			t.Fatal(err)
		}
	}
	w.wantClosedOnce(r.Branch)
	if err := w.client.CloseApproval(t.Context(), 99, "x"); forge.KindOf(err) != forge.NotFound {
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

func TestCloseApprovalSurvivesEachFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	closing := func(client *github.Client, number int, branch string) error {
		if err := client.CloseApproval(t.Context(), number, "void"); err != nil {
			return err
		}
		return client.DeleteBranch(t.Context(), branch)
	}
	free := request("fault-free")
	number := w.open(free).Number
	requests := w.asked(func(context.Context) {
		if err := closing(w.newClient(), number, free.Branch); err != nil {
			t.Fatal(err)
		}
	})
	for i, line := range requests {
		for _, kind := range []devforge.FaultKind{devforge.FaultStatus, devforge.FaultLostAnswer, devforge.FaultMalformed} {
			r := request(fmt.Sprintf("fault-%d-%d", i, kind))
			pull := w.open(r)
			method, path, _ := strings.Cut(line, " ")
			path = strings.NewReplacer(free.Branch, r.Branch, fmt.Sprint(number), fmt.Sprint(pull.Number)).Replace(path)
			off := w.forge.Inject(devforge.Fault{Kind: kind, Method: method, Path: regexp.MustCompile(regexp.QuoteMeta(path) + "$"), Times: 1})
			_ = closing(w.newClient(), pull.Number, r.Branch)
			if off() != 1 {
				t.Errorf("%s %s must have met fault %d", method, path, kind)
			}
			if err := closing(w.newClient(), pull.Number, r.Branch); err != nil {
				t.Errorf("after %s met fault %d it must be possible to do it again: %v", line, kind, err)
			}
			w.wantClosedOnce(r.Branch)
		}
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
