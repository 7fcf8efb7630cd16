package show

import (
	"cmp"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Sight is a release as far as somebody may see it.
type Sight struct {
	*Whole

	// Kept are the templates in its history.
	Kept []appsv1.ControllerRevision
	// Hidden names the missing parts: parts that the user may not read, in the words of the API
	// server, and parts that are too large.
	Hidden []string
}

// PodState returns the state of a pod, and the reason in a few words.
func PodState(pod *corev1.Pod) (State, string) {
	node := podNode(pod)
	return node.State, podText(pod)
}

// OpenGates returns the gates after a step, counted from 0, in the current attempt, in their order.
func OpenGates(w *Whole, step int) []v1alpha1.Gate {
	status := &w.Release.Status
	var gates []v1alpha1.Gate
	for _, gate := range w.Gates {
		ours := gate.Spec.ReleaseRef.UID == w.Release.UID && gate.Spec.Attempt == status.Attempt
		if ours && gate.Spec.Revision == status.UpdateRevision && int(gate.Spec.Step) == step && !gate.IsGuard() {
			gates = append(gates, gate)
		}
	}
	slices.SortFunc(gates, func(a, b v1alpha1.Gate) int { return cmp.Compare(a.Spec.Index, b.Spec.Index) })
	return gates
}

// Guards returns the guards of the last attempt of a release.
func Guards(w *Whole) []*v1alpha1.Gate {
	var guards []*v1alpha1.Gate
	for i := range w.Gates {
		g := &w.Gates[i]
		listed := slices.ContainsFunc(w.Release.Status.Guards, func(r v1alpha1.GateReference) bool { return r.Name == g.Name })
		if g.IsGuard() && listed && g.Spec.Attempt == w.Release.Status.Attempt {
			guards = append(guards, g)
		}
	}
	return guards
}

// guardNodes returns the guards of a release.
func guardNodes(w *Whole) []Node {
	var nodes []Node
	for _, g := range Guards(w) {
		node := gateNode(g)
		if node.Name = "guard/" + g.Name; node.State == Waiting {
			node.State = Moving // nothing waits for it
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// Version is a template of a workload that has pods or is being released, with its pods.
type Version struct {
	Revision string
	// Role is the part of the version in the release: new, stable, old.
	Role   string
	New    bool
	Images string
	Pods   []corev1.Pod

	role role
	// name is the name of its ReplicaSet or ControllerRevision; set is nil for the latter.
	name string
	set  *appsv1.ReplicaSet
}

// Versions returns the versions of a workload that have pods or are part of the release, the new
// one first.
func Versions(w *Whole) []Version {
	if w.Workload == nil {
		return nil
	}
	return slices.DeleteFunc(versionsOf(w), func(v Version) bool { return len(v.Pods) == 0 && v.role == roleOld })
}

// versionsOf returns all versions of a workload, the new one first.
func versionsOf(w *Whole) []Version {
	var versions []Version
	add := func(v Version) {
		v.Role, v.New = v.role.word(w.Release), v.role == roleNew
		versions = append(versions, v)
	}
	template := podTemplateOf(w.Workload)
	for i := range w.Sets {
		set := &w.Sets[i]
		add(Version{
			Revision: revisionOf(set), Images: templateImages(&set.Spec.Template), name: set.Name, set: set,
			role: w.role(revisionOf(set), template != nil && sameTemplate(&set.Spec.Template, template)),
			Pods: podsOf(set, w.Pods),
		})
	}
	byHash, newest := podsByHash(w), newestOf(w.Revisions)
	for i := range w.Revisions {
		record := &w.Revisions[i]
		revision := hashOf(record.Name)
		add(Version{
			Revision: revision, Images: recordImages(record), name: record.Name, role: w.role(revision, record.Name == newest), Pods: byHash[revision],
		})
	}
	slices.SortFunc(versions, func(a, b Version) int { return cmp.Or(cmp.Compare(a.role, b.role), cmp.Compare(a.name, b.name)) })
	return versions
}

// podsOf returns the pods of a ReplicaSet.
func podsOf(set *appsv1.ReplicaSet, pods []corev1.Pod) []corev1.Pod {
	var own []corev1.Pod
	for i := range pods {
		if metav1.IsControlledBy(&pods[i], set) {
			own = append(own, pods[i])
		}
	}
	return own
}

// versionNodes returns the versions that run or are part of the release, with their pods.
func versionNodes(w *Whole) []Node {
	var nodes []Node
	for _, v := range versionsOf(w) {
		wanted := int32(len(v.Pods))
		if v.set != nil {
			wanted = replicasOf(v.set.Spec.Replicas) + v.set.Status.Replicas
		}
		if wanted > 0 || v.role != roleOld {
			nodes = append(nodes, v.node().with(podNodes(v.name, v.Pods)))
		}
	}
	return nodes
}

// node returns a version with the numbers of its pods, as its native controller has them.
func (v Version) node() Node {
	kind, wanted, word, settled := "controllerrevision/", int32(len(v.Pods)), "ready", true
	_, good := live(v.Pods)
	if v.set != nil {
		kind, wanted, good, word = "replicaset/", replicasOf(v.set.Spec.Replicas), v.set.Status.AvailableReplicas, "available"
		settled = v.set.Status.Replicas == wanted
	}
	node := Node{Name: kind + v.name, State: Moving, Text: fmt.Sprintf("%s, %s: %d of %s %s", v.Role, v.Images, good, pods(wanted), word)}
	if good == wanted && settled {
		node.State = Good
	}
	return node
}
