package github

import (
	"regexp"
	"strings"

	"github.com/sluice-dev/sluice/forge"
)

// What is put into the path of a request is checked first: it may come from a policy that
// somebody wrote.
var (
	objectName = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	login      = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?$`)
	teamSlug   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}$`)
	filePath   = regexp.MustCompile(`^[A-Za-z0-9._][A-Za-z0-9._/-]{0,1000}$`)
)

func checkSHA(sha string) error {
	if !objectName.MatchString(sha) {
		return invalid("%q is not a full commit hash", sha)
	}
	return nil
}

func checkBranch(name string) error {
	if !forge.IsBranch(name) {
		return invalid("%q is not the name of a branch", name)
	}
	return nil
}

func checkPath(path string) error {
	if !filePath.MatchString(path) || strings.Contains(path, "..") || strings.Contains(path, "//") {
		return invalid("%q is not the path of a file that Sluice can write", path)
	}
	return nil
}

// checkOwnBranch keeps us from touching a branch that was not made for an approval.
func checkOwnBranch(name string) error {
	if !strings.HasPrefix(name, forge.BranchPrefix) {
		return invalid("branch %q is not an approval branch: their names start with %s", name, forge.BranchPrefix)
	}
	return checkBranch(name)
}
