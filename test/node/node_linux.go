package node

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/template"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

const (
	// name is the node's.
	name = "node"
	// podRange are the addresses of pods.
	podRange = "10.244.0.0/24"
	// containerdDir is where in the state folder containerd keeps images and file systems.
	containerdDir = "containerd"
	// socket is where containerd listens.
	socket = "/run/containerd/containerd.sock"
)

//go:embed config
var templates embed.FS

// A node is one that is being started.
type node struct {
	plane    *controlplane.ControlPlane
	programs controlplane.BinDir
	needs    needs
	dir      string
}

// Start adds this machine to a control plane as its node, and returns when it takes pods. The
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
	n := &node{plane: plane, programs: programs, needs: found, dir: os.Getenv(dirEnv)}
	if err := n.start(ctx); err != nil {
		return fmt.Errorf("start node: %w", err)
	}
	return nil
}

func (n *node) start(ctx context.Context) error {
	if err := n.configure(); err != nil {
		return err
	}
	if err := n.plane.Run(n.needs.containerd, "--config", n.file("containerd.toml")); err != nil {
		return err
	}
	if err := n.importPause(ctx); err != nil {
		return err
	}
	kubeconfig, err := n.plane.Login("system:node:"+name, "system:nodes")
	if err != nil {
		return err
	}
	err = n.plane.Run(n.programs.Path("kubelet"), "--kubeconfig", kubeconfig, "--config", n.file("kubelet.yaml"),
		"--root-dir", filepath.Join(n.dir, "kubelet"), "--cert-dir", filepath.Join(n.dir, "kubelet-pki"),
		"--hostname-override", name, "--node-ip", Address)
	if err != nil {
		return err
	}
	if err := n.plane.Run(n.programs.Path("kube-proxy"), "--config", n.file("kube-proxy.yaml")); err != nil {
		return err
	}
	return n.plane.AwaitNodes(ctx)
}

func (n *node) file(base string) string { return filepath.Join(n.dir, "config", base) }

// configure writes what all programs are started with.
func (n *node) configure() error {
	proxy, err := n.plane.Login("system:kube-proxy")
	if err != nil {
		return err
	}
	values := map[string]string{
		"Address": Address, "Name": name, "PodRange": podRange, "Socket": socket, "PauseImage": pauseImage,
		"CA": n.plane.CAFile(), "ProxyKubeconfig": proxy,
		"Dir": n.dir, "Cgroup": filepath.Base(n.dir), "Containerd": filepath.Join(n.dir, containerdDir),
		"CNIPlugins": n.needs.cniPlugins, "CNIConfig": n.file("cni"),
	}
	parsed, err := template.New("").Option("missingkey=error").ParseFS(templates, "config/*")
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	if err := os.MkdirAll(n.file("cni"), 0o755); err != nil {
		return fmt.Errorf("make folder for configuration: %w", err)
	}
	// Names of servers are not looked up: there is none to ask.
	if err := os.WriteFile(filepath.Join(n.dir, "resolv.conf"), nil, 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	for _, t := range parsed.Templates() {
		place := n.file(t.Name())
		if t.Name() == "cni.conflist" {
			place = filepath.Join(n.file("cni"), t.Name())
		}
		if err := fill(t, place, values); err != nil {
			return err
		}
	}
	return nil
}

func fill(t *template.Template, place string, values map[string]string) error {
	f, err := os.OpenFile(place, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	if err := errors.Join(t.Execute(f, values), f.Close()); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}
