package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

Installed as %[2]s on your path, %[1]s is a kubectl plugin: %[3]s. Each verb takes [kubectl's flags](#flags-of-kubectl) to select a cluster.
Name a release as %[4]s or %[5]s, or leave the name out if the namespace has only one. %[6]s says more about each verb.

The exit code is 0 on success, 1 on failure and 2 on a usage error; [status](#sluice-status) has more.

`

const referenceTail = `## Flags of kubectl

%s. %s explains them.

## Completion

%s prints the script for a shell, and how to load it. It completes names of releases, namespaces and contexts. For the plugin,
kubectl runs %s, which make build puts beside the binary.
`

// writeReference writes a page with a list of the verbs, each of them, and the flags that several
// have.
func writeReference(w *bytes.Buffer, root *cobra.Command) {
	fmt.Fprintf(w, referenceHead, "`sluice`", "`kubectl-sluice`", "`kubectl sluice`", "`NAME`", "`batchrelease/NAME`", "`sluice VERB --help`")
	verbs := verbsOf(root)
	for _, group := range root.Groups() {
		fmt.Fprintf(w, "- %s %s\n", group.Title, linksOf(verbs, group.ID))
	}
	w.WriteString("\n")
	shared := sharedFlags(verbs)
	for i, verb := range verbs {
		if i > 0 {
			w.WriteString("\n")
		}
		writeVerb(w, verb, shared)
	}
	fmt.Fprintf(w, "\n## Shared flags\n\n```text\n%s```\n\n", shared.FlagUsages())
	fmt.Fprintf(w, referenceTail, names(kubectlFlags(newListFor(root))), "`kubectl options`",
		"`sluice completion bash|zsh|fish|powershell`", "`kubectl_complete-sluice`")
}

// verbsOf returns the commands of a root that do something, such as "migrate analysis".
func verbsOf(root *cobra.Command) []*cobra.Command {
	var verbs []*cobra.Command
	for _, command := range root.Commands() {
		switch {
		case !command.IsAvailableCommand() || command.Name() == "help" || command.Name() == "completion":
		case command.HasAvailableSubCommands():
			verbs = append(verbs, verbsOf(command)...)
		default:
			verbs = append(verbs, command)
		}
	}
	return verbs
}

// linksOf lists the verbs of a group, with links.
func linksOf(verbs []*cobra.Command, group string) string {
	var links []string
	for _, verb := range verbs {
		top := verb
		for top.Parent() != verb.Root() {
			top = top.Parent()
		}
		if top.GroupID == group {
			name := strings.TrimPrefix(verb.CommandPath(), commandName+" ")
			links = append(links, fmt.Sprintf("[`%s`](#%s)", name, strings.ReplaceAll(verb.CommandPath(), " ", "-")))
		}
	}
	return strings.Join(links, ", ")
}

// sharedFlags returns the flags that several verbs have, with the same meaning.
func sharedFlags(verbs []*cobra.Command) *pflag.FlagSet {
	have := map[string]int{}
	shared := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, verb := range verbs {
		own(verb).VisitAll(func(flag *pflag.Flag) {
			if have[meaning(flag)]++; have[meaning(flag)] > 1 && shared.Lookup(flag.Name) == nil {
				shared.AddFlag(flag)
			}
		})
	}
	return shared
}

// meaning returns the line of a flag in the help, which verbs may align differently.
func meaning(flag *pflag.Flag) string {
	one := pflag.NewFlagSet("", pflag.ContinueOnError)
	one.AddFlag(flag)
	return one.FlagUsages()
}

// own returns the flags of a verb that are not kubectl's.
func own(verb *cobra.Command) *pflag.FlagSet {
	asKubectl := kubectlFlags(verb)
	return without(verb.LocalFlags(), func(flag *pflag.Flag) bool { return flag.Hidden || asKubectl.Lookup(flag.Name) != nil })
}

func without(set *pflag.FlagSet, leave func(*pflag.Flag) bool) *pflag.FlagSet {
	left := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.VisitAll(func(flag *pflag.Flag) {
		if !leave(flag) {
			left.AddFlag(flag)
		}
	})
	return left
}

// names lists flags by their names.
func names(set *pflag.FlagSet) string {
	var all []string
	set.VisitAll(func(flag *pflag.Flag) { all = append(all, "`--"+flag.Name+"`") })
	return strings.Join(all, ", ")
}

// newListFor returns the verb of which the flags that are kubectl's are shown.
func newListFor(root *cobra.Command) *cobra.Command {
	list, _, err := root.Find([]string{"list"})
	if err != nil {
		panic(err) // it is there
	}
	return list
}

func writeVerb(w *bytes.Buffer, verb *cobra.Command, shared *pflag.FlagSet) {
	fmt.Fprintf(w, "## %s\n\n%s.\n\n```text\n%s\n", verb.CommandPath(), verb.Short, verb.UseLine())
	if verb.Example != "" {
		fmt.Fprintf(w, "\n%s\n", strings.ReplaceAll(strings.TrimPrefix(verb.Example, "  "), "\n  ", "\n"))
	}
	w.WriteString("```\n")
	// Tables, such as that of exit codes, are indented.
	for part := range strings.SplitSeq(strings.Trim(verb.Long, "\n"), "\n\n") {
		if strings.HasPrefix(part, "  ") {
			fmt.Fprintf(w, "\n```text\n%s\n```\n", part)
		}
	}
	isShared := func(flag *pflag.Flag) bool {
		same := shared.Lookup(flag.Name)
		return same != nil && meaning(same) == meaning(flag)
	}
	if flags := without(own(verb), isShared); flags.HasFlags() {
		fmt.Fprintf(w, "\n```text\n%s```\n", flags.FlagUsages())
	}
	if others := without(own(verb), func(flag *pflag.Flag) bool { return !isShared(flag) }); others.HasFlags() {
		fmt.Fprintf(w, "\n[Shared flags](#shared-flags): %s.\n", names(others))
	}
}
