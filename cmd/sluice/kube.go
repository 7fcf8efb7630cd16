package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
)

// kubeFlags say which cluster, user and namespace a verb is about, as kubectl's do.
type kubeFlags struct {
	config        *genericclioptions.ConfigFlags
	allNamespaces bool
}

// newKubeFlags returns the flags of kubectl, without those for caches: no call keeps one.
func newKubeFlags() *kubeFlags {
	config := genericclioptions.NewConfigFlags(true)
	config.CacheDir, config.DisableCompression = nil, nil
	return &kubeFlags{config: config}
}

// namespaceFlag is the one of kubectl's flags that people give all the time.
const namespaceFlag = "namespace"

// register gives a command the flags. Its usage lists them after its own.
func (f *kubeFlags) register(command *cobra.Command) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.config.AddFlags(set)
	set.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != namespaceFlag {
			markAsKubectl(flag)
		}
	})
	set.Lookup(namespaceFlag).Usage = "`namespace` to work in (default that of the kubeconfig's context)"
	command.Flags().AddFlagSet(set)
	// These only fail for flags that are not there.
	_ = command.RegisterFlagCompletionFunc(namespaceFlag, f.completeNamespaces)
	_ = command.RegisterFlagCompletionFunc("context", f.completeContexts)
}

// registerAll registers the flags of a command that can work in all namespaces.
func (f *kubeFlags) registerAll(command *cobra.Command) {
	f.register(command)
	command.Flags().BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "work in all namespaces")
}

// check refuses flags that contradict each other.
func (f *kubeFlags) check() error {
	if f.allNamespaces && *f.config.Namespace != "" {
		return usageError{errors.New("use --namespace or --all-namespaces, not both")}
	}
	return nil
}

// cluster is a client for the user that the flags name.
type cluster struct {
	client.WithWatch

	// config is for clients of another kind.
	config *rest.Config
	// namespace to work in; empty for all.
	namespace string
}

// connect finds the cluster, and writes each warning of the server once.
func (f *kubeFlags) connect(warnings io.Writer) (*cluster, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	loader := f.config.ToRawKubeConfigLoader()
	config, err := loader.ClientConfig()
	switch {
	case err != nil:
		return nil, fmt.Errorf("find cluster: %w", err)
	case f.guessed(config):
		looked := strings.Join(loader.ConfigAccess().GetLoadingPrecedence(), ", ")
		return nil, fmt.Errorf("find cluster: no kubeconfig names one (%s); set --kubeconfig or $KUBECONFIG, or create ~/.kube/config", looked)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("find namespace: %w", err)
	}
	if f.allNamespaces {
		namespace = ""
	}
	ctrl.SetLogger(logr.Discard()) // the verb reports what went wrong, once
	config.UserAgent = "sluice/" + buildVersion()
	config.QPS, config.Burst = 50, 300 // as kubectl has it: a check asks for each right by itself
	config.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{Deduplicate: true})
	config.Wrap(answering(patience))
	c, err := client.NewWithWatch(config, client.Options{Scheme: kube.NewScheme()})
	if err != nil {
		return nil, fmt.Errorf("connect to cluster: %w", err)
	}
	return &cluster{WithWatch: c, config: config, namespace: namespace}, nil
}

// guessed reports whether a server is the default of kubectl, which no flag or file names.
func (f *kubeFlags) guessed(config *rest.Config) bool {
	raw, err := f.config.ToRawKubeConfigLoader().RawConfig()
	return err == nil && len(raw.Clusters) == 0 && *f.config.APIServer == "" && config.Host == "http://localhost:8080"
}

// release connects to the cluster and finds the release that the arguments of a command name.
func (f *kubeFlags) release(command *cobra.Command, args []string) (*cluster, *v1alpha1.BatchRelease, error) {
	c, err := f.connect(command.ErrOrStderr())
	if err != nil {
		return nil, nil, err
	}
	release, err := c.release(command.Context(), args)
	return c, release, err
}
