package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// planRepository is a repository of three commits: a first version, a branch with the second, and
// something else on main.
func planRepository(t *testing.T) string {
	t.Helper()
	root := writeFiles(t, map[string]string{"README.md": "a shop\n"})
	git := func(args ...string) {
		t.Helper()
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
		command.Dir = root
		command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		if output, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v: %s", args[0], err, output)
		}
	}
	commit := func(subject, text string) {
		t.Helper()
		path := filepath.Join(root, "deploy", "web.yaml")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		git("add", "--all")
		git("commit", "--quiet", "--message", subject)
	}
	web := lintedDeployment + "---\n" + lintedRelease
	git("init", "--quiet", "--initial-branch=main")
	git("add", "--all")
	git("commit", "--quiet", "--message", "Nothing yet")
	commit("First version", web)
	git("branch", "next")
	commit("Smaller steps", strings.Replace(web, "replicas: 1}", "replicas: 5%}", 1))
	git("checkout", "--quiet", "next")
	commit("Second version", strings.Replace(web, "image: nginx", "image: httpd", 1))
	commit("Broken", strings.Replace(web, "replicas: 1}", "replica: 1}", 1))
	return root
}

// TestPlan compares commits of a real repository.
func TestPlan(t *testing.T) {
	t.Parallel()
	root := planRepository(t)
	elsewhere := t.TempDir()
	cases := map[string]struct {
		reason         string
		folder         string
		args           []string
		code           int
		stdout, stderr string // contained
	}{
		"Parent":    {"a commit is compared with the one before", "deploy", []string{"--to=next~1"}, exitOK, "1 released\n\nshop/web is released in 2 batches\n  spec.template.spec.containers[web].image: nginx -> httpd\n", ""},
		"Root":      {"the folder is the one that a source reads", ".", []string{"--to=next~1"}, exitOK, "1 released", ""},
		"MergeBase": {"what happened on main since is not undone", "deploy", []string{"--from=main", "--to=next~1", "--merge-base"}, exitOK, ": 1 released\n", ""},
		"TwoEnds":   {"without it the two are compared as they are", "deploy", []string{"--from=next~1", "--to=main"}, exitOK, "is rolled back in 2 batches", ""},
		"Rules":     {"other rules replace no pod", "deploy", []string{"--to=main"}, exitOK, "has other rules; no pod is replaced", ""},
		"New":       {"a folder that was not there had no releases", "deploy", []string{"--to=next~2"}, exitOK, ": 1 added\n", ""},
		"First":     {"nor had what was before the first commit", ".", []string{"--to=main~2"}, exitOK, "no releases", ""},
		"History":   {"how far to look back can be said", "deploy", []string{"--from=next~1", "--to=main", "--history=0"}, exitOK, ": 1 released\n", ""},
		"Broken":    {"what is at fault is said, and fails", "deploy", nil, exitError, "error: deploy/web.yaml:13: spec.strategy.steps[0].replica: unknown field", "1 error in the files of "},
		"Comment":   {"a comment can be found again", "deploy", []string{"--to=next~1", "-o", "markdown"}, exitOK, "<!-- sluice plan -->\n### Sluice: 1 released\n", ""},
		"NoCommit":  {"a revision must be there", "deploy", []string{"--from=nowhere"}, exitError, "", "there is no revision nowhere"},
		"NoFrom":    {"a merge base is one of two", "deploy", []string{"--merge-base"}, exitUsage, "", "needs --from"},
		"NoFormat":  {"formats are few", "deploy", []string{"-o", "xml"}, exitUsage, "", "none of text, json, markdown"},
		"NoHistory": {"nobody can look ahead", "deploy", []string{"--history=-1"}, exitUsage, "", "--history"},
		"NoGit":     {"a repository is needed", elsewhere, nil, exitError, "", "there is no Git repository"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := tc.folder
			if !filepath.IsAbs(folder) {
				folder = filepath.Join(root, folder)
			}
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), append([]string{"plan", folder}, tc.args...), &stdout, &stderr); code != tc.code {
				t.Errorf("%s: want exit code %d, got %d: %s%s", tc.reason, tc.code, code, stdout.String(), stderr.String())
			}
			if !strings.Contains(stdout.String(), tc.stdout) || !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("%s: want %q and %q, got %q and %q", tc.reason, tc.stdout, tc.stderr, stdout.String(), stderr.String())
			}
		})
	}
}

// TestPlanJSON: programs get one object with everything in it.
func TestPlanJSON(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"plan", planRepository(t) + "/deploy", "--to=next~1", "-o", "json"}, &stdout, &stderr); code != exitOK {
		t.Fatalf("plan: exit code %d: %s", code, stderr.String())
	}
	var got struct {
		To       struct{ Subject string }
		Errors   []string
		Releases []struct {
			Kind    string
			Batches []struct {
				Pods  int
				Gates []string
			}
		}
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("want one object: %v", err)
	}
	if len(got.Releases) != 1 || len(got.Releases[0].Batches) != 2 || got.Releases[0].Batches[1].Pods != 1 || got.Errors == nil || got.To.Subject != "Second version" {
		t.Errorf("want the release and its batches, got %s", stdout.String())
	}
}
