package gitlab_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/conformance"
	"github.com/sluice-dev/sluice/internal/testbed/devlab"
)

// asked is a project with an approval that waits, as a client opened it.
type asked struct {
	*project

	git     *clones
	client  forge.Client
	request forge.ChangeRequest
	pull    forge.PullRequest
}

const recordPath = ".sluice/approvals/shop/web.yaml"

func ask(t *testing.T, name string) *asked {
	t.Helper()
	p := newLab(t).project(t, name)
	p.Join(conformance.Write, "ada", "grace", "eve")
	a := &asked{project: p, git: &clones{TB: t, of: p, dir: t.TempDir()}, client: p.Client(t)}
	a.request = forge.ChangeRequest{
		Branch: "sluice/web", Base: "main", Path: recordPath, Content: []byte("nonce: one\n"), Tip: a.git.Head("main"),
		Message: "Approve web", At: time.Unix(1_800_000_000, 0), Title: "Approve web", Body: "Merging lets the next batch go.\n", First: true,
	}
	var err error
	a.pull, err = a.client.OpenChange(t.Context(), a.request)
	p.must(err)
	return a
}

// read reads the approval for a gate that asks for reviews.
func (a *asked) read(change func(*forge.ApprovalQuery)) forge.Approval {
	a.Helper()
	q := forge.ApprovalQuery{Number: a.pull.Number, Tip: a.git.Head("main"), Branch: "main", Reviews: true, Written: a.pull.Written}
	if change != nil {
		change(&q)
	}
	found, err := a.client.ReadApproval(a.Context(), q)
	a.must(err)
	return found
}

// TestWrittenIsWhatGitMade: the commit that the gate records is the one on the branch, and not what
// an answer says.
func TestWrittenIsWhatGitMade(t *testing.T) {
	t.Parallel()
	a := ask(t, "written")
	if a.pull.Written == "" || a.pull.Written != a.git.Head("sluice/web") {
		t.Errorf("want the commit of the branch, got %q", a.pull.Written)
	}
	a.request.First = false
	again, err := a.client.OpenChange(t.Context(), a.request)
	if err != nil || again.Written != a.pull.Written {
		t.Errorf("want it known when it is found, got %q, %v", again.Written, err)
	}
	if fresh, err := a.Client(t).OpenChange(t.Context(), a.request); err != nil || fresh.Written != "" || fresh.Number != a.pull.Number {
		t.Errorf("want nothing said of a commit that another process wrote, got %q, %v", fresh.Written, err)
	}
}

// TestDecoy: eve has something harmless approved in the gate's merge request, and puts Sluice's
// commit back before the merge. The head at the merge is right, and the approval was given to
// another.
func TestDecoy(t *testing.T) {
	t.Parallel()
	for _, untimed := range []bool{false, true} {
		t.Run(fmt.Sprintf("untimed=%t", untimed), func(t *testing.T) {
			t.Parallel()
			a := ask(t, "decoy")
			if untimed {
				a.must(a.lab.lab.Untime(a.path))
			}
			decoy := a.git.Push("eve", "sluice/web", "README", "fix a typo\n")
			a.Review("grace", a.pull.Number, conformance.Approve)
			a.git.Run("eve", "push", "-q", "-f", "origin", a.pull.Written+":refs/heads/sluice/web")
			a.Review("ada", a.pull.Number, conformance.Approve)
			a.Merge("eve", a.pull.Number, conformance.Merge)
			got := a.read(nil)
			if got.PullRequest.Head.SHA != a.pull.Written || len(got.Reviews) != 2 {
				t.Fatalf("want the merge of Sluice's commit, got %+v", got)
			}
			want := []string{decoy, a.pull.Written}
			if untimed {
				want = []string{"", ""} // nobody can tell
			}
			if have := []string{got.Reviews[0].CommitID, got.Reviews[1].CommitID}; !slices.Equal(have, want) {
				t.Errorf("want the heads %q, got %q", want, have)
			}
		})
	}
}

// TestUntimedApproval: where the merge request has had one head, an approval without a time is of
// it.
func TestUntimedApproval(t *testing.T) {
	t.Parallel()
	a := ask(t, "untimed")
	a.must(a.lab.lab.Untime(a.path))
	a.Review("grace", a.pull.Number, conformance.Approve)
	a.Merge("ada", a.pull.Number, conformance.Merge)
	if got := a.read(nil).Reviews; len(got) != 1 || got[0].CommitID != a.pull.Written {
		t.Errorf("want the approval of the only head, got %+v", got)
	}
}

// TestActionsInText: text of strangers that GitLab would carry out as Sluice's is only text.
func TestActionsInText(t *testing.T) {
	t.Parallel()
	a := ask(t, "actions")
	said := "A commit says\n/approve\n  /close\n> /merge\nand a/b.\n"
	changed, err := a.client.UpdateApproval(t.Context(), a.pull.Number, "Approve web", said)
	a.must(err)
	a.must(a.client.Comment(t.Context(), a.pull.Number, "/close\n"+said))
	a.must(a.client.Comment(t.Context(), a.pull.Number, "/close\n"+said))
	if !strings.Contains(changed.Body, `\/approve`) || !strings.Contains(changed.Body, "a/b") || len(a.Comments(a.pull.Number)) != 1 {
		t.Errorf("got body %q and comments %q", changed.Body, a.Comments(a.pull.Number))
	}
	var approvals struct {
		By []any `json:"approved_by"`
	}
	a.send("ada", http.MethodGet, fmt.Sprintf("merge_requests/%d/approvals", a.pull.Number), nil, &approvals)
	if pull, err := a.client.PullRequest(t.Context(), a.pull.Number); err != nil || pull.State != forge.PullOpen || len(approvals.By) > 0 {
		t.Errorf("want it open and approved by nobody, got %+v, %v, %v", pull, approvals.By, err)
	}
	before, _ := a.Requests()
	if _, err := a.client.UpdateApproval(t.Context(), a.pull.Number, "Approve web", said); err != nil {
		t.Error(err)
	}
	if after, _ := a.Requests(); after-before != 1 {
		t.Errorf("want the same text read and not sent again, got %d requests", after-before)
	}
}

// TestLumpedPush: of a push of many branches GitLab does not tell which, so that nobody is known to
// have moved the tracked one, and it is not waited for.
func TestLumpedPush(t *testing.T) {
	t.Parallel()
	a := ask(t, "lumped")
	a.Merge("grace", a.pull.Number, conformance.Squash)
	a.git.Run("eve", "fetch", "-q", "origin")
	a.git.Run("eve", "commit", "-q", "--allow-empty", "-m", "Nothing")
	for _, branch := range []string{"one", "two", "three"} {
		a.git.Run("eve", "branch", branch)
	}
	a.git.Run("eve", "rebase", "-q", "origin/main")
	a.git.Run("eve", "push", "-q", "origin", "HEAD:main", "one", "two", "three")
	got := a.read(nil)
	if !got.OnTracked || len(got.Pushes) > 0 && got.Pushes[0].After == a.git.Head("main") {
		t.Errorf("want it merged, and nobody known to have pushed the tip, got %+v", got.Pushes)
	}
}

// TestHiddenPush: eve brings something to the branch, has a push of many branches take it back, and
// gets ada to push it again. So the pushes that are told are not all.
func TestHiddenPush(t *testing.T) {
	t.Parallel()
	a := ask(t, "hidden")
	stable := a.request.Tip
	evil := a.git.Push("eve", "main", "web.yaml", "image: evil\n")
	for _, branch := range []string{"one", "two", "three"} {
		a.git.Run("eve", "branch", branch)
	}
	a.git.Run("eve", "push", "-q", "-f", "origin", stable+":refs/heads/main", "one", "two", "three")
	a.git.Run("ada", "fetch", "-q", "origin")
	a.git.Run("ada", "push", "-q", "origin", evil+":refs/heads/main")
	a.Merge("grace", a.pull.Number, conformance.Merge)
	got := a.read(func(q *forge.ApprovalQuery) { q.ReleaseCommit, q.StableCommit = evil, stable })
	if !got.PushesCut {
		t.Errorf("want it not known who pushed, got %+v", got.Pushes)
	}
}

// TestLinearProject: where merges have to follow on the tip, Sluice moves its branch there itself:
// a rebase by GitLab's button would make another commit.
func TestLinearProject(t *testing.T) {
	t.Parallel()
	for _, method := range []string{devlab.FastForward, devlab.SemiLinear} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			a := ask(t, "linear")
			a.must(a.lab.lab.SetMergeMethod(a.path, method))
			a.git.Push("ada", "main", "README", "meanwhile\n")
			madeOn := a.request.Tip
			a.request.Tip = a.git.Head("main")
			moved, err := a.client.MoveChange(t.Context(), a.request, madeOn)
			if err != nil || moved == "" || moved != a.git.Head("sluice/web") {
				t.Fatalf("want the branch on the tip, got %q, %v", moved, err)
			}
			if again, err := a.client.MoveChange(t.Context(), a.request, a.request.Tip); err != nil || again != "" {
				t.Errorf("want it to stay there, got %q, %v", again, err)
			}
			a.send("grace", http.MethodPut, fmt.Sprintf("merge_requests/%d/merge", a.pull.Number), object{}, nil)
			a.pull.Written = moved
			a.client = a.Client(t) // which does not know the commit
			got := a.read(func(q *forge.ApprovalQuery) { q.Reviews = false })
			if got.PullRequest.MergedBy.Login != "grace" || got.PullRequest.Head.SHA != moved || !got.OnTracked || len(got.Files) != 1 || len(got.Result.Files) != 1 {
				t.Errorf("want grace's merge of the record alone, got %+v", got)
			}
		})
	}
}

// TestRebasedByButton: the head is another commit, and its commits are read though nothing else
// asks for them.
func TestRebasedByButton(t *testing.T) {
	t.Parallel()
	a := ask(t, "rebased")
	a.git.Push("ada", "main", "README", "meanwhile\n")
	a.send("grace", http.MethodPut, fmt.Sprintf("merge_requests/%d/rebase", a.pull.Number), object{}, nil)
	a.Merge("grace", a.pull.Number, conformance.Merge)
	got := a.read(func(q *forge.ApprovalQuery) { q.Reviews = false })
	if len(got.Commits) != 1 || got.Commits[0].SHA == a.pull.Written || got.Commits[0].SHA != got.PullRequest.Head.SHA {
		t.Errorf("want the commit that was made of Sluice's, got %+v", got.Commits)
	}
}

// TestPushedMerge: GitLab takes any push that has the head of a merge request for its merge. It is
// the forge's only if it has the content of the head.
func TestPushedMerge(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		bring func(a *asked, number int)
		want  forge.PushKind
	}{
		"merged by GitLab": {func(a *asked, number int) { a.Merge("eve", number, conformance.Merge) }, forge.PushMerge},
		"squashed":         {func(a *asked, number int) { a.Merge("eve", number, conformance.Squash) }, forge.PushMerge},
		"fast-forward":     {func(a *asked, number int) { a.Merge("eve", number, conformance.Rebase) }, forge.PushMerge},
		"merged while it was behind": {func(a *asked, number int) {
			a.git.Push("ada", "main", "OTHER", "meanwhile\n")
			a.Merge("eve", number, conformance.Merge)
		}, forge.PushPlain},
		"merged at home, with more": {func(a *asked, _ int) {
			a.git.Run("eve", "fetch", "-q", "origin")
			a.git.Run("eve", "checkout", "-q", "-B", "main", "origin/main")
			a.git.Run("eve", "merge", "-q", "--no-ff", "--no-commit", "origin/change")
			a.git.Run("eve", "rm", "-q", "web.yaml")
			a.git.Run("eve", "commit", "-q", "-m", "Merge branch 'change' into 'main'")
			a.git.Run("eve", "push", "-q", "origin", "main")
		}, forge.PushPlain},
		"merged at home, with more before": {func(a *asked, _ int) {
			a.git.Run("eve", "fetch", "-q", "origin")
			a.git.Run("eve", "checkout", "-q", "-B", "main", "origin/main")
			a.git.Run("eve", "commit", "-q", "--allow-empty", "-m", "Mine")
			a.git.Run("eve", "merge", "-q", "--no-ff", "origin/change")
			a.git.Run("eve", "push", "-q", "origin", "main")
		}, forge.PushPlain},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := ask(t, "pushed-merge")
			stable := a.request.Tip
			a.git.Run("ada", "push", "-q", "origin", "origin/main:refs/heads/change")
			a.git.Push("ada", "change", "README", "change\n")
			tc.bring(a, a.Open("ada", "change", "main"))
			release := a.git.Head("main")
			a.Merge("grace", a.pull.Number, conformance.Merge)
			got := a.read(func(q *forge.ApprovalQuery) { q.ReleaseCommit, q.StableCommit = release, stable })
			i := slices.IndexFunc(got.Pushes, func(p forge.Push) bool { return p.After == release })
			if i < 0 || got.Pushes[i].Kind != tc.want || got.Pushes[i].Actor.Login != "eve" || len(got.Release.Proposals) != 1 {
				t.Errorf("want a %s by eve, got %+v and %d proposals", tc.want, got.Pushes, len(got.Release.Proposals))
			}
		})
	}
}

// TestStatusesKeepTheStateMachine: nothing is sent that GitLab refuses, and little that it has.
func TestStatusesKeepTheStateMachine(t *testing.T) {
	t.Parallel()
	a := ask(t, "machine")
	r := forge.StatusRequest{SHA: a.request.Tip, Context: "sluice/shop/web"}
	for _, step := range []struct {
		state  forge.State
		text   string
		writes int
	}{
		{forge.StatePending, "batch 1/3", 1}, {forge.StatePending, "batch 1/3", 0}, {forge.StatePending, "batch 2/3", 1},
		{forge.StatePending, "batch 3/3", 0}, {forge.StateSuccess, "done", 1}, {forge.StateSuccess, "done", 0}, {forge.StateSuccess, "done again", 1},
		{forge.StatePending, "batch 1/1", 1}, {forge.StateError, "failed", 1}, {forge.StateFailure, "failed", 0},
	} {
		_, before := a.Requests()
		r.State, r.Description = step.state, step.text
		_, err := a.client.PostStatus(t.Context(), r)
		if _, after := a.Requests(); err != nil || after-before != step.writes {
			t.Errorf("%s %q: want %d writes, got %d, %v", step.state, step.text, step.writes, after-before, err)
		}
	}
}

// TestLimits: GitLab's headers tell its limit, and nothing is sent while it lasts.
func TestLimits(t *testing.T) {
	t.Parallel()
	a := ask(t, "limits")
	reset := time.Now().Add(time.Minute).Unix()
	off := a.lab.lab.Inject(devlab.Fault{User: a.us, Status: http.StatusTooManyRequests, Header: http.Header{
		"Retry-After": {"60"}, "Ratelimit-Limit": {"100"}, "Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {fmt.Sprint(reset)},
	}})
	for range 2 {
		if _, err := a.client.PullRequest(t.Context(), a.pull.Number); forge.KindOf(err) != forge.Limited {
			t.Errorf("want it limited, got %v", err)
		}
	}
	if hits := off(); hits != 1 || a.client.Budget().Limit != 100 || a.client.Budget().LimitedUntil.IsZero() {
		t.Errorf("want one request and the budget, got %d and %+v", hits, a.client.Budget())
	}
}

// TestFaultsHoldNoToken: no error has the token, whatever a server says.
func TestFaultsHoldNoToken(t *testing.T) {
	t.Parallel()
	a := ask(t, "secrets")
	a.must(a.lab.lab.Delete(a.us))
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := a.client.PullRequest(ctx, 1); return err },
		func(ctx context.Context) error { _, err := a.client.Tip(ctx, "main"); return err },
		func(ctx context.Context) error { _, err := a.client.ReadFile(ctx, "web.yaml", "main"); return err },
	} {
		if err := do(t.Context()); err == nil || strings.Contains(err.Error(), a.token(a.us)) || strings.Contains(err.Error(), "glpat-") {
			t.Errorf("got %v", err)
		}
	}
}
