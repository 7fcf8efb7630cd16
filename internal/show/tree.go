package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Whole is a release with what belongs to it.
type Whole struct {
	Release *v1alpha1.BatchRelease
	// Deployment is nil if there is none.
	Deployment *appsv1.Deployment
	// Sets are the ReplicaSets of the Deployment, Pods those of the sets.
	Sets []appsv1.ReplicaSet
	Pods []corev1.Pod
	// Gates are those of the release, of earlier attempts too.
	Gates []v1alpha1.Gate
}

// Tree is a release, what it brings, its batches with their gates, and the ReplicaSets with their pods.
func Tree(w *Whole) Node {
	status := &w.Release.Status
	root := Node{
		Name: "batchrelease/" + w.Release.Name, State: releaseState(w.Release),
		Text: strings.TrimSuffix(cmp.Or(string(status.Phase), "not looked at yet")+": "+status.Message, ": "),
	}
	if status.LastUpdateTime != nil {
		root.Since = *status.LastUpdateTime
	}
	root.Children = append(root.Children, origin(w.Release)...)
	root.Children = append(root.Children, deploymentNode(w))
	root.Children = append(root.Children, batches(w)...)
	return root.with(sets(w))
}

func (n Node) with(children []Node) Node {
	n.Children = append(n.Children, children...)
	return n
}

func releaseState(release *v1alpha1.BatchRelease) State {
	status := &release.Status
	switch {
	case status.Phase == v1alpha1.PhaseFailed, stalled(status):
		return Bad
	case status.Phase == v1alpha1.PhaseCompleted:
		return Good
	case status.CurrentStepState == v1alpha1.StepBlocking, status.Reason == v1alpha1.ReasonSuspended, status.Reason == v1alpha1.ReasonFrozen:
		return Waiting
	default:
		return Moving
	}
}

// origin is what is released: the commit, what waits behind it, and the pull request with which Git is to follow.
func origin(release *v1alpha1.BatchRelease) []Node {
	status := &release.Status
	var nodes []Node
	if status.Commit != "" {
		nodes = append(nodes, Node{Name: "commit " + shortCommit(status.Commit), Text: bySubject(commitWords(release))})
	}
	if status.Queued != nil {
		text := "a newer template, of revision " + status.Queued.Revision
		if status.Queued.Commit != "" {
			text += " and commit " + shortCommit(status.Queued.Commit)
		}
		nodes = append(nodes, Node{Name: "queued", State: Waiting, Text: text, Since: status.Queued.Since})
	}
	if status.Revert != nil && status.Revert.PullRequest != nil {
		text := string(status.Revert.State) + " " + status.Revert.PullRequest.URL
		nodes = append(nodes, Node{Name: fmt.Sprintf("revert #%d", status.Revert.PullRequest.Number), Text: text})
	}
	return nodes
}

// commitWords are author and subject of the commit that is released, as far as the release still knows them.
func commitWords(release *v1alpha1.BatchRelease) (author, subject string) {
	annotations := release.Annotations
	if release.Status.Commit != annotations[v1alpha1.CommitAnnotation] {
		return "", ""
	}
	return annotations[v1alpha1.AuthorAnnotation], annotations[v1alpha1.SubjectAnnotation]
}

func bySubject(author, subject string) string {
	if author == "" {
		return subject
	}
	return strings.TrimPrefix(subject+", by "+author, ", ")
}

func deploymentNode(w *Whole) Node {
	node := Node{Name: "deployment/" + w.Release.Spec.WorkloadRef.Name}
	switch d := w.Deployment; {
	case d == nil:
		node.State, node.Text = Bad, "not found"
	default:
		node.Text = fmt.Sprintf("%d of %s available", d.Status.AvailableReplicas, pods(replicasOf(d.Spec.Replicas)))
		if d.Annotations[v1alpha1.HoldAnnotation] != "" {
			node.Text += ", held by Sluice"
		}
	}
	return node
}

// Controller is what the Deployment of the controller runs.
func Controller(d *appsv1.Deployment) string {
	return fmt.Sprintf("%s, %d of %d ready, in namespace %s",
		templateImages(&d.Spec.Template), d.Status.ReadyReplicas, replicasOf(d.Spec.Replicas), d.Namespace)
}

// replicasOf is what the API server makes of a number that is not given.
func replicasOf(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

func pods(n int32) string { return plural(n, "pod") }

// sets are the ReplicaSets that have pods or are about to, the one that is released first.
func sets(w *Whole) []Node {
	status := &w.Release.Status
	shown := slices.DeleteFunc(slices.Clone(w.Sets), func(set appsv1.ReplicaSet) bool {
		return replicasOf(set.Spec.Replicas) == 0 && set.Status.Replicas == 0 && revisionOf(&set) != status.UpdateRevision
	})
	slices.SortFunc(shown, func(a, b appsv1.ReplicaSet) int {
		return cmp.Or(cmp.Compare(rank(&a, status), rank(&b, status)), strings.Compare(a.Name, b.Name))
	})
	nodes := make([]Node, 0, len(shown))
	for i := range shown {
		nodes = append(nodes, setNode(&shown[i], w))
	}
	return nodes
}

func revisionOf(set *appsv1.ReplicaSet) string {
	return set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}

func rank(set *appsv1.ReplicaSet, status *v1alpha1.BatchReleaseStatus) int {
	return slices.Index([]string{"new", "stable", "old"}, role(set, status))
}

// role is what a ReplicaSet is to the release.
func role(set *appsv1.ReplicaSet, status *v1alpha1.BatchReleaseStatus) string {
	switch revisionOf(set) {
	case status.UpdateRevision:
		return "new"
	case status.StableRevision:
		return "stable"
	default:
		return "old"
	}
}

func setNode(set *appsv1.ReplicaSet, w *Whole) Node {
	wanted := replicasOf(set.Spec.Replicas)
	node := Node{Name: "replicaset/" + set.Name, State: Moving}
	node.Text = fmt.Sprintf("%s, %s: %d of %s available", role(set, &w.Release.Status),
		templateImages(&set.Spec.Template), set.Status.AvailableReplicas, pods(wanted))
	if set.Status.AvailableReplicas == wanted && set.Status.Replicas == wanted {
		node.State = Good
	}
	var own []corev1.Pod
	for _, pod := range w.Pods {
		if metav1.IsControlledBy(&pod, set) {
			own = append(own, pod)
		}
	}
	return node.with(podNodes(set.Name, own))
}
