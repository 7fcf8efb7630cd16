package gitsync_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// TestReferenceIsAClaim: the commit of a release is the one that was read, whatever its trailers
// say. The commit that they name is kept beside it, until the template comes from another one.
func TestReferenceIsAClaim(t *testing.T) {
	w := newWorld(t)
	green := w.push(app("web", "web:1"))
	claims := "Render the chart\n\nArgocd-reference-commit-sha: " + green + "\nArgocd-reference-commit-author: Ada <ada@example.com>\n" +
		"Argocd-reference-commit-subject: Fix the checkout\nArgocd-reference-commit-date: 2026-01-02T03:04:05Z\n"
	rendered := w.commit(gittest.Commit{Files: app("web", "web:2"), Message: claims})
	w.controller(gitsync.Options{})
	w.source(nil)
	source := w.sync("shop")
	if source.Status.ObservedCommit != rendered {
		t.Errorf("want the commit that was read in the source, got %s", source.Status.ObservedCommit)
	}
	release := w.release("web")
	if got := release.Annotations[v1alpha1.CommitAnnotation]; got != rendered {
		t.Errorf("want commit %s, which was read, got %s", rendered, got)
	}
	want := &v1alpha1.ReferenceCommit{SHA: green, Author: "Ada", Subject: "Fix the checkout", Time: "2026-01-02T03:04:05Z"}
	if diff := cmp.Diff(want, v1alpha1.ParseReference(release.Annotations[v1alpha1.ReferenceAnnotation])); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	next := w.push(app("web", "web:3"))
	w.sync("shop")
	release = w.release("web")
	if from, is := release.Annotations[v1alpha1.ReferenceAnnotation]; is || release.Annotations[v1alpha1.CommitAnnotation] != next {
		t.Errorf("want commit %s, made from nothing else, got %v from %q", next, release.Annotations[v1alpha1.CommitAnnotation], from)
	}
}
