// Package app wires the controller: one manager with the scheme, the cache, and the
// reconcilers of gitsync, rollout and approvals, which meet in the cluster only. The binary,
// the demo, the tests and the bench all run what New returns.
//
//	New ──► manager ──► cache (shared, trimmed) ──► reconcilers ──► API server
//
// A manager with leader election must not outlive its Start: when the lease is lost, Start
// returns an error and the process has to end, so that no two controllers act side by side.
package app

import (
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals"
	"github.com/sluice-dev/sluice/approvals/webhook"
	"github.com/sluice-dev/sluice/forge/connect"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout"
	"github.com/sluice-dev/sluice/telemetry/traces"
)

// Off is the address that serves nothing.
const Off = "0"

// Options are the settings of one controller. The zero value watches all namespaces, serves nothing
// and elects no leader.
type Options struct {
	// Version goes into the user agent.
	Version string
	// Logger of the manager and all reconcilers; the zero value is controller-runtime's log.Log.
	Logger logr.Logger
	// Namespaces to watch; none means all.
	Namespaces []string
	// MetricsAddress and ProbeAddress are host:port to serve /metrics, and /healthz and /readyz, on.
	// Empty or Off serves nothing.
	MetricsAddress, ProbeAddress string
	// LeaderElection makes one controller of several act, by a Lease in LeaseNamespace.
	LeaderElection bool
	LeaseNamespace string

	// Traffic lets releases share requests by routes. It takes rights to write routes and Services.
	Traffic bool

	// Git says which repositories may be read, and how much of them.
	Git gitrepo.Options
	// Manifests limits what is read of a repository's manifests.
	Manifests spec.Limits
	// Builds limits what building kustomizations may take.
	Builds sandbox.Options
	// SharedNamespaces are namespaces that sources of any namespace may write into; only a namespace's
	// own sources may write into any other.
	SharedNamespaces []string
	// DefaultServiceAccount is the account, in the source's namespace, that writes for a source
	// that names none. Empty means the controller's own.
	DefaultServiceAccount string

	// Cluster is the name of this cluster in commit statuses; empty if there is only one.
	Cluster string
	// WebhookAddress is host:port to take webhooks of forges on. Empty or Off takes none.
	WebhookAddress string
	// WebhookTrustedProxies are the proxies before it whose X-Forwarded-For header names the client.
	WebhookTrustedProxies []netip.Prefix
	// ForgeHTTP takes plain http for forges on loopback addresses, for trying things out.
	ForgeHTTP bool
	// ForgeWrites is how many requests that change something an account sends to a forge in an hour; 0
	// for any number.
	ForgeWrites int
	// ForgeTimeout is for one request to a forge. Default 30s.
	ForgeTimeout time.Duration

	// Traces say where to tell of releases as traces, and TracePage where people see them.
	Traces    traces.Options
	TracePage traces.Page

	// AttestationKey is a file with the Ed25519 key that signs statements about gates; empty signs
	// none.
	AttestationKey string

	// NoticesConfig is a file that says who gets notices of releases; empty sends none. Their record is
	// in LeaseNamespace.
	NoticesConfig string
	// NoticesPoll is how often that file is read. Default 10s.
	NoticesPoll time.Duration
}

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=sluice-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=sluice-system,resources=leases,resourceNames=sluice-controller,verbs=get;update

// New makes the manager with everything set up; Start runs it. The client has no limit of
// its own on requests: the API server's fairness rules hold.
func New(cfg *rest.Config, opts Options) (manager.Manager, error) {
	cfg = restConfig(cfg, opts)
	options, err := managerOptions(cfg, opts)
	if err != nil {
		return nil, err
	}
	cfg.Wrap(freeAtRest(quiet, debug.FreeOSMemory)) // but not the client for the Lease, which never rests
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return nil, fmt.Errorf("make manager: %w", err)
	}
	if err := addChecks(mgr); err != nil {
		return nil, err
	}
	if err := checkKey(opts.AttestationKey); err != nil {
		return nil, err
	}
	if err := addReconcilers(mgr, opts); err != nil {
		return nil, err
	}
	if err := addNotices(mgr, opts); err != nil {
		return nil, err
	}
	exporter, err := newTraces(opts, mgr.GetLogger())
	if err != nil {
		return nil, err
	}
	if err := addTelemetry(mgr, tellers(exporter)...); err != nil {
		return nil, err
	}
	mgr, err = newStoppable(mgr)
	if err != nil || exporter == nil {
		return mgr, err
	}
	return flushing{mgr, exporter, shutdown}, nil
}

// writes counts those of all controllers of this process.
var writes = sync.OnceValue(func() *kube.Writes { return kube.NewWrites(ctrlmetrics.Registry) })

func restConfig(cfg *rest.Config, opts Options) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.UserAgent = "sluice/" + opts.Version
	cfg.Wrap(kube.LimitEvents())
	cfg.Wrap(writes().Count())
	return cfg
}

func managerOptions(cfg *rest.Config, opts Options) (manager.Options, error) {
	options := manager.Options{
		Scheme:                        kube.NewScheme(),
		Logger:                        opts.Logger,
		Cache:                         cacheOptions(opts.Namespaces),
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: readLive()}},
		Metrics:                       metricsserver.Options{BindAddress: orOff(opts.MetricsAddress)},
		HealthProbeBindAddress:        orOff(opts.ProbeAddress),
		LeaderElection:                opts.LeaderElection,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       new(graceful),
		// Several managers may run in one process, one after or next to the other.
		Controller: config.Controller{SkipNameValidation: new(true)},
	}
	if !opts.LeaderElection {
		return options, nil
	}
	lease, err := newLease(cfg, opts.LeaseNamespace)
	options.LeaderElectionResourceLockInterface = lease
	return options, err
}

func orOff(address string) string {
	if address == "" {
		return Off
	}
	return address
}

// addReconcilers sets up the parts, each with a name of its own in events.
func addReconcilers(mgr manager.Manager, opts Options) error {
	cached, live, now := mgr.GetClient(), mgr.GetAPIReader(), clock.RealClock{}
	watching, err := client.NewWithWatch(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
	})
	if err != nil {
		return fmt.Errorf("set up client for watches: %w", err)
	}
	git := gitrepo.NewReader(opts.Git)
	forges := connect.New(connect.Common{
		Git: git, AllowHTTP: opts.ForgeHTTP, Networks: opts.Git.Networks, Timeout: opts.ForgeTimeout, Now: now.Now, WritesPerHour: opts.ForgeWrites,
	})
	sources := gitsync.NewReconciler(
		cached, live, mgr.GetConfig(), kube.LogEvents(mgr.GetEventRecorder(v1alpha1.OwnerGitsync), mgr.GetLogger().WithName(v1alpha1.OwnerGitsync)), now, sourceOptions(opts, git, forges.GitHub))
	if err := sources.SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set up gitsync: %w", err)
	}
	recorder := kube.LogEvents(mgr.GetEventRecorder(v1alpha1.OwnerRollout), mgr.GetLogger().WithName(v1alpha1.OwnerRollout))
	if opts.Traces.Enabled() {
		recorder = traces.Events(recorder) // around the log, so that its lines name the trace, too
	}
	releases := rollout.NewReconciler(cached, live, watching, recorder, now)
	options := rollout.Options{Traffic: opts.Traffic, Namespaces: opts.Namespaces, Cache: cacheOptions(opts.Namespaces)}
	if err := releases.SetupWithManager(mgr, options); err != nil {
		return fmt.Errorf("set up rollout: %w", err)
	}
	if err := approvals.Setup(mgr, approvalOptions(opts, forges)); err != nil {
		return fmt.Errorf("set up approvals: %w", err)
	}
	return addReceiver(mgr, opts)
}

// addReceiver makes each replica take webhooks, if there is an address for them.
func addReceiver(mgr manager.Manager, opts Options) error {
	if orOff(opts.WebhookAddress) == Off {
		return nil
	}
	receiver := webhook.New(mgr.GetClient(), mgr.GetAPIReader(), webhook.Options{
		Address: opts.WebhookAddress, TrustedProxies: opts.WebhookTrustedProxies, Logger: mgr.GetLogger().WithName("webhook"),
	})
	if err := mgr.Add(receiver); err != nil {
		return fmt.Errorf("add receiver of webhooks: %w", err)
	}
	return nil
}

func approvalOptions(opts Options, forges approvals.Forges) approvals.Options {
	return approvals.Options{
		Cluster:          opts.Cluster,
		Page:             opts.TracePage.Of,
		SharedNamespaces: opts.SharedNamespaces,
		Cache:            cacheOptions(opts.Namespaces),
		Forges:           forges,
		Networks:         opts.Git.Networks,
		Key:              keyIn(opts.AttestationKey),
	}
}

func sourceOptions(opts Options, git *gitrepo.Reader, forges *github.Clients) gitsync.Options {
	return gitsync.Options{
		AllowedNamespaces:     opts.SharedNamespaces,
		DefaultServiceAccount: opts.DefaultServiceAccount,
		Reader:                git,
		Forges:                forges,
		Manifests:             opts.Manifests,
		Builds:                opts.Builds,
	}
}

// addChecks makes /healthz say that the process answers, and /readyz that its cache has caught up.
func addChecks(mgr manager.Manager) error {
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("add health check: %w", err)
	}
	synced := func(request *http.Request) error { return cacheSynced(request.Context(), mgr.GetCache()) }
	if err := mgr.AddReadyzCheck("cache", synced); err != nil {
		return fmt.Errorf("add readiness check: %w", err)
	}
	return nil
}
