package spec

import (
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
)

// overlays returns a base with two overlays, of which one is for another namespace.
func overlays() map[string]string {
	return map[string]string{
		"base/kustomization.yaml":           "resources: [deploy.yaml, release.yaml]\n",
		"base/deploy.yaml":                  deployment("web", "web:1"),
		"base/release.yaml":                 "# how\n" + release("web", strategy),
		"overlays/prod/kustomization.yaml":  "resources: [../../base]\nnamePrefix: prod-\nimages: [{name: web, newTag: '2'}]\npatches: [{path: steps.yaml}]\n",
		"overlays/prod/steps.yaml":          "apiVersion: rollouts.sluice.dev/v1alpha1\nkind: BatchRelease\nmetadata: {name: web}\nspec:\n  workloadRef: {name: prod-web}\n  strategy: {steps: [{replicas: 100%}]}\n",
		"overlays/test/kustomization.yaml":  "resources: [../../base]\nnamespace: extra\ncomponents: [../../more]\n",
		"more/kustomization.yaml":           "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- target: {kind: Deployment}\n  patch: |-\n    - {op: replace, path: /spec/replicas, value: 3}\n",
		"overlays/prod/ignored/x.yaml":      "a: [\n",
		"plain/other.yaml":                  release("other", strategy+template),
		"overlays/prod/not-in-resources.md": "x",
	}
}

func TestKustomize(t *testing.T) {
	t.Parallel()
	result := read(t, overlays())
	wantErrors(t, result)
	wantReleases(t, result, "shop/prod-web", "extra/web", "shop/other")
	prod := result.Releases[0]
	if prod.File != "base/release.yaml" || prod.Line != 2 || prod.Workload != "prod-web" {
		t.Errorf("got %s:%d for %s", prod.File, prod.Line, prod.Workload)
	}
	if prod.Kustomization != "overlays/prod/kustomization.yaml" || prod.TemplateFile != "base/deploy.yaml" {
		t.Errorf("the template is said to be built by %q from %q", prod.Kustomization, prod.TemplateFile)
	}
	if other := result.Releases[2]; other.Kustomization != "" || other.TemplateFile != "" {
		t.Errorf("a template that stands in its release is said to be built by %q from %q", other.Kustomization, other.TemplateFile)
	}
	text := fmt.Sprint(prod.Object().Object)
	if !strings.Contains(text, "image:web:2") || strings.Contains(text, "replicas:1 ") {
		t.Errorf("the overlay's image or patch is missing: %s", text)
	}
	if replicas := result.Releases[1].WorkloadObject().Object["spec"].(map[string]any)["replicas"]; replicas != int64(3) {
		t.Errorf("the component's patch is missing: replicas %v", replicas)
	}
	only, err := newTestReader().Read(tree(overlays()), "overlays/prod")
	if err != nil {
		t.Fatal(err)
	}
	wantReleases(t, only, "shop/prod-web")
}

func TestKustomizeErrors(t *testing.T) {
	t.Parallel()
	const file = "k/kustomization.yaml"
	tests := []struct {
		name string
		more map[string]string
		want []string
	}{
		{"unknown field", map[string]string{file: "resources: []\nresorces: []\n"}, []string{file + ":2: invalid Kustomization"}},
		{"broken", map[string]string{file: "resources: []\na: [\n"}, []string{file + ":2: broken YAML"}},
		{"empty", map[string]string{file: ""}, []string{file + ": kustomize: "}},
		{"missing file", map[string]string{file: "resources: [gone.yaml]\n"}, []string{file + ": kustomize: "}},
		{"two kustomizations", map[string]string{file: "resources: [d.yaml]\n", "k/d.yaml": deployment("d", "d"), "k/kustomization.yml": "resources: [d.yaml]\n"}, []string{file + ": kustomize: Found multiple"}},
		{"broken resource", map[string]string{file: "resources: [d.yaml]\n", "k/d.yaml": "a: 1\nb: [\n"}, []string{"k/d.yaml:2: broken YAML"}},
		{"wrong release", map[string]string{file: "resources: [r.yaml]\n", "k/r.yaml": "# x\n" + release("r", strategy+template+"wrong: 1")}, []string{"k/r.yaml:10: spec.wrong: unknown field"}},
		{"bomb", map[string]string{file: "resources: [d.yaml]\n", "k/d.yaml": bomb(9)}, []string{"k/d.yaml:5: the aliases"}},
		{"large file", map[string]string{file: "resources: [d.yaml]\n", "k/d.yaml": strings.Repeat("#", 5<<20)}, []string{"k/d.yaml: the file is too large"}},
		{"file outside of the root", map[string]string{file: "resources: [../plain/other.yaml]\n"}, []string{file + ": kustomize: "}},
		{"out of the repository", map[string]string{file: "resources: [../../etc]\n"}, []string{file + `:1: resources: "../../etc" leads out of the repository`}},
		{"absolute", map[string]string{file: "resources: [/etc/passwd]\n"}, []string{file + `:1: resources: "/etc/passwd" leads out of the repository`}},
		{"itself", map[string]string{file: "resources: [.]\n"}, []string{file + ": the kustomization refers to itself"}},
		{"cycle", map[string]string{file: "resources: [a]\n", "k/a/kustomization.yaml": "resources: [../b]\n", "k/b/kustomization.yaml": "resources: [../a]\n"},
			[]string{"k/a/kustomization.yaml: the kustomization refers to itself"}},
		{"generators", map[string]string{file: "resources: []\ngenerators: [g.yaml]\n"}, []string{file + `:2: generators: "g.yaml" is not a file of kustomize's own generators`}},
		{"transformers", map[string]string{file: "transformers: [g.yaml]\n"}, []string{file + ":1: transformers: \"g.yaml\" is not a file of"}},
		{"Helm", map[string]string{file: "helmCharts: [{name: x}]\n"}, []string{file + ":1: helmCharts is not supported"}},
		{"openapi", map[string]string{file: "openapi: {path: x}\n"}, []string{file + ":1: openapi is not supported"}},
		{"approvals", map[string]string{file: "patches: []\nresources: [../.sluice/approvals]\n", ".sluice/approvals/kustomization.yaml": "resources: [r.yaml]\n"},
			[]string{file + `:2: resources: "../.sluice/approvals" is Sluice's own`}},
		{"record", map[string]string{file: "resources: [../.sluice/r.yaml]\n", ".sluice/r.yaml": release("r", strategy+template)},
			[]string{file + `:1: resources: "../.sluice/r.yaml" is Sluice's own`}},
		{"generated from a record", map[string]string{file: "configMapGenerator: [{name: x, files: [k=../.sluice/r.yaml]}]\n", ".sluice/r.yaml": "a: 1"},
			[]string{file + `:1: configMapGenerator: "../.sluice/r.yaml" is Sluice's own`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"plain/other.yaml": release("other", strategy+template)}
			maps.Copy(files, tt.more)
			result := read(t, files)
			wantErrors(t, result, tt.want...)
			wantReleases(t, result, "shop/other")
		})
	}
}

// TestKustomizeFetchesNothing: Nothing is fetched from elsewhere, however it is written and
// wherever it stands.
func TestKustomizeFetchesNothing(t *testing.T) {
	t.Parallel()
	addresses := []string{
		"https://127.0.0.1:1/x.yaml", "HTTP://127.0.0.1:1/x.yaml", "http:x", "ssh://127.0.0.1:1/a/b",
		"git@127.0.0.1:a/b", "git::https://127.0.0.1:1/a/b", "github.com/a/b", "GitHub.com:a/b", "file:///etc/x",
		"https://127.0.0.1:1/a/b?ref=x", "u@127.0.0.1:a/b.git//c",
	}
	fields := []string{
		"resources: [%q]", "bases: [%q]", "components: [%q]", "crds: [%q]", "configurations: [%q]",
		"patches: [{path: %q}]", "patchesJson6902: [{path: %q}]", "patchesStrategicMerge: [%q]", "replacements: [{path: %q}]",
		"configMapGenerator: [{name: x, files: [%q]}]", "configMapGenerator: [{name: x, envs: [%q]}]",
		"secretGenerator: [{name: x, env: %q}]", "secretGenerator: [{name: x, files: [\"k=%s\"]}]",
	}
	for _, form := range fields {
		for _, address := range addresses {
			text := fmt.Sprintf(form, address)
			if strings.Contains(form, "k=") && !strings.Contains(address, "://") {
				continue // with a key in front these are paths
			}
			for _, nested := range []bool{false, true} {
				files := map[string]string{"k/kustomization.yaml": text, "k/x.yaml": ""}
				if nested {
					files = map[string]string{"kustomization.yaml": "resources: [k]", "k/kustomization.yaml": text}
				}
				result := read(t, files)
				if len(result.Errors) != 1 || !strings.Contains(result.Errors[0].Message, "nothing is fetched from elsewhere") {
					t.Errorf("%s: got %v", text, result.Errors)
				}
			}
		}
	}
	// With a line break it is no address for a reader, but it is for kustomize.
	result := read(t, map[string]string{"kustomization.yaml": "resources: [\"https://github.com/a/b\\n\"]"})
	if len(result.Errors) != 1 || !strings.Contains(result.Errors[0].Message, "nothing is fetched") {
		t.Errorf("got %v", result.Errors)
	}
}

// TestKustomizationsThatMultiply: Twenty levels that each refer twice to the next one are a million
// objects.
func TestKustomizationsThatMultiply(t *testing.T) {
	t.Parallel()
	files := map[string]string{"kustomization.yaml": "resources: [l0/a, l0/b]\n"}
	for i := range 20 {
		for _, side := range []string{"a", "b"} {
			files[fmt.Sprintf("l%d/%s/kustomization.yaml", i, side)] = fmt.Sprintf("namePrefix: %s-\nresources: [../../l%d/a, ../../l%d/b]\n", side, i+1, i+1)
		}
	}
	for _, side := range []string{"a", "b"} {
		files["l20/"+side+"/kustomization.yaml"] = "resources: [d.yaml]\n"
		files["l20/"+side+"/d.yaml"] = deployment("d", "d")
	}
	result := read(t, files)
	if len(result.Errors) == 0 || !strings.Contains(result.Errors[0].Message, "more than 500 times") {
		t.Errorf("got %v", result.Errors)
	}
}

// countingFS counts how often files are read.
type countingFS struct {
	fstest.MapFS
	reads map[string]int
}

func (c countingFS) ReadFile(name string) ([]byte, error) {
	c.reads[name]++
	return c.MapFS.ReadFile(name)
}

func (c countingFS) Lstat(name string) (fs.FileInfo, error) {
	info, err := c.MapFS.Lstat(name)
	if err != nil {
		return nil, err
	}
	return hashedInfo{info, digest(append([]byte{'x'}, c.content(name)...))}, nil
}

func (c countingFS) content(name string) []byte {
	if file := c.MapFS[name]; file != nil {
		return file.Data
	}
	return nil
}

func (c countingFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := c.MapFS.ReadDir(name)
	for i, entry := range entries {
		path := strings.TrimPrefix(name+"/"+entry.Name(), "./")
		entries[i] = hashedEntry{entry, c, path}
	}
	return entries, err
}

type hashedEntry struct {
	fs.DirEntry
	files countingFS
	path  string
}

func (e hashedEntry) Info() (fs.FileInfo, error) { return e.files.Lstat(e.path) }

type hashedInfo struct {
	fs.FileInfo
	hash string
}

func (i hashedInfo) ContentHash() string { return i.hash }

func TestWhatDidNotChangeIsNotReadAgain(t *testing.T) {
	t.Parallel()
	texts := overlays()
	texts["plain/d.yaml"] = deployment("plain", "x")
	reader := newTestReader()
	pass := func(change map[string]string) (*Result, map[string]int) {
		maps.Copy(texts, change)
		files := countingFS{tree(texts), map[string]int{}}
		result, err := reader.Read(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		wantErrors(t, result)
		for file := range files.reads {
			if strings.HasSuffix(file, "/kustomization.yaml") {
				delete(files.reads, file) // references are followed each time
			}
		}
		return result, files.reads
	}
	first, _ := pass(nil)
	if _, reads := pass(nil); len(reads) > 0 {
		t.Errorf("nothing changed, and %v were read", reads)
	}
	second, reads := pass(map[string]string{"plain/d.yaml": deployment("plain", "y")})
	if len(reads) != 1 || reads["plain/d.yaml"] != 1 {
		t.Errorf("plain/d.yaml changed, and %v were read", reads)
	}
	for i := range first.Releases {
		if first.Releases[i] != second.Releases[i] {
			t.Errorf("release %s was made again", first.Releases[i].Name)
		}
	}
	third, reads := pass(map[string]string{"overlays/prod/steps.yaml": strings.Replace(texts["overlays/prod/steps.yaml"], "[{", "[{replicas: 1}, {", 1)})
	if reads["overlays/prod/steps.yaml"] == 0 || reads["plain/d.yaml"] != 0 {
		t.Errorf("an overlay's patch changed, and %v were read", reads)
	}
	if third.Releases[0].Digest == first.Releases[0].Digest || third.Releases[2] != first.Releases[2] {
		t.Error("the overlay's release must change, and the other not")
	}
}

func TestKustomizeErrorsAreReportedEachTime(t *testing.T) {
	t.Parallel()
	files := tree(map[string]string{"kustomization.yaml": "resources: [r.yaml]\n", "r.yaml": release("r", strategy+template+"wrong: 1")})
	reader := newTestReader()
	for range 3 {
		result, err := reader.Read(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		wantErrors(t, result, "r.yaml:9: spec.wrong: unknown field")
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	files := tree(map[string]string{
		"apps/web.yaml":   release("web", strategy+template),
		"other/api.yaml":  release("api", strategy+template),
		"k/x.yaml":        "",
		"docs/readme.txt": "x",
	})
	link := func(name, target string) {
		files[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
	}
	link("apps/api.yaml", "../other/api.yaml")
	link("apps/passwd", "/etc/passwd")
	link("apps/up", "../../x")
	link("apps/out.yaml", "/etc/web.yaml")
	link("apps/folder", "../other")
	link("apps/readme", "../docs/readme.txt")
	link("apps/kustomization.yaml", "../other/kustomization.yaml")
	files["apps/module"] = &fstest.MapFile{Mode: fs.ModeIrregular}
	result, err := newTestReader().Read(files, "apps")
	if err != nil {
		t.Fatal(err)
	}
	wantReleases(t, result, "shop/web")
	wantErrors(t, result,
		"apps/api.yaml: a symbolic link is not followed: what it leads to is not released",
		"apps/folder: a symbolic link is not followed",
		"apps/kustomization.yaml: a symbolic link is not followed",
		"apps/out.yaml: a symbolic link is not followed, and this one leads out of the repository",
	)
	for file, kept := range map[string]bool{"apps/module/api.yaml": true, "apps/passwd/api.yaml": true, "apps/up/api.yaml": true, "apps/out.yaml": true, "apps/gone.yaml": false} {
		if _, is := result.Missing("api", file, ""); is != kept {
			t.Errorf("a release that was in %s is kept: %v, want %v", file, is, kept)
		}
	}
	for _, doubt := range result.Doubts {
		if strings.HasPrefix(doubt.File, "apps/module") {
			t.Error("a submodule keeps releases that were never in it")
		}
	}

	link("k/r.yaml", "../other/api.yaml")
	files["k/kustomization.yaml"] = &fstest.MapFile{Data: []byte("resources: [r.yaml]\n")}
	result, err = newTestReader().Read(files, "k")
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Releases) > 0 || len(result.Errors) == 0 {
		t.Errorf("kustomize read a link: %v, %v", names(result), result.Errors)
	}
}
