package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/cli/show"
)

// version is set by a release build: go build -ldflags "-X main.version=v1.2.3".
var version string

// versionFlags are the flags of "sluice version" as they were given.
type versionFlags struct {
	kube   *kubeFlags
	client bool
}

func newVersion() *cobra.Command {
	flags := &versionFlags{kube: newKubeFlags()}
	command := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the command and of the controller",
		Long: `Print the version of the command, the commit it was built from, and the image of the controller in the namespace or in
sluice-system, if there is one that you may read.`,
		Example:           "  sluice version --client",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}
	command.Flags().BoolVar(&flags.client, "client", false, "contact no cluster")
	flags.kube.register(command)
	return command
}

func (f *versionFlags) run(command *cobra.Command) error {
	lines := fmt.Sprintf("sluice %s\ncommit %s\n%s %s/%s\n",
		buildVersion(), buildCommit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if !f.client {
		lines += "controller " + f.controller(command.Context()) + "\n"
	}
	_, err := io.WriteString(command.OutOrStdout(), lines)
	return err
}

// The manifests that install the controller call its Deployment and their namespace so.
const (
	controllerName  = "sluice-controller"
	systemNamespace = "sluice-system"
)

// controller says what the cluster runs. That nobody knows is no error: the command itself has a
// version all the same.
func (f *versionFlags) controller(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	c, err := f.kube.connect(io.Discard)
	if err != nil {
		return "not known: " + err.Error()
	}
	for _, namespace := range []string{c.namespace, systemNamespace} {
		var deployment appsv1.Deployment
		if err = c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: controllerName}, &deployment); err == nil {
			return show.Controller(&deployment)
		}
	}
	return "not known: " + err.Error()
}

// buildVersion returns what a release build says, else what the module was fetched as, else
// "devel".
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return cmp.Or(version, "devel")
	}
	return cmp.Or(version, strings.Trim(info.Main.Version, "()"), "devel")
}

// buildCommit returns the commit of the checkout that was built, marked where it had changes.
func buildCommit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	commit := cmp.Or(settings["vcs.revision"], "unknown")
	if settings["vcs.modified"] == "true" {
		commit += " with changes"
	}
	return commit
}
