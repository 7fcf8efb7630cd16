package spec

import (
	"testing"

	"github.com/sluice-dev/sluice/forge"
)

// TestGateThatTheForgeCannotAnswer: a gate that the forge of the repository can't answer is an
// error at its line, on that forge alone.
func TestGateThatTheForgeCannotAnswer(t *testing.T) {
	t.Parallel()
	files := tree(map[string]string{"web.yaml": release("web", inGates("- checkRun: {name: e2e, app: github-actions}"))})
	refused := []string{"web.yaml:12: spec.strategy.steps[0].gates[0].checkRun: Gitea has no check runs: use commitStatus"}
	for on, want := range map[forge.Type][]string{"": nil, forge.TypeGitHub: nil, forge.TypeGitea: refused} {
		reader := newTestReader()
		reader.opts.Forge = on
		result, err := reader.Read(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		wantErrors(t, result, want...)
	}
}
