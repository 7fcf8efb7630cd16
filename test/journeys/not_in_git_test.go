package journeys

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestNoPushLiftsTheHold: a release comes to Git whose workload runs what Git does not have, as
// where Flux fills in a variable. No commit has brought the difference, so not a pod moves until a
// person lets Git replace what runs. A pusher who may answer no gate can't lift the hold: not with
// another commit, a release of another name, the release taken out and added again, or the
// annotation that a first release leaves.
func TestNoPushLiftsTheHold(t *testing.T) {
	w := &forgeWorld{world: newWorld(t)}
	w.file = w.deploymentFile
	steps := []v1alpha1.Step{step(1, none()), step("100%", none())}
	w.startForge("Deployment", steps)
	workload := deployment(10)
	workload.Spec.Template = podTemplate("web:0", nil)
	w.placed(workload, 10)
	before := w.now().uids()
	const second = subject("second")
	waits := func(name subject, at string) check {
		return all(name.reason(v1alpha1.ReasonNotAsInGit), web.handedBack, web.serves("web:0", 10), func(s *scene) error {
			if r := s.releases[string(name)]; r == nil || at != "" && r.Status.Commit != at {
				return fmt.Errorf("want the release %s to wait at %s", name, at)
			}
			return nil
		})
	}

	w.followForge(time.Second, func(s *v1alpha1.ReleaseSource) { s.Spec.Prune = true })
	w.await(waits(web, ""))
	w.await(waits(web, w.push("web:2")))
	web1 := releaseFile("Deployment", steps)
	first := w.now().releases["web"].UID

	renamed := bytes.Replace(web1, []byte("\n  name: web\n"), []byte("\n  name: second\n"), 1)
	w.write("ada", "main", "release.yaml", renamed)
	w.await(all(waits(second, ""), func(s *scene) error {
		if s.releases["web"] != nil {
			return fmt.Errorf("want the release web to be gone")
		}
		return nil
	}))
	w.write("ada", "main", "release.yaml", web1)
	w.await(all(waits(web, ""), func(s *scene) error {
		if s.releases["web"].UID == first || s.releases["second"] != nil {
			return fmt.Errorf("want another release web, and no other")
		}
		return nil
	}))

	w.write("ada", "main", "release.yaml", bytes.Replace(web1, []byte("metadata:\n"),
		[]byte("metadata:\n  annotations: {"+v1alpha1.CurrentStableAnnotation+": web-0}\n"), 1))
	w.awaitRefusal("release.yaml", v1alpha1.CurrentStableAnnotation)
	if s := w.now(); waits(web, "")(s) != nil || !maps.Equal(before, s.uids()) {
		t.Errorf("a push has lifted the hold: %v", waits(web, "")(s))
	}

	w.awaitEvent(v1alpha1.ReasonNotAsInGit, "sluice approve web")
	w.write("ada", "main", "release.yaml", web1)
	w.await(all(waits(web, ""), func(s *scene) error {
		if len(s.releases["web"].Status.Gates) != 1 {
			return fmt.Errorf("want a gate that a person can answer")
		}
		return nil
	}))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 10)))
	w.push("web:3") // this one brings a difference
	w.await(all(web.completed, web.serves("web:3", 10)))
}

// TestReleaseThatComesWithItsChange: a release comes to Git in the commit that changes its
// workload. If the workload runs the template of the commit before, the change is released. If not,
// the release waits for a person.
func TestReleaseThatComesWithItsChange(t *testing.T) {
	t.Parallel()
	for live, done := range map[string]check{
		"web:1": all(web.blocksAt(0), web.runs(pods{"web:1": 9, "web:2": 1})),
		"web:0": all(web.reason(v1alpha1.ReasonNotAsInGit), web.handedBack, web.serves("web:0", 10)),
	} {
		t.Run(live, func(t *testing.T) {
			w := &forgeWorld{world: newWorld(t)}
			w.file = w.deploymentFile
			w.startForge("Deployment", []v1alpha1.Step{step(1), step("100%")})
			folder := w.clone()
			w.git(folder, "rm", "--quiet", "release.yaml")
			before := w.commit(folder)
			workload := deployment(10)
			workload.Spec.Template = podTemplate(live, nil)
			w.placed(workload, 10)
			w.followForge(time.Second)
			w.awaitObserved(before)

			w.git(folder, "checkout", "--quiet", "HEAD^", "--", "release.yaml")
			if err := os.WriteFile(filepath.Join(folder, "web.yaml"), w.file("web:2"), 0o600); err != nil {
				t.Fatal(err)
			}
			commit := w.commit(folder)
			w.await(all(done, web.status("the commit that brought it", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Commit == commit })))
		})
	}
}

// commit commits and pushes all of a clone, and returns the commit.
func (w *forgeWorld) commit(folder string) string {
	w.Helper()
	w.git(folder, "add", "--all")
	w.git(folder, "commit", "--quiet", "-m", "Change the release")
	w.git(folder, "push", "--quiet", "origin", "main")
	return strings.TrimSpace(w.git(folder, "rev-parse", "HEAD"))
}

// awaitObserved waits until the source has read a commit.
func (w *forgeWorld) awaitObserved(commit string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		source := &v1alpha1.ReleaseSource{}
		if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "shop"}, source); err != nil {
			return err
		}
		if source.Status.ObservedCommit != commit {
			return fmt.Errorf("want commit %s observed, have %s", commit, source.Status.ObservedCommit)
		}
		return nil
	})
}
