package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/act"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/rollout/steer"
)

// verbFlags are the flags of the commands of verbs.
type verbFlags struct {
	*actFlags

	what    *verb.Verb
	request verb.Request
	// first is the release whose gates the user answers.
	first *v1alpha1.BatchRelease
}

// newVerbs returns the commands of all verbs.
func newVerbs() []*cobra.Command {
	commands := []*cobra.Command{newUndo()}
	for _, what := range verb.All {
		if what.Command.Short == "" {
			continue
		}
		command, flags := newVerb(what)
		if what.Name == "approve" {
			flags.orForce(command)
		}
		commands = append(commands, command)
	}
	return commands
}

// newVerb returns the command of a verb.
func newVerb(what *verb.Verb) (*cobra.Command, *verbFlags) {
	flags, help := &verbFlags{actFlags: newActFlags(), what: what}, what.Command
	command := &cobra.Command{Use: what.Name + " " + help.Args, Short: help.Short, Long: help.Long, Example: help.Example, RunE: flags.run}
	set := command.Flags()
	if what.Text != nil {
		set.StringVar(&flags.request.Only, "gate", "", help.Gate)
		set.StringVarP(&flags.request.Text, what.Text.Name, what.Text.Short, "", what.Text.Flag)
	}
	if what.Asks == verb.Version {
		set.StringVar(&flags.request.To, "to", "", "`revision` (pod template hash) or commit to go back to")
	}
	flags.register(command)
	return command, flags
}

// orForce adds the flags that make a command force gates.
func (f *verbFlags) orForce(command *cobra.Command) {
	forced, reason, force := verb.Named("force"), "", false
	command.Flags().BoolVar(&force, "force", false, "break-glass: pass gates of any type, despite their policies")
	command.Flags().StringVar(&reason, forced.Text.Name, "", forced.Text.Flag)
	command.RunE = func(command *cobra.Command, args []string) error {
		switch {
		case force && reason == "":
			return usageError{errors.New("--force needs a --reason: it is recorded in the evidence and the history")}
		case !force && reason != "":
			return usageError{errors.New("--reason needs --force; without it, use --message")}
		case force:
			f.what, f.request.Text = forced, reason
		}
		return f.run(command, args)
	}
}

// newUndo returns the command that rolls back as kubectl does.
func newUndo() *cobra.Command {
	flags := &verbFlags{actFlags: newActFlags(), what: verb.Named("rollback")}
	command := &cobra.Command{
		Use:   "undo [RELEASE]",
		Short: "Roll a release back by revision number, as kubectl rollout undo does",
		Long: `Roll a release back, as rollback does, to a revision by its number in sluice history. Use it in place of kubectl rollout undo,
which is refused while Sluice holds the workload.`,
		Example: `  sluice undo web
  sluice undo web --to-revision=3`,
		RunE: func(command *cobra.Command, args []string) error {
			if len(args) == 2 {
				return usageError{fmt.Errorf("one release at a time; the revision to go back to is a flag: --to-revision=%s", args[1])}
			}
			return flags.run(command, args)
		},
	}
	command.Flags().Int64Var(&flags.request.Number, "to-revision", 0, "`number` of the revision to go back to; 0 for the previous one")
	flags.register(command)
	return command
}

// run does what a verb does to the release that the arguments name.
func (f *verbFlags) run(command *cobra.Command, args []string) error {
	if f.what.Text != nil && f.what.Text.Required && f.request.Text == "" {
		return usageError{fmt.Errorf("--%s is required: it is recorded at the gate", f.what.Text.Name)}
	}
	if f.what.Asks == verb.Batch {
		var err error
		if f.request.Batch, err = batchOf(command, args); err != nil {
			return err
		}
		args = args[:len(args)-1]
	}
	if err := f.check(); err != nil {
		return err
	}
	c, release, err := f.kube.release(command, args)
	if err != nil {
		return err
	}
	if err := f.write(command, c, release); err != nil {
		return fmt.Errorf("batchrelease/%s: %w", release.Name, err)
	}
	return nil
}

// write writes what a verb changes, waits for the controller, and prints the result.
func (f *verbFlags) write(command *cobra.Command, c *cluster, release *v1alpha1.BatchRelease) error {
	ctx := command.Context()
	var err error
	f.request.By, err = c.whoami(ctx)
	if err != nil && f.what.Asks == verb.Answer { // other requests can do without a name
		return err
	}
	changes, written, err := f.writer(c).Write(ctx, release, func(ctx context.Context, release *v1alpha1.BatchRelease) ([]steer.Change, error) {
		return f.decide(ctx, c, release)
	})
	if err != nil {
		return err
	}
	for i, object := range written {
		if object, err = f.settle(ctx, c, object, changes[i], f.what); err != nil {
			return err
		}
		f.output.print.NamePrintFlags.Operation = changes[i].Done + dryRunWords[f.dryRun]
		if err := f.output.object(command, object); err != nil {
			return err
		}
	}
	return nil
}

// decide returns the changes to write. An answer counts for the gates of the first read, and for no
// others.
func (f *verbFlags) decide(ctx context.Context, c *cluster, release *v1alpha1.BatchRelease) ([]steer.Change, error) {
	if f.what.Asks == verb.Answer {
		if f.first != nil && !verb.SameGates(f.first, release) {
			return nil, errors.New("the release has continued meanwhile: check it again")
		}
		f.first = release.DeepCopy()
	}
	now, err := act.Read(ctx, c, release, f.what, f.request)
	if err != nil {
		return nil, err
	}
	request := f.request
	request.Gates = verb.UIDs(now.Gates)
	return f.what.Decide(now, request)
}

// batchOf returns the batch that the last argument names. Where there is only one argument, it may
// be the release's.
func batchOf(command *cobra.Command, args []string) (int32, error) {
	usage := "usage: " + command.Parent().CommandPath() + " " + command.Use + ", such as " + command.CommandPath()
	if len(args) == 0 {
		return 0, usageError{fmt.Errorf("the batch is missing, counted from 1; %s web 3", usage)}
	}
	last := args[len(args)-1]
	batch, err := strconv.ParseInt(last, 10, 32)
	switch {
	case err == nil && batch >= 1:
		return int32(batch), nil
	case err != nil && len(args) == 1:
		return 0, usageError{fmt.Errorf("the batch is missing, counted from 1, after the release %q; %s %[1]s 3", last, usage)}
	default:
		return 0, usageError{fmt.Errorf("%q is not the number of a batch, counted from 1; %s web 3", last, usage)}
	}
}
