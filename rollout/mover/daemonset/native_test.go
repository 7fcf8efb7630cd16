package daemonset

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// cluster is a model: nodes, and the pods of one DaemonSet with the strategy OnDelete. Its native
// controller follows pkg/controller/daemon in Kubernetes 1.36, by the names of the functions
// there.
type cluster struct {
	nodes []*node
	pods  []*running
	// template is the version of spec.template. It has observed it or not.
	template string
	observed bool
	status   inplace.Status
	// desired is status.desiredNumberScheduled, and late says that the status is still to be written.
	desired int32
	late    bool
	made    int
}

// node is a node with its pods. NodeShouldRunDaemonPod decides whether a pod is created there, and
// whether one may stay. A lost node answers no request. counted and stray: the status counts it
// among the nodes that should have a pod, or that should not.
type node struct {
	name               string
	shouldRun, mayStay bool
	lost               bool
	counted, stray     bool
}

// running is a pod. Of two, the one with the lower number is older.
type running struct {
	number                    int
	node, revision            string
	available, ended, deleted bool
}

func (p *running) uid() types.UID { return types.UID(fmt.Sprintf("pod-%d", p.number)) }

func (c *cluster) join() {
	c.made++
	c.nodes = append(c.nodes, &node{name: fmt.Sprintf("node-%02d", c.made), shouldRun: true, mayStay: true})
}

func (c *cluster) place(node, revision string, available bool) {
	c.made++
	c.pods = append(c.pods, &running{number: c.made, node: node, revision: revision, available: available})
}

func (c *cluster) podsOn(node string) []*running {
	var on []*running
	for _, p := range c.pods {
		if p.node == node {
			on = append(on, p)
		}
	}
	slices.SortFunc(on, func(a, b *running) int { return cmp.Compare(a.number, b.number) })
	return on
}

// manage mirrors updateDaemonSet with OnDelete: podsShouldBeOnNode for every node.
func (c *cluster) manage() {
	for _, n := range c.nodes {
		on := c.podsOn(n.name)
		switch {
		case n.shouldRun && len(on) == 0:
			c.place(n.name, c.template, false)
		case n.mayStay:
			var stay []*running
			for _, p := range on {
				switch {
				case p.deleted:
				case p.ended:
					p.deleted = true
				default:
					stay = append(stay, p)
				}
			}
			for _, p := range stay[min(len(stay), 1):] { // AllowsSurge is false: all but the oldest
				p.deleted = true
			}
		default:
			for _, p := range on {
				p.deleted = true
			}
		}
	}
	c.observed = true
}

// updateStatus mirrors updateDaemonSetStatus.
func (c *cluster) updateStatus() {
	c.desired, c.status, c.late = 0, inplace.Status{}, false
	for _, n := range c.nodes {
		n.counted, n.stray = n.shouldRun, !n.shouldRun && len(c.podsOn(n.name)) > 0
		switch {
		case n.counted:
			c.desired++
		case n.stray:
			c.status.Misscheduled++
		}
	}
}

// kubelets removes deleted pods, except on lost nodes.
func (c *cluster) kubelets() {
	c.pods = slices.DeleteFunc(c.pods, func(p *running) bool { return p.deleted && !c.lost(p.node) })
}

func (c *cluster) node(name string) *node {
	i := slices.IndexFunc(c.nodes, func(n *node) bool { return n.name == name })
	if i < 0 {
		return nil
	}
	return c.nodes[i]
}

func (c *cluster) lost(name string) bool {
	n := c.node(name)
	return n == nil || n.lost
}

// leave takes a node away with its pods.
func (c *cluster) leave(n *node) {
	c.nodes = slices.DeleteFunc(c.nodes, func(other *node) bool { return other == n })
	c.pods = slices.DeleteFunc(c.pods, func(p *running) bool { return p.node == n.name })
}

// seen returns the DaemonSet as a shell reads it.
func (c *cluster) seen() Mover {
	m := Mover{
		OnDelete: true, Workload: inplace.Workload{
			Observed: c.observed, Digest: "digest-" + c.template, Update: c.template,
			Replicas: c.desired, Status: c.status, Listed: true, Live: true,
		},
	}
	for _, n := range c.nodes {
		if n.lost && (n.counted || n.stray) && len(c.podsOn(n.name)) > 0 {
			m.Replicas--
		}
	}
	for _, p := range c.pods {
		lost, going := c.lost(p.node), p.deleted || p.ended
		up := p.available && !lost && !going
		m.Pods = append(m.Pods, inplace.Pod{
			Name: "agent-" + string(p.uid()), UID: p.uid(), Node: p.node, Revision: p.revision,
			Ready: up, Available: up, Terminating: going, Lost: lost,
		})
	}
	return m
}

// delete carries out a write.
func (c *cluster) delete(pods []inplace.Pod) {
	for i := range pods {
		for _, p := range c.pods {
			if p.uid() == pods[i].UID {
				p.deleted = true
			}
		}
	}
}

// oldest returns the pod of a node that stays; nil if there is none.
func (c *cluster) oldest(node string) *running {
	for _, p := range c.podsOn(node) {
		if !p.deleted && !p.ended {
			return p
		}
	}
	return nil
}

// tally returns the number of nodes that should have a pod, by the status, and the numbers of
// nodes that have, or get, an available one that stays, and an updated one. A node that has come,
// or fits again, gets one as soon as that is known: the status counts it, or it has a pod.
func (c *cluster) tally() (nodes, available, updated int32) {
	for _, n := range c.nodes {
		p := c.oldest(n.name)
		if !n.shouldRun || n.lost {
			continue
		}
		nodes += one(n.counted)
		available += one(p != nil && p.available)
		updated += one(p == nil && n.counted || p != nil && p.revision == c.template)
	}
	return nodes, available, updated
}

func one(is bool) int32 {
	if is {
		return 1
	}
	return 0
}
