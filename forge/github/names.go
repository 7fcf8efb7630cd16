package github

import "regexp"

// What is put into the path of a request is checked first: it may come from a policy that
// somebody wrote.
var (
	login    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?$`)
	teamSlug = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,254}$`)
)
