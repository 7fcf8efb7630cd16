package gitrepo

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
)

// Ignore compiles lines in the format of .gitignore, each relative to a folder ("." is the root);
// later ones go first. The returned function reports whether a path is ignored. A path in an
// ignored folder is also ignored, unless a later line takes it back.
func Ignore(lines, folders []string) func(name string, folder bool) bool {
	var patterns []gitignore.Pattern
	for i, line := range lines {
		var domain []string
		if folders[i] != "." {
			domain = strings.Split(folders[i], "/")
		}
		patterns = append(patterns, gitignore.ParsePattern(line, domain))
	}
	matcher := gitignore.NewMatcher(patterns)
	return func(name string, folder bool) bool { return matcher.Match(strings.Split(name, "/"), folder) }
}
