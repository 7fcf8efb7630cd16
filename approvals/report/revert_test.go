package report

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestRevertWords(t *testing.T) {
	t.Parallel()
	const now = "image: web:2 # pinned\nargs:\n- a\n- a\n"
	evil := "`</code> | @everyone \n## <b>x</b>"
	tests := map[string]RevertWords{
		"revert": {
			Release: rolling(bad).takenBack().completed().release, Commit: good, File: "web/deploy.yaml",
			Before: []byte(now), After: []byte("image: web:1 # pinned\nargs:\n- a\n"),
		},
		"revert-evil": {
			Release: rolling(evil).takenBack().because(v1alpha1.TriggerGateRejected, evil).release, Commit: evil, File: evil,
			Before: []byte(strings.Repeat("x: 1\n", 30)), After: []byte("```\n" + evil),
		},
	}
	for name, words := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := words.Title() + "\n\n" + words.CommitMessage() + "\n" + words.Body()
			compare(t, filepath.Join("testdata", name+".md"), got)
		})
	}
}

// TestRevertRefusedHints: the command in a hint names a commit of Git, and nothing else.
func TestRevertRefusedHints(t *testing.T) {
	t.Parallel()
	const by = "put the template of revision 58d4 back into kustomization.yaml by hand, Sluice can't: it is built"
	for commit, want := range map[string]string{
		bad: by + "; 'git revert bad0bad' undoes the commit that was rolled back", "": by, "';rm -rf ~": by, "--abort": by,
	} {
		if got := RevertRefused(rolling(commit).takenBack().release, "kustomization.yaml", "it is built"); got != want {
			t.Errorf("commit %q: want %q, got %q", commit, want, got)
		}
	}
}
