package plan

import (
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// pruned returns the releases that a commit deletes, after one that had a and b in files of their
// own, and c in a folder.
func pruned(t *testing.T, second map[string]string, links ...string) []string {
	t.Helper()
	first := map[string]string{"a.yaml": appText("a"), "b.yaml": appText("b"), "team/c.yaml": appText("c"), "d.yaml": appText("d"), "e.yaml": appText("e")}
	c := newCluster()
	desired := readTree(t, treeOf(first), "first")
	for sent := (map[Sent]Fate{}); ; {
		next := Next(desired, c.observe(desired), Remembered{Sent: sent})
		if len(next.Writes) == 0 {
			break
		}
		for _, write := range next.Writes {
			sent[write.Sent()] = c.carryOut(nil, write)
		}
	}
	files := maps.Clone(first)
	maps.Copy(files, second)
	maps.DeleteFunc(files, func(_, text string) bool { return text == "gone" })
	tree := treeOf(files)
	for i := 0; i+1 < len(links); i += 2 {
		tree[links[i]] = &fstest.MapFile{Data: []byte(links[i+1]), Mode: fs.ModeSymlink}
	}
	desired = readTree(t, tree, "second")
	var names []string
	for _, write := range Next(desired, c.observe(desired), Remembered{}).Writes {
		if w, is := write.(DeleteRelease); is {
			names = append(names, w.Release.Name)
		}
	}
	slices.Sort(names)
	return names
}

func treeOf(files map[string]string) fstest.MapFS {
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

func readTree(t *testing.T, tree fstest.MapFS, commit string) Desired {
	t.Helper()
	content, err := spec.NewReader(spec.Options{Namespace: namespace, Ignorer: gitrepo.Ignore}).Read(tree, ".")
	if err != nil {
		t.Fatal(err)
	}
	source := &v1alpha1.ReleaseSource{}
	source.Namespace, source.Name, source.Spec.Prune = namespace, "shop", true
	return Desired{Source: source, Content: content, Origin: Origin{Commit: commit}}
}

// appText returns a release of a Deployment that the repository does not have.
func appText(name string) string {
	return "apiVersion: rollouts.sluice.dev/v1alpha1\nkind: BatchRelease\nmetadata: {name: " + name + "}\nspec:\n" +
		"  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: " + name + "}\n  strategy: {steps: [{replicas: 100%}]}\n" +
		"  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: 'web:1'}]}}\n"
}

// TestWrongFilesKeepWhatTheyMayHold: a file that is wrong keeps the releases that it may hold, and
// hinders no other from being pruned. People who may write one file can neither delete the releases
// of others with it, nor keep them.
func TestWrongFilesKeepWhatTheyMayHold(t *testing.T) {
	t.Parallel()
	const cut = "\n  x: [\n"
	tests := map[string]struct {
		second map[string]string
		links  []string
		want   []string
	}{
		"nothing is wrong":                    {map[string]string{"a.yaml": "gone"}, nil, []string{"a"}},
		"a chart beside":                      {map[string]string{"a.yaml": "gone", "x/Chart.yaml": "name: x\n", "x/templates/d.yaml": "kind: Deployment\nname: {{ .a }}\n"}, nil, []string{"a"}},
		"a template of another program":       {map[string]string{"a.yaml": "gone", "x.yaml": "kind: Deployment\nname: {{ .a }}\n"}, nil, []string{"a"}},
		"a broken workload":                   {map[string]string{"a.yaml": "gone", "x.yaml": "kind: Deployment" + cut}, nil, []string{"a"}},
		"a broken release of another name":    {map[string]string{"a.yaml": "gone", "b.yaml": appText("b") + cut}, nil, []string{"a"}},
		"an invalid release of another name":  {map[string]string{"a.yaml": "gone", "b.yaml": appText("b") + "  what: 1\n"}, nil, []string{"a"}},
		"the file is broken":                  {map[string]string{"a.yaml": appText("a") + cut}, nil, nil},
		"the file is cut":                     {map[string]string{"a.yaml": "apiVersion: rollouts.sl"}, nil, nil},
		"the file is cut before its kind":     {map[string]string{"a.yaml": "x: ["}, nil, nil},
		"the file is empty":                   {map[string]string{"a.yaml": ""}, nil, nil},
		"moved to a file that is broken":      {map[string]string{"a.yaml": "gone", "new.yaml": appText("a") + cut}, nil, nil},
		"moved to a file that is invalid":     {map[string]string{"a.yaml": "gone", "new.yaml": appText("a") + "  what: 1\n"}, nil, nil},
		"moved, its kind misspelt":            {map[string]string{"a.yaml": "gone", "new.yaml": strings.Replace(appText("a"), "BatchRelease", "BatchRelase", 1)}, nil, nil},
		"moved, without an apiVersion":        {map[string]string{"a.yaml": "gone", "new.yaml": strings.Replace(appText("a"), "apiVersion: rollouts.sluice.dev/v1alpha1\n", "", 1)}, nil, nil},
		"moved to a list that is invalid":     {map[string]string{"a.yaml": "gone", "new.yaml": "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(appText("a"), "\n", "\n  ") + "  what: 1\n"}, nil, nil},
		"moved to a pointer of LFS":           {map[string]string{"a.yaml": "gone", "new.yaml": "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"}, nil, nil},
		"moved to UTF-16":                     {map[string]string{"a.yaml": "gone", "new.yaml": "\xff\xfea\x00:\x00"}, nil, nil},
		"moved to a file that is too large":   {map[string]string{"a.yaml": "gone", "new.yaml": appText("a") + strings.Repeat("#", 5<<20)}, nil, nil},
		"moved into a conflict":               {map[string]string{"a.yaml": "gone", "new.yaml": "<<<<<<< HEAD\n" + appText("a") + "=======\n>>>>>>> x\n"}, nil, nil},
		"a conflict elsewhere":                {map[string]string{"a.yaml": "gone", "new.yaml": "<<<<<<< HEAD\n" + appText("z") + "=======\n>>>>>>> x\n"}, nil, []string{"a"}},
		"moved behind a link":                 {map[string]string{"a.yaml": "gone", ".shared/a.yaml": appText("a")}, []string{"x", ".shared"}, nil},
		"a link to something else":            {map[string]string{"a.yaml": "gone", ".shared/z.yaml": appText("z")}, []string{"x", ".shared"}, []string{"a"}},
		"given twice":                         {map[string]string{"new.yaml": appText("a")}, nil, nil},
		"given twice, and another gone":       {map[string]string{"new.yaml": appText("a"), "b.yaml": "gone"}, nil, []string{"b"}},
		"in a namespace of others":            {map[string]string{"a.yaml": strings.Replace(appText("a"), "{name: a}", "{name: a, namespace: kube-system}", 1)}, nil, nil},
		"beside a kustomization, not taken":   {map[string]string{"a.yaml": "gone", "k/kustomization.yaml": "resources: [x", "k/a.yaml": appText("a")}, nil, nil},
		"a broken kustomization":              {map[string]string{"a.yaml": "gone", "k/kustomization.yaml": "resources: [x", "k/z.yaml": appText("z")}, nil, []string{"a"}},
		"a broken kustomization with a part":  {map[string]string{"team/c.yaml": "gone", "k/kustomization.yaml": "nameSuffix: c\nresources: [https://example.com/x, z.yaml]", "k/z.yaml": appText("c")}, nil, nil},
		"ignored":                             {map[string]string{".sluiceignore": "a.yaml\n"}, nil, nil},
		"the folder is ignored":               {map[string]string{".sluiceignore": "team/\n"}, nil, nil},
		"ignored, and another gone":           {map[string]string{".sluiceignore": "a.yaml\n", "b.yaml": "gone"}, nil, []string{"b"}},
		"moved into a chart":                  {map[string]string{"team/c.yaml": "gone", "team/Chart.yaml": "name: x", "team/templates/c.yaml": appText("c")}, nil, []string{"c"}},
		"its folder is made a chart":          {map[string]string{"Chart.yaml": "name: x\n"}, nil, nil},
		"half is gone, and one is in doubt":   {map[string]string{"a.yaml": "gone", "b.yaml": "gone", "team/c.yaml": "x: ["}, nil, nil},
		"an ignore file that can't be read":   {map[string]string{".sluiceignore": strings.Repeat("x\n", 101), "a.yaml": "gone"}, nil, []string{"a"}},
		"nothing left but what is in doubt":   {map[string]string{"a.yaml": "gone", "b.yaml": "gone", "team/c.yaml": "x: [", "d.yaml": "gone", "e.yaml": "gone"}, nil, nil},
		"an unreadable file that is no YAML":  {map[string]string{"a.yaml": "gone", "x.txt": "\xff\xfe"}, nil, []string{"a"}},
		"a broken release that names nothing": {map[string]string{"a.yaml": "gone", "x.yaml": "kind: BatchRelease" + cut}, nil, []string{"a"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, pruned(t, tt.second, tt.links...)); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFollowedReleaseIsNotGits: a release that follows its workload, and names the source for its
// approvals, is not missing in Git. One of its name in Git is refused. A freeze covers it.
func TestFollowedReleaseIsNotGits(t *testing.T) {
	t.Parallel()
	live := &v1alpha1.BatchRelease{}
	live.Namespace, live.Name, live.Spec.Follow = namespace, "a", v1alpha1.FollowWorkload
	desired := readTree(t, treeOf(map[string]string{"b.yaml": appText("b")}), "first")
	desired.Freeze, _ = spec.ReadFreeze(fstest.MapFS{".sluice/freeze.yaml": {Data: []byte("reason: sale\n")}})
	live.Labels = map[string]string{v1alpha1.SourceLabel: desired.Source.LabelIn(namespace)}
	observed := Observed{Releases: map[Key]*v1alpha1.BatchRelease{named("a"): live}}
	if missing := Missing(desired, observed); len(missing) > 0 {
		t.Errorf("%v is missing in Git, where it never was", missing)
	}
	if writes := Next(desired, observed, Remembered{}).Writes; len(writes) != 1 || writes[0].Sent() != (SetFreeze{Release: live}).Sent() {
		t.Errorf("want the freeze alone, got %v", writes)
	}
	desired = readTree(t, treeOf(map[string]string{"a.yaml": appText("a")}), "second")
	next := Next(desired, observed, Remembered{})
	if _, refused := next.Problems[0].(Follows); !refused || len(next.Writes) > 0 {
		t.Errorf("want the release in Git refused, got %v and %v", next.Problems, next.Writes)
	}
}

// TestReleaseThatGoesAwayIsNotMissing: it is neither deleted again, nor a reason to doubt the
// commit.
func TestReleaseThatGoesAwayIsNotMissing(t *testing.T) {
	t.Parallel()
	desired := readTree(t, treeOf(map[string]string{"b.yaml": appText("b")}), "first")
	live := &v1alpha1.BatchRelease{}
	live.Namespace, live.Name, live.Labels = namespace, "a", map[string]string{v1alpha1.SourceLabel: desired.Source.LabelIn(namespace)}
	observed := Observed{Releases: map[Key]*v1alpha1.BatchRelease{named("a"): live}}
	if diff := cmp.Diff([]Key{named("a")}, Missing(desired, observed)); diff != "" {
		t.Errorf("missing in Git (-want +got):\n%s", diff)
	}
	live.DeletionTimestamp = &metav1.Time{Time: now}
	if missing := Missing(desired, observed); len(missing) > 0 {
		t.Errorf("%v is missing in Git, though it goes away", missing)
	}
}
