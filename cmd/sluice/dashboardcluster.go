package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sluice-dev/sluice/dashboard"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/internal/kube"
)

// clusterDashboardFlags are the flags of a dashboard in the cluster, which many people log in to.
type clusterDashboardFlags struct {
	log            logFlags
	namespaces     []string
	externalURL    string
	sessionKeyFile string
	lifetime       time.Duration
	tokens         bool
	audiences      []string
	trustedProxies []string
	plainHTTP      bool
	oidc           access.OIDC
	secretFile     string
	caFile         string
	groupsFilter   string
}

func (f *clusterDashboardFlags) register(set *pflag.FlagSet) {
	set.StringSliceVar(&f.namespaces, "namespaces", nil, "in the cluster: `namespaces` to show, separated by commas (default all that the viewer may see)")
	set.StringVar(&f.externalURL, "external-url", "", "in the cluster: `address` that people open, such as https://sluice.example.com; OIDC needs it")
	set.StringVar(&f.sessionKeyFile, "session-key-file", "",
		"in the cluster: `file` with keys that encrypt sessions, one per line, the newest first (default a random key: sessions end with the process)")
	set.DurationVar(&f.lifetime, "session-lifetime", 8*time.Hour, "in the cluster: maximum `duration` of a session")
	set.BoolVar(&f.tokens, "login-tokens", true, "in the cluster: allow logins with a token of the Kubernetes API")
	set.StringSliceVar(&f.audiences, "token-audiences", nil, "in the cluster: `audiences` that tokens may be for (default the API server's)")
	set.StringSliceVar(&f.trustedProxies, "trusted-proxies", nil, "in the cluster: `networks` of proxies whose X-Forwarded-For header is trusted, such as 10.0.0.0/8")
	set.BoolVar(&f.plainHTTP, "allow-plain-http", false, "in the cluster: let browsers send sessions without TLS, for tests on loopback")
	set.StringVar(&f.oidc.Issuer, "oidc-issuer-url", "", "in the cluster: `address` of the OIDC issuer; set the user and group flags as in the API server")
	set.StringVar(&f.oidc.ClientID, "oidc-client-id", "", "in the cluster: `id` of the dashboard at the issuer")
	set.StringVar(&f.secretFile, "oidc-client-secret-file", "", "in the cluster: `file` with the client secret (default none: a public client)")
	set.StringVar(&f.caFile, "oidc-ca-file", "", "in the cluster: `file` with certificates (PEM) to trust for the issuer")
	set.StringSliceVar(&f.oidc.Scopes, "oidc-scopes", nil, "in the cluster: `scopes` to request in addition to openid (default profile,email)")
	set.StringVar(&f.oidc.UsernameClaim, "oidc-username-claim", "", "in the cluster: `claim` with the user name (default sub)")
	set.StringVar(&f.oidc.UsernamePrefix, "oidc-username-prefix", "", "in the cluster: `prefix` of user names; \"-\" for none (default as in the API server)")
	set.StringVar(&f.oidc.GroupsClaim, "oidc-groups-claim", "", "in the cluster: `claim` with the groups (default none)")
	set.StringVar(&f.oidc.GroupsPrefix, "oidc-groups-prefix", "", "in the cluster: `prefix` of groups")
	set.StringVar(&f.groupsFilter, "oidc-groups-filter", "", "in the cluster: regular `expression` that selects groups (default all)")
	set.StringToStringVar(&f.oidc.RequiredClaims, "oidc-required-claims", nil, "in the cluster: `claims` that a login must have, such as hd=example.com")
	f.log.register(set)
}

// options returns how people log in.
func (f *clusterDashboardFlags) options(logger logr.Logger) (access.Options, error) {
	options := access.Options{
		ExternalURL: f.externalURL, KeysFile: f.sessionKeyFile, Lifetime: f.lifetime, Tokens: f.tokens, Audiences: f.audiences, PlainHTTP: f.plainHTTP,
		Logger: logger.WithName("access"), Clock: clock.RealClock{},
	}
	var err error
	if options.TrustedProxies, err = networksOf("trusted-proxies", f.trustedProxies); err != nil {
		return options, err
	}
	return options, f.login(&options)
}

// networksOf parses the networks that a flag names.
func networksOf(flag string, texts []string) ([]netip.Prefix, error) {
	var networks []netip.Prefix
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--%s %q must be a network such as 10.0.0.0/8: %w", flag, text, err)}
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// login fills in the OIDC issuer, if there is one.
func (f *clusterDashboardFlags) login(options *access.Options) error {
	if f.oidc.Issuer == "" {
		return nil
	}
	service := f.oidc
	service.ClientSecretFile = f.secretFile
	if f.caFile != "" {
		bundle, err := os.ReadFile(f.caFile)
		if err != nil {
			return fmt.Errorf("--oidc-ca-file: %w", err)
		}
		service.CABundle = bundle
	}
	if f.groupsFilter != "" {
		filter, err := regexp.Compile(f.groupsFilter)
		if err != nil {
			return usageError{fmt.Errorf("--oidc-groups-filter: %w", err)}
		}
		service.GroupsFilter = filter
	}
	options.OIDC = &service
	return nil
}

// clusterAddress is where a dashboard in the cluster serves by default.
const clusterAddress = ":8080"

// runInCluster serves people who log in, as a service account that may impersonate them.
func (f *dashboardFlags) runInCluster(command *cobra.Command) error {
	logger, err := f.inCluster.log.logger(command.ErrOrStderr())
	if err != nil {
		return usageError{err}
	}
	ctrl.SetLogger(logger)
	options, err := f.inCluster.options(logger)
	if err != nil {
		return err
	}
	cfg, err := rest.InClusterConfig()
	if errors.Is(err, rest.ErrNotInCluster) {
		cfg, err = f.kube.config.ToRESTConfig()
	}
	if err != nil {
		return fmt.Errorf("find cluster: %w", err)
	}
	cfg.QPS, cfg.UserAgent = -1, "sluice/"+buildVersion()
	ctx := command.Context()
	door, err := access.NewCluster(cfg, kube.NewScheme(), options)
	if err != nil {
		return fmt.Errorf("set up login: %w", err)
	}
	objects, err := dashboard.NewCache(cfg, kube.NewScheme(), f.inCluster.namespaces...)
	if err != nil {
		return err
	}
	if !command.Flags().Changed("address") {
		f.address = clusterAddress
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.address)
	if err != nil {
		return fmt.Errorf("listen at %s: %w", f.address, err)
	}
	pages := dashboard.New(dashboard.Options{
		Objects: objects, Door: door, Cluster: f.clusterName, Version: buildVersion(), Logger: logger, Clock: clock.RealClock{},
		Proxies: options.TrustedProxies,
	})
	return pages.Serve(ctx, listener, func() {
		logger.Info("serving the dashboard", "address", listener.Addr().String(), "external", cmp.Or(f.inCluster.externalURL, "not given"))
	})
}
