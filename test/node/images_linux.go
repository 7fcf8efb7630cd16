package node

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/test/node/image"
)

// pauseImage holds the namespaces of each pod.
const pauseImage = "sluice.test/pause:1"

// Environment is what a suite of tests has to know of the node.
func Environment() []string {
	return []string{
		HostEnv + "=" + Address,
		ImportEnv + "=" + strings.Join(importCommand, " "),
		KillEnv + "=" + strings.Join(ctr("task", "kill", "--signal", "SIGKILL"), " "),
	}
}

// importCommand imports the archive that is its last argument.
var importCommand = ctr("image", "import")

// ctr is a command to containerd about what kubelet has in it.
func ctr(args ...string) []string {
	return append([]string{"ctr", "--address", socket, "--namespace", "k8s.io"}, args...)
}

// importPause builds and imports the image without which there is no pod, once containerd takes it.
func (n *node) importPause(ctx context.Context) error {
	archive := filepath.Join(n.dir, "pause.tar")
	if err := buildPause(ctx, n.dir, archive); err != nil {
		return err
	}
	args := append(slices.Clone(importCommand[1:]), archive)
	return n.plane.Await(ctx, "containerd to take images", func(ctx context.Context) error {
		output, err := exec.CommandContext(ctx, importCommand[0], args...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("import pause image: %w\n%s", err, output)
		}
		return nil
	})
}

func buildPause(ctx context.Context, dir, archive string) error {
	source, err := controlplane.InCheckout("test/node/pause")
	if err != nil {
		return err
	}
	program := filepath.Join(dir, "pause")
	if err := image.BuildProgram(ctx, source, program); err != nil {
		return err
	}
	return image.Image{
		Program: "/pause",
		Files:   []image.File{{Place: "/pause", Source: program, Mode: 0o755}},
		OS:      "linux", Architecture: runtime.GOARCH,
	}.WriteArchive(archive, pauseImage)
}
