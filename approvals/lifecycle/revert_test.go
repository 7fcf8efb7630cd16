package lifecycle_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/forge"
)

// revertWorld is a release that was rolled back, and a forge.
type revertWorld struct {
	process
	release *v1alpha1.BatchRelease
	source  *v1alpha1.ReleaseSource
	forge   toyForge
	// refusal says why the template can't be put back; empty if it can.
	refusal string
}

func newRevertWorld(t testing.TB, crash int) *revertWorld {
	w := &revertWorld{
		process: process{TB: t, crash: crash},
		release: &v1alpha1.BatchRelease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{v1alpha1.FileAnnotation: "web.yaml"}},
		},
		source: &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "main"}},
	}
	w.rollBack("7f9c", "58d4")
	return w
}

func (w *revertWorld) rollBack(from, to string) {
	status := &w.release.Status
	status.Phase, status.UpdateRevision, status.Quarantined = v1alpha1.PhaseRollingBack, to, []string{from}
	status.Attempt++
	status.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerAnnotation, From: from}
}

func (w *revertWorld) facts(first bool) lifecycle.RevertFacts {
	facts := lifecycle.RevertFacts{First: first}
	switch revert := w.release.Status.Revert; lifecycle.RevertStageOf(w.release) {
	case lifecycle.RevertUnclaimed:
		facts.NewBranch = lifecycle.BranchOfNewRevert(w.release) + "-x"
	case lifecycle.RevertUnopened:
		facts.Proposal = lifecycle.Change{Request: forge.ChangeRequest{Branch: revert.Branch, Tip: tipCommit, Title: "Put back"}}
		if w.refusal != "" {
			facts.Proposal = lifecycle.Impossible{Reason: w.refusal}
		}
	case lifecycle.RevertOpened, lifecycle.RevertOver:
		if p := w.forge.of(revert.Branch); p != nil {
			facts.Pull = &forge.PullRequest{Number: p.Number, Merged: p.Merged, State: forge.PullClosed, Head: forge.Branch{Ref: p.Branch}}
			if p.Open {
				facts.Pull.State = forge.PullOpen
			}
		}
	case lifecycle.RevertIdle:
	}
	return facts
}

func (w *revertWorld) do(intent lifecycle.RevertIntent) error {
	write := func(next v1alpha1.Revert) error { return w.does(func() { w.release.Status.Revert = &next }) }
	switch intent := intent.(type) {
	case lifecycle.ClaimRevert:
		return write(intent.Revert)
	case lifecycle.OpenRevert:
		p, err := w.forge.open(&w.process, intent.Request)
		if err != nil {
			return err
		}
		return write(lifecycle.OpenedRevert(w.release, w.source, forge.PullRequest{Number: p.Number}))
	case lifecycle.RecordRevert:
		return write(intent.Revert)
	case lifecycle.ClosePull:
		return w.forge.close(&w.process, intent)
	case lifecycle.RemoveBranch:
		return w.does(func() { w.forge.remove(intent.Branch) })
	}
	w.Fatalf("nobody carries out %T", intent)
	return nil
}

func (w *revertWorld) run() {
	w.Helper()
	first := false
	for range 20 {
		intents := lifecycle.NextOfRevert(w.release, w.facts(first))
		if len(intents) == 0 {
			return
		}
		first = false
		for _, intent := range intents {
			_, first = intent.(lifecycle.ClaimRevert)
			if w.do(intent) != nil {
				first = false
				break
			}
		}
	}
	w.Fatal("there is always something to do")
}

func (w *revertWorld) last() *pull { return w.forge.Pulls[len(w.forge.Pulls)-1] }

// TestRevertEndsAlikeAfterACrash: wherever a process is stopped, the next one has the same result,
// and no rollback has two pull requests.
func TestRevertEndsAlikeAfterACrash(t *testing.T) {
	t.Parallel()
	followed := func(w *revertWorld) { w.release.Status.Quarantined = nil }
	lives := map[string]struct {
		events []func(*revertWorld)
		state  v1alpha1.RevertState
		pulls  int
	}{
		"opened":           {nil, v1alpha1.RevertOpen, 1},
		"merged":           {[]func(*revertWorld){func(w *revertWorld) { w.last().Open, w.last().Merged = false, true }, followed}, v1alpha1.RevertMerged, 1},
		"Git goes its way": {[]func(*revertWorld){followed}, v1alpha1.RevertClosed, 1},
		"declined":         {[]func(*revertWorld){func(w *revertWorld) { w.last().Open = false }}, v1alpha1.RevertDeclined, 1},
		"reopened":         {[]func(*revertWorld){func(w *revertWorld) { w.last().Open = false }, func(w *revertWorld) { w.last().Open = true }}, v1alpha1.RevertOpen, 1},
		"rolled back once more": {
			[]func(*revertWorld){func(w *revertWorld) { w.rollBack("58d4", "41aa") }}, v1alpha1.RevertOpen, 2,
		},
		"deleted": {[]func(*revertWorld){func(w *revertWorld) { w.release.DeletionTimestamp = new(metav1.NewTime(start)) }}, v1alpha1.RevertClosed, 1},
	}
	for name, tc := range lives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live := func(crash int) *revertWorld {
				w := newRevertWorld(t, crash)
				w.run()
				for _, event := range tc.events {
					event(w)
					w.run()
				}
				return w
			}
			want := live(0)
			if got := want.release.Status.Revert.State; got != tc.state || len(want.forge.Pulls) != tc.pulls {
				t.Fatalf("want %s with %d pull requests, got %s with %d", tc.state, tc.pulls, got, len(want.forge.Pulls))
			}
			open := 0
			for _, p := range want.forge.Pulls {
				if p.Open {
					open++
				}
			}
			if open > 1 {
				t.Errorf("%d pull requests are open, want no more than the last", open)
			}
			for crash := 1; crash <= want.effects; crash++ {
				got := live(crash)
				if diff := cmp.Diff(want.forge, got.forge); diff != "" {
					t.Errorf("a crash after effect %d leaves another forge: -want +got:\n%s", crash, diff)
				}
				if diff := cmp.Diff(want.release.Status, got.release.Status); diff != "" {
					t.Errorf("a crash after effect %d leaves another status: -want +got:\n%s", crash, diff)
				}
			}
		})
	}
}

// TestRevertLeavesOtherPullRequests: where the source has another repository by now, the pull
// request of that number is another's: it neither declines the revert nor is closed.
func TestRevertLeavesOtherPullRequests(t *testing.T) {
	t.Parallel()
	w := newRevertWorld(t, 0)
	w.run()
	another := lifecycle.RevertFacts{Pull: &forge.PullRequest{Number: 1, State: forge.PullClosed, Head: forge.Branch{Ref: "feature"}}}
	if got := lifecycle.NextOfRevert(w.release, another); len(got) > 0 {
		t.Errorf("another's is closed: want nothing to do, got %+v", got)
	}
	w.release.Status.Quarantined, another.Pull.State = nil, forge.PullOpen
	for _, intent := range lifecycle.NextOfRevert(w.release, another) {
		if _, closes := intent.(lifecycle.ClosePull); closes {
			t.Errorf("another's is open: want it left, got %+v", intent)
		}
	}
}

// TestRevertThatCantBeMade: it is written down once, and nothing is opened.
func TestRevertThatCantBeMade(t *testing.T) {
	t.Parallel()
	w := newRevertWorld(t, 0)
	w.refusal = "revision 58d4 is no longer kept"
	w.run()
	if got := w.release.Status.Revert; got.State != v1alpha1.RevertRefused || len(w.forge.Pulls) != 0 {
		t.Errorf("want it refused and nothing opened, got %+v and %d pull requests", got, len(w.forge.Pulls))
	}
	if stage := lifecycle.RevertStageOf(w.release); stage != lifecycle.RevertIdle {
		t.Errorf("want nothing more to do, got stage %d", stage)
	}
}

// TestRevertOutlivesBadCredentials: a revert is given up where the forge refuses the request, and
// not where a user must correct the credentials.
func TestRevertOutlivesBadCredentials(t *testing.T) {
	t.Parallel()
	for kind, want := range map[forge.Kind]v1alpha1.RevertState{
		forge.Invalid: v1alpha1.RevertRefused, forge.Misconfigured: v1alpha1.RevertOpening, forge.Unauthorised: v1alpha1.RevertOpening,
	} {
		w := newRevertWorld(t, 0)
		w.release.Status.Revert = &v1alpha1.Revert{Attempt: w.release.Status.Attempt, State: v1alpha1.RevertOpening}
		next, told := lifecycle.TroubledRevert(w.release, &forge.Error{Kind: kind, Message: "no"})
		if !told || next.State != want || next.Message == "" {
			t.Errorf("%s: want a revert that is %s and says why, got %t, %+v", kind, want, told, next)
		}
	}
}
