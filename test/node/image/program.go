package image

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// BuildProgram builds the main package in a folder to a static program for Linux.
func BuildProgram(ctx context.Context, source, program string, flags ...string) error {
	args := append([]string{"build", "-o", program}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = source
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", source, err, output)
	}
	return nil
}
