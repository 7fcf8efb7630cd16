package cluster

import "testing"

// TestNoRequestIsLost: a service under load is released, whoever of the controllers is killed,
// rolled back, and released again in the middle of a release; and not one request fails. So it is
// as a StatefulSet, whose ordinals keep their data, and as a DaemonSet, whose pods on other nodes
// serve meanwhile.
func TestNoRequestIsLost(t *testing.T) {
	c := open(t)
	sluice := c.prepare()
	t.Run("Deployment", func(t *testing.T) {
		t.Parallel()
		s := c.as(t).start(shop)
		s.stage("a release whose leader is killed", (*service).releaseAndKill)
		s.stage("a rollback", (*service).rollBack)
		s.stage("a release that is superseded", (*service).supersede)
	})
	t.Run("StatefulSet", func(t *testing.T) {
		t.Parallel()
		s := c.as(t).start(store)
		s.stage("a release through a gate", func(s *service) {
			s.releaseThroughTheGate(sluice)
			s.wantKept([][]string{{"v1", "v2"}, {"v1", "v2"}, {"v1", "v2"}, {"v1", "v2"}})
		})
		s.stage("a rollback", func(s *service) {
			s.rollBackAtTheGate()
			s.wantKept([][]string{{"v1", "v2"}, {"v1", "v2"}, {"v1", "v2"}, {"v1", "v2", "v3", "v2"}})
		})
	})
	t.Run("DaemonSet", func(t *testing.T) {
		t.Parallel()
		c := c.as(t)
		everywhere := agent
		everywhere.size = len(c.nodes())
		if everywhere.size < 2 {
			t.Skip("needs two nodes: while the pod of a node is replaced, only those of others serve")
		}
		s := c.start(everywhere)
		s.stage("a release through a gate", func(s *service) { s.releaseThroughTheGate(sluice) })
		s.stage("a rollback", (*service).rollBackAtTheGate)
	})
}

// install installs Sluice as its documentation says.
func (c *cluster) install(sluice string) {
	c.Helper()
	c.apply(c.run("", sluice, "install", "--image", sluiceImage, "--controller-arg=--git-allow-http", "--traffic"))
	c.await("two controllers are ready", c.readyPods(system, "app.kubernetes.io/name=sluice", 2))
	c.await("one of them leads", func() error {
		_, _, err := c.leader()
		return err
	})
}

// stage runs a subtest with an event, in which no request fails.
func (s *service) stage(name string, happens func(*service)) {
	s.Run(name, func(t *testing.T) {
		here := *s
		here.cluster = s.as(t)
		happens(&here)
		here.wantNoneFailed()
	})
}

func (s *service) releaseAndKill() {
	s.put("v2")
	s.await("v2 is in one pod", s.inMidst("v2", 1))
	s.killLeader()
	s.await("v2 is not in all pods yet", s.inMidst("v2", 1))
	s.await("v2 serves", s.serves("v2"))
}

func (s *service) rollBack() {
	s.put("v3")
	s.await("v3 is in half of the pods", s.inMidst("v3", s.size/2))
	s.requestRollback()
	s.await("v2 serves again", s.serves("v2"))
}

func (s *service) requestRollback() {
	s.run("", "kubectl", "annotate", "--namespace", s.name, "batchrelease", s.name, "rollback=true")
}

func (s *service) supersede() {
	s.put("v4")
	s.await("v4 is in half of the pods", s.inMidst("v4", s.size/2))
	s.put("v5")
	s.await("v5 serves", s.serves("v5"))
}

func (s *service) releaseThroughTheGate(sluice string) {
	s.put("v2")
	s.await("v2 waits at its gate", s.waits("v2", "v1"))
	s.await("v2 has answered", s.answers("v2"))
	s.run("", sluice, "approve", s.name, "--namespace", s.name)
	s.await("v2 serves", s.serves("v2"))
}

func (s *service) rollBackAtTheGate() {
	s.put("v3")
	s.await("v3 waits at its gate", s.waits("v3", "v2"))
	s.await("v3 has answered", s.answers("v3"))
	s.requestRollback()
	s.await("v2 serves again", s.serves("v2"))
}

// wantNoneFailed holds the load against what it is to be: it went on, and nothing failed.
func (s *service) wantNoneFailed() {
	s.Helper()
	now, err := s.counts()
	if err != nil {
		s.Fatalf("ask the load: %v", err)
	}
	s.Logf("%d requests sent, %d failed, answered by %v", now.Sent, now.Failed, now.Versions)
	if now.Failed > 0 {
		s.Errorf("want no request to fail, %d of %d did, the first of them:\n%v", now.Failed, now.Sent, now.Failures)
	}
}
