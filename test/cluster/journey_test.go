package cluster

import (
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

// A service under load is released, whoever of the controllers is killed, rolled back, and released
// again in the middle of a release; and not one request fails.
func TestNoRequestIsLost(t *testing.T) {
	c := open(t)
	sluice := c.importImages()
	c.install(sluice)
	ada := c.startShop()
	c.await("v1 serves", c.serves("v1"))
	c.startLoad()

	stage := func(name string, happens func(*cluster, forgetest.User)) {
		t.Run(name, func(t *testing.T) {
			here := *c
			here.T = t
			happens(&here, ada)
			here.wantNoneFailed()
		})
	}
	stage("a release whose leader is killed", (*cluster).releaseAndKill)
	stage("a rollback", (*cluster).rollBack)
	stage("a release that is superseded", (*cluster).supersede)
}

// install installs Sluice as its documentation says.
func (c *cluster) install(sluice string) {
	c.Helper()
	c.apply(c.run("", sluice, "install", "--image", sluiceImage, "--controller-arg=--git-allow-http"))
	c.await("two controllers are ready", c.readyPods(system, "app.kubernetes.io/name=sluice", 2))
	c.await("one of them leads", func() error {
		_, _, err := c.leader()
		return err
	})
}

func (c *cluster) releaseAndKill(ada forgetest.User) {
	ada.Put("main", "deployment.yaml", deploymentFile("v2"))
	c.await("v2 is in one pod", c.inMidst("v2", 1))
	c.killLeader()
	c.await("v2 is not in all pods yet", c.inMidst("v2", 1))
	c.await("v2 serves", c.serves("v2"))
}

func (c *cluster) rollBack(ada forgetest.User) {
	ada.Put("main", "deployment.yaml", deploymentFile("v3"))
	c.await("v3 is in half of the pods", c.inMidst("v3", replicas/2))
	c.run("", "kubectl", "annotate", "--namespace", namespace, "batchrelease", "shop", "rollback=true")
	c.await("v2 serves again", c.serves("v2"))
}

func (c *cluster) supersede(ada forgetest.User) {
	ada.Put("main", "deployment.yaml", deploymentFile("v4"))
	c.await("v4 is in half of the pods", c.inMidst("v4", replicas/2))
	ada.Put("main", "deployment.yaml", deploymentFile("v5"))
	c.await("v5 serves", c.serves("v5"))
}

// wantNoneFailed holds the load against what it is to be: it went on, and nothing failed.
func (c *cluster) wantNoneFailed() {
	c.Helper()
	now, err := c.counts()
	if err != nil {
		c.Fatalf("ask the load: %v", err)
	}
	c.Logf("%d requests sent, %d failed, answered by %v", now.Sent, now.Failed, now.Versions)
	if now.Failed > 0 {
		c.Errorf("want no request to fail, %d of %d did, the first of them:\n%v", now.Failed, now.Sent, now.Failures)
	}
}
