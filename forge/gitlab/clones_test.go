package gitlab_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clones hold a clone of a project for each person.
type clones struct {
	testing.TB

	of  *project
	dir string
}

// Run runs git in somebody's clone, which is made the first time.
func (c *clones) Run(login string, args ...string) string {
	c.Helper()
	dir := filepath.Join(c.dir, login)
	if _, err := os.Stat(dir); err != nil {
		c.git(c.dir, "clone", "-q", c.of.CloneURL(login), login)
		c.git(dir, "config", "user.name", login)
		c.git(dir, "config", "user.email", login+"@localhost")
	}
	return c.git(dir, args...)
}

func (c *clones) git(dir string, args ...string) string {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_TERMINAL_PROMPT=0")
	output, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return strings.TrimSpace(string(output))
}

// Push commits a file on top of a branch as somebody, and pushes it.
func (c *clones) Push(login, branch, path, content string) string {
	c.Helper()
	c.Run(login, "fetch", "-q", "origin")
	c.Run(login, "checkout", "-q", "-B", branch, "origin/"+branch)
	if err := os.WriteFile(filepath.Join(c.dir, login, path), []byte(content), 0o600); err != nil {
		c.Fatal(err)
	}
	c.Run(login, "add", path)
	c.Run(login, "commit", "-q", "-m", "Change "+path)
	c.Run(login, "push", "-q", "origin", branch)
	return c.Run(login, "rev-parse", "HEAD")
}

// Head returns the commit of a branch.
func (c *clones) Head(branch string) string {
	c.Helper()
	c.Run("ada", "fetch", "-q", "--prune", "origin")
	return c.Run("ada", "rev-parse", "origin/"+branch)
}
