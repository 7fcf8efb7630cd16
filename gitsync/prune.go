package gitsync

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// prune deletes the source's releases that Git does not have any more, if the source
// asks for that and there is no doubt.
func (p *pass) prune(ctx context.Context) error {
	gone := p.gone()
	p.vanished = vanished(gone, p.desired.Hollow)
	p.forgetAllBut(p.desired.Releases)
	if !p.source.Spec.Prune || len(gone) == 0 {
		return nil
	}
	if p.held = doubt(len(gone), len(p.desired.Releases), len(p.desired.Errors)+len(p.vanished)); p.held != "" {
		return nil
	}
	for _, release := range gone {
		err := p.writer.Delete(ctx, release, client.Preconditions{UID: &release.UID})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case apierrors.IsNotFound(err):
		case err != nil:
			p.failPrune(release, err)
		default:
			p.pruned = append(p.pruned, release.Namespace+"/"+release.Name)
		}
	}
	return nil
}

// gone are the releases that are in the cluster and not in Git.
func (p *pass) gone() []*v1alpha1.BatchRelease {
	wanted := map[client.ObjectKey]bool{}
	for _, release := range p.desired.Releases {
		wanted[keyOf(release)] = true
	}
	var gone []*v1alpha1.BatchRelease
	for key, live := range p.releases {
		if !wanted[key] && live.DeletionTimestamp.IsZero() {
			gone = append(gone, live.DeepCopy())
		}
	}
	slices.SortFunc(gone, func(a, b *v1alpha1.BatchRelease) int {
		return compareKeys(client.ObjectKeyFromObject(a), client.ObjectKeyFromObject(b))
	})
	return gone
}

// vanished are the releases that are missing from files that are there and hold something else than objects: nobody
// takes a release out so. A file that is deleted, or that has other objects only, is how it is done.
func vanished(gone []*v1alpha1.BatchRelease, hollow map[string]spec.Error) []spec.Error {
	var errors []spec.Error
	for _, release := range gone {
		found, is := hollow[release.Annotations[v1alpha1.FileAnnotation]]
		if !is {
			continue
		}
		found.Message = fmt.Sprintf("BatchRelease %s was in this file, and is kept: %s; put it back, or delete the file to take the release out",
			release.Name, found.Message)
		errors = append(errors, found)
	}
	return errors
}

// doubt is the reason not to delete; empty if there is none. What looks like
// a mistake is taken for one: releases may be missing only because their file is
// broken, the folder was moved or emptied.
func doubt(gone, left, errors int) string {
	kept := counted(gone, "release") + " not in the repository any more, and kept: "
	switch {
	case errors > 0:
		return kept + "they may be in files that have errors"
	case left == 0:
		return kept + "nothing would be left"
	case gone > left:
		return kept + fmt.Sprintf("more would be deleted than stay (%d); delete them with kubectl if that is meant", left)
	}
	return ""
}

func (p *pass) failPrune(release *v1alpha1.BatchRelease, err error) {
	p.errors = append(p.errors, spec.Error{
		File:    release.Annotations[v1alpha1.FileAnnotation],
		Message: fmt.Sprintf("delete BatchRelease %s: %v", release.Name, err),
	})
	p.retry = p.retry || transient(err)
}

// forgetAllBut forgets what was written of releases that Git does not have any more.
func (p *pass) forgetAllBut(releases []*spec.Release) {
	maps.DeleteFunc(p.memory.frozen, func(key client.ObjectKey, text string) bool { return text == "" && p.releases[key] == nil })
	if len(p.memory.written) <= len(releases) {
		return
	}
	kept := map[client.ObjectKey]written{}
	for _, release := range releases {
		if known, found := p.memory.written[keyOf(release)]; found {
			kept[keyOf(release)] = known
		}
	}
	p.memory.written = kept
}
