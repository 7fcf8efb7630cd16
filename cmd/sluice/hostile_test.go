package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/sluice-dev/sluice/cli/check"
)

// hostileName is a file that would forge a finding, set the title of a terminal, turn its text
// round, and command a workflow.
const hostileName = "x\n::error file=y::forged\n\x1b]0;owned\x07\u202e##[set-env name=PATH]##vso[task.setvariable variable=PATH]##teamcity[buildStop]z.yaml"

// TestHostileNames: a repository's names of files and keys stay on their line, and steer nothing.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	tree := newTree(t)
	tree.commit("web: 1", lintedDeployment+"---\n"+lintedRelease)
	hostile := "apiVersion: apps/v1\nkind: Deployment\n\"\\e[2J\\u202e::x\": {}\n"
	if err := os.WriteFile(filepath.Join(tree.root, "deploy", hostileName), []byte(hostile), 0o600); err != nil {
		t.Fatal(err)
	}
	tree.git("add", "--all")
	tree.git("commit", "--quiet", "--message", "::warning::\x1b[2J\u202e")
	root := filepath.Join(tree.root, "deploy")
	for _, args := range [][]string{
		{"lint", root}, {"lint", "--output=github", root}, {"lint", "--output=json", root}, {"plan", root}, {"plan", "--output=json", root}, {"plan", "--output=markdown", root}, {"check", "--repository", "file://" + tree.root},
	} {
		var stdout, stderr bytes.Buffer
		run(t.Context(), args, &stdout, &stderr)
		printed := stdout.String() + stderr.String()
		if !strings.Contains(printed, "z.yaml") && args[0] != "check" {
			t.Errorf("sluice %v: want the file named, got:\n%s", args, printed)
		}
		wantHarmless(t, args, printed, slices.Contains(args, "--output=github"))
	}
}

// TestHostileFindings: nor does what conditions say.
func TestHostileFindings(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := printFindings(&out, []check.Finding{{Grade: check.Failed, Subject: hostileName, Text: hostileName, Remedy: hostileName}}); err != nil {
		t.Fatal(err)
	}
	wantHarmless(t, nil, out.String(), false)
}

// anyCommand matches commands that runners of GitHub, Azure Pipelines and TeamCity obey anywhere in
// a line.
var anyCommand = regexp.MustCompile(`##[A-Za-z]*\[`)

// wantHarmless looks for what steers a terminal, and, unless they are meant, for commands to a
// workflow.
func wantHarmless(t *testing.T, args []string, printed string, commands bool) {
	t.Helper()
	for line := range strings.Lines(printed) {
		line = strings.TrimSuffix(line, "\n")
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) && r != '\t' }) {
			t.Errorf("sluice %v: %q steers the terminal", args, line)
		}
		isCommand := strings.HasPrefix(strings.TrimSpace(line), "::") && (!commands || !strings.Contains(line, ",title=sluice lint::"))
		if isCommand || anyCommand.MatchString(line) {
			t.Errorf("sluice %v: %q is a command to the workflow", args, line)
		}
	}
}
