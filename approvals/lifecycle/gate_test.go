package lifecycle_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
)

const (
	releaseCommit = "1e1001e1001e1001e1001e1001e1001e1001e100"
	headCommit    = "4ead4ead4ead4ead4ead4ead4ead4ead4ead4ead"
	mergeCommit   = "3e663e663e663e663e663e663e663e663e663e66"
	tipCommit     = "71971971971971971971971971971971971971a0"
	otherTip      = "07e907e907e907e907e907e907e907e907e907e9"
)

var (
	sluice = forge.Account{ID: 1, Login: "sluice[bot]", Type: forge.TypeBot}
	carol  = forge.Account{ID: 12, Login: "carol", Type: forge.TypeUser}
	start  = time.Date(2026, time.October, 5, 12, 0, 0, 0, time.UTC)
)

// errCrash ends a process in the middle of its work.
var errCrash = errors.New("crash")

// process does one thing after the other, until it crashes.
type process struct {
	testing.TB
	// effects counts the effects of all processes so far, and crash is the last one of its process;
	// 0 for none.
	effects, crash int
}

// does has one effect come about.
func (p *process) does(effect func()) error {
	effect()
	if p.effects++; p.effects == p.crash {
		return errCrash
	}
	return nil
}

// pull is a pull request of the toy forge.
type pull struct {
	Number       int
	Branch, Base string
	Title        string
	Open, Merged bool
	Comments     []string
}

// toyForge has pull requests and branches.
type toyForge struct {
	Pulls    []*pull
	Branches []string
}

func (f *toyForge) of(branch string) *pull {
	for _, p := range f.Pulls {
		if p.Branch == branch {
			return p
		}
	}
	return nil
}

func (f *toyForge) numbered(number int) *pull { return f.Pulls[number-1] }

// gateWorld is a gate, what is known of it, and a forge.
type gateWorld struct {
	process
	gate    *v1alpha1.Gate
	release *v1alpha1.BatchRelease
	source  *v1alpha1.ReleaseSource
	forge   toyForge
	title   string
	// mayWrite says that carol, who merges, may write to the repository.
	mayWrite bool
	// gone says that the gate is.
	gone bool
}

func newGateWorld(t testing.TB, crash int) *gateWorld {
	policy := v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{}}
	g := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-7f9c-1-0-0", UID: "uid-gate", CreationTimestamp: metav1.NewTime(start)},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: "uid-web"}, Revision: "7f9c", Attempt: 1, Commit: releaseCommit,
			Type: policy.Type(), Policy: policy, Nonce: "5e1f5e1f5e1f",
		},
	}
	return &gateWorld{
		process: process{TB: t, crash: crash}, gate: g, title: "Approve", mayWrite: true,
		release: &v1alpha1.BatchRelease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-web", Labels: map[string]string{v1alpha1.SourceLabel: "main"}},
			Status: v1alpha1.BatchReleaseStatus{
				Phase: v1alpha1.PhaseRollingUpdate, Attempt: 1, UpdateRevision: "7f9c", Gates: []v1alpha1.GateReference{{Name: g.Name, Type: policy.Type()}},
			},
		},
		source: &v1alpha1.ReleaseSource{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "main"},
			Spec: v1alpha1.ReleaseSourceSpec{
				Ref: v1alpha1.GitReference{Branch: "main"}, Forge: &v1alpha1.Forge{Type: v1alpha1.ForgeGitHub, Owner: "octo", Repo: "shop"},
			},
			Status: v1alpha1.ReleaseSourceStatus{ObservedCommit: tipCommit},
		},
	}
}

// facts returns the facts that the gate's stage requires.
func (w *gateWorld) facts() lifecycle.GateFacts {
	facts := lifecycle.GateFacts{
		Facts: gate.Facts{Release: w.release, Source: w.source},
		Text:  lifecycle.Text{Title: w.title, Body: "body", Digest: lifecycle.Digest(w.title, "body")},
	}
	facts.Stage = lifecycle.GateStageOf(w.gate, facts.Facts)
	if w.gate.Status.Force != nil && facts.Stage != lifecycle.GateUnasked && facts.Stage != lifecycle.GateOver {
		w.Errorf("a forced gate is in stage %d, want it judged without the forge", facts.Stage)
	}
	if facts.Stage == lifecycle.GateAsked {
		facts.Forge = &gate.ForgeFacts{Self: sluice, OwnPrefix: "sluice/", Approval: w.approval(w.forge.numbered(int(w.gate.Status.PullRequest.Number)))}
	}
	if facts.Stage == lifecycle.GateUnasked || facts.Stage == lifecycle.GateAsked {
		facts.Decision = new(gate.Evaluate(w.gate, facts.Facts, start.Add(time.Hour)))
	}
	return facts
}

// approval returns the forge's answer on a pull request.
func (w *gateWorld) approval(p *pull) *forge.Approval {
	state := forge.PullClosed
	if p.Open {
		state = forge.PullOpen
	}
	a := &forge.Approval{
		Repository: forge.Repository{ID: 7, FullName: "octo/shop", DefaultBranch: "main"}, Self: sluice,
		PullRequest: forge.PullRequest{
			Number: p.Number, State: state, Author: sluice, Merged: p.Merged,
			Base: forge.Branch{Ref: "main", SHA: releaseCommit, RepositoryID: 7}, Head: forge.Branch{Ref: p.Branch, SHA: headCommit, RepositoryID: 7},
		},
	}
	if a.PullRequest.Rejected() {
		a.PullRequest.ClosedBy, a.PullRequest.ClosedAt = carol, start
		a.Permissions = []forge.Permission{{Account: carol, Write: w.mayWrite}}
	}
	if !p.Merged {
		return a
	}
	files := []forge.ChangedFile{{Path: record.Path("shop", "web"), Status: forge.FileAdded, BlobSHA: "b10b"}}
	a.PullRequest.MergedAt, a.PullRequest.MergedBy, a.PullRequest.MergeCommit = start, carol, mergeCommit
	a.Files, a.OnTracked, a.PushesTold = files, true, true
	a.Result = forge.Result{Commit: forge.Commit{SHA: mergeCommit, Parents: []string{releaseCommit, headCommit}}, Files: files}
	a.Pushes = []forge.Push{{Before: releaseCommit, After: mergeCommit, Kind: forge.PushMerge, Actor: carol}}
	a.Permissions = []forge.Permission{{Account: carol, Write: w.mayWrite}}
	return a
}

// do carries out an intent, one effect after the other.
func (w *gateWorld) do(intent lifecycle.GateIntent) error {
	status := &w.gate.Status
	switch intent := intent.(type) {
	case lifecycle.ClaimGate:
		return w.does(func() { w.gate.Finalizers = []string{v1alpha1.ForgeFinalizer} })
	case lifecycle.OpenPull:
		p, err := w.open(intent.Request)
		if err != nil {
			return err
		}
		return w.does(func() {
			w.gate.Status = lifecycle.OpenedStatus(w.gate, w.source, intent, forge.PullRequest{Number: p.Number, URL: "https://forge.test/1"})
		})
	case lifecycle.MovePull:
		if err := w.does(func() { w.forge.of(intent.Request.Branch).Base = intent.Request.Tip }); err != nil {
			return err
		}
		return w.does(func() { status.PullRequest.Base = intent.Request.Tip })
	case lifecycle.RewritePull:
		if err := w.does(func() { w.forge.numbered(intent.Number).Title = intent.Text.Title }); err != nil {
			return err
		}
		return w.does(func() { status.PullRequest.TextDigest = intent.Text.Digest })
	case lifecycle.KeepNames:
		return w.does(func() { w.source.Status.Accounts = append(w.source.Status.Accounts, intent.Added...) })
	case lifecycle.RecordGate:
		intent.Status.PullRequest = status.PullRequest
		return w.does(func() { w.gate.Status = intent.Status })
	case lifecycle.CommentPull:
		if err := w.comment(intent.Number, intent.Text); err != nil {
			return err
		}
		return w.does(func() { status.Refusal.ToldDigest = intent.Digest })
	case lifecycle.ClosePull:
		return w.close(intent)
	case lifecycle.RemoveBranch:
		return w.does(func() { w.forge.remove(intent.Branch) })
	case lifecycle.LetGateGo:
		return w.does(func() { w.gate.Finalizers, w.gone = nil, w.gate.DeletionTimestamp != nil })
	}
	w.Fatalf("nobody carries out %T", intent)
	return nil
}

func (w *gateWorld) open(request forge.ChangeRequest) (*pull, error) {
	return w.forge.open(&w.process, request)
}

// open opens a pull request, unless it finds one. Who says that it is the first does not look for
// one.
func (f *toyForge) open(by *process, request forge.ChangeRequest) (*pull, error) {
	if found := f.of(request.Branch); found != nil && !request.First {
		return found, nil
	}
	if !slices.Contains(f.Branches, request.Branch) {
		if err := by.does(func() { f.Branches = append(f.Branches, request.Branch) }); err != nil {
			return nil, err
		}
	}
	p := &pull{Number: len(f.Pulls) + 1, Branch: request.Branch, Base: request.Tip, Title: request.Title, Open: true}
	return p, by.does(func() { f.Pulls = append(f.Pulls, p) })
}

func (f *toyForge) remove(branch string) {
	f.Branches = slices.DeleteFunc(f.Branches, func(b string) bool { return b == branch })
}

func (w *gateWorld) comment(number int, text string) error {
	return w.forge.comment(&w.process, number, text)
}

func (f *toyForge) comment(by *process, number int, text string) error {
	p := f.numbered(number)
	if slices.Contains(p.Comments, text) {
		return nil
	}
	return by.does(func() { p.Comments = append(p.Comments, text) })
}

func (w *gateWorld) close(intent lifecycle.ClosePull) error { return w.forge.close(&w.process, intent) }

func (f *toyForge) close(by *process, intent lifecycle.ClosePull) error {
	p := f.numbered(intent.Number)
	if !p.Open {
		return nil
	}
	if err := f.comment(by, intent.Number, intent.Comment); err != nil {
		return err
	}
	return by.does(func() { p.Open = false })
}

// run works until there is nothing to do. A process that crashes is followed by another one, which
// observes again.
func (w *gateWorld) run() {
	w.Helper()
	for range 20 {
		if w.gone {
			return
		}
		intents := lifecycle.NextOfGate(w.gate, w.facts())
		if len(intents) == 0 {
			return
		}
		for _, intent := range intents {
			if w.do(intent) != nil {
				break
			}
		}
	}
	w.Fatal("there is always something to do")
}

// The lives of gates, as what happens to them.
var gateLives = map[string][]func(*gateWorld){
	"merged":              {(*gateWorld).merge},
	"another text":        {func(w *gateWorld) { w.title = "Approve 2" }, (*gateWorld).merge},
	"a rewritten branch":  {func(w *gateWorld) { w.source.Status.ObservedCommit = otherTip }, (*gateWorld).merge},
	"both at once":        {func(w *gateWorld) { w.title, w.source.Status.ObservedCommit = "Approve 2", otherTip }, (*gateWorld).merge},
	"deleted":             {func(w *gateWorld) { w.gate.DeletionTimestamp = new(metav1.NewTime(start)) }},
	"closed and reopened": {func(w *gateWorld) { w.forge.Pulls[0].Open = false }, func(w *gateWorld) { w.forge.Pulls[0].Open = true }, (*gateWorld).merge},
	"closed and deleted": {
		func(w *gateWorld) { w.forge.Pulls[0].Open = false }, func(w *gateWorld) { w.gate.DeletionTimestamp = new(metav1.NewTime(start)) },
	},
	"merged in vain": {
		func(w *gateWorld) { w.mayWrite = false; w.merge() }, func(w *gateWorld) { w.gate.DeletionTimestamp = new(metav1.NewTime(start)) },
	},
	"merged in vain, then not": {func(w *gateWorld) { w.mayWrite = false; w.merge() }, func(w *gateWorld) { w.mayWrite = true }},
	"forced": {func(w *gateWorld) {
		w.gate.Status.Force = &v1alpha1.Force{By: "ada", Reason: "INC-42"}
	}},
	"no longer awaited": {
		func(w *gateWorld) { w.release.Status.Gates = nil }, func(w *gateWorld) { w.gate.DeletionTimestamp = new(metav1.NewTime(start)) },
	},
	"the source loses its forge": {
		func(w *gateWorld) { w.source.Spec.Forge = nil }, func(w *gateWorld) { w.gate.DeletionTimestamp = new(metav1.NewTime(start)) },
	},
}

// decisions are those at the ends of the lives.
var decisions = map[string]v1alpha1.Decision{
	"merged": v1alpha1.DecisionPassed, "another text": v1alpha1.DecisionPassed, "a rewritten branch": v1alpha1.DecisionPassed,
	"both at once": v1alpha1.DecisionPassed, "deleted": v1alpha1.DecisionWaiting, "closed and reopened": v1alpha1.DecisionPassed,
	"closed and deleted": v1alpha1.DecisionRejected, "merged in vain": v1alpha1.DecisionWaiting, "merged in vain, then not": v1alpha1.DecisionPassed,
	"forced": v1alpha1.DecisionPassed, "no longer awaited": v1alpha1.DecisionWaiting, "the source loses its forge": v1alpha1.DecisionWaiting,
}

// merge has carol merge the pull request, and Git bring it.
func (w *gateWorld) merge() {
	w.forge.Pulls[0].Open, w.forge.Pulls[0].Merged = false, true
	onBranch := record.Of(w.gate)
	onBranch.Blob = "b10b"
	w.source.Status.Approvals = []v1alpha1.ApprovalRecord{onBranch}
}

func live(t testing.TB, events []func(*gateWorld), crash int) *gateWorld {
	t.Helper()
	w := newGateWorld(t, crash)
	w.run()
	for _, event := range events {
		event(w)
		w.run()
	}
	return w
}

// TestGateEndsAlikeAfterACrash: wherever a process is stopped, the next one has the same result,
// opens nothing twice and leaves nothing open.
func TestGateEndsAlikeAfterACrash(t *testing.T) {
	t.Parallel()
	for name, events := range gateLives {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := live(t, events, 0)
			if want.effects < 4 {
				t.Fatalf("want claim, branch, pull request and status at least, got %d effects", want.effects)
			}
			for crash := 1; crash <= want.effects; crash++ {
				got := live(t, events, crash)
				if diff := cmp.Diff(want.forge, got.forge); diff != "" {
					t.Errorf("a crash after effect %d leaves another forge: -want +got:\n%s", crash, diff)
				}
				if diff := cmp.Diff(want.gate, got.gate); diff != "" || want.gone != got.gone {
					t.Errorf("a crash after effect %d leaves another gate (gone: want %t, got %t): -want +got:\n%s", crash, want.gone, got.gone, diff)
				}
			}
			if got := want.gate.Status.Decision; got != decisions[name] {
				t.Errorf("want the gate %s, got %s: %s", decisions[name], got, want.gate.Status.Message)
			}
			over := lifecycle.GateIsOver(want.gate)
			if len(want.forge.Pulls) != 1 || over && (want.forge.Pulls[0].Open || len(want.forge.Branches) > 0) && want.source.Spec.Forge != nil {
				t.Errorf("want one pull request, closed, and no branch once the gate is over: got %+v", want.forge)
			}
		})
	}
}

// TestDeletedGateIsLetGo: a deleted gate waits for its forge for at most 15 minutes, also if the
// forge names a later time; one that has passed waits for longer.
func TestDeletedGateIsLetGo(t *testing.T) {
	t.Parallel()
	passed, deleted := &v1alpha1.Gate{}, &v1alpha1.Gate{}
	deleted.DeletionTimestamp = new(metav1.NewTime(start))
	limited := &forge.LimitedError{Until: start.Add(time.Hour)}
	if at := lifecycle.CloseAgain(passed, limited.Until); !at.Equal(limited.Until) || lifecycle.GivesUp(passed, limited, at) {
		t.Errorf("a gate that has passed: want another try when the forge allows one, got one at %s", at)
	}
	if lifecycle.GivesUp(deleted, limited, start.Add(14*time.Minute)) {
		t.Error("a gate that was deleted 14 minutes ago: want it to wait")
	}
	if at := lifecycle.CloseAgain(deleted, limited.Until); !at.Equal(start.Add(15*time.Minute)) || !lifecycle.GivesUp(deleted, limited, at) {
		t.Errorf("a deleted gate: want it let go after 15 minutes, got another try at %s", at)
	}
	if soon := start.Add(time.Second); !lifecycle.CloseAgain(deleted, soon).Equal(soon) {
		t.Error("a deleted gate: want the next try as soon as the forge allows one")
	}
	for kind, want := range map[forge.Kind]bool{forge.Forbidden: true, forge.Invalid: true, forge.Misconfigured: false, forge.Transient: false} {
		if got := lifecycle.GivesUp(deleted, &forge.Error{Kind: kind}, start); got != want {
			t.Errorf("GivesUp(%s) at once: want %t, got %t", kind, want, got)
		}
	}
}

// TestNextOfGate: the next effect follows from the gate and the known facts.
func TestNextOfGate(t *testing.T) {
	t.Parallel()
	opened := func(w *gateWorld) { w.run() }
	tests := map[string]struct {
		given []func(*gateWorld)
		want  []string
	}{
		"new":                              {nil, []string{"ClaimGate", "OpenPull first"}},
		"claimed before":                   {[]func(*gateWorld){func(w *gateWorld) { w.gate.Finalizers = []string{v1alpha1.ForgeFinalizer} }}, []string{"OpenPull"}},
		"another's":                        {[]func(*gateWorld){func(w *gateWorld) { w.release.UID = "another" }}, nil},
		"no forge":                         {[]func(*gateWorld){func(w *gateWorld) { w.source.Spec.Forge = nil }}, []string{"RecordGate"}},
		"at rest":                          {[]func(*gateWorld){opened}, nil},
		"another text, a branch rewritten": {[]func(*gateWorld){opened, func(w *gateWorld) { w.title, w.source.Status.ObservedCommit = "2", otherTip }}, []string{"MovePull", "RewritePull"}},
		"merged":                           {[]func(*gateWorld){opened, (*gateWorld).merge}, []string{"RecordGate"}},
		"another's of that number": {[]func(*gateWorld){opened, func(w *gateWorld) {
			w.title, w.source.Status.ObservedCommit, w.forge.Pulls[0].Branch = "2", otherTip, "feature"
		}}, []string{"RecordGate"}},
		"merged in vain":                {[]func(*gateWorld){opened, (*gateWorld).merge, func(w *gateWorld) { w.mayWrite = false }}, []string{"RecordGate", "CommentPull"}},
		"forced":                        {[]func(*gateWorld){opened, func(w *gateWorld) { w.gate.Status.Force = &v1alpha1.Force{By: "ada", Reason: "x"} }}, []string{"RecordGate"}},
		"deleted":                       {[]func(*gateWorld){opened, func(w *gateWorld) { w.gate.DeletionTimestamp = new(metav1.NewTime(start)) }}, []string{"ClosePull", "RemoveBranch", "LetGateGo"}},
		"deleted, its source is gone":   {[]func(*gateWorld){opened, func(w *gateWorld) { w.gate.DeletionTimestamp, w.source = new(metav1.NewTime(start)), nil }}, []string{"LetGateGo"}},
		"deleted before it was claimed": {[]func(*gateWorld){func(w *gateWorld) { w.gate.DeletionTimestamp = new(metav1.NewTime(start)) }}, nil},
		"deleted before it was opened": {[]func(*gateWorld){func(w *gateWorld) {
			w.gate.Finalizers, w.gate.DeletionTimestamp = []string{v1alpha1.ForgeFinalizer}, new(metav1.NewTime(start))
		}}, []string{"RemoveBranch", "LetGateGo"}},
		"passed": {[]func(*gateWorld){opened, func(w *gateWorld) { w.gate.Status.Decision = v1alpha1.DecisionPassed }}, []string{"RemoveBranch", "LetGateGo"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newGateWorld(t, 0)
			for _, given := range tc.given {
				given(w)
			}
			var got []string
			before, facts := w.gate.DeepCopy(), w.facts()
			for _, intent := range lifecycle.NextOfGate(w.gate, facts) {
				word := fmt.Sprintf("%T", intent)[len("lifecycle."):]
				if open, is := intent.(lifecycle.OpenPull); is && open.Request.First {
					word += " first"
				}
				got = append(got, word)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("NextOfGate(...): -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before, w.gate); diff != "" {
				t.Errorf("NextOfGate(...) changes the gate: %s", diff)
			}
		})
	}
}
