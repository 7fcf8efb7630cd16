package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// clone is a work tree of the release repository, driven by the git command line as a
// developer would.
type clone struct{ dir string }

// gitClone clones url into dir.
func gitClone(ctx context.Context, url, dir string) (*clone, error) {
	c := &clone{dir: filepath.Dir(dir)}
	if _, err := c.git(ctx, "clone", "--quiet", url, dir); err != nil {
		return nil, err
	}
	c.dir = dir
	return c, nil
}

// head returns the commit that is checked out.
func (c *clone) head(ctx context.Context) (string, error) {
	return c.git(ctx, "rev-parse", "HEAD")
}

// update takes in what others have merged.
func (c *clone) update(ctx context.Context) error {
	_, err := c.git(ctx, "pull", "--quiet", "--ff-only")
	return err
}

// setImage changes the image in a manifest, which must be there.
func (c *clone) setImage(manifest, before, after string) error {
	path := filepath.Join(c.dir, manifest)
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	if !strings.Contains(string(content), before) {
		return fmt.Errorf("change %s: %q is not in it", manifest, before)
	}
	changed := strings.ReplaceAll(string(content), before, after)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

// commitAndPush publishes what was changed and returns its commit.
func (c *clone) commitAndPush(ctx context.Context, message string) (string, error) {
	if _, err := c.git(ctx, "commit", "--quiet", "--all", "--message", message); err != nil {
		return "", err
	}
	if _, err := c.git(ctx, "push", "--quiet"); err != nil {
		return "", err
	}
	return c.head(ctx)
}

// git runs without the user's own settings: signing keys and hooks have no part in this.
func (c *clone) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME="+developer, "GIT_AUTHOR_EMAIL="+developer+"@localhost",
		"GIT_COMMITTER_NAME="+developer, "GIT_COMMITTER_EMAIL="+developer+"@localhost")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run git %s: %w", args[0], withStderr(err))
	}
	return strings.TrimSpace(string(out)), nil
}

// withStderr adds what a command said.
func withStderr(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}
