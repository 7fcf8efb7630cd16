package journeys

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// clone clones the repository as ada and returns the folder.
func (w *forgeWorld) clone() string {
	w.Helper()
	from, err := url.Parse(w.forge.CloneURL(repository))
	if err != nil {
		w.Fatal(err)
	}
	from.User = url.UserPassword("ada", w.tokens["ada"])
	folder := w.TempDir()
	w.git(folder, "clone", "--quiet", from.String(), ".")
	return folder
}

// git runs git as ada in a folder, and returns what it says.
func (w *forgeWorld) git(folder string, args ...string) string {
	w.Helper()
	identity := []string{"-C", folder, "-c", "user.name=ada", "-c", "user.email=ada@example.com"}
	out, err := exec.CommandContext(w.Context(), "git", append(identity, args...)...).CombinedOutput()
	if err != nil {
		w.Fatalf("git %s: %v\n%s", args[0], err, out)
	}
	return string(out)
}

// TestMergeIsReverted: a merge commit is reverted with git in the middle of the release that it
// brought: a rollback, at once.
func TestMergeIsReverted(t *testing.T) {
	w := newForgeWorld(t, step("50%"), step("100%"))
	w.startWithForge(never, w.withWebhooks())
	folder := w.clone()
	w.git(folder, "checkout", "--quiet", "-b", "next")
	if err := os.WriteFile(filepath.Join(folder, "web.yaml"), w.deploymentFile("web:2"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.git(folder, "commit", "--quiet", "-a", "-m", "Next")
	w.git(folder, "checkout", "--quiet", "main")
	w.git(folder, "merge", "--quiet", "--no-ff", "--no-edit", "next")
	w.git(folder, "push", "--quiet", "origin", "main")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 5})))
	good := w.now().podsRunning("web:1")

	w.git(folder, "revert", "--no-edit", "-m", "1", "HEAD")
	w.git(folder, "push", "--quiet", "origin", "main")
	s := w.await(all(web.rolledBack(v1alpha1.TriggerGitRevert, "brings back"), web.serves("web:1", 10)))
	for uid, name := range good {
		if s.podsRunning("web:1")[uid] == "" {
			t.Errorf("pod %s of the good version did not outlive the rollback", name)
		}
	}
	if err := web.quarantined(s); err == nil {
		t.Error("want nothing quarantined: what Git has is what runs")
	}
}

// awaitRefusal waits until the source reports an error of a file.
func (w *forgeWorld) awaitRefusal(file, says string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		source := &v1alpha1.ReleaseSource{}
		if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "shop"}, source); err != nil {
			return err
		}
		if !slices.ContainsFunc(source.Status.Errors, func(e v1alpha1.FileError) bool { return e.File == file && strings.Contains(e.Message, says) }) {
			return fmt.Errorf("want %q in %s, got %v", says, file, source.Status.Errors)
		}
		return nil
	})
}

// TestUnchangedTipIsNotReleasedAgain: Git's unchanged tip does not bring back what was rolled back:
// not by webhook, resync, another file, or the start of another controller.
func TestUnchangedTipIsNotReleasedAgain(t *testing.T) {
	w := newForgeWorld(t, step(1), step("100%"))
	first := w.startWithForge(time.Second, w.withWebhooks())
	w.push("web:2")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 9, "web:2": 1})))
	w.rollBack()
	w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.quarantined, web.serves("web:1", 10)))

	w.requestSync()
	w.write("ada", "main", "README.md", []byte("another commit, and its webhook\n"))
	first.kill()
	w.startController()
	w.requestSync()
	// Other steps for the same template show that Git has been looked at, and that the controller has.
	generation := w.now().releases["web"].Generation
	w.write("ada", "main", "release.yaml", releaseFile("Deployment", []v1alpha1.Step{step(2), step("100%")}))
	w.await(all(web.status("the new steps", func(s *v1alpha1.BatchReleaseStatus) bool { return s.ObservedGeneration > generation }),
		web.completed, web.quarantined, web.serves("web:1", 10)))

	w.push("web:3")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 8, "web:3": 2})))
}
