package wire

import (
	"regexp"
	"strings"

	"github.com/sluice-dev/sluice/forge"
)

// What is put into the path of a request is checked first: it may come from a policy that
// somebody wrote.
var (
	objectName = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	filePath   = regexp.MustCompile(`^[A-Za-z0-9._][A-Za-z0-9._/-]{0,1000}$`)
)

// CheckSHA refuses what is no full name of a commit.
func CheckSHA(sha string) error {
	if !objectName.MatchString(sha) {
		return Invalid("%q is not a full commit hash", sha)
	}
	return nil
}

// CheckBranch refuses what is no name of a branch.
func CheckBranch(name string) error {
	if !forge.IsBranch(name) {
		return Invalid("%q is not the name of a branch", name)
	}
	return nil
}

// CheckPath refuses what is no path of a file that Sluice writes.
func CheckPath(path string) error {
	if !filePath.MatchString(path) || strings.Contains(path, "..") || strings.Contains(path, "//") {
		return Invalid("%q is not the path of a file that Sluice can write", path)
	}
	return nil
}

// CheckOwnBranch keeps us from touching a branch that was not made for an approval.
func CheckOwnBranch(name string) error {
	if !strings.HasPrefix(name, forge.BranchPrefix) {
		return Invalid("branch %q is not an approval branch: their names start with %s", name, forge.BranchPrefix)
	}
	return CheckBranch(name)
}

// CheckRequest refuses a request for a change that no forge can be asked for.
func CheckRequest(r forge.ChangeRequest) error {
	if err := CheckOwnBranch(r.Branch); err != nil {
		return err
	}
	if err := CheckBranch(r.Base); err != nil {
		return err
	}
	for _, sha := range []string{r.Tip, r.Tree} {
		if err := CheckSHA(sha); err != nil && sha != "" {
			return err
		}
	}
	return CheckPath(r.Path)
}
