package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sluice-dev/sluice/cli/install"
)

func newInstall() *cobra.Command {
	options := install.Default(imageTag(version))
	command := &cobra.Command{
		Use:     "install",
		GroupID: groupServer,
		Short:   "Print the manifests that install Sluice",
		Long: `Print the manifests that install Sluice, for kubectl to apply: the CRDs, the controller with its account and permissions, and the
admission policies. The command contacts no cluster.

With --namespaced, everything is confined to one existing namespace: the controller watches only that one, and nothing
cluster-wide is installed except the CRDs, and with --dashboard the roles by which people log in.`,
		Example: `  sluice install | kubectl apply --server-side -f -
  sluice install --image registry.example.com/sluice:v1.0.0 > sluice.yaml
  sluice install --namespaced --namespace shop --crds=false
  sluice install --dashboard --dashboard-arg=--external-url=https://sluice.example.com
  sluice install --dashboard --dashboard-secret=sluice-sessions --dashboard-arg=--session-key-file=/etc/sluice/secrets/sluice-sessions/keys
  sluice install --controller-arg=--cluster-name=eu --controller-arg=--log-level=debug`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return printInstall(cmd, options) },
	}
	registerInstall(command.Flags(), &options)
	return command
}

func registerInstall(set *pflag.FlagSet, options *install.Options) {
	set.StringVarP(&options.Namespace, "namespace", "n", options.Namespace, "`namespace` to install the controller in")
	set.StringVar(&options.Image, "image", options.Image, "`image` of the controller")
	set.Int32Var(&options.Replicas, "replicas", options.Replicas, "`number` of controllers; one is active")
	set.BoolVar(&options.Namespaced, "namespaced", false, "watch only that namespace, with permissions only there")
	set.BoolVar(&options.CRDs, "crds", options.CRDs, "install the CRDs, one set for each cluster")
	set.BoolVar(&options.Policy, "policy", options.Policy,
		"install the admission policies, which need Kubernetes 1.30 (never with --namespaced)")
	set.BoolVar(&options.Follow, "follow", false,
		"install the policies for releases with spec.follow, which need Kubernetes 1.34 (never with --namespaced)")
	set.BoolVar(&options.Traffic, "traffic", false,
		"let releases share requests by routes, with permission to write HTTPRoutes, GRPCRoutes, Ingresses and Services")
	set.BoolVar(&options.Job, "job", false, "let gates run Jobs, with permission to create them")
	set.BoolVar(&options.ConfigMaps, "configmaps", false, "let releases have ConfigMaps in spec.config, with permission to write ConfigMaps")
	set.BoolVar(&options.Secrets, "secrets", false, "let releases have Secrets in spec.config, with permission to write Secrets")
	set.BoolVar(&options.Notices, "notices", false, "send notices as the Secret sluice-notices says, which must exist")
	set.BoolVar(&options.Dashboard, "dashboard", false, "install the dashboard too, for people to log in to")
	set.BoolVar(&options.DashboardUnconstrained, "dashboard-unconstrained", false,
		"let the dashboard act as anybody, for anything: Kubernetes before 1.36 needs it for logins")
	set.StringArrayVar(&options.DashboardSecrets, "dashboard-secret", nil,
		"`name` of a Secret whose keys the dashboard reads as files in "+install.SecretsFolder+"/NAME; can be repeated")
	set.StringArrayVar(&options.DashboardArgs, "dashboard-arg", nil, "additional `flag` for \"sluice dashboard\"; can be repeated")
	set.StringArrayVar(&options.Args, "controller-arg", nil, "additional `flag` for \"sluice controller\"; can be repeated")
}

func printInstall(cmd *cobra.Command, options install.Options) error {
	if options.Namespaced && !cmd.Flags().Changed("policy") {
		options.Policy = false
	}
	objects, err := install.Objects(options)
	if err != nil {
		return usageError{err}
	}
	if err := install.Write(cmd.OutOrStdout(), objects); err != nil {
		return fmt.Errorf("print manifests: %w", err)
	}
	return nil
}

// imageTag returns the tag of the image of this binary, which is built with the same version. A
// build that was given none goes by the newest release.
func imageTag(release string) string {
	if release == "" {
		return "latest"
	}
	return release
}
