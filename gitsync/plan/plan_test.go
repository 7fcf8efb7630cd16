package plan

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

var names = []string{"a", "b", "c", "d"}

// drawFiles draws what a repository holds.
func drawFiles(t *rapid.T, commit string) map[string]string {
	files := map[string]string{}
	for _, name := range names {
		text := releaseText(name, rapid.SampledFrom([]string{"1", "2"}).Draw(t, commit+": image"),
			rapid.SampledFrom([]string{"front", "back"}).Draw(t, commit+": tier"), rapid.IntRange(1, 2).Draw(t, commit+": step"),
			rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, commit+": disk"))
		switch rapid.SampledFrom([]string{"there", "there", "there", "renamed", "gone", "empty", "broken"}).Draw(t, commit+": file "+name) {
		case "renamed":
			files[name+".yaml"] = renamed(name, text)
		case "there":
			files[name+".yaml"] = text
		case "empty":
			files[name+".yaml"] = ""
		case "broken":
			files[name+".yaml"] = "kind: ["
		}
	}
	freeze := rapid.SampledFrom([]string{
		"", "", "reason: all of it\n", "reason: it is over\nuntil: 2020-01-01T00:00:00Z\n", "reason: front\nselector: {matchLabels: {tier: front}}\n", "nonsense: 1\n",
	}).Draw(t, commit+": freeze")
	if freeze != "" {
		files[spec.FreezeFile] = freeze
	}
	return files
}

// renamed gives the workload of a release another name.
func renamed(name, text string) string {
	return strings.ReplaceAll(text, "name: "+workloads[name].Name+"}", "name: renamed-"+name+"}")
}

// meddle has people, other sources and webhooks change a cluster between two commits.
func meddle(t *rapid.T, c *cluster) {
	for _, name := range names {
		key := named(name)
		live := c.releases[key]
		what := rapid.SampledFrom([]string{"", "", "delete", "edit", "suspend", "freeze", "share", "hand over", "make", "undeploy", "undeploy in mid-release", "lose", "rewrite"}).Draw(t, "meddling with "+name)
		switch {
		case what == "undeploy":
			delete(c.workloads, workloads[name])
		case what == "rewrite":
			c.rewrites[key] = true
		case what == "make" && live == nil:
			c.uids++
			made := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "by-hand", Annotations: map[string]string{}}}
			made.Spec.WorkloadRef = v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: workloads[name].Kind, Name: workloads[name].Name}
			c.releases[key], c.shared[key] = made, true
		case live == nil:
		case what == "undeploy in mid-release", what == "lose":
			c.inMidRelease(name, what != "lose")
			delete(c.workloads, workloads[name])
		case what == "delete":
			delete(c.releases, key)
		case what == "edit":
			live.Spec.Strategy.Steps = live.Spec.Strategy.Steps[:1]
			live.Generation++
		case what == "suspend":
			live.Spec.Suspend = true
		case what == "freeze":
			live.Annotations[v1alpha1.FreezeAnnotation] = `{"reason":"mine"}`
		case what == "share":
			c.shared[key] = true
		case what == "hand over":
			live.Labels[v1alpha1.SourceLabel] = otherSource
		}
	}
	for _, name := range names {
		for _, kind := range []kind{freezing, creating, applying, owning, deleting} {
			if rapid.IntRange(0, 15).Draw(t, "refuses") == 15 {
				c.refuses[sentOf(kind, name)] = true
			}
		}
	}
}

// sentOf identifies a write of a kind for a release.
func sentOf(kind kind, name string) Sent {
	if workload := workloads[name]; kind == creating {
		return Sent{kind, workload.Kind, workload.Key}
	}
	return Sent{kind: kind, key: named(name)}
}

// settle runs passes, of which some die after a write and leave nothing remembered, until one makes
// no write that is taken.
func settle(t *rapid.T, c *cluster, desired Desired, dies func() bool) {
	applied := map[Key]Applied{}
	for range 200 {
		before := c.clone()
		if _, died := c.pass(t, desired, applied, dies); died {
			applied = map[Key]Applied{}
			continue
		}
		if equality.Semantic.DeepEqual(before.releases, c.releases) && maps.Equal(before.shared, c.shared) && maps.Equal(before.workloads, c.workloads) {
			return
		}
	}
	t.Fatal("there is no end")
}

// same tells how two clusters differ in what lasts.
func same(a, b *cluster) string {
	return cmp.Diff(a.releases, b.releases, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(metav1.ObjectMeta{}, "UID", "Generation")) +
		cmp.Diff(a.workloads, b.workloads) + cmp.Diff(a.shared, b.shared)
}

// TestStoppedAfterAnyWrite: a process that continues after any last write of another has the same
// result. A process without memory, too, leaves everything at rest alone.
func TestStoppedAfterAnyWrite(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		prune := rapid.Bool().Draw(t, "prune")
		never := func() bool { return false }
		c := newCluster()
		settle(t, c, read(t, prune, "first", drawFiles(t, "first")), never)
		meddle(t, c)
		desired := read(t, prune, "second", drawFiles(t, "second"))

		undisturbed, stopped := c.clone(), c.clone()
		settle(t, undisturbed, desired, never)
		deaths := rapid.IntRange(1, 6).Draw(t, "deaths")
		settle(t, stopped, desired, func() bool {
			died := deaths > 0 && rapid.Bool().Draw(t, "dies")
			if died {
				deaths--
			}
			return died
		})
		if diff := same(undisturbed, stopped); diff != "" {
			t.Fatalf("the end differs (-undisturbed +stopped):\n%s", diff)
		}
		if len(stopped.refuses)+len(stopped.rewrites) > 0 {
			return
		}
		if writes, _ := stopped.pass(t, desired, map[Key]Applied{}, never); writes > 0 {
			t.Fatalf("at rest %d writes are made", writes)
		}
	})
}

// TestEndIsWhatGitAsks: in the end every object of the commit exists, unless another source writes
// it.
func TestEndIsWhatGitAsks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster()
		settle(t, c, read(t, true, "first", drawFiles(t, "first")), func() bool { return false })
		meddle(t, c)
		clear(c.refuses)
		clear(c.rewrites)
		desired := read(t, true, "second", drawFiles(t, "second"))
		settle(t, c, desired, func() bool { return false })
		for _, release := range desired.Content.Releases {
			live := c.releases[KeyOf(release)]
			_, there := c.workloads[WorkloadOf(release)]
			switch {
			case c.claimsDiffer(release), c.refersElsewhere(release): // it is a problem, and not applied
			case live == nil:
				t.Fatalf("there is no release %s", release.Name)
			case live.Labels[v1alpha1.SourceLabel] == otherSource:
			case !asGitAsks(desired, live, release), c.shared[KeyOf(release)]:
				t.Fatalf("release %s is not as Git asks, or shared: %t", release.Name, c.shared[KeyOf(release)])
			case !there && !c.isLost(release) && !frozenNow(desired, Observed{Now: now}, release):
				t.Fatalf("there is no %s", WorkloadOf(release))
			}
		}
	})
}

func TestDoubt(t *testing.T) {
	t.Parallel()
	held := func(why Doubt) *Doubt { return &why }
	tests := []struct {
		gone, left, errors int
		want               *Doubt
		reason             string
	}{
		{1, 9, 0, nil, "one of ten"},
		{1, 1, 0, nil, "half: one was renamed"},
		{5, 5, 0, nil, "half"},
		{6, 5, 0, held(MoreGoThanStay), "more than half"},
		{1, 0, 0, held(NothingLeft), "an empty tree is a mistake"},
		{200, 1, 0, held(MoreGoThanStay), "the folder was moved"},
		{3, 9, 1, held(FilesWrong), "it may be in the broken file"},
		{6, 5, 1, held(MoreGoThanStay), "more than half, and one may be in a broken file"},
		{2, 0, 1, held(NothingLeft), "an empty tree, but for a broken file"},
	}
	for _, tt := range tests {
		want := (*Held)(nil)
		if tt.want != nil {
			want = &Held{*tt.want, tt.gone, tt.left}
		}
		if want != nil && *tt.want == FilesWrong {
			want.Gone = tt.errors
		}
		if diff := cmp.Diff(want, doubt(tt.gone, tt.left, tt.errors)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
		}
	}
}

// TestOtherClaimsAreRefused: a release is not written while its StatefulSet has other volume claim
// templates, and all else is.
func TestOtherClaimsAreRefused(t *testing.T) {
	t.Parallel()
	never := func() bool { return false }
	rapid.Check(t, func(t *rapid.T) {
		c := newCluster()
		settle(t, c, read(t, true, "first", map[string]string{"a.yaml": releaseText("a", "1", "front", 1, 1), "b.yaml": releaseText("b", "1", "front", 1, 1)}), never)
		before := c.releases[named("b")].DeepCopy()
		desired := read(t, true, "second", map[string]string{"a.yaml": releaseText("a", "2", "front", 1, 1), "b.yaml": releaseText("b", "2", "front", 1, 2)})
		settle(t, c, desired, never)
		if diff := cmp.Diff(before, c.releases[named("b")]); diff != "" {
			t.Fatalf("the release whose volumes differ was written (-before +after):\n%s", diff)
		}
		if commit := c.releases[named("a")].Annotations[v1alpha1.CommitAnnotation]; commit != "second" {
			t.Fatalf("the other release has commit %s, want that of the second", commit)
		}
		problems := Next(desired, c.observe(desired), Remembered{}).Problems
		if len(problems) != 1 {
			t.Fatalf("got %v, want one problem", problems)
		}
		if problem, is := problems[0].(ClaimsChanged); !is || problem.Release.Name != "b" || len(problem.Names) != 1 {
			t.Fatalf("got %+v, want the claims of b", problems[0])
		}
	})
}

// TestRenamedWorkloadIsNotCreated: a release whose workload Git renames is refused as a whole.
// Creating the workload would run in full what may wait at a gate.
func TestRenamedWorkloadIsNotCreated(t *testing.T) {
	t.Parallel()
	first := releaseText("a", "1", "front", 1, 1)
	tests := map[string]string{
		"another name": renamed("a", releaseText("a", "2", "front", 1, 1)),
		"another kind": strings.ReplaceAll(releaseText("a", "2", "front", 1, 1), "kind: Deployment", "kind: DaemonSet"),
	}
	for name, second := range tests {
		for _, owner := range []string{"", otherSource} {
			c := newCluster()
			desired := read(t, false, "first", map[string]string{"a.yaml": first})
			for sent := (map[Sent]Fate{}); len(sent) < 2; {
				for _, write := range Next(desired, c.observe(desired), Remembered{Sent: sent}).Writes {
					sent[write.Sent()] = c.carryOut(nil, write)
				}
			}
			if owner != "" {
				c.releases[named("a")].Labels[v1alpha1.SourceLabel] = owner
			}
			desired = read(t, false, "second", map[string]string{"a.yaml": second})
			next := Next(desired, c.observe(desired), Remembered{})
			if len(next.Writes) > 0 || len(next.Problems) != 1 {
				t.Fatalf("%s, owner %q: got writes %v and problems %v, want one problem", name, owner, next.Writes, next.Problems)
			}
			_, changed := next.Problems[0].(WorkloadChanged)
			if _, contested := next.Problems[0].(Contested); contested != (owner != "") || changed == contested {
				t.Errorf("%s, owner %q: got %T", name, owner, next.Problems[0])
			}
		}
	}
}

// TestFreezeComesFirst: nothing else of a commit is written before its freeze.
func TestFreezeComesFirst(t *testing.T) {
	t.Parallel()
	c := newCluster()
	settleAll := func(desired Desired) {
		for range 5 {
			sent := map[Sent]Fate{}
			for next := Next(desired, c.observe(desired), Remembered{}); len(next.Writes) > 0; next = Next(desired, c.observe(desired), Remembered{Sent: sent}) {
				for _, write := range next.Writes {
					sent[write.Sent()] = c.carryOut(nil, write)
				}
			}
		}
	}
	settleAll(read(t, false, "first", map[string]string{"a.yaml": releaseText("a", "1", "front", 1, 1), "b.yaml": releaseText("b", "1", "back", 1, 1)}))
	desired := read(t, false, "second", map[string]string{
		"a.yaml": releaseText("a", "2", "front", 1, 1), "c.yaml": releaseText("c", "1", "back", 1, 1), spec.FreezeFile: "reason: quarter end\n",
	})
	var kinds []string
	for _, write := range Next(desired, c.observe(desired), Remembered{}).Writes {
		kinds = append(kinds, fmt.Sprintf("%T %s", write, write.Sent().key.Name))
	}
	if diff := cmp.Diff([]string{"plan.SetFreeze a", "plan.SetFreeze b"}, kinds); diff != "" {
		t.Errorf("the first writes (-want +got):\n%s", diff)
	}
}

// TestFreezeFollowsItsEnd: a freeze keeps the commit that brought it until it says something else.
func TestFreezeFollowsItsEnd(t *testing.T) {
	t.Parallel()
	annotation := func(commit, until string, live *v1alpha1.BatchRelease) string {
		desired := read(t, false, commit, map[string]string{spec.FreezeFile: "reason: quarter end\nuntil: " + until + "\n"})
		return freezeOf(desired, namespace, nil, live)
	}
	const sooner, later = "2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z"
	first := annotation("first", sooner, nil)
	live := &v1alpha1.BatchRelease{}
	live.Annotations = map[string]string{v1alpha1.FreezeAnnotation: first}
	if again := annotation("second", sooner, live); again != first {
		t.Errorf("the same freeze is written again: %s, want %s", again, first)
	}
	if moved, want := annotation("second", later, live), annotation("second", later, nil); moved != want {
		t.Errorf("a freeze with another end is %s, want %s", moved, want)
	}
}
