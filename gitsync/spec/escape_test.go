package spec

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
)

// listener counts who comes to an address that nothing in a repository may reach.
func listener(t testing.TB) (url string, visits *atomic.Int32) {
	t.Helper()
	visits = &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		fmt.Fprint(w, "secret-of-the-node")
	}))
	t.Cleanup(server.Close)
	return server.URL, visits
}

// TestReferencesOutOfTheRepository: Kustomize takes the root for what is above it, and so must
// whoever looks at references first: else a kustomization that nobody looked at is built, which may
// fetch and run what it likes.
func TestReferencesOutOfTheRepository(t *testing.T) {
	t.Parallel()
	for _, reference := range []string{"../../evil", "../../../evil", "x/../../../evil", "/evil", "../../evil/.", "./../../evil"} {
		for _, form := range []string{"resources: [%q]", "bases: [%q]", "components: [%q]", "resources: [base]\ncomponents: [%q]"} {
			url, visits := listener(t)
			text := fmt.Sprintf(form, reference)
			result := read(t, map[string]string{
				"app/kustomization.yaml":      text + "\n",
				"app/base/kustomization.yaml": "resources: [release.yaml]\n",
				"app/base/release.yaml":       release("web", strategy+template),
				"evil/kustomization.yaml":     "configMapGenerator: [{name: loot, files: [\"v=" + url + "/secret\"]}]\n",
				"evil/more.yaml":              "",
			})
			found := fmt.Sprint(result.Errors)
			if !strings.Contains(found, fmt.Sprintf("%q leads out of the repository", reference)) || visits.Load() > 0 {
				t.Errorf("%s: %d requests, and the errors are %s", text, visits.Load(), found)
			}
		}
	}
}

// TestOnlyCheckedKustomizationsAreRead: even if a reference could be followed by kustomize alone,
// there is nothing to read at its end.
func TestOnlyCheckedKustomizationsAreRead(t *testing.T) {
	t.Parallel()
	url, visits := listener(t)
	files := tree(map[string]string{
		"app/kustomization.yaml":  "resources: [../evil]\n",
		"evil/kustomization.yaml": "resources: [\"" + url + "/secret\"]\n",
	})
	limits := Limits{}.withDefaults()
	check := newReferenceCheck(files, limits, nil)
	check.visited["app"] = true // as if the reference had not been seen
	view := newView(files, limits, check)
	_, err := kustomize(view, "app")
	if err == nil || visits.Load() > 0 {
		t.Errorf("%d requests, error %v", visits.Load(), err)
	}
	if len(view.problems) != 1 || view.problems[0].File != "evil/kustomization.yaml" {
		t.Errorf("the problems are %v", view.problems)
	}
}

// TestMultiplyOutOfTheRepository: References that climb multiply no more than others do.
func TestMultiplyOutOfTheRepository(t *testing.T) {
	t.Parallel()
	files := map[string]string{"k/kustomization.yaml": "resources: [../../l0/a, ../../l0/b]\n"}
	for i := range 12 {
		for _, side := range []string{"a", "b"} {
			files[fmt.Sprintf("l%d/%s/kustomization.yaml", i, side)] = fmt.Sprintf("namePrefix: %s-\nresources: [../../../l%d/a, ../../../l%d/b]\n", side, i+1, i+1)
		}
	}
	result := read(t, files)
	if len(result.Errors) == 0 || !strings.Contains(fmt.Sprint(result.Errors), "leads out of the repository") {
		t.Errorf("got %v", result.Errors)
	}
}

// TestHiddenLines: text that is a line of its own for YAML, and the end of a comment for a
// reviewer, counts nowhere: not in a manifest, nor in a kustomization, its resources or its
// patches.
func TestHiddenLines(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]string{"CR": "\r", "NEL": "\u0085", "LS": "\u2028", "PS": "\u2029"} {
		hidden := "      # shown as one comment" + end + "      hostNetwork: true\n"
		evil := strings.Replace(deployment("web", "web:1"), "      containers:", hidden+"      containers:", 1)
		patch := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n" + hidden
		base := map[string]string{"release.yaml": release("web", strategy), "deploy.yaml": deployment("web", "web:1")}
		with := func(more map[string]string) map[string]string {
			files := maps.Clone(base)
			maps.Copy(files, more)
			return files
		}
		const resources = "resources: [release.yaml, deploy.yaml]\n"
		for where, files := range map[string]map[string]string{
			"a manifest":           with(map[string]string{"deploy.yaml": evil}),
			"a resource":           with(map[string]string{"deploy.yaml": evil, "kustomization.yaml": resources}),
			"a kustomization":      with(map[string]string{"kustomization.yaml": resources + "# x" + end + "images: [{name: web, newTag: evil}]\n"}),
			"a patch":              with(map[string]string{"kustomization.yaml": resources + "patches: [{path: patch.yaml}]\n", "patch.yaml": patch}),
			"a patch in its place": with(map[string]string{"kustomization.yaml": resources + "patches:\n- patch: |-\n    " + strings.ReplaceAll(strings.TrimSpace(patch), "\n", "\n    ") + "\n"}),
		} {
			tree := fstest.MapFS{}
			for file, text := range files {
				tree[file] = &fstest.MapFile{Data: []byte(text)}
			}
			result, err := newTestReader().Read(tree, ".")
			if err != nil {
				t.Fatal(err)
			}
			said := fmt.Sprint(result.Errors)
			for _, release := range result.Releases {
				if text := fmt.Sprint(release.Object()); strings.Contains(text, "hostNetwork") || strings.Contains(text, "evil") {
					t.Errorf("%s in %s: a hidden line is released: %s", name, where, text)
				}
			}
			if !strings.Contains(said, "ends a line in YAML") {
				t.Errorf("%s in %s: want it told, got %s", name, where, said)
			}
		}
	}
	windows := fstest.MapFS{"web.yaml": {Data: []byte(strings.ReplaceAll(release("web", strategy)+"---\n"+deployment("web", "web:1"), "\n", "\r\n"))}}
	if result, err := newTestReader().Read(windows, "."); err != nil || len(result.Errors) > 0 || len(result.Releases) != 1 {
		t.Errorf("want lines read that end as on Windows, got %+v, %v", result, err)
	}
}
