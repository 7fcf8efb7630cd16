package examples_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestTheAPIServerTakesTheManifestsOfTheDocs applies each whole manifest of README and docs, as a
// dry run.
func TestTheAPIServerTakesTheManifestsOfTheDocs(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	server, applied := strictServer(t), 0
	for _, page := range append(pages, "../README.md") {
		for _, document := range manifestsOfPage(t, page) {
			object := asApplied(t, document)
			object.SetNamespace("") // that of the test
			if err := server.Create(t.Context(), object, client.DryRunAll); err != nil {
				t.Errorf("%s: %v", page, err)
			}
			applied++
		}
	}
	if applied < 10 {
		t.Errorf("there are more manifests in the docs than the %d that were found", applied)
	}
}

var (
	yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
	separator = regexp.MustCompile(`(?m)^---\n`)
	whole     = regexp.MustCompile(`(?m)^kind: `)
	forTools  = regexp.MustCompile(`(?m)^kind: (Kustomization|CustomResourceStateMetrics)$`) // no server knows them
)

// manifestsOfPage returns the blocks of a page that are whole objects.
func manifestsOfPage(t *testing.T, page string) [][]byte {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var manifests [][]byte
	for _, match := range yamlBlock.FindAllSubmatch(text, -1) {
		for _, document := range separator.Split(string(match[1]), -1) {
			if whole.MatchString(document) && !forTools.MatchString(document) {
				manifests = append(manifests, []byte(document))
			}
		}
	}
	return manifests
}
