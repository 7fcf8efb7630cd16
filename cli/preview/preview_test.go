package preview_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/cli/preview"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
)

var update = flag.Bool("update", false, "write the golden files anew")

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 10
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1.28
        env: [{name: KEY, value: secret}]
`

const release = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: web, labels: {tier: front}}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy:
    steps:
    - replicas: 1
      gates:
      - pullRequest: {minApprovals: 2, approvers: [ada, bob], teams: [sre]}
      - soak: {duration: 10m}
    - replicas: 5%
    - replicas: 100%
  rollback:
    steps:
    - replicas: 100%
`

// files holds the files of a repository; an empty text removes one.
type files map[string]string

func (f files) with(other files) files {
	all := maps.Clone(f)
	maps.Copy(all, other)
	return all
}

// at reads files as the controller would at a commit.
func at(t *testing.T, commit string, of files) *preview.State {
	t.Helper()
	tree := fstest.MapFS{}
	for path, text := range of {
		if text != "" {
			tree[path] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	read, err := spec.NewReader(spec.Options{Namespace: "shop"}).Read(tree, ".")
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	hash := strings.Repeat(commit, 40)
	return &preview.State{Commit: preview.Commit{Commit: hash, Subject: "change | <b>" + commit + "</b> @ada"}, Files: tree, Read: read}
}

// TestGolden shows what becomes of a release, as text and as Markdown.
func TestGolden(t *testing.T) {
	t.Parallel()
	base := files{"web/deployment.yaml": deployment, "web/release.yaml": release}
	next := base.with(files{"web/deployment.yaml": strings.NewReplacer("1.28", "1.29", "secret", "other").Replace(deployment)})
	inline := release + "  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}\n"
	cases := map[string]struct {
		before, after files
		earlier       []files
	}{
		"released":    {before: base, after: next},
		"rolled-back": {before: next, after: base, earlier: []files{next, base}},
		"added":       {before: files{}, after: base},
		"removed":     {before: base, after: files{"web/deployment.yaml": deployment}},
		"broken":      {before: base, after: base.with(files{"web/release.yaml": "a: [\n"})},
		"rules":       {before: base, after: base.with(files{"web/release.yaml": strings.Replace(release, "5%", "50%", 1)})},
		"renamed": {before: base, after: files{
			"web/deployment.yaml": strings.NewReplacer("{name: web", "{name: webx", "1.28", "1.29").Replace(deployment),
			"web/release.yaml":    strings.Replace(release, "kind: Deployment, name: web", "kind: Deployment, name: webx", 1),
		}},
		"unchanged":     {before: base, after: base.with(files{"README.md": "more\n"})},
		"no-deployment": {before: files{"web/release.yaml": inline}, after: files{"web/release.yaml": strings.Replace(inline, "nginx", "httpd", 1)}},
		"thawed":        {before: base.with(files{".sluice/freeze.yaml": "reason: sale\n"}), after: base},
		"freezing":      {before: base, after: base.with(files{".sluice/freeze.yaml": "reason: sale\n"})},
		"thawed-released": {before: base.with(files{".sluice/freeze.yaml": "reason: sale\n"}), after: next.with(files{
			"web/release.yaml": strings.Replace(release, "      - pullRequest: {minApprovals: 2, approvers: [ada, bob], teams: [sre]}\n", "", 1),
		})},
		"frozen": {before: base, after: next.with(files{
			".sluice/freeze.yaml": "reason: sale `@all`\nuntil: 2026-12-01T08:00:00Z\nselector: {matchLabels: {tier: front}}\n",
		})},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var earlier []*preview.State
			for _, of := range tc.earlier {
				earlier = append(earlier, at(t, "c", of))
			}
			shown, err := preview.Compare(at(t, "a", tc.before), at(t, "b", tc.after), earlier)
			if err != nil {
				t.Fatalf("compare: %v", err)
			}
			goldenOf(t, shown, name)
		})
	}
}

// goldenOf holds a preview, written for a terminal and for a pull request, against what a file has.
func goldenOf(t *testing.T, shown *preview.Preview, name string) {
	t.Helper()
	var text strings.Builder
	for _, format := range []plain.Format{plain.Text, plain.Markdown} {
		text.WriteString("=== " + string(format) + "\n")
		if err := shown.Write(&text, format); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	golden(t, filepath.Join("testdata", name+".txt"), text.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	want, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatalf("read golden file: %v", err)
	}
	if *update { // what is written anew differs from what was there, and fails
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatalf("write golden file: %v", err)
		}
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("-want +got; if it is meant, run with -update:\n%s", diff)
	}
}

// TestDiffer: earlier commits are worth reading only where a template has changed.
func TestDiffer(t *testing.T) {
	t.Parallel()
	base := files{"web/deployment.yaml": deployment, "web/release.yaml": release}
	for name, tc := range map[string]struct {
		after files
		want  bool
	}{
		"Template": {base.with(files{"web/deployment.yaml": strings.Replace(deployment, "1.28", "1.29", 1)}), true},
		"Replicas": {base.with(files{"web/deployment.yaml": strings.Replace(deployment, "10", "20", 1)}), false},
		"Gone":     {files{}, false},
	} {
		if got := preview.Differ(at(t, "a", base), at(t, "b", tc.after)); got != tc.want {
			t.Errorf("%s: want %t, got %t", name, tc.want, got)
		}
	}
}
