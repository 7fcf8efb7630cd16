package report

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden bodies anew")

// asked returns a release that waits for the gate after its second batch, of three pods.
func asked() (*v1alpha1.Gate, *v1alpha1.BatchRelease, Batch) {
	s := rolling(good).blockedOn(approval())
	s.release.Spec.Strategy.Steps[1].Gates = []v1alpha1.GatePolicy{{PullRequest: &v1alpha1.PullRequestGate{}}}
	s.release.Annotations[v1alpha1.AuthorAnnotation] = "Ada Lovelace <ada@example.com>"
	s.release.Annotations[v1alpha1.SubjectAnnotation] = "Use the new engine"
	batch := Batch{Replicas: 10, Updated: 3, Ready: 2, Available: 2, Pods: []Pod{
		{Name: "web-7f9c-b", Ready: true, Images: []string{"registry.test/web:2", "registry.test/proxy:1"}},
		{Name: "web-7f9c-a", Ready: true, Restarts: 2, Images: []string{"registry.test/web:2"}},
		{Name: "web-7f9c-c", Images: []string{"registry.test/web:2"}, Message: "CrashLoopBackOff"},
	}}
	return &s.gates[0], s.release, batch
}

// evil is what one might write into a commit or a manifest to be more than text.
const evil = "`</td><script>alert(1)</script> | @octocat [x](https://evil.test) ![x](https://evil.test/x.png) fixes #1 \\` \\| <!-- \r\n# Head\n\n- a\u202e\u200b*b*"

func TestApproval(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*v1alpha1.Gate, *v1alpha1.BatchRelease, *Batch){
		"plain": func(*v1alpha1.Gate, *v1alpha1.BatchRelease, *Batch) {},
		"untraceable": func(g *v1alpha1.Gate, _ *v1alpha1.BatchRelease, _ *Batch) {
			g.Spec.Policy.PullRequest = &v1alpha1.PullRequestGate{ForbidSelfApproval: true}
			g.Spec.StableCommit = ""
		},
		"policy": func(g *v1alpha1.Gate, r *v1alpha1.BatchRelease, _ *Batch) {
			g.Spec.StableCommit = "57ab1e5"
			g.Spec.Policy.PullRequest = &v1alpha1.PullRequestGate{
				MinApprovals: 2, Approvers: []string{"ada", "bob"}, Teams: []string{"octo/sre"}, ForbidSelfApproval: true,
			}
			r.Status.Gates = append(r.Status.Gates, v1alpha1.GateReference{Name: "web-7f9c-3-1-1", Type: v1alpha1.GateSoak})
		},
		"rejecting": func(g *v1alpha1.Gate, _ *v1alpha1.BatchRelease, _ *Batch) {
			g.Spec.Policy.OnReject = v1alpha1.RejectRollback
		},
		"last": func(g *v1alpha1.Gate, r *v1alpha1.BatchRelease, batch *Batch) {
			g.Spec.Step, r.Status.Batch = 3, "4/4"
			g.Spec.Policy.PullRequest.Approvers = []string{"ada"}
			*batch = Batch{Replicas: 1, Updated: 1, Ready: 1, Available: 1}
		},
		"rollback": func(g *v1alpha1.Gate, r *v1alpha1.BatchRelease, _ *Batch) {
			g.Spec.Step, g.Spec.Revision = 0, "58d4"
			r.Status.Rollback, r.Status.UpdateRevision = reverts(), "58d4"
		},
		"many": func(_ *v1alpha1.Gate, _ *v1alpha1.BatchRelease, batch *Batch) {
			batch.Replicas, batch.Updated, batch.Pods = 100, 23, nil
			for i := range 23 {
				batch.Pods = append(batch.Pods, Pod{
					Name: fmt.Sprintf("web-7f9c-%02d", 22-i), Ready: i%7 > 0, Restarts: int32(i % 3),
					Images: strings.Fields("a b c d e f g"),
				})
			}
		},
		"evil": func(g *v1alpha1.Gate, r *v1alpha1.BatchRelease, batch *Batch) {
			r.Annotations[v1alpha1.AuthorAnnotation], r.Annotations[v1alpha1.SubjectAnnotation] = evil, strings.Repeat("x", 300)
			g.Spec.Policy.PullRequest.Approvers = []string{evil}
			batch.Pods[0].Images, batch.Pods[0].Message, batch.Pods[1].Name = []string{evil, "`"}, evil, evil
		},
		"unknown": func(g *v1alpha1.Gate, r *v1alpha1.BatchRelease, batch *Batch) {
			g.Spec.Commit, r.Annotations = "", nil
			*batch = Batch{}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, release, batch := asked()
			change(g, release, &batch)
			title, body := Approval(g, release, batch)
			compare(t, filepath.Join("testdata", name+".md"), title+"\n\n"+body)
		})
	}
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	want, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if *update { // what is written anew differs from what was there, and fails
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("people would read something else (-want +got); if it is meant, run with -update:\n%s", diff)
	}
}

var span = regexp.MustCompile("`[^`\n]*`")

// TestNothingIsInjected: text of other authors stays in its span of code, and the rest of the body
// is the same as without it. A title has only the characters of an image's name.
func TestNothingIsInjected(t *testing.T) {
	t.Parallel()
	harmless := func(value string) (string, string) {
		g, release, batch := asked()
		release.Annotations[v1alpha1.AuthorAnnotation], release.Annotations[v1alpha1.SubjectAnnotation] = value, value
		g.Spec.Policy.PullRequest.Approvers, g.Spec.Policy.PullRequest.Teams = []string{value}, []string{value}
		batch.Pods = []Pod{{Name: value, Images: []string{value, value}, Message: "x" + value}}
		title, body := Approval(g, release, batch)
		return title, span.ReplaceAllString(body, "CODE")
	}
	wantTitle := regexp.MustCompile(`^Approve batch 2/4 of shop/web: [A-Za-z0-9._:-]{0,60}, [A-Za-z0-9._:-]{0,60} \(revision 7f9c\)$`)
	_, want := harmless("x")
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.String(), rapid.Just(evil), rapid.StringMatching("[`|\\\\<@\n x]{1,12}")).Draw(t, "value")
		if clean(value) == "" {
			t.Skip("shown as -")
		}
		title, got := harmless(value)
		if !wantTitle.MatchString(title) || got != want {
			t.Fatalf("%q is more than text: %s\n%s", value, title, cmp.Diff(want, got))
		}
		if strings.ContainsFunc(clean(value), func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Fatalf("%q shows what is not seen", value)
		}
	})
}

// TestClaimIsOfTheRevision: a pull request shows what the applier of its revision says, and nothing
// of a template that was applied since.
func TestClaimIsOfTheRevision(t *testing.T) {
	t.Parallel()
	g, release, batch := asked()
	release.Spec.Follow, release.Status.CommitSubject = v1alpha1.FollowWorkload, "Mine bitcoins |\n@octocat"
	release.Annotations[v1alpha1.SubjectAnnotation] = "Fix a typo"
	for revision, want := range map[string]string{
		g.Spec.Revision: commit(release.Status.Commit) + " `Mine bitcoins ¦ @octocat`",
		"another":       "nothing",
	} {
		g.Spec.Revision = revision
		if _, body := Approval(g, release, batch); !strings.Contains(body, "| Applied, as the workload says | "+want+" |\n") {
			t.Errorf("revision %s: want %s in\n%s", revision, want, body)
		}
	}
}

func TestCommitMessage(t *testing.T) {
	t.Parallel()
	g, _, _ := asked()
	want := "Approve batch 2 of shop/web\n\nRevision 7f9c of commit " + good + " goes on once this is on the tracked branch.\n"
	if diff := cmp.Diff(want, CommitMessage(g)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	g.Spec.Revision, g.Spec.Commit = "x\n\nFixes #1 @octocat", ""
	want = "Approve batch 2 of shop/web\n\nRevision x--Fixes--1--octocat of commit unknown goes on once this is on the tracked branch.\n"
	if diff := cmp.Diff(want, CommitMessage(g)); diff != "" {
		t.Errorf("a gate that somebody made by hand: -want +got:\n%s", diff)
	}
}

func TestVoided(t *testing.T) {
	t.Parallel()
	const edit = "the steps of the release were changed. If the approval is still needed, another pull request asks for it."
	next := func(r *v1alpha1.BatchRelease) {
		r.Status.Attempt, r.Status.UpdateRevision, r.Status.Commit, r.Status.Gates = 4, "c0de", fix, nil
	}
	tests := map[string]struct {
		change func(*v1alpha1.BatchRelease)
		want   string
	}{
		"superseded":         {next, "revision `7f9c` was superseded by revision `c0de`, of commit " + fix + "."},
		"superseded by hand": {func(r *v1alpha1.BatchRelease) { next(r); r.Status.Commit = "" }, "revision `7f9c` was superseded by revision `c0de`, of commit -."},
		"rolled back": {func(r *v1alpha1.BatchRelease) {
			next(r)
			r.Status.Rollback, r.Status.UpdateRevision = reverts(), "58d4"
		}, "revision `7f9c` was rolled back to revision `58d4`."},
		"release deleted":    {func(r *v1alpha1.BatchRelease) { r.DeletionTimestamp = new(metav1.NewTime(made)) }, "the release was deleted."},
		"release made anew":  {func(r *v1alpha1.BatchRelease) { r.UID = "uid-other" }, "the release was deleted."},
		"superseded in Git":  {func(r *v1alpha1.BatchRelease) { r.Annotations[v1alpha1.CommitAnnotation] = fix }, "revision `7f9c` was superseded by commit " + fix + "."},
		"rollback asked for": {func(r *v1alpha1.BatchRelease) { r.Annotations[v1alpha1.RollbackAnnotation] = "true" }, "revision `7f9c` is being rolled back."},
		"release at its end": {func(r *v1alpha1.BatchRelease) { r.Status.Phase, r.Status.Gates = v1alpha1.PhaseCompleted, nil }, "the release has completed without it."},
		"step taken out":     {func(r *v1alpha1.BatchRelease) { r.Spec.Strategy.Steps = r.Spec.Strategy.Steps[:1] }, edit},
		"gate taken out":     {func(r *v1alpha1.BatchRelease) { r.Status.Gates, r.Spec.Strategy.Steps[1].Gates = nil, nil }, edit},
		"policy edited": {func(r *v1alpha1.BatchRelease) {
			r.Spec.Strategy.Steps[1].Gates[0].PullRequest = &v1alpha1.PullRequestGate{MinApprovals: 1}
		}, edit},
		"gate deleted": {func(*v1alpha1.BatchRelease) {}, "its Gate was deleted. If the approval is still needed, another pull request asks for it."},
	}
	for name, tc := range tests {
		g, release, _ := asked()
		tc.change(release)
		if diff := cmp.Diff("Closed by Sluice: "+tc.want+" An answer to this pull request no longer counts.", Voided(g, release)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	g, _, _ := asked()
	if got, want := Voided(g, nil), "Closed by Sluice: the release was deleted. An answer to this pull request no longer counts."; got != want {
		t.Errorf("no release: got %s", got)
	}
}

// TestStepsOfARollback: a rollback goes through its own steps.
func TestStepsOfARollback(t *testing.T) {
	t.Parallel()
	_, release, _ := asked()
	release.Status.Rollback, release.Status.UpdateRevision = reverts(), "58d4"
	if got := len(steps(release)); got != 2 {
		t.Errorf("one that names none has the fast plan: got %d steps", got)
	}
	release.Spec.Rollback = &v1alpha1.RollbackStrategy{Steps: []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}}
	if got := len(steps(release)); got != 1 {
		t.Errorf("else those that it names: got %d steps", got)
	}
}
