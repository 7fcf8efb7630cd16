package docs_test

import (
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/gitsync/spec"
)

// TestRecipesAreWhole reads each recipe as the controller does: a release next to the Deployment of
// the sample repository, or a freeze.
func TestRecipesAreWhole(t *testing.T) {
	t.Parallel()
	deployment := &fstest.MapFile{Data: []byte(read(t, "../examples/repo/deployment.yaml"))}
	releases, freezes := 0, 0
	for i, match := range block.FindAllStringSubmatch(read(t, "cookbook.md"), -1) {
		recipe := &fstest.MapFile{Data: []byte(match[1])}
		switch what(t, recipe.Data) {
		case "BatchRelease":
			releases++
			wantOneRelease(t, i+1, fstest.MapFS{"release.yaml": recipe, "deployment.yaml": deployment})
		case "freeze":
			freezes++
			if _, problems := spec.ReadFreeze(fstest.MapFS{spec.FreezeFile: recipe}); len(problems) != 0 {
				t.Errorf("block %d: %v", i+1, problems)
			}
		case "RoleBinding", "workflow":
		default:
			t.Errorf("block %d is nothing that is read whole", i+1)
		}
	}
	if releases == 0 || freezes == 0 {
		t.Errorf("want recipes of both kinds, got %d releases and %d freezes", releases, freezes)
	}
}

// what returns the kind of a block, or the key that identifies it.
func what(t *testing.T, data []byte) string {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal(data, &object); err != nil {
		t.Fatalf("decode: %v", err)
	}
	kind, _ := object["kind"].(string)
	switch {
	case kind != "":
		return kind
	case object["reason"] != nil:
		return "freeze"
	case object["jobs"] != nil:
		return "workflow"
	}
	return ""
}

func wantOneRelease(t *testing.T, number int, repository fstest.MapFS) {
	t.Helper()
	result, err := spec.NewReader(spec.Options{Namespace: "shop"}).Read(repository, ".")
	if err != nil {
		t.Fatalf("block %d: %v", number, err)
	}
	if len(result.Releases) != 1 || len(result.Errors) != 0 {
		t.Errorf("block %d: want one release and no error, got %d and %v", number, len(result.Releases), result.Errors)
	}
}
