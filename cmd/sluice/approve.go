package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/steer"
)

// answerFlags are the flags of the verbs that answer gates.
type answerFlags struct {
	*actFlags
	words  steer.Words
	reason string
	force  bool
}

func newApprove() *cobra.Command {
	flags := &answerFlags{actFlags: newActFlags()}
	command := &cobra.Command{
		Use:   "approve [RELEASE]",
		Short: "Approve what a release waits for",
		Long: `Approve the batch that a release has stopped after: its manual gates pass, and you are named in their evidence. Where a release
holds at a pause point, it goes on past that pod.

Gates of other types pass by themselves, or on the forge: the command says what they wait for, with the address of the pull
request.

With --force gates of any type pass, in an emergency. It takes the role sluice-breakglass and a reason. Both your name and the
reason stay in the evidence, the history, an event, and the status of the commit.`,
		Example: `  sluice approve web --message='looks well'
  sluice approve web --force --gate=soak --reason='INC-42: the fix for the outage'`,
		RunE: flags.approve,
	}
	set := command.Flags()
	set.StringVar(&flags.words.Only, "gate", "", "the `name` of a Gate, or a type of gates, to approve alone")
	set.StringVarP(&flags.words.Text, "message", "m", "", "`words` for the evidence")
	set.BoolVar(&flags.force, "force", false, "break-glass: pass gates past their policies")
	set.StringVar(&flags.reason, "reason", "", "`why` gates are forced")
	flags.register(command)
	return command
}

func newReject() *cobra.Command {
	flags := &answerFlags{actFlags: newActFlags()}
	command := &cobra.Command{
		Use:   "reject [RELEASE]",
		Short: "Reject what a release waits for: it stays where it is, or rolls back if its gate says so",
		Long: `Reject the batch that a release has stopped after, at its manual gate. That is final: the release stays where it is until another
template or a rollback comes, or is rolled back at once where the gate has onReject: Rollback.

Where it waits for a pull request, close that instead.`,
		Example: `  sluice reject web --reason='errors on the checkout page'`,
		RunE:    flags.reject,
	}
	set := command.Flags()
	set.StringVar(&flags.words.Only, "gate", "", "the `name` of a Gate to reject alone")
	set.StringVar(&flags.reason, "reason", "", "`why` it is rejected")
	flags.register(command)
	return command
}

func (f *answerFlags) approve(command *cobra.Command, args []string) error {
	switch {
	case f.force && f.reason == "":
		return usageError{errors.New("--force needs a --reason: it stays in the evidence and the history")}
	case !f.force && f.reason != "":
		return usageError{errors.New("--reason goes with --force; say it with --message")}
	case f.force:
		f.words.Text = f.reason
		return f.answer(command, args, steer.Force)
	}
	return f.answer(command, args, steer.Approve)
}

func (f *answerFlags) reject(command *cobra.Command, args []string) error {
	if f.words.Text = f.reason; f.reason == "" {
		return usageError{errors.New("give a --reason: it is what others find at the gate")}
	}
	return f.answer(command, args, steer.Reject)
}

// decision says what is written for an answer.
type decision func(*v1alpha1.BatchRelease, []v1alpha1.Gate, steer.Words) ([]steer.Change, error)

// answer writes an answer to the gates that were there when it was asked for, and to no others.
func (f *answerFlags) answer(command *cobra.Command, args []string, decide decision) error {
	var first *v1alpha1.BatchRelease
	return f.run(command, args, act{
		decide: func(ctx context.Context, c *cluster, release *v1alpha1.BatchRelease) ([]steer.Change, error) {
			if first != nil && !sameGates(first, release) {
				return nil, errors.New("the release has gone on meanwhile: look at it again")
			}
			var err error
			if f.words.By, err = c.whoami(ctx); err != nil {
				return nil, err
			}
			gates, err := c.gatesOf(ctx, release)
			if err != nil {
				return nil, err
			}
			first = release.DeepCopy()
			return decide(release, gates, f.words)
		},
	})
}
