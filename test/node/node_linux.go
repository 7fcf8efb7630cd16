package node

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"text/template"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// nodes is how many there are: pods of one serve while one of the other is replaced.
const nodes = 2

const (
	// podNetwork are the addresses of pods; each node has a part of them.
	podNetwork = "10.244.0.0/16"
	// containerdDir is the folder in the state folder for each containerd's images and file
	// systems.
	containerdDir = "containerd"
	// deviceDir is the folder, which can't be changed, in which every kubelet listens for devices;
	// deviceSocket is its socket.
	deviceDir    = "/var/lib/kubelet/device-plugins"
	deviceSocket = "kubelet.sock"
	// kubeletPort is that of the first node's kubelet: all nodes have one address.
	kubeletPort = 10250
)

//go:embed config
var templates embed.FS

// A machine holds the parts that all nodes share.
type machine struct {
	plane    *controlplane.ControlPlane
	programs controlplane.BinDir
	needs    needs
	dir      string
}

// A node is one that is being started: a kubelet with a containerd of its own. A kubelet ends pods
// that it finds in its containerd and knows nothing of.
type node struct {
	*machine

	number int
}

// Start adds nodes on this machine to a control plane, and returns when they take pods. The
// programs end with the control plane, which must run inside and listen on Address. Building what
// is not built yet is reported on progress.
func Start(ctx context.Context, plane *controlplane.ControlPlane, progress io.Writer) error {
	found, err := findNeeds()
	if err != nil {
		return err
	}
	programs, err := controlplane.NodeBinaries(ctx, progress)
	if err != nil {
		return err
	}
	m := &machine{plane: plane, programs: programs, needs: found, dir: os.Getenv(dirEnv)}
	if err := m.start(ctx); err != nil {
		return fmt.Errorf("start nodes: %w", err)
	}
	return nil
}

func (m *machine) start(ctx context.Context) error {
	pause := filepath.Join(m.dir, "pause.tar")
	if err := buildPause(ctx, m.dir, pause); err != nil {
		return err
	}
	for number := 1; number <= nodes; number++ {
		n := &node{machine: m, number: number}
		if err := n.start(ctx, pause); err != nil {
			return fmt.Errorf("%s: %w", n.name(), err)
		}
	}
	if err := errors.Join(m.writeScript(), m.startProxy()); err != nil {
		return err
	}
	return m.plane.AwaitNodes(ctx, nodes)
}

// startProxy starts the kube-proxy of all nodes: they have one network.
func (m *machine) startProxy() error {
	kubeconfig, err := m.plane.Login("system:kube-proxy")
	if err != nil {
		return err
	}
	config := filepath.Join(m.dir, "kube-proxy.yaml")
	err = fill(config, map[string]string{
		"Address": Address, "Name": nodeName(1), "PodNetwork": podNetwork, "Kubeconfig": kubeconfig,
	})
	if err != nil {
		return err
	}
	return m.plane.Run(m.programs.Path("kube-proxy"), "--config", config)
}

func (n *node) start(ctx context.Context, pause string) error {
	if err := n.configure(); err != nil {
		return err
	}
	if err := n.plane.Run(n.needs.containerd, "--config", n.file("containerd.toml")); err != nil {
		return err
	}
	if err := n.importPause(ctx, pause); err != nil {
		return err
	}
	kubeconfig, err := n.plane.Login("system:node:"+n.name(), "system:nodes")
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(deviceDir, deviceSocket)); err != nil { // that of the node before
		return fmt.Errorf("make room for kubelet: %w", err)
	}
	err = n.plane.Run(n.programs.Path("kubelet"), "--kubeconfig", kubeconfig, "--config", n.file("kubelet.yaml"),
		"--root-dir", n.file("kubelet"), "--cert-dir", n.file("kubelet-pki"),
		"--hostname-override", n.name(), "--node-ip", Address)
	if err != nil {
		return err
	}
	// Two that come there at the same moment find it in use, and end.
	return n.plane.Await(ctx, n.name()+" to take devices", func(context.Context) error {
		_, err := os.Stat(filepath.Join(deviceDir, deviceSocket))
		return err
	})
}

func nodeName(number int) string { return fmt.Sprintf("node-%d", number) }

func (n *node) name() string { return nodeName(n.number) }

// file returns a path in the node's part of the state folder.
func (n *node) file(name string) string { return filepath.Join(n.dir, n.name(), name) }

// configure writes what the node's programs are started with.
func (n *node) configure() error {
	values := map[string]string{
		"Address": Address, "Port": strconv.Itoa(kubeletPort + n.number - 1), "Name": n.name(),
		"Bridge": fmt.Sprintf("sluice%d", n.number), "PodRange": fmt.Sprintf("10.244.%d.0/24", n.number),
		"Socket": socketOf(n.name()), "Run": runOf(n.name()), "PauseImage": pauseImage, "CA": n.plane.CAFile(),
		"Dir": n.file("."), "Cgroup": filepath.Join(filepath.Base(n.dir), n.name()), "Containerd": filepath.Join(n.dir, containerdDir, n.name()),
		"CNIPlugins": n.needs.cniPlugins, "CNIConfig": n.file("cni"),
	}
	if err := os.MkdirAll(n.file("cni"), 0o755); err != nil {
		return fmt.Errorf("make folder for configuration: %w", err)
	}
	// Names of servers are not looked up: there is none to ask.
	if err := os.WriteFile(n.file("resolv.conf"), nil, 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	for _, name := range []string{"cni/cni.conflist", "containerd.toml", "kubelet.yaml"} {
		if err := fill(n.file(name), values); err != nil {
			return err
		}
	}
	return nil
}

// fill writes a file from the template of its name.
func fill(place string, values map[string]string) error {
	parsed, err := template.New("").Option("missingkey=error").ParseFS(templates, "config/*")
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	f, err := os.OpenFile(place, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := errors.Join(parsed.ExecuteTemplate(f, filepath.Base(place), values), f.Close()); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}
