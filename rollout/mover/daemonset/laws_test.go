package daemonset

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// drawCluster returns a DaemonSet that has just been taken over, in any state: maxSurge may have
// left two pods on a node.
func drawCluster(t *rapid.T) *cluster {
	c := &cluster{template: "v2"}
	for range rapid.IntRange(1, 8).Draw(t, "nodes") {
		c.join()
	}
	for _, n := range c.nodes {
		for range rapid.SampledFrom([]int{1, 1, 1, 1, 0, 2}).Draw(t, "pods") {
			c.place(n.name, rapid.SampledFrom([]string{"v1", "v1", "v1", "v0", "v2"}).Draw(t, "revision"), rapid.IntRange(0, 3).Draw(t, "available") > 0)
		}
	}
	c.updateStatus()
	return c
}

// happen plays one event of a cluster beside Sluice.
func happen(t *rapid.T, c *cluster) {
	if c.late {
		c.updateStatus()
	}
	var n *node
	if len(c.nodes) > 0 {
		n = rapid.SampledFrom(c.nodes).Draw(t, "node")
	}
	var p *running
	if len(c.pods) > 0 {
		p = rapid.SampledFrom(c.pods).Draw(t, "pod")
	}
	switch what := rapid.SampledFrom([]string{
		"sync", "sync", "sync", "status is late", "kubelets", "kubelets", "available", "available", "all available",
		"joins", "leaves", "lost", "back", "tainted", "drained", "fits", "unavailable", "deleted", "evicted", "adopted",
	}).Draw(t, "what"); {
	case what == "sync":
		c.manage()
		c.updateStatus()
	case what == "status is late":
		c.manage()
		c.late = true
	case what == "kubelets":
		c.kubelets()
	case what == "all available":
		for _, p := range c.pods {
			p.available = true
		}
	case what == "joins" && len(c.nodes) < 10:
		c.join()
	case n != nil && what == "leaves":
		c.leave(n)
	case n != nil && (what == "lost" || what == "back"):
		n.lost = what == "lost"
	case n != nil && (what == "tainted" || what == "drained" || what == "fits"):
		n.shouldRun, n.mayStay = what == "fits", what != "drained"
	case n != nil && what == "adopted" && n.counted: // a pod that belonged to nobody
		c.place(n.name, rapid.SampledFrom([]string{"v1", "v2"}).Draw(t, "revision"), rapid.Bool().Draw(t, "is available"))
	case p != nil && (what == "available" || what == "unavailable"):
		p.available = what == "available"
	case p != nil && what == "deleted":
		p.deleted = true
	case p != nil && what == "evicted":
		p.ended = true
	}
}

func drawTask(t *rapid.T, m Mover, before mover.Task) mover.Task {
	task := mover.Task{Digest: m.Digest, Replicas: m.Replicas, Target: before.Target}
	if rapid.Bool().Draw(t, "next step") {
		task.Target = rapid.Int32Range(task.Target, max(m.Replicas, task.Target)).Draw(t, "target")
	}
	task.Target = min(task.Target, m.Replicas)
	task.Unavailable = rapid.Int32Range(1, 4).Draw(t, "unavailable")
	if rapid.IntRange(0, 4).Draw(t, "in order") == 0 {
		order := m.Move(task).Order
		if order != nil {
			limited := order.Limits(seen(m))
			task.Turn, task.Limits = limited.Turn, limited.Limits
		}
	}
	return task
}

// replaced returns the pods that a pass deletes.
func replaced(moves mover.Moves) []inplace.Pod {
	var all []inplace.Pod
	for _, write := range append(moves.Grow, moves.Shrink...) {
		all = append(all, write.(inplace.Replace).Pods...)
	}
	return all
}

func TestNoPassOverADaemonSetBreaksALaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, task := drawCluster(t), mover.Task{}
		for range rapid.IntRange(1, 40).Draw(t, "events") {
			happen(t, c)
			m := c.seen()
			task = drawTask(t, m, task)
			going := replaced(m.Move(task))
			if len(going) == 0 {
				continue
			}
			if !c.observed {
				t.Fatal("pods go before the native controller has seen the DaemonSet")
			}
			for _, pod := range going {
				if pod.Lost || pod.Terminating || pod.Revision == c.template {
					t.Fatalf("a pod goes that must not: %+v", pod)
				}
			}
			nodes, before, _ := c.tally()
			c.delete(going)
			_, after, updated := c.tally()
			switch {
			case after < before && after < nodes-task.Unavailable:
				t.Fatalf("%d -> %d of %d nodes have an available pod, and %d may have none", before, after, nodes, task.Unavailable)
			case updated > task.Target && task.Target < m.Replicas: // or all are approved, whatever the status counts by now
				t.Fatalf("%d nodes get an updated pod, and the target is %d", updated, task.Target)
			}
		}
	})
}

// calm lets the cluster come to rest: nothing happens but what the native controller does.
func calm(c *cluster) {
	for range 3 {
		c.manage()
		c.kubelets()
		c.updateStatus()
	}
	for _, p := range c.pods {
		p.available = true
	}
}

func TestADaemonSetReachesItsTarget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t)
		for range rapid.IntRange(0, 10).Draw(t, "events") {
			happen(t, c)
		}
		calm(c)
		task := drawTask(t, c.seen(), mover.Task{})
		for range 30 {
			task.Turn, task.Limits = nil, nil
			c.delete(replaced(c.seen().Move(task)))
			calm(c)
		}
		m := c.seen()
		counts := m.Count(task.Digest)
		switch rest := m.Replicas - task.Target; {
		case len(replaced(m.Move(task))) > 0:
			t.Fatal("it never ends")
		case !counts.Settled:
			t.Errorf("it does not settle: %+v", m)
		case counts.Updated.Staying < task.Target:
			t.Errorf("%d updated pods are available, want %d", counts.Updated.Staying, task.Target)
		case counts.Others.Wanted > rest:
			t.Errorf("%d others are wanted, want at most %d", counts.Others.Wanted, rest)
		case task.Target == m.Replicas && m.Replicas > 0 && counts.Others.Current > 0:
			t.Errorf("%d others are left, which RollingUpdate would replace", counts.Others.Current)
		}
	})
}
