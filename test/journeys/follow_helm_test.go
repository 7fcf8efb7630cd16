package journeys

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// helmBinary builds the pinned Helm, once, and returns its path.
var helmBinary = sync.OnceValues(func() (string, error) {
	module, err := controlplane.InCheckout("hack/helm/go.mod")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "tool", "-modfile="+module, "-n", "helm").Output()
	if err != nil {
		return "", fmt.Errorf("build Helm: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
})

// helm runs Helm in the namespace of the journey, with the chart of testdata.
func (w *world) helm(args ...string) (string, error) {
	w.Helper()
	binary, err := helmBinary()
	if err != nil {
		w.Fatal(err)
	}
	cmd := exec.CommandContext(w.Context(), binary, append(args, "--namespace", w.namespace, "--kubeconfig", w.access.Kubeconfig)...)
	home := w.TempDir()
	cmd.Env = append(cmd.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// upgrade runs helm upgrade --install with a version of the image.
func (w *world) upgrade(tag string, args ...string) {
	w.Helper()
	chart := filepath.Join("testdata", "charts", "web")
	if out, err := w.helm(append([]string{"upgrade", "--install", "web", chart, "--set-string", "image.tag=" + tag}, args...)...); err != nil {
		w.Fatalf("helm upgrade to %s: %v: %s", tag, err, out)
	}
}

// TestFollowHelm: real Helm upgrades and rolls back a chart that sets its strategy, unchanged.
// Before the first gate no more pods change than its step says, whatever Helm applies meanwhile.
func TestFollowHelm(t *testing.T) {
	w := newFollowingWorld(t)
	w.startController()
	w.upgrade("1")
	w.await(web.serves("web:1", 4))
	w.create(following(release("web:1", step(1), step("100%", none()))))
	w.await(all(web.completed, labelled))
	w.upgrade("2")
	atGate := all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1}))
	w.await(all(atGate, web.status("the Helm release", func(s *v1alpha1.BatchReleaseStatus) bool {
		return s.CommitSubject == "Helm release web, web-1.2.3"
	})))
	w.upgrade("2")
	w.upgrade("2", "--set", "strategy.rollingUpdate.maxSurge=3")
	w.upgrade("2", "--force-conflicts")
	w.lookedAgain()
	w.await(atGate)
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 4)))
	w.upgrade("3")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:2": 3, "web:3": 1})))
	if out, err := w.helm("rollback", "web"); err != nil {
		t.Fatalf("helm rollback: %v: %s", err, out)
	}
	w.await(all(web.completed, web.serves("web:2", 4), web.rolledBack(v1alpha1.TriggerGitRevert, "")))
	w.await(web.spec("to be as in its chart", func(d *appsv1.Deployment) bool { return !d.Spec.Paused }))
}

// TestFollowHelmWaits: helm upgrade --wait does not wait for the gates of a release: a Deployment
// whose new template is held counts as ready. So a time limit undoes no release at a gate.
func TestFollowHelmWaits(t *testing.T) {
	w := newFollowingWorld(t)
	w.startController()
	w.upgrade("1", "--wait")
	w.create(following(release("web:1", step(1), step("100%", none()))))
	w.await(all(web.completed, labelled))
	w.upgrade("2", "--rollback-on-failure", "--timeout", "1m")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	w.upgrade("2", "--wait", "--timeout", "1m")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
}
