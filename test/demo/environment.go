package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// nodes of the cluster: the DaemonSet of the second act has a pod on each.
const nodes = 6

// readyDelay is how long a new pod takes to be ready: long enough to be seen.
const readyDelay = time.Second

// environment is all that the story takes place on.
type environment struct {
	state  *stateDir
	screen *screen
	log    *slog.Logger
	plane  *controlplane.ControlPlane
	forge  hub
	// forgeType is the type of the forge.
	forgeType v1alpha1.ForgeType
	// first is the stage of the first act.
	first *stage
	// metrics is the address of the controller's metrics, none if empty.
	metrics string
	// tokens of those with an account on the forge, by name.
	tokens   map[string]string
	webhooks webhooks
	// look makes an address of the dashboard, which works once.
	look    func() string
	config  *rest.Config
	cluster client.Client
	// fail ends the story with a reason.
	fail context.CancelCauseFunc
	// stops undo what was started, the last first.
	stops []func() error
}

// start starts control plane, forge and controller. A later failure of one of them cancels the
// returned context, with the reason as its cause. Callers must call stop even after an error.
func (e *environment) start(ctx context.Context) (context.Context, error) {
	life, fail := context.WithCancelCause(ctx)
	e.fail = fail
	e.stops = append(e.stops, func() error { fail(context.Canceled); return nil })
	for _, part := range []func(context.Context) error{e.openLog, e.startControlPlane, e.startForge, e.startController, e.startDashboard} {
		if err := part(life); err != nil {
			return life, err
		}
	}
	return life, nil
}

// stop ends everything, and waits until it has ended.
func (e *environment) stop() error {
	var errs []error
	for _, stop := range slices.Backward(e.stops) {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}

// openLog sends everything that this process logs to a file: on the screen it would spoil the
// story.
func (e *environment) openLog(context.Context) error {
	path := e.state.join("demo.log")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	e.stops = append(e.stops, file.Close)
	e.log = slog.New(slog.NewTextHandler(file, nil))
	// client-go and controller-runtime each write to a log of the whole process as well.
	klog.SetLogger(logr.FromSlogHandler(e.log.Handler()))
	ctrl.SetLogger(logr.FromSlogHandler(e.log.Handler()))
	return nil
}

func (e *environment) startControlPlane(ctx context.Context) error {
	begin := time.Now()
	crds, err := controlplane.InCheckout("config/crd")
	if err != nil {
		return fmt.Errorf("find Sluice's CRDs: %w", err)
	}
	policy, err := controlplane.InCheckout("config/policy")
	if err != nil {
		return fmt.Errorf("find Sluice's admission policies: %w", err)
	}
	follow, err := controlplane.InCheckout("config/follow")
	if err != nil {
		return fmt.Errorf("find the policies of followed workloads: %w", err)
	}
	plane, err := controlplane.Start(ctx, controlplane.Options{
		Dir: e.state.join("controlplane"), Progress: e.screen.progress(), Nodes: nodes, ReadyDelay: readyDelay,
		Manifests: []string{crds, policy, follow},
	})
	if err != nil {
		return fmt.Errorf("start control plane: %w", err)
	}
	e.plane = plane
	e.stops = append(e.stops, plane.Stop)
	go func() { e.fail(fmt.Errorf("the control plane went down: %w", plane.Wait(ctx))) }()
	if e.config, err = plane.Config(); err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	if e.cluster, err = client.New(e.config, client.Options{Scheme: kube.NewScheme()}); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	e.screen.say("control plane is up after %s at %s", since(begin, time.Now()), e.config.Host)
	return nil
}

// controllerAccount is the one that the policies in config/policy know as the controller's.
const controllerAccount = "system:serviceaccount:sluice-system:sluice-controller"

// startController runs the controller in this process, as cmd/sluice runs it.
func (e *environment) startController(ctx context.Context) error {
	var err error
	if e.webhooks, err = agreeOnWebhooks(ctx); err != nil {
		return err
	}
	// The admission policies know the controller by its account, and keep everybody else from what it
	// holds.
	config := rest.CopyConfig(e.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: controllerAccount, Groups: []string{"system:masters"}}
	manager, err := app.New(config, app.Options{
		Version:        "demo",
		Logger:         logr.FromSlogHandler(e.log.Handler()),
		Git:            gitrepo.Options{AllowHTTP: true, Networks: dialer.Rules{Allowed: dialer.Loopback()}},
		ForgeHTTP:      true,
		WebhookAddress: e.webhooks.address,
		MetricsAddress: e.metrics,
		// Only a leader says that it is active, and commands see by the Lease that a controller runs.
		LeaderElection: true, LeaseNamespace: metav1.NamespaceDefault,
	})
	if err != nil {
		return fmt.Errorf("start controller: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		err := manager.Start(ctx)
		ended <- err
		e.fail(fmt.Errorf("the controller went down: %w", errors.Join(err, context.Cause(ctx))))
	}()
	e.stops = append(e.stops, func() error { cancel(); return <-ended })
	e.screen.say("controller runs in this process, its log is %s", e.state.join("demo.log"))
	return nil
}

// startDashboard serves the dashboard as "sluice dashboard" does, to whoever reads the screen.
func (e *environment) startDashboard(ctx context.Context) error {
	door, err := access.NewLocal(ctx, e.config, kube.NewScheme())
	if err != nil {
		return fmt.Errorf("start dashboard: %w", err)
	}
	objects, err := dashboard.NewCache(e.config, kube.NewScheme())
	if err != nil {
		return fmt.Errorf("start dashboard: %w", err)
	}
	listener, err := access.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start dashboard: %w", err)
	}
	pages := dashboard.New(dashboard.Options{
		Objects: objects, Door: door, Cluster: "demo", Version: "demo", Logger: logr.FromSlogHandler(e.log.Handler()), Clock: clock.RealClock{},
	})
	e.look = func() string { return door.URL(listener.Addr().String()) }
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		err := pages.Serve(ctx, listener, func() {})
		ended <- err
		e.fail(fmt.Errorf("the dashboard went down: %w", errors.Join(err, context.Cause(ctx))))
	}()
	e.stops = append(e.stops, func() error { cancel(); return <-ended })
	e.screen.say("dashboard runs in this process; open it, the address works once: %s", e.look())
	return nil
}
