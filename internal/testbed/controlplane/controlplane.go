package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	// startTimeout bounds the start, building apart, on a machine that is busy with other things.
	// kube-apiserver may be started portAttempts times in it.
	startTimeout = 5 * time.Minute
	// portAttempts is how often a free port may turn out to be taken.
	portAttempts = 5
)

// Options say how to run a control plane. The zero value is fine.
type Options struct {
	// Dir is the state folder, made if it is missing; it must be empty, and Stop leaves it.
	// Default: a temporary folder that Stop removes.
	Dir string
	// Progress receives lines on the progress of Start. Default: discarded.
	Progress io.Writer
	// Nodes is the number of nodes, each with room for any number of pods, spread over the
	// zones zone-a, zone-b and zone-c. Default: 3.
	Nodes int
	// RealNodes leaves the nodes to kubelets that the caller runs: neither KWOK nor any node is
	// there when Start returns.
	RealNodes bool
	// Address is the address of this machine that kube-apiserver listens on. Default: 127.0.0.1,
	// which pods of real nodes do not reach.
	Address string
	// ReadyDelay is how long after it was bound to its node a pod is ready, to the millisecond.
	ReadyDelay time.Duration
	// Audit has kube-apiserver log each request, for CountRequests.
	Audit bool
	// Manifests are files and folders that are applied before Start returns, as Apply does.
	Manifests []string
	// ExtraArgs are added to the arguments of components, by program name, and win over them.
	ExtraArgs map[string][]string
}

func (o Options) withDefaults() Options {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Nodes == 0 {
		o.Nodes = 3
	}
	if o.Address == "" {
		o.Address = loopback
	}
	return o
}

// simulatedNodes returns the number of nodes that KWOK plays.
func (o Options) simulatedNodes() int {
	if o.RealNodes {
		return 0
	}
	return o.Nodes
}

// ControlPlane is a control plane that runs as children of this process.
type ControlPlane struct {
	Access

	bin       BinDir
	options   Options
	state     state
	temporary bool // whether the state folder is ours to remove
	issuer    issuer
	spawner   *spawner
	processes []*process // in the order they were started
	stop      func() error
}

// Start builds the programs if need be and runs a control plane. When it returns, the API server
// answers, all nodes are ready, and pods can be created in the namespace default. The context
// bounds the start, not the life of the control plane: Stop ends that, and must be called.
func Start(ctx context.Context, options Options) (*ControlPlane, error) {
	options = options.withDefaults()
	bin, err := Binaries(ctx, options.Progress)
	if err != nil {
		return nil, err
	}
	dir, temporary, err := stateDir(options.Dir)
	if err != nil {
		return nil, err
	}
	cp := &ControlPlane{bin: bin, options: options, state: state(dir), temporary: temporary, spawner: newSpawner()}
	cp.stop = sync.OnceValue(cp.end)
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not within %v", startTimeout))
	defer cancel()
	if err := cp.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start control plane: %w", err), cp.Stop())
	}
	return cp, nil
}

// stateDir returns the absolute path of the folder to keep the state in, which is empty.
func stateDir(dir string) (path string, temporary bool, err error) {
	if dir == "" {
		tmp, err := os.MkdirTemp("", "sluice-controlplane-")
		if err != nil {
			return "", false, fmt.Errorf("make state folder: %w", err)
		}
		return tmp, true, nil
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", false, fmt.Errorf("find state folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", false, fmt.Errorf("make state folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", false, fmt.Errorf("read state folder: %w", err)
	}
	if len(entries) > 0 {
		return "", false, fmt.Errorf("use state folder %s: it is not empty", dir)
	}
	return dir, false, nil
}

// start goes from an empty state folder to a control plane that is ready.
func (cp *ControlPlane) start(ctx context.Context) error {
	ca, err := cp.state.fill(cp.options.Address, cp.options.ReadyDelay)
	if err != nil {
		return err
	}
	cp.Access = cp.state.access(cp.bin, cp.options.Audit)
	if err := cp.startEtcd(ctx); err != nil {
		return err
	}
	if err := cp.startAPIServer(ctx, ca); err != nil {
		return err
	}
	// Kinds come first: the garbage collector looks for those that are new every half minute, and until
	// then it deletes nothing of what objects of these kinds own.
	if err := cp.applyManifests(ctx); err != nil {
		return err
	}
	return cp.startClients(ctx)
}

func (cp *ControlPlane) startEtcd(ctx context.Context) error {
	p, err := cp.spawn(etcd, etcdArgs())
	if err != nil {
		return err
	}
	return cp.await(ctx, p, "etcd to listen", cp.state.etcdListens)
}

// startAPIServer starts kube-apiserver on a free port. Another process may take the port before
// kube-apiserver does, in which case another one is tried.
func (cp *ControlPlane) startAPIServer(ctx context.Context, ca *authority) error {
	for attempt := 1; ; attempt++ {
		err := cp.tryAPIServer(ctx, ca)
		if err == nil || attempt == portAttempts || !strings.Contains(err.Error(), "address already in use") {
			return err
		}
		cp.processes = cp.processes[:len(cp.processes)-1] // it has ended
	}
}

func (cp *ControlPlane) tryAPIServer(ctx context.Context, ca *authority) error {
	address := cp.options.Address
	port, err := freePort(ctx, address)
	if err != nil {
		return err
	}
	cp.issuer = issuer{authority: ca, server: "https://" + net.JoinHostPort(address, strconv.Itoa(port))}
	if err := cp.state.writeKubeconfigs(cp.issuer); err != nil {
		return err
	}
	p, err := cp.spawn(kubeAPIServer, apiServerArgs(port, cp.options))
	if err != nil {
		return err
	}
	return cp.awaitAPIServer(ctx, p)
}

// awaitAPIServer waits until kube-apiserver answers requests.
func (cp *ControlPlane) awaitAPIServer(ctx context.Context, p *process) error {
	client, err := cp.client()
	if err != nil {
		return err
	}
	return cp.await(ctx, p, "kube-apiserver to be ready", func(ctx context.Context) error {
		_, err := client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}

// startClients starts the other components and waits until pods can be created and scheduled.
func (cp *ControlPlane) startClients(ctx context.Context) error {
	client, err := cp.client()
	if err != nil {
		return err
	}
	if err := createNodes(ctx, client, cp.options.simulatedNodes()); err != nil {
		return err
	}
	started := map[string]*process{}
	for _, c := range clients {
		if c.component == kwok && cp.options.RealNodes {
			continue
		}
		if started[c.component], err = cp.spawn(c.component, clientArgs(c.component)); err != nil {
			return err
		}
	}
	if p, simulated := started[kwok]; simulated {
		if err := cp.await(ctx, p, "nodes to be ready", nodesReady(client, cp.options.simulatedNodes())); err != nil {
			return err
		}
	}
	return cp.await(ctx, started[kubeControllerManager], "service account default to exist", func(ctx context.Context) error {
		return ServiceAccountExists(ctx, client, metav1.NamespaceDefault)
	})
}

func (cp *ControlPlane) applyManifests(ctx context.Context) error {
	if len(cp.options.Manifests) == 0 {
		return nil
	}
	cfg, err := cp.Config()
	if err != nil {
		return err
	}
	return Apply(ctx, cfg, cp.options.Manifests...)
}

// await waits until the condition holds, as long as all components run. p is the component that
// the condition hangs on.
func (cp *ControlPlane) await(ctx context.Context, p *process, what string, condition func(context.Context) error) error {
	bound, cancel := cp.bind(ctx)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		err := condition(bound)
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-bound.Done():
			if ctx.Err() != nil { // nobody ended, but the time is up
				return p.failure(fmt.Errorf("wait for %s: %w (%w)", what, context.Cause(ctx), err))
			}
			return fmt.Errorf("wait for %s: %w", what, context.Cause(bound))
		}
	}
}

// bind returns a context that is cancelled when any component ends; its failure is then the cause.
func (cp *ControlPlane) bind(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	for _, p := range cp.processes {
		go func() {
			select {
			case <-p.ended:
				cancel(p.failure(fmt.Errorf("%s ended: %w", p.name, p.err)))
			case <-ctx.Done():
			}
		}()
	}
	return ctx, func() { cancel(context.Canceled) }
}

// client returns the administrator's.
func (cp *ControlPlane) client() (kubernetes.Interface, error) {
	cfg, err := cp.Config()
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return client, nil
}

// spawn starts a component.
func (cp *ControlPlane) spawn(component string, args []string) (*process, error) {
	fmt.Fprintf(cp.options.Progress, "starting %s\n", component)
	return cp.run(cp.bin.Path(component), append(args, cp.options.ExtraArgs[component]...))
}

func (cp *ControlPlane) run(program string, args []string) (*process, error) {
	p, err := cp.spawner.start(program, args, nil, string(cp.state), cp.Logs)
	if err == nil {
		cp.processes = append(cp.processes, p)
	}
	return p, err
}

// Processes returns the process ids of the components, by program name.
func (cp *ControlPlane) Processes() map[string]int {
	pids := map[string]int{}
	for _, p := range cp.processes {
		pids[p.name] = p.pid
	}
	return pids
}

// Wait returns when a component ends, with the reason and the end of its log, or when the context
// ends, with its cause. Callers must end it before Stop, which ends all components. A control
// plane that lacks a component should be stopped.
func (cp *ControlPlane) Wait(ctx context.Context) error {
	ctx, cancel := cp.bind(ctx)
	defer cancel()
	<-ctx.Done()
	return context.Cause(ctx)
}

// Stop ends all processes, waits until they have ended, and removes a temporary state folder.
// Further calls do nothing and return the same.
func (cp *ControlPlane) Stop() error { return cp.stop() }

// end ends the components in the order that lets none of them wait for another: clients, then
// kube-apiserver, then etcd.
func (cp *ControlPlane) end() error {
	for _, p := range slices.Backward(cp.processes) {
		p.stop()
	}
	cp.spawner.close()
	if !cp.temporary {
		return nil
	}
	if err := os.RemoveAll(string(cp.state)); err != nil {
		return fmt.Errorf("remove state folder: %w", err)
	}
	return nil
}
