package spec

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
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

// Kustomize takes the root for what is above it, and so must whoever looks at references first: else a kustomization
// that nobody looked at is built, which may fetch and run what it likes.
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

// Even if a reference could be followed by kustomize alone, there is nothing to read at its end.
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

// References that climb multiply no more than others do.
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
