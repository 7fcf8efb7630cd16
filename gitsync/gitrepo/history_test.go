package gitrepo_test

import (
	"fmt"
	"testing"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// chain commits n changes of one file, which Git sends as deltas on each other, and
// returns the commits.
func (s *server) chain(t *testing.T, from, n int) []string {
	t.Helper()
	var commits []string
	text := noise("chain", 2<<10)
	for i := range n {
		commits = append(commits, s.write(t, map[string]string{"n": text + fmt.Sprint(from+i)}))
	}
	return commits
}

func TestAncestors(t *testing.T) {
	t.Parallel()
	for _, filters := range []bool{false, true} {
		t.Run(fmt.Sprintf("filters=%t", filters), func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			if _, err := s.Git(nil, "config", "uploadpack.allowFilter", fmt.Sprint(filters)); err != nil {
				t.Fatal(err)
			}
			commits := s.chain(t, 0, 100)
			r := newReader(gitrepo.Options{})
			for _, back := range []int{0, 1, 2, 40, 99} {
				read(t, r, s.source(), gitrepo.Known{Ancestor: commits[99-back]})
			}
			again := newReader(gitrepo.Options{})
			got := s.requests(func() { read(t, again, s.source(), gitrepo.Known{Ancestor: commits[99-30]}) })
			if got != 4 {
				t.Errorf("finding an ancestor 30 commits back took %d requests, want 4: the fetch, and 64 commits of history", got)
			}
			got = s.requests(func() { read(t, again, s.source(), gitrepo.Known{Ancestor: commits[99-50]}) })
			if got != 1 {
				t.Errorf("finding another one within known history took %d requests, want 1", got)
			}
		})
	}
}

// TestAncestorThroughMerge: a merge's second parent may fork from long before the known commit.
func TestAncestorThroughMerge(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	commits := s.chain(t, 0, 3)
	s.commit(t, gittest.Commit{Branch: "feature", Parent: commits[0], Files: map[string]string{"f": "1"}})
	merge := s.commit(t, gittest.Commit{Merge: "feature", Files: map[string]string{"f": "1"}})
	r := newReader(gitrepo.Options{})
	head := read(t, r, s.source(), gitrepo.Known{Ancestor: commits[2]})
	if head.Commit != merge {
		t.Errorf("got %s, want the merge %s", head.Commit, merge)
	}
	feature, err := s.Git(nil, "rev-parse", "feature")
	if err != nil {
		t.Fatal(err)
	}
	read(t, r, s.source(), gitrepo.Known{Ancestor: feature})
}

func TestRewrittenHistory(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		rewrite func(t *testing.T, s *server, commits []string)
	}{
		{"amended", func(t *testing.T, s *server, commits []string) {
			s.commit(t, gittest.Commit{Parent: commits[3], Files: map[string]string{"n": "amended"}})
		}},
		{"reset to an ancestor", func(t *testing.T, s *server, commits []string) {
			if _, err := s.Git(nil, "update-ref", "refs/heads/main", commits[1]); err != nil {
				t.Fatal(err)
			}
		}},
		{"unrelated", func(t *testing.T, s *server, _ []string) {
			s.commit(t, gittest.Commit{Orphan: true, Files: map[string]string{"n": "new"}})
		}},
		{"unrelated and the old one gone", func(t *testing.T, s *server, _ []string) {
			s.commit(t, gittest.Commit{Orphan: true, Files: map[string]string{"n": "new"}})
			for _, args := range [][]string{{"reflog", "expire", "--expire=now", "--all"}, {"gc", "--quiet", "--prune=now"}} {
				if _, err := s.Git(nil, args...); err != nil {
					t.Fatal(err)
				}
			}
		}},
	}
	for _, tt := range tests {
		for _, restarted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/restarted=%t", tt.name, restarted), func(t *testing.T) {
				t.Parallel()
				s := newServer(t, nil)
				commits := s.chain(t, 0, 5)
				known := gitrepo.Known{Ancestor: commits[4], Content: commits[4]}
				r := newReader(gitrepo.Options{})
				read(t, r, s.source(), gitrepo.Known{})
				tt.rewrite(t, s, commits)
				if restarted {
					r = newReader(gitrepo.Options{})
				}
				for range 2 {
					_, err := r.Read(t.Context(), s.source(), known)
					wantError(t, err, gitrepo.HistoryRewritten, commits[4])
				}
				if got := s.requests(func() { _, _ = r.Read(t.Context(), s.source(), known) }); got != 1 {
					t.Errorf("a look at a head that is held took %d requests, want 1", got)
				}
				read(t, r, s.source(), gitrepo.Known{Content: commits[4]})
			})
		}
	}
}

func TestHistoryTooLong(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	commits := s.chain(t, 0, 30)
	r := newReader(gitrepo.Options{Limits: gitrepo.Limits{History: 10}})
	_, err := r.Read(t.Context(), s.source(), gitrepo.Known{Ancestor: commits[0]})
	wantError(t, err, gitrepo.HistoryRewritten, "can't tell", "10 generations")
	if got := s.requests(func() {
		_, _ = r.Read(t.Context(), s.source(), gitrepo.Known{Ancestor: commits[0]})
	}); got != 1 {
		t.Errorf("a second look took %d requests, want 1: nothing changed", got)
	}
	read(t, r, s.source(), gitrepo.Known{Ancestor: commits[25]})
}
