package preflight

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/internal/kinds"
)

// FollowsNodes reports whether pods of a kind of workload move as soon as a template names others.
func FollowsNodes(kind string) bool {
	known := kinds.Named(kind)
	return known != nil && known.ByNodes
}

// NamesOtherNodes reports whether two templates of a kind that follows nodes differ in the nodes
// that they name.
func NamesOtherNodes(kind string, was, is *corev1.PodSpec) bool {
	return FollowsNodes(kind) && !(was.NodeName == is.NodeName && equality.Semantic.DeepEqual(was.NodeSelector, is.NodeSelector) &&
		equality.Semantic.DeepEqual(was.Affinity, is.Affinity) && equality.Semantic.DeepEqual(was.Tolerations, is.Tolerations))
}

// OtherNodes warns of that.
const OtherNodes = "the new template names other nodes (nodeSelector, nodeName, affinity or tolerations): as soon as the release begins, before any gate, " +
	"the DaemonSet controller deletes the pods of nodes that it leaves, and makes pods of the new version on those that it comes to"
