package gitsync

import (
	"fmt"
	"sync"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// writers holds a client for each service account that is written as.
type writers struct {
	cfg *rest.Config
	own client.Client

	mu     sync.Mutex
	byUser map[string]client.Client
}

func newWriters(cfg *rest.Config, own client.Client) *writers {
	return &writers{cfg: cfg, own: own, byUser: map[string]client.Client{}}
}

// of returns the client of a service account, the controller's own for none.
func (w *writers) of(namespace, account string) (client.Client, error) {
	if account == "" {
		return client.WithFieldOwner(w.own, v1alpha1.OwnerGitsync), nil
	}
	user := "system:serviceaccount:" + namespace + ":" + account
	w.mu.Lock()
	defer w.mu.Unlock()
	if made := w.byUser[user]; made != nil {
		return made, nil
	}
	made, err := w.impersonate(user)
	if err != nil {
		return nil, fmt.Errorf("make client of %s: %w", user, err)
	}
	w.byUser[user] = made
	return made, nil
}

// impersonate makes a client that writes as a user. The API server adds the groups that every
// service account is in.
func (w *writers) impersonate(user string) (client.Client, error) {
	cfg := rest.CopyConfig(w.cfg)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
	made, err := client.New(cfg, client.Options{Scheme: w.own.Scheme(), Mapper: w.own.RESTMapper()})
	if err != nil {
		return nil, err
	}
	return client.WithFieldOwner(made, v1alpha1.OwnerGitsync), nil
}
