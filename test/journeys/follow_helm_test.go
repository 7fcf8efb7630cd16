package journeys

import (
	"bytes"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// helms has the versions of Helm that journeys run. Helm 3 takes minutes to build.
var helms = []helm{
	{name: "Helm4", binary: pinned("helm", "helm"), undoing: "--rollback-on-failure", again: "--force-conflicts"},
	{name: "Helm3", binary: pinned("helm3", "helm"), undoing: "--atomic", again: "--force", slow: true},
}

// helm is a version of Helm, which applies charts of testdata in the namespace of a journey.
type helm struct {
	*world

	name   string
	binary func() (string, error)
	// undoing is the flag by which an upgrade that fails is undone, again one with which an upgrade
	// changes nothing.
	undoing, again string
	// slow has only the nightly run build it.
	slow bool
}

// onHelm runs a journey with each version of Helm.
func onHelm(t *testing.T, journey func(h helm)) {
	t.Helper()
	t.Parallel()
	for _, h := range helms {
		t.Run(h.name, func(t *testing.T) {
			if h.slow {
				forNight(t)
			}
			h.world = newFollowingWorld(t)
			h.startController()
			journey(h)
		})
	}
}

// try runs Helm and returns what it prints.
func (h helm) try(args ...string) (string, error) {
	h.Helper()
	binary, err := h.binary()
	if err != nil {
		h.Fatal(err)
	}
	cmd := exec.CommandContext(h.Context(), binary, append(args, "--namespace", h.namespace, "--kubeconfig", h.access.Kubeconfig)...)
	home := h.TempDir()
	cmd.Env = append(cmd.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// run runs Helm, which must succeed.
func (h helm) run(args ...string) {
	h.Helper()
	if out, err := h.try(args...); err != nil {
		h.Fatalf("helm %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// chartWeb is the folder of the chart web.
var chartWeb = filepath.Join("testdata", "charts", "web")

// upgradeArgs returns the arguments for an upgrade to a chart with a version of the image.
func upgradeArgs(chart, tag string) []string {
	return []string{"upgrade", "--install", "web", chart, "--set-string", "image.tag=" + tag}
}

// upgradeOf runs helm upgrade --install of the chart in a folder, with a version of the image.
func (h helm) upgradeOf(chart, tag string, args ...string) {
	h.Helper()
	h.run(append(upgradeArgs(chart, tag), args...)...)
}

// upgrade runs helm upgrade --install of the chart web.
func (h helm) upgrade(tag string, args ...string) {
	h.Helper()
	h.upgradeOf(chartWeb, tag, args...)
}

// TestFollowHelm: real Helm, of versions 4 and 3, upgrades and rolls back a chart that sets its
// strategy, unchanged. Before the first gate no more pods change than its step says, whatever Helm
// applies meanwhile.
func TestFollowHelm(t *testing.T) {
	onHelm(t, func(h helm) {
		w := h.world
		h.upgrade("1")
		w.await(web.serves("web:1", 4))
		w.create(following(release("web:1", step(1), step("100%", none()))))
		w.await(all(web.completed, labelled))
		h.upgrade("2")
		atGate := all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1}))
		w.await(all(atGate, web.status("the Helm release", func(s *v1alpha1.BatchReleaseStatus) bool {
			return s.CommitSubject == "Helm release web, web-1.2.3"
		})))
		h.upgrade("2")
		h.upgrade("2", "--set", "strategy.rollingUpdate.maxSurge=3")
		h.upgrade("2", h.again)
		w.lookedAgain()
		w.await(atGate)
		w.confirm("web")
		w.await(all(web.completed, web.serves("web:2", 4)))
		h.upgrade("3")
		w.await(all(web.blocksAt(0), web.runs(pods{"web:2": 3, "web:3": 1})))
		h.run("rollback", "web")
		w.await(all(web.completed, web.serves("web:2", 4), web.rolledBack(v1alpha1.TriggerGitRevert, "")))
		w.await(web.spec("to be as in its chart", func(d *appsv1.Deployment) bool { return !d.Spec.Paused }))
	})
}

// TestFollowHelmWaits: helm upgrade --wait does not wait for the gates of a release: a Deployment
// whose new template is held counts as ready. So a time limit undoes no release at a gate.
func TestFollowHelmWaits(t *testing.T) {
	onHelm(t, func(h helm) {
		w := h.world
		h.upgrade("1", "--wait")
		w.create(following(release("web:1", step(1), step("100%", none()))))
		w.await(all(web.completed, labelled))
		h.upgrade("2", h.undoing, "--timeout", "1m")
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		h.upgrade("2", "--wait", "--timeout", "1m")
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	})
}

// TestFollowHelmReleased: where the chart has the BatchRelease too, Helm 4's --wait waits for a
// release that is under way, and fails at a gate that exceeds its time limit, in words that name
// the gate. It may return before the controller has seen a new template.
func TestFollowHelmReleased(t *testing.T) {
	h := helms[0]
	h.world = newFollowingWorld(t)
	h.startController()
	steps := `--set-json=release={"steps":[{"replicas":1},{"replicas":"100%","gates":[{"none":{}}]}]}`
	h.upgrade("1", steps, "--wait", "--timeout=1m")
	h.await(all(web.completed, labelled, web.serves("web:1", 4)))
	h.upgrade("2", steps)
	h.await(web.blocksAt(0))
	out, err := h.try(append(upgradeArgs(chartWeb, "2"), steps, "--wait", "--timeout=5s")...)
	if err == nil || !strings.Contains(out, "waiting for gate: manual") {
		t.Errorf("want the upgrade to fail at its gate, have %v: %s", err, out)
	}
	h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	ended := make(chan error, 1)
	go func() {
		out, err := h.try(append(upgradeArgs(chartWeb, "2"), steps, "--wait", "--timeout=2m")...)
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		ended <- err
	}()
	h.lookedAgain()
	h.confirm("web")
	if err := <-ended; err != nil {
		t.Fatalf("helm upgrade: %v", err)
	}
	h.catchUp()
	h.await(all(web.completed, web.serves("web:2", 4)))
}

// TestFollowHelmWaitsInPlace: for a StatefulSet at a gate --wait returns, too. For a DaemonSet
// Helm 4 waits for the release, and fails when its time limit is over; Helm 3 returns.
func TestFollowHelmWaitsInPlace(t *testing.T) {
	charts := map[string]string{"store": "StatefulSet", "exporter": "DaemonSet"}
	for chart, kind := range charts {
		t.Run(kind, func(t *testing.T) {
			onHelm(t, func(h helm) {
				var args []string
				if kind == "DaemonSet" {
					h.ownNodes(4)
					args = h.toOwnNodes()
				}
				folder, image := filepath.Join("testdata", "charts", chart), "registry.example.com/"+chart
				h.upgradeOf(folder, "1", append(args, "--wait")...)
				h.create(following(releaseTo(kind, podTemplate("", nil), step(1), step("100%", none()))))
				h.await(all(web.completed, labelled))
				h.upgradeOf(folder, "2", args...)
				atGate := all(web.blocksAt(0), web.runs(pods{image + ":1": 3, image + ":2": 1}))
				h.await(atGate)
				out, err := h.try(append(append(upgradeArgs(folder, "2"), args...), "--wait", "--timeout=5s")...)
				if waits := kind == "DaemonSet" && h.name == "Helm4"; waits != (err != nil) {
					t.Errorf("want Helm to wait: %t, have %v: %s", waits, err, out)
				}
				h.await(atGate)
			})
		})
	}
}
