package preflight

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// NamesOtherNodes reports whether two templates differ in the nodes that they name. Of a DaemonSet,
// the native controller follows that at once, whatever its strategy (D11 in docs/architecture.md).
func NamesOtherNodes(kind string, was, is *corev1.PodSpec) bool {
	return kind == "DaemonSet" && !(was.NodeName == is.NodeName && equality.Semantic.DeepEqual(was.NodeSelector, is.NodeSelector) &&
		equality.Semantic.DeepEqual(was.Affinity, is.Affinity) && equality.Semantic.DeepEqual(was.Tolerations, is.Tolerations))
}

// OtherNodes warns of that.
const OtherNodes = "the new template names other nodes (nodeSelector, nodeName, affinity or tolerations): as soon as the release begins, before any gate, " +
	"the DaemonSet controller deletes the pods of nodes that it leaves, and makes pods of the new version on those that it comes to"
