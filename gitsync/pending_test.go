package gitsync_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// TestBuildsGoOnAtOnce: a source whose kustomizations take more than one look may is read again at
// once, until all are built: it does not wait for its interval, nor as after a failure, and none of
// its files is said to be wrong.
func TestBuildsGoOnAtOnce(t *testing.T) {
	w := newWorld(t)
	files := map[string]string{}
	for i := range 4 {
		name := fmt.Sprintf("app-%d", i)
		maps.Copy(files, app(name, "web:1"))
		files[name+"/kustomization.yaml"] = "resources: [deploy.yaml, release.yaml]\n"
	}
	w.commit(gittest.Commit{Files: files})
	w.source(nil)
	w.controller(gitsync.Options{Builds: sandbox.Options{Limits: sandbox.Limits{Total: time.Nanosecond}}}) // one build each
	source := w.await("shop", func(s *v1alpha1.ReleaseSource) error {
		for _, wrong := range s.Status.Errors {
			if wrong.File != "." {
				t.Errorf("a file is said to be wrong: %+v", wrong)
			}
		}
		if s.Status.Releases != 4 {
			return fmt.Errorf("want 4 releases, got %d and %+v", s.Status.Releases, s.Status.Errors)
		}
		return nil
	})
	w.wantReady(source, v1alpha1.ReasonSynced)
}
