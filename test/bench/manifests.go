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

// releaseEvery is how many Deployments there are for one that Sluice releases.
const releaseEvery = 10

// writeManifests fills a folder with files of one manifest each: Deployments in folders of a
// hundred, and a BatchRelease next to every tenth of them.
func writeManifests(dir string, number int) error {
	for i, written := 0, 0; written < number; i++ {
		files := map[string]string{deploymentFile(i): deploymentManifest(appName(i), 1)}
		if i%releaseEvery == 0 && written+1 < number {
			files[strings.TrimSuffix(deploymentFile(i), ".yaml")+"-release.yaml"] = releaseManifest(appName(i))
		}
		for name, content := range files {
			if err := writeFile(filepath.Join(dir, name), content); err != nil {
				return err
			}
			written++
		}
	}
	return nil
}

func writeFile(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return fmt.Errorf("write manifest: %w", err)
	}
	return nil
}

func appName(i int) string { return fmt.Sprintf("app-%05d", i) }

func deploymentFile(i int) string { return fmt.Sprintf("team-%03d/%s.yaml", i/100, appName(i)) }

func deploymentManifest(name string, version int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, labels: {app: %[1]s}}
spec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers:
      - name: app
        image: %[2]s
        ports: [{containerPort: 8080}]
        env: [{name: LEVEL, value: info}]
        resources: {requests: {cpu: 100m, memory: 64Mi}}
`, name, image(version))
}

func releaseManifest(name string) string {
	return fmt.Sprintf(`apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: %[1]s}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: %[1]s}
  strategy: {steps: [{replicas: 1}, {replicas: 100%%}]}
`, name)
}

// clone is a clone of the repository that the git command line works on.
type clone struct{ dir string }

// gitClone clones url into dir.
func gitClone(ctx context.Context, url, dir string, flags ...string) (*clone, error) {
	c := &clone{dir: filepath.Dir(dir)}
	args := append([]string{"clone", "--quiet"}, flags...)
	if _, err := c.git(ctx, append(args, url, dir)...); err != nil {
		return nil, err
	}
	c.dir = dir
	return c, nil
}

// push publishes a new content of one file and returns the commit.
func (c *clone) push(ctx context.Context, name, content string) (string, error) {
	if err := writeFile(filepath.Join(c.dir, name), content); err != nil {
		return "", err
	}
	return c.commit(ctx)
}

// commit publishes what was changed and returns the commit.
func (c *clone) commit(ctx context.Context) (string, error) {
	for _, args := range [][]string{{"commit", "--quiet", "--all", "--message=Change something"}, {"push", "--quiet"}} {
		if _, err := c.git(ctx, args...); err != nil {
			return "", err
		}
	}
	return c.git(ctx, "rev-parse", "HEAD")
}

// git runs without the user's own settings: signing keys and hooks have no part in this.
func (c *clone) git(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=A developer", "GIT_AUTHOR_EMAIL=developer@localhost",
		"GIT_COMMITTER_NAME=A developer", "GIT_COMMITTER_EMAIL=developer@localhost")
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("run git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
