package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterFlags say which cluster is meant.
type clusterFlags struct{ kubeconfig, context string }

func (f *clusterFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "`path` of the kubeconfig file")
	set.StringVar(&f.context, "context", "", "`name` of the kubeconfig context to use (default the current context)")
}

// connect finds the cluster, and the namespace that is meant where none is named.
func (f *clusterFlags) connect() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: f.context}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	cfg, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("find cluster: %w", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("find own namespace: %w", err)
	}
	return cfg, namespace, nil
}
