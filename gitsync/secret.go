package gitsync

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
)

// Keys of the Secret that a source names, as Flux and Argo CD users know them.
const (
	keyUsername   = "username"
	keyPassword   = "password"
	keyBearer     = "bearerToken"
	keyCA         = "ca.crt"
	keyIdentity   = "identity"
	keyPassphrase = "identity.password"
	keyKnownHosts = "known_hosts"
)

// credentials reads the Secret of a source, live: nobody keeps secrets in a cache.
func (r *Reconciler) credentials(ctx context.Context, source *v1alpha1.ReleaseSource) (gitrepo.Auth, error) {
	if source.Spec.SecretRef == nil {
		return gitrepo.Auth{}, nil
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: source.Namespace, Name: source.Spec.SecretRef.Name}
	if err := r.live.Get(ctx, key, &secret); err != nil {
		return gitrepo.Auth{}, fmt.Errorf("read Secret %q: %w", key.Name, err)
	}
	return authFrom(secret.Data), nil
}

func authFrom(data map[string][]byte) gitrepo.Auth {
	return gitrepo.Auth{
		Username:    string(data[keyUsername]),
		Password:    string(data[keyPassword]),
		BearerToken: string(data[keyBearer]),
		CABundle:    data[keyCA],
		PrivateKey:  data[keyIdentity],
		Passphrase:  data[keyPassphrase],
		KnownHosts:  data[keyKnownHosts],
	}
}
