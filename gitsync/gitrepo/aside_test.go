package gitrepo_test

import (
	"fmt"
	"testing"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// TestAside: a commit is aside if it changes nothing but the folder against its first parent,
// however it was merged; and no other is.
func TestAside(t *testing.T) {
	t.Parallel()
	const record = ".sluice/approvals/shop/web.yaml"
	for _, filters := range []bool{false, true} {
		t.Run(fmt.Sprintf("filters=%t", filters), func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			if _, err := s.Git(nil, "config", "uploadpack.allowFilter", fmt.Sprint(filters)); err != nil {
				t.Fatal(err)
			}
			base := s.chain(t, 0, 70)[69]
			steps := []struct {
				name   string
				commit gittest.Commit
				aside  bool
			}{
				{"the first record", gittest.Commit{Files: map[string]string{record: "1"}}, true},
				{"another", gittest.Commit{Files: map[string]string{record: "2"}}, true},
				{"a record and another file", gittest.Commit{Files: map[string]string{record: "3", "web.yaml": "evil"}}, false},
				{"a file beside the folder", gittest.Commit{Files: map[string]string{".sluice/freeze.yaml": "x"}}, false},
				{"a file that begins as the folder", gittest.Commit{Files: map[string]string{".sluice/approvals.yaml": "x"}}, false},
				{"a file in place of the folder", gittest.Commit{Files: map[string]string{".sluice/approvals": "x"}}, false},
			}
			for _, step := range steps {
				made := s.commit(t, gittest.Commit{Branch: "main", Files: step.commit.Files, Parent: base})
				r := newReader(gitrepo.Options{})
				head := read(t, r, s.source(), gitrepo.Known{})
				if head.Commit != made {
					t.Fatalf("%s: want the head %s, got %s", step.name, made, head.Commit)
				}
				found, err := r.Aside(t.Context(), s.source(), head, []gitrepo.Commit{head.Object()}, ".sluice/approvals")
				if err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
				beneath := made
				if step.aside {
					beneath = base
				}
				if found.Commits[made] != step.aside || found.Beneath.Name != beneath || len(found.Beneath.Raw) == 0 {
					t.Errorf("%s: want aside %t and %s beneath, got %t and %s", step.name, step.aside, beneath, found.Commits[made], found.Beneath.Name)
				}
			}
		})
	}
}
