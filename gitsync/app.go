package gitsync

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
)

// app is a GitHub App that reads a source's repository by Git.
type app struct {
	client *github.Client
	// token that Git was last given.
	token string
}

// appAuth returns the credentials of the GitHub App that a Secret holds: a token that can read this
// repository and nothing else.
func (r *Reconciler) appAuth(ctx context.Context, source *v1alpha1.ReleaseSource, secret *corev1.Secret, as *github.App, memory *memory) (gitrepo.Auth, error) {
	where := source.Spec.Forge
	if where == nil {
		return gitrepo.Auth{}, &forge.Error{Kind: forge.Misconfigured, Message: fmt.Sprintf(
			"Secret %s holds a GitHub App: set spec.forge, which says where it is installed", secret.Name)}
	}
	as.GitOnly = true
	trusted := gitrepo.AuthOf(secret.Data).CABundle
	client, err := r.options.Forges.Client(github.Options{
		BaseURL: where.BaseURL, Owner: where.Owner, Repository: where.Repo, App: as, CABundle: trusted,
	})
	if err != nil {
		return gitrepo.Auth{}, err
	}
	memory.app = &app{client: client}
	memory.app.token, err = client.GitToken(ctx)
	return gitrepo.Auth{Username: github.GitUser, Password: memory.app.token, CABundle: trusted}, err
}

// appFailed returns the outcome of an app that can't get a token.
func appFailed(ctx context.Context, err error) (outcome, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	problem := unread{cause: wrongSecret, err: fmt.Errorf("get a token of the GitHub App: %w", err)}
	switch forge.KindOf(err) {
	case forge.Limited, forge.Transient, forge.Conflict, "":
		problem.cause = passing
	}
	return problem, nil
}

// refused forgets a token that the Git server did not accept: it may have been revoked before it
// expired.
func (m *memory) refused(err error) {
	if m.app != nil && gitrepo.KindOf(err) == gitrepo.InvalidAuth {
		m.app.client.GitRefused(m.app.token)
	}
}
