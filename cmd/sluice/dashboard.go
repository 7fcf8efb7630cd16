package main

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/internal/kube"
)

// dashboardFlags are the flags of "sluice dashboard" as they were given.
type dashboardFlags struct {
	kube        *kubeFlags
	address     string
	clusterName string
	open        bool
	serves      bool
	inCluster   clusterDashboardFlags
}

func newDashboard() *cobra.Command {
	flags := &dashboardFlags{kube: newKubeFlags()}
	command := &cobra.Command{
		Use:     "dashboard",
		GroupID: groupLook,
		Short:   "Serve the dashboard and open it in the browser",
		Long: `Serve the dashboard on this machine until you press Ctrl-C, and open it in the browser. It uses the rights of your kubeconfig;
nothing is installed in the cluster.

The address that it prints works in one browser, once; press Enter for another one. Other users of this machine and other web pages
can't use it.

With --in-cluster it serves everybody who logs in, with a token of the Kubernetes API or with an OIDC issuer. It then reads lists as its own
service account, and impersonates the viewer for everything else. docs/dashboard.md says how to install it.`,
		Example: `  sluice dashboard
  sluice dashboard -n shop --open=false`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	set := command.Flags()
	set.StringVar(&flags.address, "address", "127.0.0.1:0", "loopback `host:port` to serve on; port 0 picks a free port; in the cluster any address, by default :8080")
	set.StringVar(&flags.clusterName, "cluster-name", "", "`name` of the cluster on the pages (default the kubeconfig's context)")
	set.BoolVar(&flags.open, "open", true, "open the browser")
	set.BoolVar(&flags.serves, "in-cluster", false, "serve everybody who logs in, from within a cluster")
	flags.inCluster.register(set)
	flags.kube.registerAll(command)
	return command
}

func (f *dashboardFlags) run(command *cobra.Command) error {
	if err := checkAddress("address", f.address); err != nil {
		return usageError{err}
	}
	if f.serves {
		return f.runInCluster(command)
	}
	named := command.Flags().Changed(namespaceFlag)
	c, err := f.kube.connect(command.ErrOrStderr())
	if err != nil {
		return err
	}
	c.config.QPS = -1 // pages ask for several rights at once; the API server's fairness rules hold
	ctx := command.Context()
	door, err := access.NewLocal(ctx, c.config, kube.NewScheme())
	if err != nil {
		return fmt.Errorf("find out who you are: %w", err)
	}
	objects, err := f.cache(ctx, c, named)
	if err != nil {
		return err
	}
	pages := dashboard.New(dashboard.Options{
		Objects: objects, Door: door, Cluster: f.cluster(), Version: buildVersion(), Logger: ctrl.Log, Clock: clock.RealClock{},
	})
	listener, err := access.Listen(ctx, f.address)
	if err != nil {
		return usageError{err}
	}
	return pages.Serve(ctx, listener, func() { f.announce(ctx, command, door, listener.Addr().String()) })
}

// cluster returns the name on the pages.
func (f *dashboardFlags) cluster() string {
	if f.clusterName != "" {
		return f.clusterName
	}
	if *f.kube.config.Context != "" {
		return *f.kube.config.Context
	}
	raw, err := f.kube.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		return ""
	}
	return raw.CurrentContext
}

// announce says where the dashboard is, and opens it; again for each line that the user enters,
// since an address works once.
func (f *dashboardFlags) announce(ctx context.Context, command *cobra.Command, door *access.Local, at string) {
	out := command.OutOrStdout()
	address := door.URL(at)
	fmt.Fprintf(out, "The dashboard is at %s\nThe address works once: press Enter for another one, Ctrl-C to stop.\n", address)
	if f.open {
		if err := browse(ctx, address); err != nil {
			fmt.Fprintln(out, "Open it in your browser:", err)
		}
	}
	go func() {
		for lines := bufio.NewScanner(command.InOrStdin()); lines.Scan(); {
			fmt.Fprintf(out, "The dashboard is at %s\n", door.URL(at))
		}
	}()
}

// browse opens an address in the user's browser.
func browse(ctx context.Context, address string) error {
	name := map[string]string{"darwin": "open", "windows": "explorer"}[runtime.GOOS]
	if name == "" {
		name = "xdg-open"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return fmt.Errorf("find a browser: %w", err)
	}
	if err := exec.CommandContext(ctx, path, address).Start(); err != nil {
		return fmt.Errorf("open a browser: %w", err)
	}
	return nil
}

// cache has what lists show: of all namespaces if no flag names one and the user may see all,
// otherwise of one.
func (f *dashboardFlags) cache(ctx context.Context, c *cluster, named bool) (cache.Cache, error) {
	namespaces := []string{c.namespace}
	if c.namespace == "" || !named && mayListAll(ctx, c) {
		namespaces = nil
	}
	return dashboard.NewCache(c.config, kube.NewScheme(), namespaces...)
}

// mayListAll reports whether the user may list the releases of all namespaces. It reports false if
// the API server does not say.
func mayListAll(ctx context.Context, c *cluster) bool {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: "batchreleases"},
	}}
	return c.Create(ctx, review) == nil && review.Status.Allowed
}
