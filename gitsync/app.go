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

// app is a GitHub App that reads a source's repository by Git, as its Secret had it.
type app struct {
	of     appIdentity
	client *github.Client
	// token that Git was last given.
	token string
}

// appIdentity is what an app's client was made of.
type appIdentity struct {
	secretVersion string
	forge         v1alpha1.Forge
}

// appAuth returns the credentials of the GitHub App that a Secret holds: a token that can read this
// repository and nothing else.
func (r *Reconciler) appAuth(ctx context.Context, source *v1alpha1.ReleaseSource, secret *corev1.Secret, as *github.App, memory *memory) (gitrepo.Auth, error) {
	if source.Spec.Forge == nil {
		return gitrepo.Auth{}, &forge.Error{Kind: forge.Invalid, Message: fmt.Sprintf(
			"Secret %s holds a GitHub App: set spec.forge, which says where it is installed", secret.Name)}
	}
	of := appIdentity{secretVersion: string(secret.UID) + secret.ResourceVersion, forge: *source.Spec.Forge}
	if memory.app == nil || memory.app.of != of {
		client, err := r.appClient(source.Spec.Forge, secret, as)
		if err != nil {
			return gitrepo.Auth{}, err
		}
		memory.app = &app{of: of, client: client}
	}
	token, err := memory.app.client.GitToken(ctx)
	if err != nil {
		return gitrepo.Auth{}, err
	}
	memory.app.token = token
	return gitrepo.Auth{Username: github.GitUser, Password: token, CABundle: gitrepo.AuthOf(secret.Data).CABundle}, nil
}

func (r *Reconciler) appClient(where *v1alpha1.Forge, secret *corev1.Secret, as *github.App) (*github.Client, error) {
	as.GitOnly = true
	return github.New(github.Options{
		BaseURL: where.BaseURL, Owner: where.Owner, Repository: where.Repo, App: as,
		CABundle: gitrepo.AuthOf(secret.Data).CABundle, AllowHTTP: r.options.ForgeHTTP, Networks: r.options.Git.Networks, Now: r.clock.Now,
	})
}

// appFailed is the outcome of an app that can't get a token.
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

// refused forgets a token that the Git server did not accept: it may have been revoked before it expired.
func (m *memory) refused(err error) {
	if m.app != nil && gitrepo.KindOf(err) == gitrepo.InvalidAuth {
		m.app.client.GitRefused(m.app.token)
	}
}
