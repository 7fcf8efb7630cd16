package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// releaseKinds are the ways to write the kind of a release, as kubectl knows it.
var releaseKinds = []string{"batchrelease", "batchreleases", "br", "batchrelease.rollouts.sluice.dev", "batchreleases.rollouts.sluice.dev"}

// release reads the one that the arguments name, as NAME or batchrelease/NAME; where they name
// none, the only one in the namespace.
func (c *cluster) release(ctx context.Context, args []string) (*v1alpha1.BatchRelease, error) {
	name, err := releaseName(args)
	switch {
	case err != nil:
		return nil, err
	case name == "":
		return c.onlyRelease(ctx)
	}
	var release v1alpha1.BatchRelease
	if err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &release); err != nil {
		return nil, fmt.Errorf("read release in namespace %s: %w", c.namespace, err)
	}
	return withKind(&release), nil
}

// releaseName returns the name that the arguments give, empty if they give none.
func releaseName(args []string) (string, error) {
	switch len(args) {
	case 0:
		return "", nil
	case 1:
	default:
		return "", usageError{fmt.Errorf("one release at a time: %q is one argument too many", args[1])}
	}
	kind, name, found := strings.Cut(args[0], "/")
	if !found {
		kind, name = releaseKinds[0], args[0]
	}
	switch {
	case !slices.Contains(releaseKinds, strings.ToLower(kind)):
		return "", usageError{fmt.Errorf("%q is no release: name it as NAME or batchrelease/NAME", args[0])}
	case name == "" || strings.Contains(name, "/"):
		return "", usageError{fmt.Errorf("%q does not name a release", args[0])}
	}
	return name, nil
}

// onlyRelease returns the one in the namespace. Where there are several, it says which.
func (c *cluster) onlyRelease(ctx context.Context) (*v1alpha1.BatchRelease, error) {
	releases, err := c.releases(ctx, labels.Everything())
	if err != nil {
		return nil, err
	}
	switch len(releases) {
	case 0:
		return nil, fmt.Errorf("no releases in namespace %s", c.namespace)
	case 1:
		return withKind(&releases[0]), nil
	}
	names := make([]string, 0, len(releases))
	for _, release := range releases {
		names = append(names, release.Name)
	}
	return nil, usageError{errors.New("name one of the releases in namespace " + c.namespace + ": " + strings.Join(names, ", "))}
}

// withKind has the release say what it is, as printers want it.
func withKind(release *v1alpha1.BatchRelease) *v1alpha1.BatchRelease {
	release.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("BatchRelease"))
	return release
}
