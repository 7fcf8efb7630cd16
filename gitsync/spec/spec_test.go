package spec

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
)

// tree makes a file system of texts.
func tree(files map[string]string) fstest.MapFS {
	made := fstest.MapFS{}
	for path, text := range files {
		made[path] = &fstest.MapFile{Data: []byte(text)}
	}
	return made
}

func newTestReader() *Reader {
	builder := builds.For(context.Background(), sandbox.Owner{Tenant: "shop"})
	return NewReader(Options{Namespace: "shop", AllowedNamespaces: []string{"extra"}, Builder: builder})
}

// read reads files as the source shop/… does.
func read(t *testing.T, files map[string]string) *Result {
	t.Helper()
	result, err := newTestReader().Read(tree(files), ".")
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// wantErrors compares errors, written as file:line: message, with the beginnings wanted.
func wantErrors(t *testing.T, result *Result, want ...string) {
	t.Helper()
	var got []string
	for i, err := range result.Errors {
		text := err.Error()
		if i < len(want) && strings.HasPrefix(text, want[i]) {
			text = want[i]
		}
		got = append(got, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got; what is wanted are beginnings):\n%s", diff)
	}
}

func names(result *Result) []string {
	var names []string
	for _, r := range result.Releases {
		names = append(names, r.Namespace+"/"+r.Name)
	}
	return names
}

func wantReleases(t *testing.T, result *Result, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, names(result)); diff != "" {
		t.Errorf("releases (-want +got):\n%s", diff)
	}
}

// release returns the manifest of a BatchRelease; the text is added to its spec.
func release(name, spec string) string {
	return fmt.Sprintf(`apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata:
  name: %s
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: %s}
%s`, name, name, indent(spec))
}

func indent(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		lines = append(lines, "  "+line)
	}
	return strings.Join(lines, "\n") + "\n"
}

const (
	strategy = "strategy: {steps: [{replicas: 1}, {replicas: 100%}]}\n"
	template = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: 'web:1'}]}}\n"
)

// faulty is a Deployment whose image is a number.
const faulty = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec: {containers: [{name: web, image: 5}]}\n"

func deployment(name, image string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata:
  name: %[1]s
  uid: 6f1c2d3e
  creationTimestamp: null
spec:
  replicas: 10
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - {name: web, image: %[2]q}
status: {}
`, name, image)
}

func TestReleases(t *testing.T) {
	t.Parallel()
	result := read(t, map[string]string{
		"web.yaml":        release("web", strategy),
		"deploy/web.yml":  deployment("web", "web:1"),
		"two.yaml":        release("one", strategy+template) + "---\n" + release("two", strategy+template),
		"service.yaml":    "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
		"values.yaml":     "replicas: 3\nlist: [1, 2]\n",
		"source.yaml":     "apiVersion: rollouts.sluice.dev/v1alpha1\nkind: ReleaseSource\nmetadata: {name: x}\nwhat: ever\n",
		"notes.txt":       "\t: not YAML {{",
		".github/ci.yaml": "\t: not YAML {{",
		"empty.yaml":      "",
		"comment.yaml":    "# nothing\n---\n# here\n",
	})
	wantErrors(t, result)
	wantReleases(t, result, "shop/one", "shop/two", "shop/web")
	if result.Files != 8 {
		t.Errorf("got %d files, want 8", result.Files)
	}

	web := result.Releases[2]
	if web.File != "web.yaml" || web.Line != 1 || web.Workload != "web" {
		t.Errorf("got %s:%d for %s", web.File, web.Line, web.Workload)
	}
	if two := result.Releases[1]; two.File != "two.yaml" || two.Line != 10 {
		t.Errorf("got %s:%d for the second document", two.File, two.Line)
	}
	want := map[string]any{
		"apiVersion": "rollouts.sluice.dev/v1alpha1",
		"kind":       "BatchRelease",
		"metadata":   map[string]any{"namespace": "shop", "name": "web"},
		"spec": map[string]any{
			"workloadRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
			"strategy":    map[string]any{"steps": []any{map[string]any{"replicas": int64(1)}, map[string]any{"replicas": "100%"}}},
			"template":    webTemplate("web:1"),
		},
	}
	if diff := cmp.Diff(want, web.Object().Object); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
	wantDeployment := map[string]any{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   map[string]any{"namespace": "shop", "name": "web"},
		"spec": map[string]any{
			"replicas": int64(10),
			"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"template": webTemplate("web:1"),
		},
	}
	if diff := cmp.Diff(wantDeployment, web.WorkloadObject().Object); diff != "" {
		t.Errorf("deployment (-want +got):\n%s", diff)
	}
	if result.Releases[0].WorkloadObject() != nil {
		t.Error("a release whose Deployment is not in the repository has one")
	}
}

func webTemplate(image string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": image}}},
	}
}

// TestInlineTemplateGoesIntoTheDeployment: a Deployment that is created must have nothing left to
// release.
func TestInlineTemplateGoesIntoTheDeployment(t *testing.T) {
	t.Parallel()
	result := read(t, map[string]string{"web.yaml": release("web", strategy+template), "d.yaml": deployment("web", "web:other")})
	wantErrors(t, result)
	got, _ := result.Releases[0].WorkloadObject().Object["spec"].(map[string]any)
	if diff := cmp.Diff(webTemplate("web:1"), got["template"]); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
}

func TestDigests(t *testing.T) {
	t.Parallel()
	reader := newTestReader()
	files := map[string]string{"web.yaml": release("web", strategy), "d.yaml": deployment("web", "web:1")}
	one := func(change map[string]string) *Release {
		for path, text := range change {
			if files[path] = text; text == "" {
				delete(files, path)
			}
		}
		result, err := reader.Read(tree(files), ".")
		if err != nil || len(result.Releases) != 1 {
			t.Fatalf("%v, %v", result, err)
		}
		return result.Releases[0]
	}
	first := one(nil)
	if again := one(nil); again != first {
		t.Error("nothing changed, and the release is another")
	}
	if same := one(map[string]string{"web.yaml": "# comment\n" + release("web", strategy)}); same.Digest != first.Digest {
		t.Error("a comment changed the digest")
	}
	rolled := one(map[string]string{"d.yaml": deployment("web", "web:2")})
	if rolled.Digest == first.Digest || rolled.TemplateDigest == first.TemplateDigest {
		t.Error("a new image did not change the digests")
	}
	scaled := one(map[string]string{"d.yaml": strings.Replace(deployment("web", "web:2"), "replicas: 10", "replicas: 11", 1)})
	if scaled.Digest != rolled.Digest {
		t.Error("what is not released of the Deployment changed the digest")
	}
	stepped := one(map[string]string{"web.yaml": release("web", "strategy: {steps: [{replicas: 100%}]}")})
	if stepped.Digest == rolled.Digest || stepped.TemplateDigest != rolled.TemplateDigest {
		t.Error("other steps must change the digest, and not that of the template")
	}
	moved := one(map[string]string{"web.yaml": "", "moved.yaml": files["web.yaml"]})
	if moved.Digest == stepped.Digest || moved.TemplateDigest != stepped.TemplateDigest {
		t.Error("another file must change the digest, and not that of the template")
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	files := tree(map[string]string{
		"apps/shop/web.yaml": release("web", strategy+template),
		"apps/other.yaml":    release("other", strategy+template),
		"file":               "x",
		// What people approve with is not a manifest.
		".sluice/approvals/shop/web.yaml": release("sly", strategy+template),
	})
	for folder, want := range map[string][]string{
		"apps/shop": {"shop/web"}, "./apps/shop/": {"shop/web"}, "/apps/shop": {"shop/web"},
		".": {"shop/other", "shop/web"}, "": {"shop/other", "shop/web"}, "/": {"shop/other", "shop/web"}, "./": {"shop/other", "shop/web"},
	} {
		result, err := newTestReader().Read(files, folder)
		if err != nil {
			t.Errorf("folder %q: %v", folder, err)
			continue
		}
		wantReleases(t, result, want...)
	}
	for folder, want := range map[string]string{
		"nowhere": "no folder", "../up": "no folder", "apps/../../up": "no folder", "file": "not a folder", "apps\x00": "no folder",
		".sluice": "Sluice's own", "/.sluice/": "Sluice's own", ".sluice/approvals": "Sluice's own", "apps/../.sluice/approvals/shop": "Sluice's own",
	} {
		if _, err := newTestReader().Read(files, folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("folder %q: got %v, want %q", folder, err, want)
		}
	}
}

func TestBadFilesHideNothing(t *testing.T) {
	t.Parallel()
	result := read(t, map[string]string{
		"a.yaml":    release("good", strategy+template),
		"bad.yaml":  "kind: Deployment\na: [1\n",
		"half.yaml": release("half", strategy+template) + "---\nkind: Deployment\nnope: [\n---\n" + release("rest", strategy+template),
		"z.yaml":    release("last", strategy+template),
	})
	wantReleases(t, result, "shop/good", "shop/half", "shop/rest", "shop/last")
	wantErrors(t, result, "bad.yaml:2: broken YAML", "half.yaml:11: broken YAML")
}

func TestAcrossFiles(t *testing.T) {
	t.Parallel()
	other := func(name, workload string) string {
		return strings.Replace(release(name, strategy+template), "name: "+name+"}", "name: "+workload+"}", 1)
	}
	namespaced := func(namespace string) string {
		return strings.Replace(release("web", strategy+template), "  name: web\n", "  name: web\n  namespace: "+namespace+"\n", 1)
	}
	tests := []struct {
		name   string
		files  map[string]string
		want   []string
		errors []string
	}{
		{
			"given twice",
			map[string]string{"a.yaml": release("web", strategy+template), "b.yaml": "\n" + release("web", strategy+template), "c.yaml": release("c", strategy+template)},
			[]string{"shop/c"},
			[]string{"a.yaml:1: BatchRelease shop/web is also in b.yaml:2", "b.yaml:2: BatchRelease shop/web is also in a.yaml:1"},
		},
		{
			"two releases of a Deployment",
			map[string]string{"a.yaml": other("a", "web"), "b.yaml": other("b", "web")},
			nil,
			[]string{"a.yaml:1: Deployment shop/web is also released in b.yaml:1", "b.yaml:1: Deployment shop/web is also released in a.yaml:1"},
		},
		{
			"no template anywhere",
			map[string]string{"a.yaml": release("web", strategy), "d.yaml": deployment("api", "api:1")},
			nil,
			[]string{"a.yaml:1: spec.template is missing, and Deployment shop/web"},
		},
		{
			"two Deployments",
			map[string]string{"a.yaml": release("web", strategy), "d.yaml": deployment("web", "web:1"), "e.yaml": deployment("web", "web:2"), "f.yaml": deployment("api", "1"), "g.yaml": deployment("api", "2")},
			nil,
			[]string{"a.yaml:1: Deployment shop/web is in d.yaml:1 and in e.yaml:1"},
		},
		{
			"Deployment without template",
			map[string]string{"a.yaml": release("web", strategy), "d.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"},
			nil,
			[]string{"d.yaml:1: Deployment shop/web has no spec.template"},
		},
		{
			"Deployment whose template is wrong",
			map[string]string{"a.yaml": release("web", strategy), "d.yaml": faulty},
			nil,
			[]string{"d.yaml:6: spec.template.spec.containers[0].image: must be a string, not the number 5: put it into quotes"},
		},
		{
			"Deployment whose template is wrong, and another one's is released",
			map[string]string{"a.yaml": release("web", strategy+template), "d.yaml": faulty},
			[]string{"shop/web"},
			[]string{"d.yaml:6: spec.template.spec.containers[0].image: must be a string, not the number 5: put it into quotes"},
		},
		{"own namespace", map[string]string{"a.yaml": namespaced("shop")}, []string{"shop/web"}, nil},
		{"allowed namespace", map[string]string{"a.yaml": namespaced("extra"), "b.yaml": release("web", strategy+template)}, []string{"extra/web", "shop/web"}, nil},
		{
			"another namespace",
			map[string]string{"a.yaml": namespaced("kube-system")},
			nil,
			[]string{"a.yaml:1: BatchRelease web is in namespace kube-system, but its source may only write to shop, extra"},
		},
		{
			"Deployment of another namespace",
			map[string]string{"a.yaml": namespaced("extra"), "b.yaml": strings.Replace(release("api", strategy), "metadata:", "metadata:\n  namespace: extra", 1), "d.yaml": deployment("api", "api:1")},
			[]string{"extra/web"},
			[]string{"b.yaml:1: spec.template is missing, and Deployment extra/api"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			result := read(t, tt.files)
			wantReleases(t, result, tt.want...)
			wantErrors(t, result, tt.errors...)
		})
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("---\na: 1\n", 10_000)
	files := map[string]string{
		"good.yaml":  release("good", strategy+template),
		"large.yaml": "a: " + strings.Repeat("x", 5<<20),
		"many.yaml":  many,
		"bomb.yaml":  bomb(9) + "kind: Deployment\n",
		"self.yaml":  "a: &a\n  b: *a\nkind: Deployment\n",
		"none.yaml":  bomb(9),
		"ok.yaml":    "base: &base {a: 1}\nother: {<<: *base, b: 2}\n",
	}
	result := read(t, files)
	wantReleases(t, result, "shop/good")
	wantErrors(t, result,
		"bomb.yaml:5: the aliases of the document make more than 20000 values",
		"large.yaml: the file is too large: 5242883 bytes or more; the limit is 4194304",
		"many.yaml:4001: the file has more than 2000 documents",
		"self.yaml:2: the aliases of the document make more than",
	)

	limits := map[string]Limits{
		"more than 3 files and folders": {Entries: 3},
		"larger than 1000 bytes":        {TotalBytes: 1000},
	}
	for want, limit := range limits {
		_, err := NewReader(Options{Namespace: "shop", Limits: limit}).Read(tree(files), ".")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// bomb returns a document of a few lines that has 10^levels values.
func bomb(levels int) string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range levels {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 10), ", "))
	}
	return text
}
