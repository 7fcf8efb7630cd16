package installation

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/install"
)

// TestUpgradeAndUninstall: the CRDs and everything else are upgraded in the middle of a release,
// which goes on where it was. Uninstalled, in the middle of another one, nothing of Sluice is left,
// and the Deployment is as native as before.
func TestUpgradeAndUninstall(t *testing.T) {
	t.Parallel()
	c := newCluster(t)

	earlier := install.Default("v1")
	earlier.CRDs, earlier.Policy = false, false
	c.kubectl("apply", "--server-side", "-f", "testdata/previous", "-f", c.manifests(earlier))
	stop := c.startController()
	c.kubectl("apply", "-f", "testdata/shop.yaml")
	c.awaitPods("web:1")
	c.kubectl("patch", "batchrelease", "web", "-n", "shop", "--type=json", "-p", replaceImage("web:2"))
	before := c.await("waiting in mid-release", blocking)
	stop()

	current := c.manifests(install.Default("v2"))
	c.kubectl("apply", "--server-side", "-f", current)
	c.kubectl("rollout", "status", "-n", install.Namespace, "deployment/sluice-controller", "--timeout=2m")
	stop = c.startController()
	after := c.await("where it was", blocking)
	if after.UID != before.UID || after.Status.UpdateRevision != before.Status.UpdateRevision || after.Status.UpdatedReplicas != 1 {
		t.Errorf("want the same release with 1 updated pod, had %+v, have %+v", before.Status, after.Status)
	}
	c.kubectl("patch", "batchrelease", "web", "-n", "shop", "--type=merge", "--subresource=status", "-p", `{"status":{"currentStepState":"Completed"}}`)
	c.await("completed", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Phase == v1alpha1.PhaseCompleted })
	c.awaitPods("web:2")

	c.kubectl("patch", "batchrelease", "web", "-n", "shop", "--type=json", "-p", replaceImage("web:3"))
	c.await("waiting in the next one", func(s *v1alpha1.BatchReleaseStatus) bool {
		return blocking(s) && s.UpdateRevision != before.Status.UpdateRevision
	})
	c.kubectl("delete", "releasesources,batchreleases", "--all", "--all-namespaces")
	stop()
	c.kubectl("delete", "-f", current)
	c.wantNothingLeft()
	web := c.awaitPods("web:2")
	if web.Spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType || web.Annotations[v1alpha1.HoldAnnotation] != "" {
		t.Errorf("want a Deployment that nobody holds, have strategy %s and annotations %v", web.Spec.Strategy.Type, web.Annotations)
	}
	c.kubectl("set", "image", "-n", "shop", "deployment/web", "web=web:4")
	c.awaitPods("web:4")
}

func blocking(status *v1alpha1.BatchReleaseStatus) bool {
	return status.CurrentStepState == v1alpha1.StepBlocking && len(status.Gates) > 0
}

func replaceImage(image string) string {
	return `[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"` + image + `"}]`
}

// wantNothingLeft wants nothing in the cluster that is about Sluice, the user's own things aside.
func (c *cluster) wantNothingLeft() {
	c.Helper()
	const kinds = "crds,clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings,namespaces"
	for line := range strings.Lines(c.kubectl("get", kinds, "--output=name")) {
		if strings.Contains(line, "sluice") {
			c.Errorf("want nothing left, have %s", line)
		}
	}
}
