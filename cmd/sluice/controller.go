package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sluice-dev/sluice/internal/app"
)

// controllerFlags are the flags of "sluice controller" as they were given.
type controllerFlags struct {
	cluster clusterFlags
	log     logFlags
	otlp    otlpFlags
	app     app.Options

	webhookProxies []string
}

func newController() *cobra.Command {
	flags := &controllerFlags{}
	command := &cobra.Command{
		Use:     "controller",
		GroupID: groupServer,
		Short:   "Run the controller",
		Long: `Run the controller: read releases from Git, take them through their batches, and decide their gates. It runs until
SIGINT or SIGTERM, and exits with an error when it loses its Lease.

It uses the cluster of --kubeconfig, or else of $KUBECONFIG, of ~/.kube/config, or the one it runs in.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	flags.register(command.Flags())
	return command
}

func (f *controllerFlags) register(set *pflag.FlagSet) {
	f.cluster.register(set)
	set.StringSliceVar(&f.app.Namespaces, "namespaces", nil,
		"`namespaces` to watch, separated by commas (default all, which needs permissions in the whole cluster)")
	set.StringVar(&f.app.MetricsAddress, "metrics-address", "127.0.0.1:8080",
		"`host:port` to serve Prometheus metrics on at /metrics, over plain HTTP; 0 disables it")
	set.StringVar(&f.app.ProbeAddress, "probe-address", "127.0.0.1:8081",
		"`host:port` to serve /healthz and /readyz on, over plain HTTP; 0 disables it")
	set.BoolVar(&f.app.LeaderElection, "leader-elect", true,
		"act only while holding the Lease sluice-controller")
	set.StringVar(&f.app.LeaseNamespace, "leader-elect-namespace", "",
		"`namespace` of that Lease (default the controller's own, or that of the kubeconfig's context)")
	set.StringSliceVar(&f.app.SharedNamespaces, "shared-namespaces", nil,
		"`namespaces` that ReleaseSources of any namespace may write into, separated by commas (default none: each writes into its own)")
	set.StringVar(&f.app.DefaultServiceAccount, "default-service-account", "",
		"`name` of the service account, in the namespace of the ReleaseSource, to write as, if the source names none (default the controller's own)")
	set.StringVar(&f.app.Cluster, "cluster-name", "",
		"`name` of this cluster in the contexts of commit statuses, for a repository that several clusters release from (default none)")
	set.BoolVar(&f.app.Traffic, "traffic", false,
		"let releases share requests by HTTPRoutes, GRPCRoutes and Ingresses, which needs the permissions of config/components/traffic")
	set.StringVar(&f.app.WebhookAddress, "webhook-address", "0",
		"`host:port` to receive webhooks of forges on, at /hooks/NAMESPACE/SOURCE, over plain HTTP; 0 disables it")
	set.StringSliceVar(&f.webhookProxies, "webhook-trusted-proxies", nil,
		"`networks` of the proxies before --webhook-address whose X-Forwarded-For header is trusted, such as 10.0.0.0/8 (default none)")
	set.BoolVar(&f.app.ForgeHTTP, "forge-allow-http", false,
		"allow http:// forges on loopback addresses, for trying things out; also needs --git-allowed-networks")
	set.IntVar(&f.app.ForgeWrites, "forge-writes-per-hour", 500,
		"maximum `number` of requests in an hour that change something at a forge, for each of its accounts, from 10; 0 for any number")
	set.DurationVar(&f.app.ForgeTimeout, "forge-timeout", 30*time.Second, "maximum `duration` of one request to a forge")
	set.StringVar(&f.app.AttestationKey, "attestation-key", "",
		"`file` with an Ed25519 key that signs a statement about each gate that passes, as docs/proof.md describes; it is read again each time (default none)")
	set.StringVar(&f.app.NoticesConfig, "notices-config", "",
		"`file` that says who gets notices of releases, as docs/telemetry.md describes; it is read again when it changes (default none)")
	registerGit(set, &f.app.Git, &f.app.Manifests, &f.app.Builds)
	f.otlp.register(set)
	f.log.register(set)
}

// run checks the flags, then runs the controller until it gets a signal.
func (f *controllerFlags) run(cmd *cobra.Command) error {
	logger, err := f.log.logger(cmd.ErrOrStderr())
	if err != nil {
		return usageError{err}
	}
	if err := errors.Join(f.checkAddresses(), f.checkWrites()); err != nil {
		return usageError{err}
	}
	if f.app.WebhookTrustedProxies, err = networksOf("webhook-trusted-proxies", f.webhookProxies); err != nil {
		return err
	}
	warning, err := f.otlp.apply(&f.app, os.Getenv)
	if err != nil {
		return usageError{err}
	}
	if warning != nil {
		logger.Info("traces are not sent", "problem", warning.Error())
	}
	cfg, err := f.connect()
	if err != nil {
		return err
	}
	return runController(cmd.Context(), cfg, f.options(logger))
}

func (f *controllerFlags) checkAddresses() error {
	return errors.Join(
		checkAddress("metrics-address", f.app.MetricsAddress),
		checkAddress("probe-address", f.app.ProbeAddress),
		checkAddress("webhook-address", f.app.WebhookAddress),
	)
}

// fewestWrites is the least limit with which reports are sent, which wait while little is left.
const fewestWrites = 10

func (f *controllerFlags) checkWrites() error {
	if n := f.app.ForgeWrites; n != 0 && n < fewestWrites {
		return fmt.Errorf("--forge-writes-per-hour is %d: give a number from %d, or 0 for any number of requests", n, fewestWrites)
	}
	return nil
}

// options returns those of the app, with what is not a flag filled in.
func (f *controllerFlags) options(logger logr.Logger) app.Options {
	options := f.app
	options.Version = buildVersion()
	options.Logger = logger
	return options
}

// connect finds the cluster, and the namespace of the Lease where none is given.
func (f *controllerFlags) connect() (*rest.Config, error) {
	cfg, namespace, err := f.cluster.connect()
	if err != nil {
		return nil, err
	}
	f.app.LeaseNamespace = cmp.Or(f.app.LeaseNamespace, namespace)
	return cfg, nil
}

// gcPercent is by how much the heap may grow before it is swept, in percent, unless GOGC says so.
// When a controller starts, all objects pass through it, and it keeps little of them.
const gcPercent = 50

// runController returns nil when ctx ends it, and an error when it ends by itself.
func runController(ctx context.Context, cfg *rest.Config, options app.Options) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctrl.SetLogger(options.Logger)
	mgr, err := app.New(cfg, options)
	if err != nil {
		return fmt.Errorf("set up controller: %w", err)
	}
	options.Logger.Info("starting", "version", options.Version, "server", cfg.Host)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run controller: %w", err)
	}
	return nil
}
