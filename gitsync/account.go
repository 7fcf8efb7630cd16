package gitsync

import (
	"fmt"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/lru"
)

// accounts has a client for each service account that something is written as.
type accounts struct {
	own    client.Client
	config *rest.Config

	// clients holds the recently used clients: the account in a source can change, and need not exist.
	clients *lru.Cache[string, client.Client]
}

// mostAccounts limits the clients that are kept.
const mostAccounts = 256

func newAccounts(own client.Client, config *rest.Config) *accounts {
	return &accounts{own: own, config: config, clients: lru.New[string, client.Client](mostAccounts)}
}

// client returns a client that writes as an account of a namespace, or as the
// controller itself if the name is empty.
func (a *accounts) client(namespace, name string) (client.Client, error) {
	if name == "" {
		return client.WithFieldOwner(a.own, v1alpha1.OwnerGitsync), nil
	}
	user := "system:serviceaccount:" + namespace + ":" + name
	if made := a.clients.Get(user); made != nil {
		return made, nil
	}
	config := rest.CopyConfig(a.config)
	// Without groups: the API server adds those that every service account is in.
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	made, err := client.New(config, client.Options{Scheme: a.own.Scheme(), Mapper: a.own.RESTMapper()})
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", user, err)
	}
	made = client.WithFieldOwner(made, v1alpha1.OwnerGitsync)
	a.clients.Put(user, made, 1)
	return made, nil
}
