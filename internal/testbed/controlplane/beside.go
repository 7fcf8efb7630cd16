package controlplane

import (
	"context"
	"path/filepath"
)

// Run runs a program beside the components, with its output in Logs, until Stop ends it before
// them. Wait tells when it ends by itself. Its working directory is the state folder.
func (cp *ControlPlane) Run(program string, args ...string) error {
	_, err := cp.run(program, args)
	return err
}

// Await waits until a condition holds of what Run has started last, as long as everything runs.
func (cp *ControlPlane) Await(ctx context.Context, what string, condition func(context.Context) error) error {
	return cp.await(ctx, cp.processes[len(cp.processes)-1], what, condition)
}

// AwaitNodes waits until there are so many nodes, and all nodes take pods.
func (cp *ControlPlane) AwaitNodes(ctx context.Context, want int) error {
	client, err := cp.client()
	if err != nil {
		return err
	}
	return cp.Await(ctx, "nodes to be ready", nodesReady(client, want))
}

// Login makes a kubeconfig of another user, and returns its path.
func (cp *ControlPlane) Login(user string, groups ...string) (kubeconfig string, err error) {
	kubeconfig = cp.state.kubeconfig(filepath.Base(user))
	return kubeconfig, cp.issuer.writeKubeconfig(kubeconfig, user, groups...)
}

// CAFile returns the path of the certificate that clients of the control plane are signed with.
func (cp *ControlPlane) CAFile() string { return cp.state.path(caFile) }
