package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/act"
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
		Long: `Approve the current batch of a release: its manual gates pass, with your name in their evidence. If the release waits at a
pause point, it continues past that pod.

Other gates pass on their own, or on the forge: the command prints what they wait for, with the URL of the pull request.

With --force, gates of any type pass, for emergencies. This needs the role sluice-breakglass and a reason. Your name and the
reason are recorded in the evidence, the history, an event and the commit status.`,
		Example: `  sluice approve web --message='looks well'
  sluice approve web --force --gate=soak --reason='INC-42: the fix for the outage'`,
		RunE: flags.approve,
	}
	set := command.Flags()
	set.StringVar(&flags.words.Only, "gate", "", "approve only the Gate of this `name`, or gates of this type")
	set.StringVarP(&flags.words.Text, "message", "m", "", "`message` for the evidence")
	set.BoolVar(&flags.force, "force", false, "break-glass: pass gates of any type, despite their policies")
	set.StringVar(&flags.reason, "reason", "", "`reason` for forcing gates")
	flags.register(command)
	return command
}

func newReject() *cobra.Command {
	flags := &answerFlags{actFlags: newActFlags()}
	command := &cobra.Command{
		Use:   "reject [RELEASE]",
		Short: "Reject what a release waits for",
		Long: `Reject the current batch of a release at its manual gate. This is final: the release stops until a new template or a
rollback, or rolls back at once if the gate has onReject: Rollback.

To reject a pullRequest gate, close the pull request instead.`,
		Example: `  sluice reject web --reason='errors on the checkout page'`,
		RunE:    flags.reject,
	}
	set := command.Flags()
	set.StringVar(&flags.words.Only, "gate", "", "reject only the Gate of this `name`")
	set.StringVar(&flags.reason, "reason", "", "`reason` for the rejection")
	flags.register(command)
	return command
}

func (f *answerFlags) approve(command *cobra.Command, args []string) error {
	switch {
	case f.force && f.reason == "":
		return usageError{errors.New("--force needs a --reason: it is recorded in the evidence and the history")}
	case !f.force && f.reason != "":
		return usageError{errors.New("--reason needs --force; without it, use --message")}
	case f.force:
		f.words.Text = f.reason
		return f.answer(command, args, steer.Force)
	}
	return f.answer(command, args, steer.Approve)
}

func (f *answerFlags) reject(command *cobra.Command, args []string) error {
	if f.words.Text = f.reason; f.reason == "" {
		return usageError{errors.New("--reason is required: it is recorded at the gate")}
	}
	return f.answer(command, args, steer.Reject)
}

// decision says what is written for an answer.
type decision func(*v1alpha1.BatchRelease, []v1alpha1.Gate, steer.Words) ([]steer.Change, error)

// answer writes an answer to the gates that were there when it was asked for, and to no others.
func (f *answerFlags) answer(command *cobra.Command, args []string, decide decision) error {
	var first *v1alpha1.BatchRelease
	return f.run(command, args, deed{
		decide: func(ctx context.Context, c *cluster, release *v1alpha1.BatchRelease) ([]steer.Change, error) {
			if first != nil && !act.SameGates(first, release) {
				return nil, errors.New("the release has continued meanwhile: check it again")
			}
			var err error
			if f.words.By, err = c.whoami(ctx); err != nil {
				return nil, err
			}
			gates, err := act.Gates(ctx, c, release)
			if err != nil {
				return nil, err
			}
			first = release.DeepCopy()
			return decide(release, gates, f.words)
		},
	})
}
