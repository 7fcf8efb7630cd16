package github_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

func TestOpenChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.first("shop/web/abc/step-1")
	base := w.tip("main")
	var pull forge.PullRequest
	asked := w.asked(func(context.Context) { pull = w.open(r) })

	want := forge.PullRequest{
		Number: 1, Title: r.Title, Body: r.Body, State: forge.PullOpen, Author: forge.Account{Login: "sluice", Type: forge.TypeUser},
		Base: forge.Branch{Ref: "main", SHA: base}, Head: forge.Branch{Ref: r.Branch, SHA: w.tip(r.Branch)}, Written: w.tip(r.Branch),
	}
	got := pull
	got.Author.ID, got.Base.RepositoryID, got.Head.RepositoryID, got.URL = 0, 0, 0, ""
	got.CreatedAt, got.UpdatedAt = time.Time{}, time.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the pull request must be as asked for (-want +got):\n%s", diff)
	}
	if !pull.Author.Known() || pull.Base.RepositoryID == 0 || pull.URL == "" || pull.CreatedAt.IsZero() {
		t.Errorf("what the forge knows must be told: got %+v", pull)
	}
	if diff := cmp.Diff([]string{"POST /git/trees", "POST /git/commits", "POST /git/refs", "POST /pulls"}, asked); diff != "" {
		t.Errorf("it must be done in few requests (-want +got):\n%s", diff)
	}
	w.wantOnlyRecord(r, pull.Number)
}

// wantOnlyRecord checks that the pull request of r brings the record and nothing else.
func (w *world) wantOnlyRecord(r forge.ChangeRequest, number int) {
	w.t.Helper()
	files, _, err := w.as("ada").PullRequests.ListFiles(w.t.Context(), "shop", "web", number, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(files) != 1 || files[0].GetFilename() != r.Path || files[0].GetSHA() != forge.BlobSHA(r.Content) {
		w.t.Errorf("the pull request must bring the record and nothing else: got %v", files)
	}
	if pulls := w.pulls(r.Branch); len(pulls) != 1 {
		w.t.Errorf("there must never be a second pull request: got %d", len(pulls))
	}
}

func TestOpenChangeAgainFindsTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := request("again")
	first := w.open(r)
	asked := w.asked(func(ctx context.Context) {
		second, err := w.newClient().OpenChange(ctx, r)
		if err != nil || second.Number != first.Number {
			t.Errorf("the same must be found: got %+v, %v", second, err)
		}
	})
	if got := writes(asked); got != nil {
		t.Errorf("nothing may be written when nothing is new: got %v", got)
	}
	r.Body = "3/10 updated\r\n"
	for range 2 {
		asked = append(asked, w.asked(func(context.Context) {
			if changed := w.open(r); changed.Body != r.Body || changed.Number != first.Number {
				t.Errorf("a new body must be shown: got %+v", changed)
			}
		})...)
	}
	if diff := cmp.Diff([]string{"PATCH /pulls/1"}, writes(asked)); diff != "" {
		t.Errorf("the body must be written once (-want +got):\n%s", diff)
	}
	w.wantOnlyRecord(r, first.Number)
}

func TestUpdateApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := request("update")
	pull := w.open(r)
	update := func(body string) []string {
		return writes(w.asked(func(ctx context.Context) {
			if _, err := w.client.UpdateApproval(ctx, pull.Number, r.Title, body); err != nil {
				t.Error(err)
			}
		}))
	}
	if got := update(r.Body); got != nil {
		t.Errorf("what is shown already must not be written: got %v", got)
	}
	if got := update("new"); len(got) != 1 {
		t.Errorf("what is new must be written once: got %v", got)
	}
	w.setState("ada", pull.Number, "closed")
	if got := update("newer"); got != nil {
		t.Errorf("a pull request that is closed must be left alone: got %v", got)
	}
}

func TestOpenChangeFindsWhatPeopleDid(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		act    func(w *world, pull forge.PullRequest)
		want   forge.PullState
		merged bool
	}{
		"Closed":   {"a rejection must be seen", func(w *world, p forge.PullRequest) { w.setState("ada", p.Number, "closed") }, forge.PullClosed, false},
		"Reopened": {"a rejection can be taken back", reopen, forge.PullOpen, false},
		"Merged":   {"an approval must be seen", func(w *world, p forge.PullRequest) { w.merge("ada", p.Number, "squash") }, forge.PullClosed, true},
		"MergedAndGone": {"a branch that is cleaned up hides no approval", func(w *world, p forge.PullRequest) {
			w.merge("ada", p.Number, "rebase")
			w.deleteBranch(p.Head.Ref)
		}, forge.PullClosed, true},
		"ClosedAndGone": {"a branch that is cleaned up hides no rejection", func(w *world, p forge.PullRequest) {
			w.setState("ada", p.Number, "closed")
			w.deleteBranch(p.Head.Ref)
		}, forge.PullClosed, false},
		"OtherFile": {"what else was pushed is for the judge", func(w *world, p forge.PullRequest) {
			w.write("eve", p.Head.Ref, "deploy/web.yaml", "image: evil\n")
		}, forge.PullOpen, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := request("found")
			pull := w.open(r)
			tc.act(w, pull)
			var got forge.PullRequest
			asked := w.asked(func(context.Context) { got = w.open(r) })
			if got.Number != pull.Number || got.State != tc.want || got.Merged != tc.merged {
				t.Errorf("%s: got %+v", tc.reason, got)
			}
			if got := writes(asked); got != nil {
				t.Errorf("%s: nothing may be written, got %v", tc.reason, got)
			}
		})
	}
}

func reopen(w *world, p forge.PullRequest) {
	w.setState("ada", p.Number, "closed")
	w.setState("ada", p.Number, "open")
}

func (w *world) deleteBranch(name string) {
	w.t.Helper()
	if _, err := w.as("ada").Git.DeleteRef(w.t.Context(), "shop", "web", "heads/"+name); err != nil {
		w.t.Fatal(err)
	}
}

// TestOpenChangeForAnotherRecord: the same branch serves another attempt at the same revision,
// whose record is another.
func TestOpenChangeForAnotherRecord(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		act    func(w *world, pull forge.PullRequest)
		same   bool
	}{
		"Open": {"a pull request that is open is taken over", func(*world, forge.PullRequest) {}, true},
		"Closed": {"one that is closed stays closed", func(w *world, p forge.PullRequest) {
			w.setState("ada", p.Number, "closed")
		}, false},
		"ClosedAndGone": {"one that is closed stays closed", func(w *world, p forge.PullRequest) {
			w.setState("ada", p.Number, "closed")
			w.deleteBranch(p.Head.Ref)
		}, false},
		"Merged": {"one that is merged was for another record", func(w *world, p forge.PullRequest) {
			w.merge("ada", p.Number, "merge")
		}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := request("attempt")
			first := w.open(r)
			tc.act(w, first)
			r.Content = []byte("nonce: two\n")
			second := w.open(r)
			if got := second.Number == first.Number; got != tc.same {
				t.Errorf("%s: first #%d, second #%d", tc.reason, first.Number, second.Number)
			}
			if second.State != forge.PullOpen || second.Head.SHA == first.Head.SHA {
				t.Errorf("the new record must be asked for: got %+v", second)
			}
			if again := w.open(r); again.Number != second.Number {
				t.Errorf("it must be found again: got #%d, want #%d", again.Number, second.Number)
			}
		})
	}
}

// TestOpenChangePutsARecordBack: our record is restored after another account replaced it, before
// we know the number of the pull request.
func TestOpenChangePutsARecordBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := request("tampered")
	pull := w.open(r)
	w.write("eve", r.Branch, r.Path, "nonce: of-another-gate\n")
	again := w.open(r)
	if again.Number != pull.Number || again.Head.SHA == w.tip("main") {
		t.Errorf("the pull request must stay: got %+v", again)
	}
	w.wantOnlyRecord(r, pull.Number)
}

func TestOpenChangeOfARecordThatIsThereAlready(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := request("there")
	w.write("ada", "main", r.Path, string(r.Content))
	_, err := w.client.OpenChange(t.Context(), r)
	wantKind(t, err, forge.Invalid, "there is nothing to ask for")
}

func TestOpenChangeOnABranchThatIsNotThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := request("nowhere")
	r.Base = "gone"
	_, err := w.client.OpenChange(t.Context(), r)
	wantKind(t, err, forge.NotFound, "there is no tracked branch")
}

// TestOpenChangeOnAForgeThatLagsBehind: a forge may answer from a replica that is behind.
func TestOpenChangeOnAForgeThatLagsBehind(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := request("lag")
	off := w.forge.Inject(devforge.Fault{Kind: devforge.FaultRepeat, Method: "GET", Path: regexp.MustCompile("/pulls$")})
	first := w.open(r)
	_, err := w.newClient().OpenChange(t.Context(), r)
	wantKind(t, err, forge.Conflict, "there is a pull request, and it is not listed yet")
	if got := w.tip(r.Branch); got != first.Head.SHA {
		t.Errorf("a branch that holds the record must stay, or reviews of it are void: got %s, want %s", got, first.Head.SHA)
	}
	off()
	if again := w.open(r); again.Number != first.Number {
		t.Errorf("it must be found when it is listed: got #%d, want #%d", again.Number, first.Number)
	}
	w.wantOnlyRecord(r, first.Number)
}

// TestOpenChangeTakesNoOtherPullRequest: a filter that a forge does not understand brings pull
// requests that nobody asked for.
func TestOpenChangeTakesNoOtherPullRequest(t *testing.T) {
	t.Parallel()
	r := request("mine")
	pull := func(head, base string, headRepository int) string {
		return fmt.Sprintf(`[{"number":1,"state":"open","head":{"ref":%q,"sha":%q,"repo":{"id":%d}},"base":{"ref":%q,"repo":{"id":7}}}]`,
			head, someCommit, headRepository, base)
	}
	tests := map[string]struct {
		pulls string
		found bool
	}{
		"Ours":            {pull(r.Branch, r.Base, 7), true},
		"OtherBranch":     {pull("other", r.Base, 7), false},
		"OtherBase":       {pull(r.Branch, "other", 7), false},
		"OtherRepository": {pull(r.Branch, r.Base, 8), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, q *http.Request) {
				switch {
				case strings.HasSuffix(q.URL.Path, "/pulls"):
					fmt.Fprint(w, tc.pulls)
				case strings.Contains(q.URL.Path, "/contents/"):
					fmt.Fprintf(w, `{"type":"file","sha":%q}`, forge.BlobSHA(r.Content))
				case strings.HasSuffix(q.URL.Path, "/pulls/1"):
					fmt.Fprint(w, `{"number":1}`)
				default:
					http.NotFound(w, q)
				}
			})
			_, err := clientOf(t, s.URL).OpenChange(t.Context(), r)
			if found := err == nil; found != tc.found {
				t.Errorf("want it taken: %t, got %v", tc.found, err)
			}
		})
	}
}
