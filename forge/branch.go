package forge

import (
	"regexp"
	"strings"
)

// branchLetters are the letters that the name of a branch may have: all but controls, spaces and
// those that git-check-ref-format(1) keeps for revisions. The CRD of ReleaseSource has the same
// pattern, and the rules of IsBranch as CEL.
var branchLetters = regexp.MustCompile(`^[^\x00-\x20\x7f~^:?*\[\\-][^\x00-\x20\x7f~^:?*\[\\]*$`)

// BranchPart returns a name of Kubernetes as a part of the name of a branch. Git takes none that
// ends in .lock; no other name becomes the one that is returned then.
func BranchPart(name string) string {
	if strings.HasSuffix(name, ".lock") {
		return name + "_"
	}
	return name
}

// IsBranch reports whether a text is the name of a branch, without refs/heads/, by
// git-check-ref-format(1). Letters beyond ASCII are as good as others.
func IsBranch(name string) bool {
	if !branchLetters.MatchString(name) || strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "@" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
