package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/rollout/sim"
)

// world is a release that the real planner takes through what a release can go through, and a forge
// to which it is reported at times.
type world struct {
	*rapid.T
	sim *sim.State
	// report, refusal and revert are the objects that approvals writes for the release.
	report, refusal *v1alpha1.ForgeReport
	revert          *v1alpha1.Revert
	// commits counts those that were pushed, and revisions those that were new.
	commits, revisions int
	// pulls are the pull requests of gates, and said the gates' decisions.
	pulls map[string]int64
	said  map[string]string
	// told is all that each commit was told, in order; attempts says of which attempt each was.
	told     map[string][]Post
	attempts map[string][]int64
	// ended says of each commit that ended the which end it was, counted from 1, and ends counts them.
	ended map[string]int
	ends  int
	last  int64
}

func newWorld(t *rapid.T) *world {
	return &world{
		T: t, pulls: map[string]int64{}, said: map[string]string{},
		told: map[string][]Post{}, attempts: map[string][]int64{}, ended: map[string]int{},
		sim: sim.NewState(sim.Setup{
			Replicas: 3, Steps: sim.Steps("1 manual", "2 manual-", "100% soak"), MaxSurge: intstr.FromInt32(1),
			Deadline: 10 * time.Minute, Drift: v1alpha1.DriftReport,
			Supersede: rapid.SampledFrom([]v1alpha1.SupersedePolicy{v1alpha1.SupersedeRestart, v1alpha1.SupersedeQueue}).Draw(t, "supersede"),
			OnFailure: rapid.SampledFrom([]v1alpha1.FailurePolicy{v1alpha1.FailurePause, v1alpha1.FailureRollback}).Draw(t, "on failure"),
		}),
	}
}

// release returns the release as approvals sees it.
func (w *world) release() *v1alpha1.BatchRelease {
	r := &w.sim.Release
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Generation: r.Generation, Annotations: r.Annotations},
		Spec:       *r.Spec.DeepCopy(),
	}
	r.Status.DeepCopyInto(&release.Status)
	release.Status.Report, release.Status.Refusal, release.Status.Revert = w.report, w.refusal, w.revert
	return release.DeepCopy()
}

// gates returns the planner's gates; pull requests ask for the manual ones.
func (w *world) gates() []v1alpha1.Gate {
	var gates []v1alpha1.Gate
	for _, made := range w.sim.Gates {
		g := v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{Name: made.Name, CreationTimestamp: metav1.NewTime(made.Made)}, Spec: *made.Spec.DeepCopy()}
		g.Status.Decision, g.Status.Message = made.Decision, w.said[made.Name]
		number := w.pulls[made.Name]
		if g.Spec.Type == v1alpha1.GateManual {
			g.Spec.Type, g.Spec.Policy = v1alpha1.GatePullRequest, v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{}}
		}
		if g.Status.Decision == "" && number != 0 {
			g.Status.Decision = v1alpha1.DecisionWaiting
		}
		if number != 0 {
			g.Status.PullRequest = &v1alpha1.PullRequestReference{Number: number, URL: pullAt}
		}
		gates = append(gates, g)
	}
	return gates
}

// apply lets something happen, and sees whether a release has ended.
func (w *world) apply(event sim.Event) {
	event.Apply(w.sim)
	w.observe()
}

func (w *world) observe() {
	if status := w.sim.Release.Status; status.Phase == v1alpha1.PhaseCompleted && status.Attempt != w.last {
		w.last = status.Attempt
		w.ends++
		w.ended[status.Commit] = w.ends
	}
}

// work has controllers and nodes do some of what is to be done.
func (w *world) work() {
	for range rapid.IntRange(1, 12).Draw(w.T, "turns") {
		w.apply(sim.Event{Kind: sim.Pass})
		for _, set := range slices.Clone(w.sim.Sets) {
			for _, kind := range []sim.Kind{sim.SyncSet, sim.PodReady, sim.PodAvailable, sim.PodGone} {
				w.apply(sim.Event{Kind: kind, Text: set.Revision})
			}
		}
		w.apply(sim.Event{Kind: sim.SyncWorkload})
		w.apply(sim.Event{Kind: sim.Approve})
	}
}

// push brings another commit, with a new template or an earlier one.
func (w *world) push() {
	w.commits++
	revision := fmt.Sprintf("r%d", w.revisions+1)
	if back := rapid.IntRange(-2*w.revisions-2, w.revisions).Draw(w.T, "back to"); back >= 0 {
		revision = []string{"v1", fmt.Sprintf("r%d", back)}[min(back, 1)]
	} else {
		w.revisions++
	}
	if (sim.Event{Kind: sim.Give, Text: revision}).Apply(w.sim) {
		w.sim.Annotate(v1alpha1.CommitAnnotation, strings.Repeat(fmt.Sprintf("%04x", w.commits), 10))
	}
}

// answer opens a pull request, or has a gate say something else.
func (w *world) answer() {
	for _, g := range w.sim.Gates {
		if w.pulls[g.Name] == 0 {
			w.pulls[g.Name] = int64(len(w.pulls) + 1)
		}
		w.said[g.Name] = rapid.String().Draw(w.T, "said")
	}
}

// ask has Git asked to follow a rollback.
func (w *world) ask() {
	if !RevertWanted(w.release()) {
		return
	}
	w.revert = &v1alpha1.Revert{
		Attempt: w.sim.Release.Status.Attempt, PullRequest: &v1alpha1.PullRequestReference{Number: 13, URL: pullAt},
		State: rapid.SampledFrom([]v1alpha1.RevertState{
			v1alpha1.RevertOpening, v1alpha1.RevertOpen, v1alpha1.RevertDeclined, v1alpha1.RevertRefused, v1alpha1.RevertMerged,
		}).Draw(w.T, "state of the revert"),
	}
}

// step lets something happen.
func (w *world) step() {
	happens := func(event sim.Event) func() { return func() { w.apply(event) } }
	choices := []func(){
		w.work, w.work, w.work, w.work, w.work, w.work, w.push, w.push, w.answer, w.answer, w.ask,
		happens(sim.Event{Kind: sim.Confirm}), happens(sim.Event{Kind: sim.Confirm}), happens(sim.Event{Kind: sim.Confirm}), happens(sim.Event{Kind: sim.Wait}),
		happens(sim.Event{Kind: sim.Reject}), happens(sim.Event{Kind: sim.Rollback, Text: "true"}), happens(sim.Event{Kind: sim.Retry}),
		happens(sim.Event{Kind: sim.Suspend}), happens(sim.Event{Kind: sim.Resume}), happens(sim.Event{Kind: sim.Drift, Text: "by-hand"}),
		happens(sim.Event{Kind: sim.Elapse}), happens(sim.Event{Kind: sim.Scale, N: 2}), happens(sim.Event{Kind: sim.Scale, N: 4}),
		func() { w.sim.Sick = fmt.Sprintf("r%d", w.revisions) },
	}
	choices[rapid.IntRange(0, len(choices)-1).Draw(w.T, "next")]()
}

// upgrade removes the contents of reports, as after an upgrade from a version that did not record
// them.
func (w *world) upgrade() {
	for _, last := range []*v1alpha1.ForgeReport{w.report, w.refusal} {
		if last != nil {
			last.Content = nil
		}
	}
}

// tell tells what is to be told now. Each status is written down, or is lost to a crash and told
// again.
func (w *world) tell() {
	for {
		release, slot := w.release(), &w.refusal
		next := Waiting(release, Options{})
		if len(next) == 0 {
			next, slot = Next(release, w.gates(), Options{}), &w.report
		}
		if len(next) == 0 {
			return
		}
		w.unread(next)
		w.post(next[0])
		if rapid.IntRange(0, 4).Draw(w.T, "crash") > 0 {
			*slot = After(*slot, next[0], made)
		}
	}
}

// unread holds what is to be told against what it would be had something else been posted: nothing
// is read from it.
func (w *world) unread(told []Post) {
	other := w.release()
	for _, last := range []*v1alpha1.ForgeReport{other.Status.Report, other.Status.Refusal} {
		if last != nil {
			last.Description = supersededWords
		}
	}
	now := append(Waiting(other, Options{}), Next(other, w.gates(), Options{})...)
	for _, post := range told {
		if !slices.ContainsFunc(now, func(p Post) bool { return equality.Semantic.DeepEqual(p, post) }) {
			w.Fatalf("%v is to be told, and it is not after a status with other words: %v", lines([]Post{post}), lines(now))
		}
	}
}

// supersededWords say something that was not told.
const supersededWords = "superseded by c0ffee at batch 9/9: rolled back to 9999, merge #99 to update Git: drifted: nothing"

func (w *world) post(next Post) {
	w.check(next)
	commit := next.Status.SHA
	w.told[commit] = append(w.told[commit], next)
	w.attempts[commit] = append(w.attempts[commit], w.sim.Release.Status.Attempt)
}

// check holds a status against what the forge takes, and against what the commit was told before.
func (w *world) check(post Post) {
	status := post.Status
	if n := utf8.RuneCountInString(status.Description); n > 140 || n == 0 || forge.Description(status.Description) != status.Description {
		w.Fatalf("the forge refuses %q", status.Description)
	}
	if nth := w.ended[status.SHA]; nth > 0 && w.ends-nth < remembered && post.Content.Kind == v1alpha1.ReportSuperseded {
		w.Fatalf("%s came to its end and is told %q", status.SHA, status.Description)
	}
	before := w.told[status.SHA]
	if len(before) == 0 {
		return
	}
	last, attempt := before[len(before)-1], w.attempts[status.SHA][len(before)-1]
	same := attempt == w.sim.Release.Status.Attempt
	if status.State == forge.StatePending && same && isEnd(last) {
		w.Fatalf("%s is told %q after its end %q", status.SHA, status.Description, last.Status.Description)
	}
	now := w.sim.Release.Status
	queued := now.Queued != nil && now.Queued.Commit == status.SHA
	if status.State == forge.StatePending && status.SHA != now.Commit && !queued {
		w.Fatalf("%s is told %q, but another commit is released", status.SHA, status.Description)
	}
}

func isEnd(post Post) bool {
	return post.Status.State == forge.StateSuccess || post.Content.Kind == v1alpha1.ReportSuperseded || goesBack(post.Content.Kind)
}

// remembered is how many ends a status keeps in mind.
const remembered = 5

// TestTheLastStatusTellsTheOutcome: for any course of the releases, any subset of it that is seen,
// and any loss, the outcome of every commit is reported in the end, and no report is left.
func TestTheLastStatusTellsTheOutcome(t *testing.T) {
	t.Parallel()
	kinds := map[v1alpha1.ReportKind]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		defer func() {
			for _, told := range w.told {
				for _, post := range told {
					kinds[post.Content.Kind]++
				}
			}
		}()
		upgraded := rapid.IntRange(-40, 40).Draw(t, "when it is upgraded")
		for happens := range rapid.IntRange(1, 40).Draw(t, "happens") {
			w.step()
			if upgraded == happens {
				w.upgrade()
			}
			if rapid.IntRange(0, 2).Draw(t, "seen") > 0 {
				w.tell()
			}
		}
		w.end()
		w.tell()
		w.outcome()
		if again := append(Waiting(w.release(), Options{}), Next(w.release(), w.gates(), Options{})...); len(again) != 0 {
			t.Fatalf("all was told, but there is more: %v", lines(again))
		}
	})
	for _, kind := range []v1alpha1.ReportKind{v1alpha1.ReportUpdating, v1alpha1.ReportWaiting, v1alpha1.ReportReleased, v1alpha1.ReportRolledBack} {
		if kinds[kind] == 0 && !testing.Short() { // with -short there are a fifth of the releases
			t.Errorf("nothing of kind %s was told: the releases don't go far enough", kind)
		}
	}
	t.Logf("told: %v", kinds)
}

// end lets all that is in progress, and all that waits, complete.
func (w *world) end() {
	for range 2000 {
		next, _ := sim.Calm(w.sim)
		if next == nil {
			return
		}
		w.sim = next
		w.observe()
	}
	w.Fatalf("it comes to no end: %v", w.sim)
}

func (w *world) outcome() {
	status := w.sim.Release.Status
	for commit, told := range w.told {
		if last := told[len(told)-1]; last.Status.State == forge.StatePending {
			w.Fatalf("%s is left with %q", commit, last.Status.Description)
		}
	}
	if status.Commit == "" {
		return
	}
	told := w.told[status.Commit]
	if len(told) == 0 {
		w.Fatalf("%s was told nothing", status.Commit)
	}
	last, want := told[len(told)-1], []v1alpha1.ReportKind{v1alpha1.ReportReleased}
	switch {
	case takenBack(status):
		want = []v1alpha1.ReportKind{v1alpha1.ReportRolledBack}
	case drift(status) != nil:
		want = []v1alpha1.ReportKind{v1alpha1.ReportDrifted}
	case status.Rollback != nil:
		want = []v1alpha1.ReportKind{v1alpha1.ReportReverted}
	}
	if !slices.Contains(want, last.Content.Kind) {
		w.Fatalf("the last that %s was told is %q, want %v", status.Commit, last.Status.Description, want)
	}
}

// TestDescriptionsFit: a forge accepts descriptions from any text of people and programs.
func TestDescriptionsFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := smoke()
		g.Spec.Policy.CommitStatus.Context = rapid.String().Draw(t, "context")
		s := rolling(good).blockedOn(g)
		if rapid.Bool().Draw(t, "failed") {
			s.failed("batch 2/4: no progress: " + rapid.String().Draw(t, "message"))
		}
		source := &v1alpha1.ReleaseSource{Status: v1alpha1.ReleaseSourceStatus{ObservedCommit: good, Errors: []v1alpha1.FileError{{
			File: rapid.String().Draw(t, "file"), Line: rapid.Int32().Draw(t, "line"), Message: rapid.String().Draw(t, "mistake"),
		}}}}
		sync, _ := Sync(source, Options{})
		for _, post := range append(Next(s.release, s.gates, Options{}), sync) {
			status := post.Status
			if n := utf8.RuneCountInString(status.Description); n > 140 || forge.Description(status.Description) != status.Description {
				t.Fatalf("the forge refuses %q", status.Description)
			}
		}
	})
}
