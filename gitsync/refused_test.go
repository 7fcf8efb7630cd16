package gitsync_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
)

// TestRefusedReleases: a source names each release that is not as the newest commit has it,
// whatever keeps it from that, and no other.
func TestRefusedReleases(t *testing.T) {
	w := newWorld(t)
	overlay := map[string]string{
		"base/deploy.yaml":               deploymentText("shop", "shop:1"),
		"base/kustomization.yaml":        "resources: [deploy.yaml]\n",
		"overlays/kustomization.yaml":    "resources: [../base, release.yaml]\n",
		"overlays/release.yaml":          releaseText("shop", steps),
		"moved-from/release.yaml":        releaseText("moved", steps),
		"moved-from/moved-workload.yaml": deploymentText("moved", "moved:1"),
	}
	w.push(merge(app("web", "web:1"), app("api", "api:1"), overlay))
	w.controller(gitsync.Options{})
	w.source(nil)
	w.wantRefused(w.sync("shop"))

	w.push(map[string]string{
		// The API server refuses that a release changes its workload.
		"web/release.yaml": strings.Replace(releaseText("web", steps), "kind: Deployment, name: web", "kind: Deployment, name: other", 1),
		"other.yaml":       deploymentText("other", "other:1"),
	})
	w.wantRefused(w.sync("shop"), "web")
	w.push(map[string]string{"web/release.yaml": releaseText("web", steps), "api/release.yaml": releaseText("api", "- replicaz: 1\n")})
	w.wantRefused(w.sync("shop"), "api")
	// An invalid file of a base, and one to which a release has moved, say nothing of the release.
	w.push(map[string]string{"api/release.yaml": releaseText("api", steps), "base/deploy.yaml": "replicas: [\n"})
	w.wantRefused(w.sync("shop"), "shop")
	w.push(map[string]string{
		"base/deploy.yaml": deploymentText("shop", "shop:2"), "moved-to/release.yaml": releaseText("moved", "- replicaz: 1\n"),
	}, "moved-from/release.yaml")
	w.wantRefused(w.sync("shop"), "moved")

	w.push(map[string]string{"moved-to/release.yaml": releaseText("moved", steps)})
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonSynced)
	w.wantRefused(source)
}

// wantRefused checks which releases of the namespace the source names.
func (w *world) wantRefused(source *v1alpha1.ReleaseSource, names ...string) {
	w.Helper()
	for i := range names {
		names[i] = w.namespace + "/" + names[i]
	}
	if got := source.Status.Refused; !slices.Equal(got, names) {
		w.Errorf("want %q refused, got %q; errors: %v", names, got, source.Status.Errors)
	}
	if source.Status.Unread {
		w.Error("want the source read")
	}
}
