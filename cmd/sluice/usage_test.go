package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestPlugin: run by kubectl, help and errors say what the user typed.
func TestPlugin(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{
		"/usr/local/bin/kubectl-sluice": pluginName, "kubectl-sluice.exe": pluginName, "bin/sluice": commandName,
	} {
		name := calledAs(program)
		if name != want {
			t.Errorf("want %q called as %q, got %q", program, want, name)
		}
		var stdout, stderr bytes.Buffer
		runAs(t.Context(), name, []string{"list", "--help"}, &stdout, &stderr)
		for _, part := range []string{"\n  " + want + " list [flags]", "\n  " + want + " list -A"} {
			if !strings.Contains(stdout.String(), part) {
				t.Errorf("want %q in the help of %s, got:\n%s", part, program, stdout.String())
			}
		}
		runAs(t.Context(), name, []string{"lst"}, &stdout, &stderr)
		if !strings.HasPrefix(stderr.String(), want+": ") {
			t.Errorf("want errors of %s to say so, got %q", program, stderr.String())
		}
	}
}

// TestUsageSplitsFlags: the many flags of kubectl come after those of a verb.
func TestUsageSplitsFlags(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	run(t.Context(), []string{"list", "--help"}, &stdout, &stdout)
	own, kubectls, _ := strings.Cut(stdout.String(), "\nFlags as in kubectl:\n")
	if !strings.Contains(own, "--selector") || strings.Contains(own, "--token") || !strings.Contains(kubectls, "--token") {
		t.Errorf("want the flags of list before those of kubectl, got:\n%s", stdout.String())
	}
	stdout.Reset()
	run(t.Context(), []string{"lint", "--help"}, &stdout, &stdout)
	if strings.Contains(stdout.String(), "kubectl:") {
		t.Errorf("want no flags for a cluster where none is needed, got:\n%s", stdout.String())
	}
}
