package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	forgetypes "github.com/sluice-dev/sluice/forge"
)

// options holds the flags of the command line.
type options struct {
	// keep leaves everything running when the story is over.
	keep bool
	// plain prints lines only, even on a terminal.
	plain bool
	// stateDir takes the place of a temporary folder, and is left behind.
	stateDir string
	// pause is how long a gate is shown before it is confirmed.
	pause time.Duration
	// timeout is how long any one thing may take to come about.
	timeout time.Duration
	// forge is the type of the forge.
	forge v1alpha1.ForgeType
	// metrics is the address of the controller's metrics, none if empty.
	metrics string
}

const usage = `Releases a Deployment from Git, batch by batch, and then a train with a workload of each kind, on a control plane of its own.

Usage: demo [flags]

`

// parseOptions reads the command line. It tells on out what is wrong with it, or all flags when
// asked for help.
func parseOptions(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	flags.BoolVar(&o.keep, "keep", false, "leave everything running until Ctrl-C, and print how to use it")
	flags.BoolVar(&o.plain, "plain", false, "print lines only, even on a terminal")
	flags.StringVar(&o.stateDir, "state-dir", "", "an empty `folder` for all state, which is kept (default: a temporary one)")
	flags.DurationVar(&o.pause, "pause", 2*time.Second, "how long to show each gate before confirming it")
	flags.DurationVar(&o.timeout, "timeout", time.Minute, "how long a batch may take")
	flags.StringVar(&o.metrics, "metrics-address", "", "the `host:port` to serve the controller's metrics on (default: none)")
	forge := flags.String("forge", "github", "the `type` of the forge: github, for one with GitHub's API, or gitea, for a real Gitea, which takes a C compiler to build")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	o.forge = v1alpha1.ForgeType(forgetypes.ParseType(*forge))
	err := o.validate(flags.Args())
	if err != nil {
		fmt.Fprintln(out, "demo:", err)
	}
	return o, err
}

func (o options) validate(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.forge != v1alpha1.ForgeGitHub && o.forge != v1alpha1.ForgeGitea:
		return errors.New("--forge must be github or gitea")
	case o.pause < 0:
		return errors.New("--pause must not be negative")
	case o.timeout <= 0:
		return errors.New("--timeout must be more than 0")
	}
	return nil
}
