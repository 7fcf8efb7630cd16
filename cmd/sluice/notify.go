package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-dev/sluice/telemetry/notices"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// notifyFlags are the flags of "sluice notify".
type notifyFlags struct{ config, receiver, kind string }

func newNotify() *cobra.Command {
	flags := notifyFlags{kind: string(story.GateOpened)}
	command := &cobra.Command{
		Use:     "notify",
		GroupID: groupServer,
		Short:   "Check the file for --notices-config, and send a sample to its receivers",
		Long: `Check a file that says who gets notices of releases, as "sluice controller --notices-config" reads it, and send a sample to each of its
receivers. The command contacts no cluster, and exits with an error if a receiver does not accept the sample.`,
		Example: `  sluice notify --config notices.yaml
  sluice notify --config notices.yaml --receiver shop-chat --kind ReleaseCompleted`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	set := command.Flags()
	set.StringVar(&flags.config, "config", "", "`file` to read")
	set.StringVar(&flags.receiver, "receiver", "", "`name` of the receiver to send to (default all)")
	set.StringVar(&flags.kind, "kind", flags.kind, "`kind` of notice to send")
	return command
}

func (f *notifyFlags) run(cmd *cobra.Command) error {
	if f.config == "" {
		return usageError{errors.New("--config is missing: name the file for --notices-config of the controller")}
	}
	config, err := notices.Load(f.config)
	if err != nil {
		return fmt.Errorf("read %s: %w", f.config, err)
	}
	tried, err := config.Try(cmd.Context(), f.receiver, story.Kind(f.kind), time.Now())
	if err != nil {
		return usageError{err}
	}
	failed := 0
	for _, one := range tried {
		result := "delivered"
		if one.Problem != "" {
			result = "not delivered: " + one.Problem
			failed++
		}
		if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", one.Receiver, result); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d receivers did not accept the sample", failed, len(tried))
	}
	return nil
}
