package gitsync_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// TestSmallPathOfALargeRepository: a repository above the limit is followed where what is below the path, and what its kustomizations
// refer to, is within it; a change of a base outside of the path is released.
func TestSmallPathOfALargeRepository(t *testing.T) {
	w := newWorld(t)
	if _, err := w.repo.Git(nil, "config", "uploadpack.allowFilter", "true"); err != nil {
		t.Fatal(err)
	}
	files := app("base/web", "web:1")
	files["base/web/release.yaml"], files["base/web/deploy.yaml"] = releaseText("web", steps), deploymentText("web", "web:1")
	files["base/web/kustomization.yaml"] = "resources: [deploy.yaml, release.yaml]\nconfigMapGenerator: [{name: c, files: [settings.ini]}]\n"
	files["base/web/settings.ini"] = "a=1\n"
	files["middle/kustomization.yaml"] = "resources: [../base/web]\n"
	files["clusters/production/kustomization.yaml"] = "resources: [../../middle]\nimages: [{name: web, newTag: '2'}]\n"
	for i := range 64 {
		files[fmt.Sprintf("charts/%d.yaml", i)] = "a: " + strings.Repeat(fmt.Sprint(i), 4<<10)
	}
	w.commit(gittest.Commit{Files: files})
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.Path = "clusters/production" })
	w.controller(gitsync.Options{Git: gitrepo.Options{Limits: gitrepo.Limits{CachedBytes: 32 << 10, KeptBytes: 64 << 10}}})
	synced := func(commit string) func(*v1alpha1.ReleaseSource) error {
		return func(s *v1alpha1.ReleaseSource) error {
			if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady) || commit != "" && s.Status.ObservedCommit != commit || s.Status.Releases != 1 {
				return fmt.Errorf("want it synced, got %+v", s.Status)
			}
			return nil
		}
	}
	w.await("shop", synced(""))

	commit := w.commit(gittest.Commit{Files: map[string]string{"base/web/deploy.yaml": strings.Replace(deploymentText("web", "web:1"), "web:1", "web:1@sha256:"+strings.Repeat("a", 64), 1)}})
	w.sync("shop")
	w.await("shop", synced(commit))
	release := &v1alpha1.BatchRelease{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web"}, release); err != nil {
		t.Fatal(err)
	}
	if template := string(release.Spec.Template.Raw); !strings.Contains(template, "web:2") {
		t.Errorf("the overlay's image is not in the template: %s", template)
	}
}
