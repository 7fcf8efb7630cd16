package controlplane_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(controlplane.RoleEnv); role != "" {
		if err := play(role); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	cptest.Main(m)
}

// play has this test binary be the keeper of a Standing, or a user who stays until its input ends.
func play(role string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	standing, err := controlplane.StandingHere(controlplane.StandingOptions)
	if err != nil {
		return err
	}
	if role == controlplane.KeeperRole {
		return standing.Keep(ctx)
	}
	use, unfit, err := standing.Use(ctx)
	if use == nil {
		return fmt.Errorf("want a control plane to use, got none: %s, %w", unfit, err)
	}
	fmt.Println("in use")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return use.Leave()
}
