package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Secrets of the source: what Sluice signs in with, and what the forge signs webhooks with.
const (
	credentialsName = "forge"
	hookSecretName  = "webhook"
)

// interval is how often forge and repository are polled where no webhook says that something
// happened: webhooks are what makes things go on at once here.
const interval = 10 * time.Second

// pollTimeout is how long a look at the repository may take.
const pollTimeout = time.Minute

// createSource points a ReleaseSource at the repository of a stage, and the repository's webhook at
// it.
func (e *environment) createSource(ctx context.Context, at *stage) error {
	token := e.tokens[releaser]
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: at.namespace}},
		secret(at.namespace, credentialsName, map[string]string{"username": releaser, "password": token, "token": token}),
		secret(at.namespace, hookSecretName, map[string]string{"secret": e.webhooks.secret}),
		e.releaseSource(at),
	}
	for _, object := range objects {
		if err := e.cluster.Create(ctx, object, client.FieldOwner(fieldOwner)); err != nil {
			return fmt.Errorf("create %s: %w", object.GetName(), err)
		}
	}
	return e.addHook(ctx, at)
}

func secret(namespace, name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, StringData: data}
}

func (e *environment) releaseSource(at *stage) *v1alpha1.ReleaseSource {
	owner, repository, _ := strings.Cut(at.repository, "/")
	return &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Name: at.source, Namespace: at.namespace},
		Spec: v1alpha1.ReleaseSourceSpec{
			URL:       e.forge.CloneURL(at.repository),
			Ref:       v1alpha1.GitReference{Branch: branch},
			Interval:  metav1.Duration{Duration: interval},
			Timeout:   metav1.Duration{Duration: pollTimeout},
			SecretRef: &v1alpha1.LocalReference{Name: credentialsName},
			Forge: &v1alpha1.Forge{
				Type:      e.forge.Type(),
				BaseURL:   e.forge.URL(),
				Owner:     owner,
				Repo:      repository,
				SecretRef: v1alpha1.LocalReference{Name: credentialsName},
				Interval:  metav1.Duration{Duration: interval},
			},
			WebhookSecretRef: &v1alpha1.LocalReference{Name: hookSecretName},
		},
	}
}
