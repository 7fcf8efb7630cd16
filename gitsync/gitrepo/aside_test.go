package gitrepo_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
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
				{"another case", gittest.Commit{Files: map[string]string{".Sluice/approvals/shop/web.yaml": "x"}}, false},
				{"a link in place of the folder", gittest.Commit{Links: map[string]string{".sluice/approvals": "../deploy"}}, false},
				{"a link above the folder", gittest.Commit{Links: map[string]string{".sluice": "deploy"}}, false},
				{"a submodule in place of the folder", gittest.Commit{Submodules: map[string]string{".sluice/approvals": base}}, false},
				{"a submodule above the folder", gittest.Commit{Submodules: map[string]string{".sluice": base}}, false},
				{"a file taken away", gittest.Commit{Files: map[string]string{record: "1"}, Deleted: []string{"n"}}, false},
				{"no commit before", gittest.Commit{Orphan: true, Files: map[string]string{record: "1"}}, false},
			}
			for _, step := range steps {
				if step.commit.Branch = "main"; !step.commit.Orphan {
					step.commit.Parent = base
				}
				made := s.commit(t, step.commit)
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

// TestAsideMerges: a merge is aside if its first parent has all that it merges, records aside. One
// that leaves the tracked branch out would bring an older version back.
func TestAsideMerges(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	const record = ".sluice/approvals/shop/web.yaml"
	line := s.chain(t, 0, 4)
	older, tip := line[1], line[3]
	made := func(c gittest.Commit) string {
		t.Helper()
		if c.Branch == "" {
			c.Branch = "other"
		}
		if c.Files == nil {
			c.Files = map[string]string{record: "1"}
		}
		return s.commit(t, c)
	}
	approval, behind := made(gittest.Commit{Parent: tip}), made(gittest.Commit{Parent: older})
	dropped := made(gittest.Commit{Parent: line[0], Merge: tip})
	evil := made(gittest.Commit{Parent: tip, Files: map[string]string{"web.yaml": "evil"}})
	tests := map[string]struct {
		first, second, beneath string
	}{
		"an approval":                                {tip, approval, tip},
		"an approval that was opened earlier":        {tip, behind, tip},
		"an approval on top of one":                  {approval, behind, tip},
		"an older commit, with the tip merged":       {older, tip, ""},
		"an older commit, with an approval merged":   {older, approval, ""},
		"an older approval, with the tip merged":     {behind, tip, ""},
		"an older commit, with such a merge merged":  {older, dropped, ""},
		"such a merge, with another approval merged": {dropped, approval, dropped},
		"a commit of another branch, left out":       {tip, evil, ""},
	}
	for name, tc := range tests {
		merge := made(gittest.Commit{Branch: "main", Parent: tc.first, Merge: tc.second, Files: map[string]string{record: name}})
		r := newReader(gitrepo.Options{})
		head := read(t, r, s.source(), gitrepo.Known{})
		found, err := r.Aside(t.Context(), s.source(), head, []gitrepo.Commit{head.Object()}, ".sluice/approvals")
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		aside := tc.beneath != ""
		if !aside {
			tc.beneath = merge
		}
		if found.Commits[merge] != aside || found.Beneath.Name != tc.beneath {
			t.Errorf("%s: want aside %t and %s beneath, got %t and %s", name, aside, tc.beneath, found.Commits[merge], found.Beneath.Name)
		}
	}
}

// TestAsideOfOddTrees: nothing passes by trees that Git itself would not write.
func TestAsideOfOddTrees(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	git := func(input string, args ...string) string {
		t.Helper()
		made, err := s.Git(bytes.NewBufferString(input), append([]string{"-c", "user.name=eve", "-c", "user.email=eve@example.com"}, args...)...)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	blob, zero := git("image: web:1", "hash-object", "-w", "--stdin"), strings.Repeat("0", 40)
	folder := func(of string) string {
		records := git("100644 blob "+blob+"\t"+of+"\n", "mktree")
		return git("040000 tree "+records+"\tapprovals\n", "mktree")
	}
	file, before, after := "100644 blob "+blob+"\tweb.yaml\n", folder("a"), folder("b")
	own := func(tree string) string { return "040000 tree " + tree + "\t.sluice\n" }
	base := git("", "commit-tree", "-m", "base", git(own(before)+file, "mktree"))
	for name, tc := range map[string]struct {
		tree  string
		aside bool
	}{
		"as it should be":               {own(after) + file, true},
		"twice the folder":              {own(before) + own(after) + file, false},
		"twice the folder, one of none": {own(zero) + own(after) + file, false},
		"the folder of none":            {own(zero) + file, false},
		"a folder with a slash":         {own(before) + "040000 tree " + after + "\t.sluice/approvals\n" + file, false},
		"a file that can be run":        {own(after) + "100755 blob " + blob + "\tweb.yaml\n", false},
		"twice a file":                  {own(after) + file + file, false},
		"a file as a link":              {own(after) + "120000 blob " + blob + "\tweb.yaml\n", false},
	} {
		var raw []byte
		for line := range strings.Lines(tc.tree) {
			head, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			fields := strings.Fields(head)
			id, err := hex.DecodeString(fields[2])
			if err != nil {
				t.Fatal(err)
			}
			raw = append(append(raw, strings.TrimPrefix(fields[0], "0")+" "+name+"\x00"...), id...)
		}
		tree := git(string(raw), "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
		made := git("", "commit-tree", "-m", name, "-p", base, tree)
		git("", "update-ref", "refs/heads/main", made)
		r := newReader(gitrepo.Options{})
		head, err := r.Read(t.Context(), s.source(), gitrepo.Known{})
		if err != nil {
			if tc.aside {
				t.Errorf("%s: %v", name, err)
			}
			continue // nothing of it is read
		}
		head.Close()
		found, err := r.Aside(t.Context(), s.source(), head, []gitrepo.Commit{head.Object()}, ".sluice/approvals")
		if got := err == nil && found.Commits[made]; got != tc.aside {
			t.Errorf("%s: want aside %t, got %t, %v", name, tc.aside, got, err)
		}
	}
}
