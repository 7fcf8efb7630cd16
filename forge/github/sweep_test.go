package github_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// faults are the ways in which one answer goes wrong, by name.
var faults = map[string]devforge.FaultKind{
	"Status": devforge.FaultStatus, "Lost": devforge.FaultLostAnswer, "Malformed": devforge.FaultMalformed,
	"Hang": devforge.FaultHang, "Stall": devforge.FaultStall, "Partial": devforge.FaultPartialPage,
	"Redirect": devforge.FaultRedirect, "Primary": devforge.FaultPrimaryLimit, "Secondary": devforge.FaultSecondaryLimit,
}

// fault returns a fault of one request of a line such as "GET /pulls".
func fault(kind devforge.FaultKind, line string) devforge.Fault {
	method, path, _ := strings.Cut(line, " ")
	return devforge.Fault{
		Kind: kind, Method: method, Path: regexp.MustCompile(regexp.QuoteMeta(path) + "$"), Times: 1,
		Location: "http://127.0.0.1:1/", Wait: time.Minute,
	}
}

func (w *world) inject(kind devforge.FaultKind, line string) (off func() int) {
	return w.forge.Inject(fault(kind, line))
}

// faulty has a client that knows nothing do something while one of its requests meets a fault.
// Where the forge says nothing the client gives up at once.
func (w *world) faulty(kind devforge.FaultKind, line string, act func(context.Context, *github.Client) error) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	defer cancel()
	met := fault(kind, line)
	met.Hanging = cancel
	off := w.forge.Inject(met)
	err := act(ctx, w.newClient())
	if err != nil && forge.KindOf(err) == "" && ctx.Err() == nil {
		w.t.Errorf("%s: an error must have a kind: %v", line, err)
	}
	if hits := off(); hits != 1 {
		w.t.Errorf("%s must have met the fault once: got %d", line, hits)
	}
}

// TestOpenChangeSurvivesEachFault: each request of an opening meets each fault once; after it the
// opening is done again, by a client that knows nothing. However far the first came, there is one
// pull request in the end.
func TestOpenChangeSurvivesEachFault(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := w.first("first")
			first := w.asked(func(context.Context) { w.open(r) })
			for i, line := range first {
				w.openFaulty(w.first(fmt.Sprint("first-", i)), line, faults[name])
			}
			unknown := slices.Compact(w.asked(func(context.Context) { w.open(request("unknown")) }))
			for i, line := range unknown {
				w.openFaulty(request(fmt.Sprint("unknown-", i)), line, faults[name])
			}
			t.Logf("%d requests met the fault", len(first)+len(unknown))
		})
	}
}

// openFaulty opens an approval while one of its requests meets a fault, and then again.
func (w *world) openFaulty(r forge.ChangeRequest, line string, kind devforge.FaultKind) {
	w.t.Helper()
	w.faulty(kind, line, func(ctx context.Context, client *github.Client) error {
		_, err := client.OpenChange(ctx, r)
		return err
	})
	r.First = false // whoever comes after a crash can't know
	pull, err := w.newClient().OpenChange(w.t.Context(), r)
	if err != nil {
		w.t.Fatalf("after a fault of %s it must be possible to do it again: %v", line, err)
	}
	w.wantOnlyRecord(r, pull.Number)
}

// TestOpenChangeOverlooksNoneInAListThatIsNotWhole: a list that lacks what it should have must not
// lead to a second pull request, whatever became of the first: the forge itself refuses a second
// only while the first is open.
func TestOpenChangeOverlooksNoneInAListThatIsNotWhole(t *testing.T) {
	t.Parallel()
	acts := map[string]func(w *world, pull forge.PullRequest){
		"Open":   func(*world, forge.PullRequest) {},
		"Closed": func(w *world, p forge.PullRequest) { w.setState("ada", p.Number, "closed") },
		"ClosedAndGone": func(w *world, p forge.PullRequest) {
			w.setState("ada", p.Number, "closed")
			w.deleteBranch(p.Head.Ref)
		},
		"Merged": func(w *world, p forge.PullRequest) { w.merge("ada", p.Number, "squash") },
	}
	for name, act := range acts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			r := request("partial")
			pull := w.open(r)
			act(w, pull)
			off := w.inject(devforge.FaultPartialPage, "GET /pulls")
			_, err := w.newClient().OpenChange(t.Context(), r)
			wantKind(t, err, forge.Transient, "the one that is missing may be ours")
			off()
			if again := w.open(r); again.Number != pull.Number {
				t.Errorf("it must be found when the list is whole: got #%d, want #%d", again.Number, pull.Number)
			}
			w.wantOnlyRecord(r, pull.Number)
		})
	}
}

// TestReadApprovalForgetsWhatWasNotWhole: an answer that was not whole must not be taken for "not
// modified" afterwards.
func TestReadApprovalForgetsWhatWasNotWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pull := w.open(request("whole"))
	query := forge.ApprovalQuery{Number: pull.Number, Tip: w.merge("bob", pull.Number, "squash"), Branch: "main"}
	off := w.inject(devforge.FaultPartialPage, "GET /pulls/1/files")
	_, err := w.client.ReadApproval(t.Context(), query)
	wantKind(t, err, forge.Transient, "a file is missing")
	if off() != 1 || len(w.read(query).Files) != 1 {
		t.Error("the same client must read it whole when the forge answers well again")
	}
}

// TestOpenChangeOnATipThatTheForgeDoesNotTake: Git may be ahead of the API, or behind it.
func TestOpenChangeOnATipThatTheForgeDoesNotTake(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known := w.first("known")
	for name, change := range map[string]func(*forge.ChangeRequest){
		"tip":  func(r *forge.ChangeRequest) { r.Tip = someCommit },
		"tree": func(r *forge.ChangeRequest) { r.Tree = someCommit },
		"both": func(r *forge.ChangeRequest) { r.Tip, r.Tree = someCommit, someCommit },
		"half": func(r *forge.ChangeRequest) { r.Tree = "" },
	} {
		r := known
		r.Branch, r.Content = forge.BranchPrefix+name, []byte(content+"name: "+name+"\n")
		change(&r)
		pull := w.open(r)
		w.wantOnlyRecord(r, pull.Number)
	}
	known.Tip = "main"
	_, err := w.client.OpenChange(t.Context(), known)
	wantKind(t, err, forge.Invalid, "a branch can move between two looks; the tip is a commit")
}

// TestOpenChangeOnATipThatIsNoLongerTheNewest: an approval is requested on top of what Git read,
// though the branch has gone on since.
func TestOpenChangeOnATipThatIsNoLongerTheNewest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.first("behind")
	w.write("ada", "main", "README", "later\n")
	pull := w.open(r)
	w.wantOnlyRecord(r, pull.Number)
	merged := w.merge("bob", pull.Number, "merge")
	got := w.read(forge.ApprovalQuery{Number: pull.Number, Tip: merged, Branch: "main"})
	if len(got.Files) != 1 || !got.OnTracked {
		t.Errorf("it must be possible to merge it: got %+v", got)
	}
}
