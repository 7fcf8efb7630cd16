package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

const (
	// readyDelay is how long a pod takes from its node to being ready.
	readyDelay = time.Second
	// namespace holds everything that is measured.
	namespace = "bench"
	// settle is how long what follows the end of a release, events for example, is still counted.
	settle = 2 * time.Second
)

// kit is shared by all benches: the programs to measure, and the output for progress.
type kit struct {
	dir, sluice, logs string
	// argo is Argo Rollouts, once a bench has asked for it.
	argo              controlplane.BinDir
	progress          io.Writer
	labs, controllers atomic.Int32 // started so far
}

// newKit builds the program. close removes what it leaves.
func newKit(ctx context.Context, logs string, progress io.Writer) (*kit, error) {
	dir, err := os.MkdirTemp("", "sluice-bench-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	k := &kit{dir: dir, sluice: filepath.Join(dir, "sluice"), logs: logs, progress: progress}
	if k.logs == "" {
		k.logs = dir
	}
	if err := errors.Join(os.MkdirAll(k.logs, 0o755), k.build(ctx)); err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

func (k *kit) build(ctx context.Context) error {
	source, err := controlplane.InCheckout("cmd/sluice")
	if err != nil {
		return fmt.Errorf("find source: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", k.sluice, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0") // as make build has it
	cmd.Dir = source
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build sluice: %w\n%s", err, out)
	}
	return nil
}

func (k *kit) close() error {
	if err := os.RemoveAll(k.dir); err != nil {
		return fmt.Errorf("remove folder: %w", err)
	}
	return nil
}

// say tells how far the bench is.
func (k *kit) say(format string, args ...any) {
	fmt.Fprintf(k.progress, format+"\n", args...)
}

// lab is one control plane, used once, with a namespace to measure in.
type lab struct {
	*kit
	plane *controlplane.ControlPlane
	// kubeconfig of the controller; the administrator's if it is empty.
	kubeconfig string
	client     client.WithWatch
}

// inLab runs an experiment on a control plane of its own.
func (k *kit) inLab(ctx context.Context, experiment func(context.Context, *lab) error) error {
	return k.inLabOf(ctx, controlplane.Options{}, experiment)
}

// inLabOf calls inLab with the given nodes, arguments of components and manifests.
func (k *kit) inLabOf(ctx context.Context, of controlplane.Options, experiment func(context.Context, *lab) error) (err error) {
	crds, err := controlplane.InCheckout("config/crd")
	if err != nil {
		return fmt.Errorf("find Sluice's kinds: %w", err)
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{
		Dir:        filepath.Join(k.logs, fmt.Sprintf("controlplane-%d", k.labs.Add(1))),
		ReadyDelay: readyDelay, Audit: true, Manifests: append(of.Manifests, crds), Progress: buildProgress{k.progress},
		Nodes: of.Nodes, ExtraArgs: of.ExtraArgs,
	})
	if err != nil {
		return fmt.Errorf("start control plane: %w", err)
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	life, end := context.WithCancelCause(ctx)
	defer end(context.Canceled)
	go func() { end(fmt.Errorf("the control plane went down: %w", plane.Wait(life))) }()
	l := &lab{kit: k, plane: plane}
	if err := l.prepare(life); err != nil {
		return err
	}
	return experiment(life, l)
}

// prepare makes the client and the namespace.
func (l *lab) prepare(ctx context.Context) error {
	cfg, err := l.plane.Config()
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	if l.client, err = client.NewWithWatch(cfg, client.Options{Scheme: kube.NewScheme()}); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if err := l.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return fmt.Errorf("create namespace: %w", err)
	}
	clientset, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	err = poll(ctx, func(ctx context.Context) bool {
		return controlplane.ServiceAccountExists(ctx, clientset, namespace) == nil
	})
	if err != nil {
		return fmt.Errorf("wait for namespace: %w", err)
	}
	return nil
}

// planeCPU returns what the components of the control plane have used so far, all together.
func (l *lab) planeCPU() (time.Duration, error) {
	var sum time.Duration
	for _, pid := range l.plane.Processes() {
		u, err := usageOf(pid)
		if err != nil {
			return 0, err
		}
		sum += u.cpu
	}
	return sum, nil
}

// buildProgress passes on what a control plane says while it is built, not what it says at each
// start.
type buildProgress struct{ io.Writer }

func (p buildProgress) Write(line []byte) (int, error) {
	if len(line) >= len("starting") && string(line[:len("starting")]) == "starting" {
		return len(line), nil
	}
	return p.Writer.Write(line)
}

// poll waits until something holds, as long as the context lasts.
func poll(ctx context.Context, holds func(context.Context) bool) error {
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		return holds(ctx), nil
	})
	if err != nil {
		return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return nil
}

// pass lets time go by.
func pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
