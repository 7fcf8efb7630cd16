package node

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/test/node/image"
)

// pauseImage holds the namespaces of each pod.
const pauseImage = "sluice.test/pause:1"

// Environment returns what a suite of tests has to know of the nodes.
func Environment() []string {
	return []string{
		HostEnv + "=" + Address,
		ImportEnv + "=" + onNodes("all", "image", "import"),
		KillEnv + "=" + onNodes("any", "task", "kill", "--signal", "SIGKILL"),
	}
}

// scriptName is that of the script with which the tests command the containerd of each node.
const scriptName = "on-nodes.sh"

// onNodes returns a command that is to succeed on all nodes, or on any.
func onNodes(which string, args ...string) string {
	return strings.Join(append([]string{"sh", Dir(scriptName), which}, args...), " ")
}

// writeScript writes what onNodes needs.
func (m *machine) writeScript() error {
	var sockets []string
	for number := 1; number <= nodes; number++ {
		sockets = append(sockets, socketOf(nodeName(number)))
	}
	return fill(filepath.Join(m.dir, scriptName), map[string]string{"Sockets": strings.Join(sockets, " ")})
}

// runOf returns the folder for what a node's containerd has in /run, and socketOf where it listens.
func runOf(node string) string { return filepath.Join("/run/containerd", node) }

func socketOf(node string) string { return runOf(node) + ".sock" }

// ctr returns a command to a node's containerd about what kubelet has in it.
func ctr(node string, args ...string) []string {
	return append([]string{"ctr", "--address", socketOf(node), "--namespace", "k8s.io"}, args...)
}

// importPause imports the image without which there is no pod, once containerd takes it.
func (n *node) importPause(ctx context.Context, archive string) error {
	command := ctr(n.name(), "image", "import", archive)
	return n.plane.Await(ctx, "containerd to take images", func(ctx context.Context) error {
		output, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
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
