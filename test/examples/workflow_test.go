package examples_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/cli/preview"
)

// TestWorkflow: the workflow of the sample repository lints, plans and finds its comment again,
// runs pinned actions only, and puts nothing that others wrote into a script.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("repo/.github/workflows/sluice.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Uses, Run string }
		}
	}
	if err := sigsyaml.Unmarshal(data, &workflow); err != nil {
		t.Fatalf("read workflow: %v", err)
	}
	pinned := regexp.MustCompile(`^[\w-]+/[\w-]+@[0-9a-f]{40}$`)
	var scripts strings.Builder
	for _, job := range workflow.Jobs {
		for _, step := range job.Steps {
			if step.Uses != "" && !pinned.MatchString(step.Uses) {
				t.Errorf("%s: an action is pinned by its commit", step.Uses)
			}
			scripts.WriteString(step.Run)
		}
	}
	for _, want := range []string{"sluice lint . -o github", "sluice plan -o markdown", preview.Marker} {
		if !strings.Contains(scripts.String(), want) {
			t.Errorf("want %q in the workflow", want)
		}
	}
	if strings.Contains(scripts.String(), "${{") {
		t.Error("values reach scripts by the environment: an expression in one can be made a command")
	}
}
