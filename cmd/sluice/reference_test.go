package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// reference is where "make generate" wants the reference of the command written.
var reference = flag.String("reference", "", "write docs/cli.md to this `file` rather than compare it")

// TestReference: docs/cli.md says what --help says.
func TestReference(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	writeReference(&page, newRoot())
	if *reference != "" {
		if err := os.WriteFile(*reference, page.Bytes(), 0o600); err != nil {
			t.Fatalf("write reference: %v", err)
		}
		return
	}
	path, err := controlplane.InCheckout("docs/cli.md")
	if err != nil {
		t.Fatalf("find reference: %v", err)
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read reference: %v", err)
	}
	if diff := cmp.Diff(string(have), page.String()); diff != "" {
		t.Errorf("docs/cli.md is not current: run make generate (-have +want):\n%s", diff)
	}
}

const referenceHead = `<!-- Written by make generate from the help of the command: change that. -->
# The command line

%s uses the same flags as kubectl to select a cluster. Installed as %s on your path, it is a kubectl plugin:
%s. Name a release as ` + "`NAME` or `batchrelease/NAME`" + `, or leave the name out if the namespace has only one.

The exit code is 0 on success, 1 on failure and 2 on a usage error; [status](#sluice-status) has more. The shell completes names of
releases, namespaces and contexts: see [completion](#completion).

`

const referenceTail = `## Completion

%s prints the script for a shell, and how to load it. For the plugin, kubectl runs %s,
which make build puts beside the binary.
`

// writeReference writes a page with the verbs in their groups, and then each of them.
func writeReference(w *bytes.Buffer, root *cobra.Command) {
	fmt.Fprintf(w, referenceHead, "`sluice`", "`kubectl-sluice`", "`kubectl sluice`")
	w.WriteString("| verb | |\n|---|---|\n")
	verbs := slices.DeleteFunc(slices.Clone(root.Commands()), func(c *cobra.Command) bool {
		return !c.IsAvailableCommand() || c.Name() == "help" || c.Name() == "completion"
	})
	for _, verb := range verbs {
		fmt.Fprintf(w, "| [`%s`](#%s) | %s |\n", verb.Name(), strings.ReplaceAll(verb.CommandPath(), " ", "-"), verb.Short)
	}
	for _, verb := range verbs {
		writeVerb(w, verb)
	}
	fmt.Fprintf(w, "\n## Flags as in kubectl\n\n```text\n%s```\n\n", kubectlFlags(newListFor(root)).FlagUsages())
	fmt.Fprintf(w, referenceTail, "`sluice completion bash|zsh|fish|powershell`", "`kubectl_complete-sluice`")
}

// newListFor returns the verb of which the flags that are kubectl's are shown.
func newListFor(root *cobra.Command) *cobra.Command {
	list, _, err := root.Find([]string{"list"})
	if err != nil {
		panic(err) // it is there
	}
	return list
}

func writeVerb(w *bytes.Buffer, verb *cobra.Command) {
	fmt.Fprintf(w, "\n## %s\n\n", verb.CommandPath())
	writeText(w, verb.Long)
	fmt.Fprintf(w, "\n```text\n%s\n```\n", verb.UseLine())
	if verb.Example != "" {
		fmt.Fprintf(w, "\n```text\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(verb.Example, "  "), "\n  ", "\n"))
	}
	asKubectl := kubectlFlags(verb)
	hide(asKubectl, true)
	fmt.Fprintf(w, "\n```text\n%s```\n", verb.LocalFlags().FlagUsages())
	hide(asKubectl, false)
	if asKubectl.HasFlags() {
		w.WriteString("\nAnd the [flags as in kubectl](#flags-as-in-kubectl).\n")
	}
}

// writeText writes help as Markdown, and leaves indented text as it is.
func writeText(w *bytes.Buffer, text string) {
	for i, part := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			w.WriteString("\n")
		}
		if strings.HasPrefix(part, "  ") {
			part = "```text\n" + part + "\n```"
		}
		w.WriteString(part + "\n")
	}
}
