package main

import (
	"context"
	"fmt"
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

// createSource points a ReleaseSource at the repository, and the repository's webhook at it.
func (e *environment) createSource(ctx context.Context) error {
	token := e.people[releaser].Token
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		secret(credentialsName, map[string]string{"username": releaser, "password": token, "token": token}),
		secret(hookSecretName, map[string]string{"secret": e.webhooks.secret}),
		e.source(),
	}
	for _, object := range objects {
		if err := e.cluster.Create(ctx, object, client.FieldOwner(fieldOwner)); err != nil {
			return fmt.Errorf("create %s: %w", object.GetName(), err)
		}
	}
	return e.addHook(ctx)
}

func secret(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, StringData: data}
}

func (e *environment) source() *v1alpha1.ReleaseSource {
	return &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Name: workload, Namespace: namespace},
		Spec: v1alpha1.ReleaseSourceSpec{
			URL:       e.forge.CloneURL(repositoryName()),
			Ref:       v1alpha1.GitReference{Branch: branch},
			Interval:  metav1.Duration{Duration: interval},
			Timeout:   metav1.Duration{Duration: pollTimeout},
			SecretRef: &v1alpha1.LocalReference{Name: credentialsName},
			Forge: &v1alpha1.Forge{
				BaseURL:   e.forge.URL(),
				Owner:     organization,
				Repo:      repository,
				SecretRef: v1alpha1.LocalReference{Name: credentialsName},
				Interval:  metav1.Duration{Duration: interval},
			},
			WebhookSecretRef: &v1alpha1.LocalReference{Name: hookSecretName},
		},
	}
}
