//go:build unix

package controlplane

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"syscall"
)

// servers are the components without which no request is answered, in the order in which they
// start.
var servers = []string{etcd, kubeAPIServer}

// Freeze stops etcd and kube-apiserver where they stand, as a machine does that is suspended:
// connections stay open, and nothing is answered until Thaw.
func (cp *ControlPlane) Freeze() error { return cp.signal(kubeAPIServer, etcd, syscall.SIGSTOP) }

// Thaw lets etcd and kube-apiserver go on.
func (cp *ControlPlane) Thaw() error { return cp.signal(etcd, kubeAPIServer, syscall.SIGCONT) }

func (cp *ControlPlane) signal(first, second string, signal syscall.Signal) error {
	for _, name := range []string{first, second} {
		if err := syscall.Kill(cp.processes[cp.find(name)].pid, signal); err != nil {
			return fmt.Errorf("send %v to %s: %w", signal, name, err)
		}
	}
	return nil
}

func (cp *ControlPlane) find(component string) int {
	return slices.IndexFunc(cp.processes, func(p *process) bool { return p.name == component })
}

// Crash kills etcd and kube-apiserver and returns when they are gone. Restart brings them back.
func (cp *ControlPlane) Crash() error {
	if err := cp.signal(kubeAPIServer, etcd, syscall.SIGKILL); err != nil {
		return err
	}
	for _, name := range servers {
		<-cp.processes[cp.find(name)].ended
	}
	return nil
}

// Replace kills a component that is a client of the API server, such as kube-controller-manager,
// and starts it again.
func (cp *ControlPlane) Replace(component string) error {
	at := cp.find(component)
	if err := syscall.Kill(cp.processes[at].pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", component, err)
	}
	<-cp.processes[at].ended
	return cp.respawn(component, clientArgs(component))
}

// respawn starts a component in the place of one that has ended, for Stop to end them in order.
func (cp *ControlPlane) respawn(component string, args []string) error {
	at := cp.find(component)
	if _, err := cp.spawn(component, args); err != nil {
		return err
	}
	last := len(cp.processes) - 1
	cp.processes[at], cp.processes = cp.processes[last], cp.processes[:last]
	return nil
}

// Restart starts etcd and kube-apiserver, which Crash has killed, on the data and at the address
// that they had, and returns when requests are answered.
func (cp *ControlPlane) Restart(ctx context.Context) error {
	address, err := url.Parse(cp.issuer.server)
	if err != nil {
		return fmt.Errorf("find the address of kube-apiserver: %w", err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		return fmt.Errorf("find the port of kube-apiserver: %w", err)
	}
	args := map[string][]string{etcd: etcdArgs(), kubeAPIServer: apiServerArgs(port, cp.options)}
	for _, name := range servers {
		if err := cp.respawn(name, args[name]); err != nil {
			return err
		}
	}
	return cp.awaitAPIServer(ctx, cp.processes[cp.find(kubeAPIServer)])
}
