package journeys

import (
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// everyApplier has the journeys run with each tool that applies workloads. To build one takes
// minutes.
var everyApplier = flag.Bool("every-applier", false, "run journeys with tools that take minutes to build")

// forNight skips a test that only the nightly run has.
func forNight(t *testing.T) {
	t.Helper()
	if !*everyApplier {
		t.Skip("takes minutes: make nightly-appliers runs it")
	}
}

// pinned returns a function that builds a tool of a module below hack, once, and returns its path.
func pinned(module, name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) { return goOutput(module, "tool", "-n", name) })
}

// goOutput returns what a subcommand of go prints for a module below hack.
func goOutput(module, command string, args ...string) (string, error) {
	file, err := controlplane.InCheckout("hack/" + module + "/go.mod")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", append([]string{command, "-modfile=" + file}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("go %s %s: %w", command, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
