package gitsync

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/kube"
)

// The CRD's defaults, for sources that were made without it.
const (
	defaultInterval = time.Minute
	defaultTimeout  = time.Minute
)

func interval(source *v1alpha1.ReleaseSource) time.Duration {
	return cmp.Or(source.Spec.Interval.Duration, defaultInterval)
}

// repository says what to read, with the credentials as they are now. The outcome
// is nil unless they can't be had.
func (r *Reconciler) repository(ctx context.Context, source *v1alpha1.ReleaseSource, memory *memory) (gitrepo.Source, outcome, error) {
	repository := gitrepo.Source{
		URL:     source.Spec.URL,
		Branch:  source.Branch(),
		Timeout: cmp.Or(source.Spec.Timeout.Duration, defaultTimeout),
	}
	if source.Spec.SecretRef == nil {
		return repository, nil, nil
	}
	var secret corev1.Secret
	key := client.ObjectKey{Namespace: source.Namespace, Name: source.Spec.SecretRef.Name}
	err := r.live.Get(ctx, key, &secret)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return repository, unread{cause: wrongSecret, err: fmt.Errorf("read Secret %s: %w", key.Name, err)}, nil
	case err != nil:
		return repository, nil, fmt.Errorf("read Secret %s: %w", key, err)
	}
	if err := kube.CheckCredentials(&secret); err != nil {
		return repository, unread{cause: wrongSecret, err: fmt.Errorf("spec.secretRef: %w", err)}, nil
	}
	as, err := github.AppOf(secret.Data)
	if as != nil {
		repository.Auth, err = r.appAuth(ctx, source, &secret, as, memory)
	}
	if err != nil {
		problem, err := appFailed(ctx, err)
		return repository, problem, err
	}
	if as != nil {
		return repository, nil, nil
	}
	repository.Auth = gitrepo.AuthOf(secret.Data)
	repository.Auth.From = "Secret " + key.Name
	return repository, nil, nil
}
