package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups that the verbs are listed in.
const (
	groupLook   = "look"
	groupAct    = "act"
	groupPush   = "push"
	groupServer = "server"
)

// addGroups gives a root the groups that its verbs ask for.
func addGroups(root *cobra.Command) {
	for _, group := range []*cobra.Group{
		{ID: groupLook, Title: "Look at releases:"},
		{ID: groupAct, Title: "Act on releases:"},
		{ID: groupPush, Title: "Before the push:"},
		{ID: groupServer, Title: "In the cluster:"},
	} {
		inGroup := func(verb *cobra.Command) bool { return verb.GroupID == group.ID }
		if slices.ContainsFunc(root.Commands(), inGroup) {
			root.AddGroup(group)
		}
	}
}

const (
	commandName = "sluice"
	pluginFile  = "kubectl-sluice"
	pluginName  = "kubectl sluice"
)

// calledAs returns what the user typed to run a program: kubectl runs its plugins by a name of
// their own.
func calledAs(program string) string {
	base := strings.TrimSuffix(filepath.Base(program), ".exe")
	if base == pluginFile {
		return pluginName
	}
	return commandName
}

// nameAs has a command and those below it speak of themselves as the user called them.
func nameAs(command *cobra.Command, name string) {
	if name == commandName {
		return
	}
	if !command.HasParent() {
		command.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: name}
	}
	command.Example = renamed(command.Example, name)
	command.Long = renamed(command.Long, name)
	for _, child := range command.Commands() {
		nameAs(child, name)
	}
}

// renamed replaces the name where a line of text shows a call. Such lines are indented.
func renamed(text, name string) string {
	return strings.ReplaceAll(text, "  "+commandName+" ", "  "+name+" ")
}

// kubectlFlag marks flags that mean what they mean in kubectl.
const kubectlFlag = "sluice_kubectl_flag"

func markAsKubectl(flag *pflag.Flag) {
	flag.Annotations = map[string][]string{kubectlFlag: {"true"}}
}

// splitUsage makes usages list the flags of a command first, and those that kubectl has too after
// them.
func splitUsage(root *cobra.Command) {
	usage := root.UsageFunc()
	root.SetUsageFunc(func(command *cobra.Command) error {
		asKubectl := kubectlFlags(command)
		hide(asKubectl, true)
		err := usage(command)
		hide(asKubectl, false)
		if err == nil && asKubectl.HasFlags() {
			_, err = fmt.Fprintf(command.OutOrStderr(), "\nFlags as in kubectl:\n%s", asKubectl.FlagUsages())
		}
		return err
	})
}

func kubectlFlags(command *cobra.Command) *pflag.FlagSet {
	marked := pflag.NewFlagSet("", pflag.ContinueOnError)
	command.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if _, found := flag.Annotations[kubectlFlag]; found {
			marked.AddFlag(flag)
		}
	})
	return marked
}

func hide(set *pflag.FlagSet, hidden bool) {
	set.VisitAll(func(flag *pflag.Flag) { flag.Hidden = hidden })
}
