package controlplane

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// GoOutput returns what a subcommand of go prints for a module below hack, which pins a tool.
func GoOutput(ctx context.Context, module, command string, args ...string) (string, error) {
	file, err := InCheckout("hack/" + module + "/go.mod")
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "go", append([]string{command, "-modfile=" + file}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("go %s %s: %w", command, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
