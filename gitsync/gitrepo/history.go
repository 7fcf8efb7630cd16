package gitrepo

import (
	"maps"

	"github.com/go-git/go-git/v5/plumbing"
)

// history holds the known parents of commits. It gains only commits whose content was seen, so a
// proven ancestry stays true.
type history map[plumbing.Hash][]plumbing.Hash

// maxHistory is how many commits are remembered between polls.
const maxHistory = 256

// trim forgets all but the head, if there is too much to remember.
func (h history) trim(head plumbing.Hash) {
	if len(h) <= maxHistory {
		return
	}
	maps.DeleteFunc(h, func(commit plumbing.Hash, _ []plumbing.Hash) bool { return commit != head })
}

// relation of a head to an earlier commit.
type relation int

const (
	// unknown: more history is needed to tell.
	unknown relation = iota
	// descends: the earlier commit is an ancestor of the head, or the head itself.
	descends
	// apart: no way back from the head leads to the earlier commit.
	apart
)

func (h history) add(commit plumbing.Hash, parents []plumbing.Hash) {
	h[commit] = parents
}

// relate walks back from head. Commits that are known to be older than the
// earlier one end a way without result, since it can't be among their ancestors; commits
// that were not seen make it unknown.
func (h history) relate(head, earlier plumbing.Hash) relation {
	older := h.ancestors(earlier)
	verdict := apart
	seen := map[plumbing.Hash]bool{}
	for ways := []plumbing.Hash{head}; len(ways) > 0; {
		at := ways[len(ways)-1]
		ways = ways[:len(ways)-1]
		if at == earlier {
			return descends
		}
		if seen[at] || older[at] {
			continue
		}
		seen[at] = true
		parents, known := h[at]
		if !known {
			verdict = unknown
		}
		ways = append(ways, parents...)
	}
	return verdict
}

// ancestors returns the ancestors of a commit that are known.
func (h history) ancestors(commit plumbing.Hash) map[plumbing.Hash]bool {
	found := map[plumbing.Hash]bool{}
	for ways := append([]plumbing.Hash(nil), h[commit]...); len(ways) > 0; {
		at := ways[len(ways)-1]
		ways = ways[:len(ways)-1]
		if !found[at] {
			found[at] = true
			ways = append(ways, h[at]...)
		}
	}
	return found
}
