package journeys

import (
	"fmt"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// chartCase is a chart of testdata, written as popular ones are, and what Helm installs of it.
type chartCase struct {
	// kind of the workload: a Deployment by default.
	kind string
	// image of its pods, without the tag; by default registry.example.com/ and the chart's name.
	image string
	// args are more arguments of helm upgrade.
	args []string
	// always has each push run it, not the nightly run alone.
	always bool
	// releases changes the BatchRelease.
	releases func(*v1alpha1.BatchRelease)
}

// popular has the charts, by name. Helm itself makes the one that is called "created".
func popular() map[string]chartCase {
	return map[string]chartCase{
		"common":   {image: "registry.example.com/shop/common"},
		"created":  {image: "nginx", args: []string{"--set=replicaCount=4", "--set=fullnameOverride=web"}, always: true},
		"demo":     {},
		"exporter": {kind: "DaemonSet", always: true},
		"hooked":   {},
		"ingress":  {image: "registry.example.com/ingress/controller"},
		"scaled":   {},
		"sidecars": {},
		"single":   {releases: func(r *v1alpha1.BatchRelease) { r.Spec.Strategy.AllowMixedVersions = true }},
		"store":    {kind: "StatefulSet", always: true},
		"web":      {image: "web"},
	}
}

// TestFollowCharts: Helm installs charts as popular ones are written, upgrades them and rolls them
// back, unchanged. While a release is suspended no pod is replaced, at its gate those of its step
// are, and after the gate all.
func TestFollowCharts(t *testing.T) {
	t.Parallel()
	for name, c := range popular() {
		t.Run(name, func(t *testing.T) {
			if !c.always {
				forNight(t)
			}
			h := helms[0]
			h.world = newFollowingWorld(t)
			h.startController()
			h.follows(name, c)
		})
	}
}

// follows runs the journey of a chart.
func (h helm) follows(name string, c chartCase) {
	h.Helper()
	if c.kind == "" {
		c.kind = "Deployment"
	}
	if c.image == "" {
		c.image = "registry.example.com/" + name
	}
	chart := filepath.Join("testdata", "charts", name)
	if name == "created" {
		chart = filepath.Join(h.TempDir(), "web")
		h.run("create", chart)
	}
	if c.kind == "DaemonSet" {
		h.ownNodes(4)
		c.args = h.toOwnNodes()
	}
	image := func(tag string) string { return c.image + ":" + tag }
	h.upgradeOf(chart, "1", c.args...)
	h.await(web.serves(image("1"), 4))
	r := following(releaseTo(c.kind, corev1.PodTemplateSpec{}, step(1), step("100%", none())))
	if c.releases != nil {
		c.releases(r)
	}
	h.create(r)
	h.await(all(web.completed, labelled))
	h.suspend(true)
	h.upgradeOf(chart, "2", c.args...)
	h.await(all(web.serves(image("1"), 4), web.status("to wait", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Queued != nil })))
	h.suspend(false)
	h.await(all(web.blocksAt(0), web.runs(pods{image("1"): 3, image("2"): 1})))
	h.confirm("web")
	h.await(all(web.completed, web.serves(image("2"), 4)))
	h.upgradeOf(chart, "3", c.args...)
	h.await(all(web.blocksAt(0), web.runs(pods{image("2"): 3, image("3"): 1})))
	h.run("rollback", "web")
	h.await(all(web.completed, web.serves(image("2"), 4), web.rolledBack(v1alpha1.TriggerGitRevert, "")))
}

// toOwnNodes returns what has the chart exporter run on the journey's own nodes.
func (h helm) toOwnNodes() []string {
	return []string{fmt.Sprintf(`--set-json=nodeSelector={"kubernetes.io/os":null,%q:%q}`, nodeLabel, h.namespace)}
}
