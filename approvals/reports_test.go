package approvals_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// statuses returns the forge's statuses of the release commit in a context, oldest first.
func (w *forgeWorld) statuses(context string) []string {
	w.Helper()
	var listed []struct{ Context, State, Description string }
	w.as("ada").Do("GET", "commits/"+w.commit+"/statuses?per_page=100", nil, &listed)
	var lines []string
	for _, status := range slices.Backward(listed) {
		if status.Context == context {
			lines = append(lines, status.State+": "+status.Description)
		}
	}
	return lines
}

func (w *forgeWorld) awaitStatuses(context string, want ...string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		lines := w.statuses(context)
		for i, begins := range want {
			if i >= len(lines) || !strings.HasPrefix(lines[i], begins) {
				return fmt.Errorf("want %q, got %q", want, lines)
			}
		}
		if len(lines) != len(want) {
			return fmt.Errorf("want no more than %q, got %q", want, lines)
		}
		return nil
	})
}

func (w *forgeWorld) complete(release *v1alpha1.BatchRelease) {
	w.Helper()
	w.asRollout(release, func(s *v1alpha1.BatchReleaseStatus) {
		s.Phase, s.CurrentStepState, s.CurrentStepIndex, s.State, s.Gates = v1alpha1.PhaseCompleted, v1alpha1.StepCompleted, 2, v1alpha1.StateCompleted, nil
		s.TargetReplicas, s.UpdatedReplicas, s.UpdatedAvailableReplicas = 10, 10, 10
	})
}

// TestReports: each change of batch or gate is told once, in words that say where the release
// stands.
func TestReports(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	release := w.releaseFrom("shop", "web")
	context := "sluice/" + w.namespace + "/web"
	w.awaitStatuses(context, "pending: batch 1/3")
	g := w.blockOn(release, approval())
	number := w.awaitPull(g)
	waiting := fmt.Sprintf("pending: batch 1/3: 1/10 updated, waiting for approval #%d", number)
	w.awaitStatuses(context, "pending: batch 1/3", waiting)
	w.asRollout(release, func(s *v1alpha1.BatchReleaseStatus) { s.UpdatedReadyReplicas = 1 }) // nothing that people are told
	w.complete(release)
	w.awaitStatuses(context, "pending: batch 1/3", waiting, "success: ")
}

// TestReportsOfNamedCluster: a cluster with a name has contexts of its own.
func TestReportsOfNamedCluster(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals(func(o *approvals.Options) { o.Cluster = "east" })
	w.complete(w.releaseFrom("shop", "web"))
	cptest.Eventually(t, soon, func() error {
		lines := w.statuses("sluice/east/" + w.namespace + "/web")
		if len(lines) == 0 || !strings.HasPrefix(lines[len(lines)-1], "success: ") {
			return fmt.Errorf("want success in the end, got %q", lines)
		}
		return nil
	})
}

// TestOlderReportNeverStands: a late report of an ended process is replaced by the next process,
// which compares the forge's report with the last one sent.
func TestOlderReportNeverStands(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	stop := w.startForgeApprovals()
	release := w.releaseFrom("shop", "web")
	context := "sluice/" + w.namespace + "/web"
	w.awaitStatuses(context, "pending: ")
	w.complete(release)
	w.awaitStatuses(context, "pending: ", "success: ")
	w.awaitReport(release, "success")
	stop()
	w.as("sluice").Do("POST", "statuses/"+w.commit, map[string]string{"context": context, "state": "pending", "description": "batch 1/3"}, nil)
	w.startForgeApprovals()
	w.awaitStatuses(context, "pending: ", "success: ", "pending: batch 1/3", "success: ")
}

// TestReportsAreNotRepeated: a process that finds everything as it was told tells nothing.
func TestReportsAreNotRepeated(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	stop := w.startForgeApprovals()
	release := w.releaseFrom("shop", "web")
	w.complete(release)
	w.awaitReport(release, "success")
	stop()
	told := len(w.statuses("sluice/" + w.namespace + "/web"))
	w.forge.ForgetRequests()
	w.startForgeApprovals()
	other := w.releaseFrom("shop", "api") // reported after the other was looked at, or beside it
	w.complete(other)
	w.awaitReport(other, "success")
	if now := len(w.statuses("sluice/" + w.namespace + "/web")); now != told {
		t.Errorf("want %d statuses still, got %d", told, now)
	}
}

func (w *forgeWorld) awaitReport(release *v1alpha1.BatchRelease, state string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(release), release); err != nil {
			return err
		}
		if report := release.Status.Report; report == nil || report.State != state {
			return fmt.Errorf("want %s as what was told last, got %+v", state, report)
		}
		return nil
	})
}

// TestDeployments: a release is shown as one deployment, whose statuses follow it.
func TestDeployments(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	cptest.Kubectl(t, "--namespace", w.namespace, "patch", "releasesource", "shop", "--type=merge",
		"-p", `{"spec":{"forge":{"environment":"production"}}}`)
	w.startForgeApprovals()
	release := w.releaseFrom("shop", "web")
	w.awaitDeployment("in_progress")
	w.complete(release)
	w.awaitDeployment("in_progress", "success")
}

// TestDeploymentThatIsGone: a deployment that people have deleted holds up no other.
func TestDeploymentThatIsGone(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.setForge(`{"environment":"production"}`)
	release := w.releaseFrom("shop", "web")
	w.asRollout(release, func(s *v1alpha1.BatchReleaseStatus) {
		s.Report = &v1alpha1.ForgeReport{
			Commit: w.stable, Context: "sluice/" + w.namespace + "/web", State: "pending",
			DeploymentID: 404, DeploymentTask: "sluice:x/web:0@" + w.stable, DeploymentState: "in_progress",
		}
	})
	w.startForgeApprovals()
	w.awaitDeployment("in_progress")
}

func (w *forgeWorld) awaitDeployment(want ...string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		var deployments []struct {
			ID          int64
			SHA         string
			Environment string
		}
		w.as("ada").Do("GET", "deployments?per_page=100", nil, &deployments)
		if len(deployments) != 1 || deployments[0].SHA != w.commit || deployments[0].Environment != "production" {
			return fmt.Errorf("want one deployment of the commit to production, got %+v", deployments)
		}
		var listed []struct{ State string }
		w.as("ada").Do("GET", fmt.Sprintf("deployments/%d/statuses?per_page=100", deployments[0].ID), nil, &listed)
		var states []string
		for _, status := range slices.Backward(listed) {
			states = append(states, status.State)
		}
		if !slices.Equal(states, want) {
			return fmt.Errorf("want the states %q, got %q", want, states)
		}
		return nil
	})
}

// TestSyncReports: an invalid file is reported once on its commit, and taken back when the same
// commit can be applied after all.
func TestSyncReports(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	w.setErrors(`[{"file":"web.yaml","line":7,"message":"unknown field \"replicsa\""}]`)
	w.awaitStatuses("sluice/sync", `failure: web.yaml:7: unknown field "replicsa"`)
	w.setErrors(`null`)
	w.awaitStatuses("sluice/sync", `failure: web.yaml:7`, "success: ")
}

func (w *forgeWorld) setErrors(list string) {
	w.Helper()
	count := 1
	if list == "null" {
		count = 0
	}
	cptest.Kubectl(w, "--namespace", w.namespace, "patch", "releasesource", "shop", "--type=merge", "--subresource=status",
		"-p", fmt.Sprintf(`{"status":{"errors":%s,"errorCount":%d}}`, list, count))
}
