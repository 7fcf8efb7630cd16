package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// up starts the control plane that stays, or finds it. The process that keeps it is this program.
func up(ctx context.Context, standing *controlplane.Standing) (controlplane.Access, error) {
	self, err := os.Executable()
	if err != nil {
		return controlplane.Access{}, fmt.Errorf("find this program: %w", err)
	}
	return standing.Up(ctx, self, "-keep")
}

func startStanding(ctx context.Context, options controlplane.Options) error {
	standing, err := controlplane.StandingHere(options)
	if err != nil {
		return err
	}
	access, err := up(ctx, standing)
	if err != nil {
		return err
	}
	fmt.Printf("A control plane runs for the tests of this checkout, until make down. To look into it:\nexport KUBECONFIG=%s\n", access.Kubeconfig)
	return nil
}

func endStanding(ctx context.Context, options controlplane.Options) error {
	standing, err := controlplane.StandingHere(options)
	if err != nil {
		return err
	}
	ended, err := standing.Down(ctx)
	if err == nil && !ended {
		fmt.Println("No control plane runs for this checkout.")
	}
	return err
}

func keepStanding(ctx context.Context, options controlplane.Options) error {
	standing, err := controlplane.StandingHere(options)
	if err != nil {
		return err
	}
	return standing.Keep(ctx)
}

// runReusing runs the command with the control plane that stays, which it replaces if it is not fit
// to use. It is run where there is none, or it can't be replaced.
func runReusing(ctx context.Context, options controlplane.Options, command []string) (code int, err error) {
	if asked("nodes", "ready-delay") {
		return 0, errors.New("-reuse takes the control plane as it is: leave -nodes and -ready-delay out")
	}
	standing, err := controlplane.StandingHere(options)
	if err != nil {
		return 0, err
	}
	use, unfit, err := standing.Use(ctx)
	if err != nil {
		return 0, err
	}
	if unfit != "" {
		use = replace(ctx, standing)
	}
	if use == nil {
		return run(ctx, options, command)
	}
	defer func() { err = errors.Join(err, use.Leave()) }()
	return cptest.RunOn(ctx, use, command)
}

// replace returns nil, and says why, if the control plane can't be replaced now.
func replace(ctx context.Context, standing *controlplane.Standing) *controlplane.Use {
	_, err := up(ctx, standing)
	var use *controlplane.Use
	if err == nil {
		use, _, err = standing.Use(ctx)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "withcp: this run has a control plane of its own: %v\n", err)
	}
	return use
}

// asked reports whether any of the flags was given.
func asked(names ...string) bool {
	found := false
	flag.Visit(func(f *flag.Flag) {
		for _, name := range names {
			found = found || f.Name == name
		}
	})
	return found
}
