package journeys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// nodeLabel, on the nodes of one journey, has its namespace. A taint of the same name keeps others
// off.
const nodeLabel = "journeys.sluice.dev/namespace"

// TestNodesLost: Nodes are lost, one at a gate and one in the next batch, each with pods of both
// versions: the release makes up for what is lost, version by version, and goes on (F15).
func TestNodesLost(t *testing.T) {
	w := newWorld(t)
	w.excuses(enoughRun) // by the nodes; no write of ours may
	nodes := w.ownNodes(3)
	w.startController()
	d := deployment(6)
	d.Spec.Template = w.onOwnNodes(podTemplate("web:1", nil))
	w.deployed(d)
	w.create(releaseOf(w.onOwnNodes(podTemplate("web:2", delayed)), step("50%"), step("100%")))
	half := all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 3}))
	// Each node has a pod of web:2; which pods of web:1 are left is the ReplicaSet controller's choice.
	first := -1
	w.await(all(half, func(s *scene) error {
		if first = slices.IndexFunc(nodes, func(n node) bool { return n.has("web:1", "web:2")(s) == nil }); first < 0 {
			return errors.New("want a node with a pod of each version")
		}
		return nil
	}))
	nodes[0], nodes[first] = nodes[first], nodes[0]
	w.loseNode(nodes...)
	w.await(all(half, web.counts(6, 6, 0)))
	cordon(w, nodes[1:]...)
	w.confirm("web")
	w.await(web.runs(pods{"web:1": 2, "web:2": 6})) // three of them have no node yet
	w.loseNode(nodes[1:]...)
	w.await(all(web.completed, web.serves("web:2", 6)))
}

// node is the name of a node on which only pods of one journey run.
type node string

// ownNodes makes nodes for the journey.
func (w *world) ownNodes(n int) []node {
	w.Helper()
	var nodes []node
	for i := range n {
		name, _ := w.addNode(i)
		nodes = append(nodes, name)
	}
	return nodes
}

// addNode adds a node for the journey. remove, or the end of the test, removes it.
func (w *world) addNode(number int) (added node, remove func()) {
	w.Helper()
	name := fmt.Sprintf("%s-%d", w.namespace, number)
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{nodeLabel: w.namespace, corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: nodeLabel, Value: w.namespace, Effect: corev1.TaintEffectNoSchedule}}},
	}
	if err := w.Create(w.Context(), object); err != nil {
		w.Fatalf("create node: %v", err)
	}
	remove = func() {
		if err := client.IgnoreNotFound(w.Delete(context.Background(), object)); err != nil {
			w.Errorf("delete node: %v", err)
		}
	}
	w.Cleanup(remove)
	return node(name), remove
}

// onOwnNodes has pods run on the journey's nodes, each version spread over those there are.
func (w *world) onOwnNodes(template corev1.PodTemplateSpec) corev1.PodTemplateSpec {
	honour := corev1.NodeInclusionPolicyHonor
	spec := &template.Spec
	spec.NodeSelector = map[string]string{nodeLabel: w.namespace}
	spec.Tolerations = []corev1.Toleration{{Key: nodeLabel, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, NodeTaintsPolicy: &honour,
		LabelSelector: &metav1.LabelSelector{MatchLabels: template.Labels}, MatchLabelKeys: []string{"pod-template-hash"},
	}}
	return template
}

// loseNode has the cluster give up the first of these nodes and what runs on it. New pods find no
// node until the release counts all that are lost: a node that is lost between a count and the
// write that was decided on it is nobody's fault.
func (w *world) loseNode(nodes ...node) {
	w.Helper()
	cordon(w, nodes...)
	w.kubectl("taint", "node", string(nodes[0]), "lost=true:NoExecute")
	w.await(all(nodes[0].has(), countsWhatServes))
	for _, n := range nodes[1:] {
		w.kubectl("uncordon", string(n))
	}
}

// cordon keeps new pods off nodes.
func cordon(w *world, nodes ...node) {
	w.Helper()
	for _, n := range nodes {
		w.kubectl("cordon", string(n))
	}
}

// countsWhatServes wants the release to count the pods that serve, and no others.
func countsWhatServes(s *scene) error {
	serve := s.readyPods(s.deployments[string(web)])
	return web.status(fmt.Sprintf("%d available pods", serve), func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.AvailableReplicas == serve
	})(s)
}

// has wants pods of these images, and of no others, on the node.
func (n node) has(images ...string) check {
	return func(s *scene) error {
		found := map[string]bool{}
		for _, pod := range s.pods {
			if pod.Spec.NodeName == string(n) && alive(pod) {
				found[pod.Spec.Containers[0].Image] = true
			}
		}
		for _, image := range images {
			if !found[image] {
				return fmt.Errorf("want %s on node %s, have %v", image, n, found)
			}
		}
		if len(found) != len(images) {
			return fmt.Errorf("want %v on node %s, have %v", images, n, found)
		}
		return nil
	}
}
