package main

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/check"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kube"
)

// sourceFromHere returns what a source's repository and forge answer here, with the credentials of
// its Secrets as far as the user may read them.
func (f *checkFlags) sourceFromHere(ctx context.Context, c *cluster, source *v1alpha1.ReleaseSource) ([]check.Finding, error) {
	of := "releasesource/" + source.Name + " from here: "
	here := &look{common: f.repository.common(), of: of, branch: source.Branch(), repository: &check.Repository{
		Of: of, Git: f.repository.git, Path: source.Spec.Path,
		Source: gitrepo.Source{URL: source.Spec.URL, Branch: source.Branch(), Timeout: source.Spec.Timeout.Duration},
		Manifests: spec.Options{
			Forge:     forgeOf(source),
			Namespace: source.Namespace, Limits: f.repository.manifests, Ignore: source.Spec.Ignore, Ignorer: gitrepo.Ignore, Helm: source.Spec.Helm,
			Builder: sandbox.NewPool(f.repository.builds).For(ctx, sandbox.Owner{}),
		},
	}}
	if source.Spec.WebhookSecretRef != nil {
		here.receiver = "/hooks/" + source.Namespace + "/" + source.Name
	}
	unread, err := here.takeSecrets(ctx, c, source)
	if err != nil || unread != nil {
		return unread, err
	}
	return here.findings(ctx), nil
}

// forgeOf returns the type of the forge of a source; empty for none.
func forgeOf(source *v1alpha1.ReleaseSource) forge.Type {
	if source.Spec.Forge == nil {
		return ""
	}
	return forge.Type(cmp.Or(source.Spec.Forge.Type, v1alpha1.ForgeGitHub))
}

// takeSecrets has a look made with the credentials that a source names. Credentials that can't be
// read are findings.
func (l *look) takeSecrets(ctx context.Context, c *cluster, source *v1alpha1.ReleaseSource) ([]check.Finding, error) {
	if ref := source.Spec.SecretRef; ref != nil {
		data, unread, err := c.secret(ctx, l.of, client.ObjectKey{Namespace: source.Namespace, Name: ref.Name})
		if err != nil || unread != nil {
			return unread, err
		}
		l.repository.Source.Auth = gitrepo.AuthOf(data)
		if l.gitAsApp, err = github.AppOf(data); err != nil {
			return unusable(l.of, ref.Name, err), nil
		}
	}
	where := source.Spec.Forge
	if where == nil {
		return nil, nil
	}
	data, unread, err := c.secret(ctx, l.of, client.ObjectKey{Namespace: source.Namespace, Name: where.SecretRef.Name})
	if err != nil || unread != nil {
		return unread, err
	}
	l.deployments = where.Environment != ""
	l.forge = &forge.Access{
		Type: forgeOf(source), BaseURL: where.BaseURL, Owner: where.Owner, Repository: where.Repo, Secret: data, Deployments: l.deployments,
	}
	return nil, nil
}

// secret reads a Secret, or says why it can't be read.
func (c *cluster) secret(ctx context.Context, of string, key client.ObjectKey) (map[string][]byte, []check.Finding, error) {
	var secret corev1.Secret
	err := c.Get(ctx, key, &secret)
	switch {
	case apierrors.IsForbidden(err):
		return nil, []check.Finding{{
			Grade: check.Warning, Subject: of + "Secret " + key.Name, Text: "you may not read it: nothing can be asked as the source",
			Remedy: "ask somebody with the right to get it to run this, or give credentials: sluice check --repository",
		}}, nil
	case apierrors.IsNotFound(err):
		return nil, []check.Finding{{
			Grade: check.Failed, Subject: of + "Secret " + key.Name, Text: "there is none",
			Remedy: "create it: docs/releasesource.md, docs/forge.md",
		}}, nil
	case err != nil:
		return nil, nil, fmt.Errorf("read Secret %s: %w", key.Name, err)
	}
	if err := kube.CheckCredentials(&secret); err != nil {
		return nil, unusable(of, key.Name, err), nil
	}
	return secret.Data, nil, nil
}

func unusable(of, name string, err error) []check.Finding {
	return []check.Finding{{
		Grade: check.Failed, Subject: of + "Secret " + name, Text: err.Error(), Remedy: "correct it: docs/github-app.md#give-it-to-sluice",
	}}
}
