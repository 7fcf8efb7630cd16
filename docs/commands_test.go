package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each ```sh block has a comment on the line before it that says who runs it: CI does, in the order
// of the page, or a test does what it does, or nobody can without what is named.
var (
	runByCI = regexp.MustCompile(`^<!-- ci( background)? -->$`)
	shownBy = regexp.MustCompile(`^<!-- shown by: ([a-z0-9/]+)\.(Test\w+) -->$`)
	needs   = regexp.MustCompile(`^<!-- needs: \S.* -->$`)
)

func TestCommandsAreRunOrSayWhatTheyNeed(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, page := range pages(t) {
		before := ""
		for i, line := range strings.Split(read(t, page), "\n") {
			line = strings.TrimSpace(line)
			if line == "```sh" {
				checked++
				if problem := unproven(t, before); problem != "" {
					t.Errorf("%s:%d: before a block of commands is %q: %s", page, i+1, before, problem)
				}
			}
			before = line
		}
	}
	if checked == 0 {
		t.Error("no block of commands was found")
	}
}

// unproven says what is wrong with the line before a block of commands.
func unproven(t *testing.T, mark string) string {
	t.Helper()
	if test := shownBy.FindStringSubmatch(mark); test != nil {
		if !hasTest(t, test[1], test[2]) {
			return "there is no such test"
		}
		return ""
	}
	if runByCI.MatchString(mark) || needs.MatchString(mark) {
		return ""
	}
	return "want <!-- ci -->, <!-- ci background -->, <!-- shown by: package.TestName --> or <!-- needs: what CI lacks -->"
}

// TestCommandsAreMarkedAsSuch: blocks in another shell's name would not be looked at.
func TestCommandsAreMarkedAsSuch(t *testing.T) {
	t.Parallel()
	shells := regexp.MustCompile("(?m)^\\s*```(bash|shell|zsh|console|shell-session)")
	for _, page := range pages(t) {
		if match := shells.FindString(read(t, page)); match != "" {
			t.Errorf("%s: %s: commands are in blocks of sh", page, strings.TrimSpace(match))
		}
	}
}

// TestCIRunsThePages: a mark alone has nobody run anything.
func TestCIRunsThePages(t *testing.T) {
	t.Parallel()
	run := read(t, filepath.Join(root, ".ci/run"))
	for _, page := range pages(t) {
		name, err := filepath.Rel(root, page)
		if err != nil {
			t.Fatalf("name page: %v", err)
		}
		if strings.Contains(read(t, page), "\n<!-- ci -->\n") && !strings.Contains(run, ".ci/readme "+filepath.ToSlash(name)) {
			t.Errorf("%s has commands for CI, and .ci/run does not run them", name)
		}
	}
}
