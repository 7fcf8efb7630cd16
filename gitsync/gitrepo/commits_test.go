package gitrepo_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// wantSince compares the commits of the head that known lacks with the list of git rev-list, and
// their bytes with those of git.
func (s *server) wantSince(t *testing.T, r *gitrepo.Reader, most int, known ...string) {
	t.Helper()
	head := read(t, r, s.source(), gitrepo.Known{})
	got, err := r.Commits(t.Context(), s.source(), head, known, most)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := s.Git(nil, append([]string{"rev-list", head.Commit, "--not"}, known...)...)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(listed)
	var names []string
	for _, commit := range got {
		raw, err := s.Git(nil, "cat-file", "commit", commit.Name)
		if err != nil || strings.TrimSpace(string(commit.Raw)) != raw {
			t.Errorf("commit %s: want %q, got %q (%v)", commit.Name, raw, commit.Raw, err)
		}
		names = append(names, commit.Name)
	}
	slices.Sort(want)
	slices.Sort(names)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("since %v (-want +got):\n%s", known, diff)
	}
}

func TestCommits(t *testing.T) {
	t.Parallel()
	for _, filters := range []bool{false, true} {
		t.Run(fmt.Sprintf("filters=%t", filters), func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			if _, err := s.Git(nil, "config", "uploadpack.allowFilter", fmt.Sprint(filters)); err != nil {
				t.Fatal(err)
			}
			commits := s.chain(t, 0, 80)
			side := s.commit(t, gittest.Commit{Branch: "side", Parent: commits[2], Files: map[string]string{"s": "1"}})
			s.commit(t, gittest.Commit{Merge: side, Files: map[string]string{"s": "1"}})
			last := s.chain(t, 80, 2)
			r := newReader(gitrepo.Options{})
			s.wantSince(t, r, 1000, last[0])
			s.wantSince(t, newReader(gitrepo.Options{}), 1000, last[0])
			s.wantSince(t, r, 1000, commits[79])
			s.wantSince(t, r, 1000, commits[79], side)
			s.wantSince(t, newReader(gitrepo.Options{}), 1000, commits[5])
			s.wantSince(t, r, 1000)
			s.wantSince(t, r, 4, commits[79])

			head := read(t, r, s.source(), gitrepo.Known{})
			if _, err := r.Commits(t.Context(), s.source(), head, []string{commits[79]}, 3); gitrepo.KindOf(err) != gitrepo.LimitExceeded {
				t.Errorf("of more than asked: want %s, got %v", gitrepo.LimitExceeded, err)
			}
			short := newReader(gitrepo.Options{Limits: gitrepo.Limits{History: 20}})
			head = read(t, short, s.source(), gitrepo.Known{})
			if _, err := short.Commits(t.Context(), s.source(), head, []string{commits[5]}, 1000); gitrepo.KindOf(err) != gitrepo.LimitExceeded {
				t.Errorf("too far back: want %s, got %v", gitrepo.LimitExceeded, err)
			}
		})
	}
}

// TestCommitsOfOneMore asks the server for nothing: the usual push is one commit.
func TestCommitsOfOneMore(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	commits := s.chain(t, 0, 3)
	r := newReader(gitrepo.Options{})
	head := read(t, r, s.source(), gitrepo.Known{})
	got := s.requests(func() {
		if found, err := r.Commits(t.Context(), s.source(), head, commits[1:2], 10); err != nil || len(found) != 1 {
			t.Errorf("want the head, got %v, %v", found, err)
		}
	})
	if got != 0 {
		t.Errorf("want no request, got %d", got)
	}
}
