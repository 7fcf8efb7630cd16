package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
)

const web = "web.yaml"

// app returns a release of a Deployment.
func app() map[string]string {
	return map[string]string{web: deployment("web", "web:1"), "release.yaml": release("web", strategy)}
}

func ignoringReader(t *testing.T, ignore ...string) *Reader {
	return NewReader(Options{Namespace: "shop", Builder: builds.For(t.Context(), sandbox.Owner{}), Ignore: ignore, Ignorer: gitrepo.Ignore})
}

// TestNoManifestIsLeftOut: a file that is plainly no manifest is no error, and every other one is
// read.
func TestNoManifestIsLeftOut(t *testing.T) {
	t.Parallel()
	template := "{{- if .Values.a }}\n" + deployment("web", "{{ .Values.image }}") + "{{- end }}\n"
	tests := map[string]struct {
		more    map[string]string
		notices []string
	}{
		"a chart": {map[string]string{
			"charts/web/Chart.yaml": "apiVersion: v2\nname: web\n", "charts/web/templates/deployment.yaml": template, "charts/web/values.yaml": "a: 1\na: 2\n",
			"charts/web/values-production.yaml": "a: [", "charts/web/charts/db/templates/x.yaml": template, "charts/web/crds/x.yaml": "kind: Deployment\na: [",
		}, []string{"charts/web/Chart.yaml: the folder is a Helm chart"}},
		"a chart at the root":     {map[string]string{"Chart.yaml": "apiVersion: v2\nname: web\n", "templates/deployment.yaml": template, "values.yaml": "a: ["}, []string{"Chart.yaml: the folder is a Helm chart"}},
		"a template in no chart":  {map[string]string{"t.yaml": template}, []string{"t.yaml:1: this looks like a template of Helm or another program; it is left out"}},
		"a value given twice":     {map[string]string{"values.yaml": "a: 1\na: 2\n"}, []string{"values.yaml:2: broken YAML: key"}},
		"tags of another program": {map[string]string{"cf.yaml": "%TAG ! tag:x,2000:\n--- !thing\nx: !ref y\n"}, nil},
		"a list at the top":       {map[string]string{"playbook.yml": "- hosts: all\n  tasks: []\n"}, nil},
		"a broken object":         {map[string]string{"c.yaml": "apiVersion: v1\nkind: ConfigMap\ndata: {a: [}\n"}, []string{"c.yaml:3: broken YAML: "}},
		"one notice a file":       {map[string]string{"c.yaml": "a: [\n---\nb: [\n---\nc: [\n"}, []string{"c.yaml:1: broken YAML: "}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := app()
			maps.Copy(files, tt.more)
			result := read(t, files)
			wantErrors(t, result)
			wantReleases(t, result, "shop/web")
			wantErrors(t, &Result{Errors: result.Notices}, tt.notices...)
		})
	}
}

// TestTemplateOfARelease: a template that would make a release, or a broken workload, is an error
// that says what to do.
func TestTemplateOfARelease(t *testing.T) {
	t.Parallel()
	wantErrors(t, read(t, map[string]string{"r.yaml": "{{ if .a }}\n" + release("web", strategy) + "{{ end }}\n"}), "r.yaml:1: this looks like a template of Helm or another program")
	wantErrors(t, read(t, map[string]string{"d.yaml": "kind: Deployment\na: [\n"}), "d.yaml:2: broken YAML")
}

// TestLists: the objects of a list are read as if each stood alone, with their own lines.
func TestLists(t *testing.T) {
	t.Parallel()
	item := func(text string) string {
		return "- " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
	}
	for _, head := range []string{"apiVersion: v1\nkind: List\nitems:\n", "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n"} {
		list := head + item(deployment("web", "web:1")) + item(deployment("api", "api:${TAG}"))
		files := map[string]string{"list.yaml": list, "r.yaml": release("web", strategy) + "---\n" + release("api", strategy)}
		result := read(t, files)
		wantReleases(t, result, "shop/web")
		wantErrors(t, result, "list.yaml:32: spec.template.spec.containers[0].image: ${TAG}")
		files["kustomization.yaml"] = "resources: [list.yaml, r.yaml]\n"
		result = read(t, files)
		wantReleases(t, result, "shop/web")
		wantErrors(t, result, "list.yaml:32: spec.template.spec.containers[0].image: ${TAG}")
	}
	wrong := "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n" + item(release("web", strategy+template+"wrong: 1"))
	wantErrors(t, read(t, map[string]string{"list.yaml": wrong}), "list.yaml:14: spec.wrong: unknown field")
	items := "apiVersion: v1\nkind: ConfigMapList\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: dash}\n"
	result := read(t, map[string]string{
		"kustomization.yaml": "resources: [web.yaml, release.yaml, cms.yaml]\n", "cms.yaml": items, "release.yaml": release("web", strategy),
		web: strings.Replace(deployment("web", "web:1"), "      containers:", "      volumes: [{name: d, configMap: {name: dash}}]\n      containers:", 1),
	})
	wantReleases(t, result, "shop/web")
	if got := result.Releases[0].Generated; got != nil {
		t.Errorf("the items of a list are said to be generated: %v", got)
	}
}

// TestIgnore: files that .sluiceignore or the source names are not read.
func TestIgnore(t *testing.T) {
	t.Parallel()
	wrong := release("wrong", "a: 1")
	tests := map[string]struct {
		files  map[string]string
		ignore []string
		folder string
		errors []string
		leaves string
	}{
		"a file":                 {files: map[string]string{IgnoreFile: "# x\n\n/wrong.yaml\r\n", "wrong.yaml": wrong}, leaves: "wrong.yaml"},
		"a folder":               {files: map[string]string{IgnoreFile: "old/\n", "a/old/wrong.yaml": wrong, "old/kustomization.yaml": "resources: [x"}, leaves: "a/old/wrong.yaml"},
		"a pattern":              {files: map[string]string{IgnoreFile: "**/wrong*.yaml", "a/b/wrong-1.yaml": wrong}, leaves: "a/b/wrong-1.yaml"},
		"taken back":             {files: map[string]string{IgnoreFile: "*.yaml\n!web.yaml\n!release.yaml\n", "wrong.yaml": wrong}, leaves: "wrong.yaml"},
		"in a folder":            {files: map[string]string{"a/" + IgnoreFile: "wrong.yaml\n", "a/wrong.yaml": wrong}, leaves: "a/wrong.yaml"},
		"only below that folder": {files: map[string]string{"a/" + IgnoreFile: "wrong.yaml\n", "wrong.yaml": wrong}, errors: []string{"wrong.yaml:7: spec.a"}},
		"by the source":          {files: map[string]string{"wrong.yaml": wrong}, ignore: []string{"wrong.yaml"}, leaves: "wrong.yaml"},
		"the source goes first":  {files: map[string]string{IgnoreFile: "wrong.yaml", "wrong.yaml": wrong}, ignore: []string{"!wrong.yaml"}, errors: []string{"wrong.yaml:7: spec.a"}},
		"above the folder":       {files: map[string]string{IgnoreFile: "apps/wrong.yaml", "apps/wrong.yaml": wrong, "apps/web.yaml": deployment("web", "web:1"), "apps/release.yaml": release("web", strategy)}, folder: "apps", leaves: "apps/wrong.yaml"},
		"a kustomization":        {files: map[string]string{IgnoreFile: "k/kustomization.yaml", "k/kustomization.yaml": "resources: [x"}},
		"what one refers to":     {files: map[string]string{IgnoreFile: "base", "k/kustomization.yaml": "resources: [../base/a.yaml]", "base/a.yaml": wrong}, errors: []string{"k/kustomization.yaml: kustomize: "}},
		"below a kustomization":  {files: map[string]string{IgnoreFile: "k/x", "k/kustomization.yaml": "resources: []", "k/x/wrong.yaml": wrong}},
		"too many patterns":      {files: map[string]string{IgnoreFile: strings.Repeat("x\n", 101)}, errors: []string{IgnoreFile + ": there are more than 100 patterns"}},
		"a long pattern":         {files: map[string]string{IgnoreFile: "*[" + strings.Repeat("b", 60_000) + "]c"}, errors: []string{IgnoreFile + ": a pattern is longer than 256 bytes"}},
		"too large":              {files: map[string]string{IgnoreFile: strings.Repeat("#", 70<<10)}, errors: []string{IgnoreFile + ": the file is too large"}},
		"strange patterns":       {files: map[string]string{IgnoreFile: "[\n!\n/\n//\n\\\n**\\\n!/\n  \n***/[a\n"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := app()
			if tt.folder != "" {
				clear(files)
			}
			maps.Copy(files, tt.files)
			result, err := ignoringReader(t, tt.ignore...).Read(tree(files), tt.folder)
			if err != nil {
				t.Fatal(err)
			}
			wantErrors(t, result, tt.errors...)
			wantReleases(t, result, "shop/web")
			if tt.leaves == "" {
				return
			}
			if missing, is := result.Missing("wrong", tt.leaves, ""); !is || !strings.Contains(missing.Message, "it is ignored") {
				t.Errorf("want %s to be left out, got %v of %v", tt.leaves, missing, result.LeftOut)
			}
		})
	}
	linked := tree(app())
	linked[IgnoreFile] = &fstest.MapFile{Data: []byte("web.yaml"), Mode: fs.ModeSymlink}
	result, err := ignoringReader(t).Read(linked, ".")
	if err != nil {
		t.Fatal(err)
	}
	wantErrors(t, result, IgnoreFile+": it must be a regular file")
	wantErrors(t, read(t, map[string]string{IgnoreFile: "x"}), IgnoreFile+": this program can't read the file")
}

// TestLinksToFolders: a link to a folder is no error unless a release is behind it that is read
// nowhere else.
func TestLinksToFolders(t *testing.T) {
	t.Parallel()
	for target, want := range map[string][]string{
		"../shared": nil, "../more": {"apps/link: a symbolic link is not followed"}, "../apps": nil, "../gone": nil, "web.yaml": nil,
	} {
		files := tree(map[string]string{
			"apps/web.yaml": deployment("web", "web:1"), "apps/release.yaml": release("web", strategy),
			"shared/x.yaml": "a: 1\n", "more/r.yaml": release("more", strategy+template),
		})
		files["apps/link"] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
		result, err := newTestReader().Read(files, "apps")
		if err != nil {
			t.Fatal(err)
		}
		wantErrors(t, result, want...)
		wantReleases(t, result, "shop/web")
	}
}

// overlaid returns a base with a release and a workload, and an overlay that gives it another
// image.
func overlaid() map[string]string {
	return map[string]string{
		"base/kustomization.yaml": "resources: [web.yaml, release.yaml]\n", "base/web.yaml": deployment("web", "web:base"), "base/release.yaml": release("web", strategy),
		"overlays/prod/kustomization.yaml": "resources: [../../base]\nimages: [{name: web, newTag: prod}]\n",
	}
}

// TestBaseOfBrokenOverlay: a base is not released on its own because its overlay is broken, whose
// template differs. Objects built of it are kept, and a base that no broken kustomization names is
// released.
func TestBaseOfBrokenOverlay(t *testing.T) {
	t.Parallel()
	const overlay = "overlays/prod/kustomization.yaml"
	tests := map[string]map[string]string{
		"a remote part":    {overlay: "resources: [../../base, 'https://example.com/x.yaml']\n"},
		"a misspelt field": {overlay: "resources: [../../base]\nimagez: []\n"},
		"broken YAML":      {overlay: "resources: ['../../base'\n"},
		"a conflict":       {overlay: "<<<<<<< HEAD\nresources:\n- ./../../base/ # web\n=======\n>>>>>>> x\n"},
		"through another":  {overlay: "resources: [inner, 'https://example.com/x.yaml']\n", "overlays/prod/inner/kustomization.yaml": "resources: [../../../base]\n"},
	}
	for name, more := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := overlaid()
			maps.Copy(files, more)
			maps.Copy(files, map[string]string{"other/kustomization.yaml": "resources: [a.yaml]", "other/a.yaml": release("other", strategy+template)})
			result := read(t, files)
			wantReleases(t, result, "shop/other")
			wantErrors(t, result, overlay)
			wantErrors(t, &Result{Errors: result.Notices}, "base/kustomization.yaml: the kustomization is not built on its own: another one")
			for _, file := range []string{overlay, "base/kustomization.yaml"} { // that built the release before
				if !slices.ContainsFunc(result.Doubts, func(d Doubt) bool { return d.File == file }) {
					t.Errorf("want what %s built kept, got %+v", file, result.Doubts)
				}
			}
			if !slices.ContainsFunc(result.Doubts, func(d Doubt) bool { return d.MayHold("web") }) {
				t.Errorf("want release web kept by its name, got %+v", result.Doubts)
			}
		})
	}
}

// TestIgnoredKustomization: a release is kept if the kustomization that built it is ignored, or its
// own file beside one.
func TestIgnoredKustomization(t *testing.T) {
	t.Parallel()
	beside := map[string]string{"k/kustomization.yaml": "resources: [web.yaml]\n", "k/web.yaml": deployment("web", "web:1"), "k/release.yaml": release("web", strategy)}
	hidden := map[string]string{"prod/kustomization.yaml": "resources: [../.base]\n", ".base/kustomization.yaml": "resources: [web.yaml, release.yaml]\n",
		".base/web.yaml": deployment("web", "web:1"), ".base/release.yaml": release("web", strategy)}
	tests := map[string]struct {
		files               map[string]string
		ignore              string
		file, kustomization string
	}{
		"its kustomization":          {hidden, "prod/kustomization.yaml", ".base/release.yaml", "prod/kustomization.yaml"},
		"its kustomization's folder": {hidden, "prod/", ".base/release.yaml", "prod/kustomization.yaml"},
		"a file beside one":          {beside, "k/release.yaml", "k/release.yaml", ""},
		"a file beside, by name":     {beside, "!x\nrelease.yaml", "k/release.yaml", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantReleases(t, read(t, tt.files), "shop/web")
			files := maps.Clone(tt.files)
			files[IgnoreFile] = tt.ignore + "\n"
			result, err := ignoringReader(t).Read(tree(files), ".")
			if err != nil {
				t.Fatal(err)
			}
			wantReleases(t, result)
			if missing, is := result.Missing("web", tt.file, tt.kustomization); !is || !strings.Contains(missing.Message, "it is ignored") {
				t.Errorf("want the release kept since what it was read from is ignored, got %q", missing.Message)
			}
			for _, doubt := range result.Doubts {
				if doubt.Any {
					t.Errorf("what is ignored keeps other releases: %+v", doubt)
				}
			}
		})
	}
}

// TestComparingIsLimited: patterns and files of a stranger take no more than a few seconds of the
// processor that all sources share.
func TestComparingIsLimited(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 235)
	files := fstest.MapFS{IgnoreFile: &fstest.MapFile{Data: []byte(strings.Repeat(strings.Repeat("*[a-z]", 40)+"b\n", maxPatterns))}}
	for i := range 300 {
		files[fmt.Sprintf("%s%s%d.txt", strings.Repeat(long+"/", 12), long, i)] = &fstest.MapFile{}
	}
	if _, err := ignoringReader(t).Read(files, "."); !errors.Is(err, ErrLimit) || !strings.Contains(err.Error(), IgnoreFile) {
		t.Errorf("want comparing to be limited, got %v", err)
	}
}
