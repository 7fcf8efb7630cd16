package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Whole is a release with what belongs to it.
type Whole struct {
	Release *v1alpha1.BatchRelease
	// Workload is a Deployment, StatefulSet or DaemonSet of apps/v1; nil if there is none.
	Workload Object
	// Sets are the ReplicaSets of a Deployment, Revisions the ControllerRevisions in which the native
	// controller keeps the templates of the others.
	Sets      []appsv1.ReplicaSet
	Revisions []appsv1.ControllerRevision
	// Pods are the pods that the workload selects; not all need be its own.
	Pods []corev1.Pod
	// Gates are the gates of the release, of earlier attempts too.
	Gates []v1alpha1.Gate
	// Members are the members of a train.
	Members []v1alpha1.BatchRelease
	// Source gives the release; nil if none does, or it can't be read.
	Source *v1alpha1.ReleaseSource
}

// Tree returns a release, what it brings, its batches with their gates, and the versions that run
// with their pods.
func Tree(w *Whole) Node {
	status, standing, isRefused := &w.Release.Status, Standing(w.Release), Refused(w.Release, w.Source) != ""
	if isRefused {
		standing = StandingRefused(standing)
	}
	root := Node{
		Name: "batchrelease/" + w.Release.Name, State: StateOf(w.Release),
		Text: strings.TrimSuffix(cmp.Or(standing, "not looked at yet")+": "+status.Message, ": "),
	}
	if isRefused {
		root.State = Bad
	}
	root.Since = w.Release.Status.StandsSince()
	root.Children = append(root.Children, sourceNode(w.Source)...)
	root.Children = append(root.Children, origin(w.Release)...)
	root.Children = append(root.Children, trainNode(w.Release)...)
	if w.Release.IsTrain() {
		root.Children = append(root.Children, membersNode(w))
	} else {
		root.Children = append(root.Children, workloadNode(w))
	}
	root.Children = append(root.Children, trafficNode(w.Release)...)
	root.Children = append(root.Children, warnings(w.Release)...)
	root.Children = append(root.Children, guardNodes(w)...)
	root.Children = append(root.Children, batches(w)...)
	return root.with(versionNodes(w))
}

// warnings returns what to know of a release in progress before anybody lets it go on.
func warnings(release *v1alpha1.BatchRelease) []Node {
	var nodes []Node
	for _, warning := range []struct {
		condition, name string
		state           State
	}{
		{v1alpha1.ConditionBeyondStep, "beyond the step", Bad},
		{v1alpha1.ConditionRolledBackServes, "rolled back, serves", Bad},
		{v1alpha1.ConditionPreflightFailed, "preflight", Plain},
	} {
		found := meta.FindStatusCondition(release.Status.Conditions, warning.condition)
		if found != nil && OutcomeOf(release) == UnderWay {
			nodes = append(nodes, Node{Name: warning.name, State: warning.state, Text: plain.Line(found.Message), Since: found.LastTransitionTime})
		}
	}
	return nodes
}

func (n Node) with(children []Node) Node {
	n.Children = append(n.Children, children...)
	return n
}

// StateOf returns the state of a release at a glance.
func StateOf(release *v1alpha1.BatchRelease) State {
	status := &release.Status
	switch outcome := OutcomeOf(release); {
	case outcome == Completed:
		return Good
	case outcome != UnderWay, changedOutOfBand(release), status.PodTrouble != nil:
		return Bad
	case status.CurrentStepState == v1alpha1.StepBlocking, status.Stops() != "", status.State.OnHold(), status.State.Waits():
		return Waiting
	}
	return Moving
}

// sourceNode returns the source of the release if a push can't reach the release.
func sourceNode(source *v1alpha1.ReleaseSource) []Node {
	if source == nil || SourceTrouble(source) == "" {
		return nil
	}
	ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
	return []Node{{Name: "releasesource/" + source.Name, State: Bad, Text: SourceTrouble(source), Since: ready.LastTransitionTime}}
}

// SourceTrouble returns why what is pushed to a source does not get to its releases; empty if it
// does.
func SourceTrouble(source *v1alpha1.ReleaseSource) string {
	ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse {
		return ""
	}
	return line(ready.Reason + ": " + ready.Message)
}

// Refused returns why the newest commit of a source does not reach a release; empty if it does. The
// source may be nil, or another one than that of the release.
func Refused(release *v1alpha1.BatchRelease, source *v1alpha1.ReleaseSource) string {
	if source == nil || source.LabelIn(release.Namespace) != release.Labels[v1alpha1.SourceLabel] {
		return ""
	}
	status, name := &source.Status, release.Namespace+"/"+release.Name
	if !status.Unread && !slices.Contains(status.Refused, name) {
		return ""
	}
	files := []string{
		release.Annotations[v1alpha1.FileAnnotation], release.Annotations[v1alpha1.TemplateFileAnnotation],
		release.Annotations[v1alpha1.KustomizationAnnotation],
	}
	for _, found := range status.Errors {
		if !status.Unread && found.File != "" && slices.Contains(files, found.File) {
			return line(FileErrorPlace(&found) + ": " + found.Message)
		}
	}
	return cmp.Or(SourceTrouble(source), "the newest commit is not applied")
}

// FileErrorPlace returns the file of an error, with the line where one is known.
func FileErrorPlace(found *v1alpha1.FileError) string {
	if found.Line > 0 {
		return fmt.Sprintf("%s:%d", plain.Place(found.File), found.Line)
	}
	return plain.Place(found.File)
}

// origin returns what is released: the commit, what waits behind it, and the pull request with
// which Git is to follow.
func origin(release *v1alpha1.BatchRelease) []Node {
	status := &release.Status
	var nodes []Node
	if status.Commit != "" {
		node := Node{Name: "commit " + plain.Commit(status.Commit), Text: bySubject(CommitOf(release))}
		if from := Reference(status.CommitReference); from != "" {
			node.Text = strings.TrimPrefix(node.Text+", made from "+from, ", ")
		}
		if unasked(status) {
			node.Text = strings.TrimSuffix("rolled back: "+node.Text, ": ")
		}
		nodes = append(nodes, node)
	} else if subject := bySubject(CommitOf(release)); subject != "" && release.Spec.Follow != "" {
		nodes = append(nodes, Node{Name: "origin", Text: subject})
	}
	nodes = append(nodes, jumpNode(release)...)
	if status.Queued != nil {
		text := "a newer template, of revision " + status.Queued.Revision
		if status.Queued.Commit != "" {
			text += " and commit " + plain.Commit(status.Queued.Commit)
		}
		nodes = append(nodes, Node{Name: "queued", State: Waiting, Text: text, Since: status.Queued.Since})
	}
	return append(nodes, revertNode(status)...)
}

// revertNode returns the pull request with which Git is to follow the rollback, or why there is
// none. That of an earlier rollback is of no use any more.
func revertNode(status *v1alpha1.BatchReleaseStatus) []Node {
	revert := status.Revert
	switch {
	case revert == nil || revert.Attempt != status.Attempt:
		return nil
	case revert.State == v1alpha1.RevertRefused:
		return []Node{{Name: "revert", State: Waiting, Text: plain.Line("change Git by hand: " + revert.Message)}}
	case revert.PullRequest == nil:
		return nil
	}
	node := Node{Name: fmt.Sprintf("revert #%d", revert.PullRequest.Number), Text: string(revert.State) + " " + revert.PullRequest.URL}
	if revert.State == v1alpha1.RevertOpen {
		node.State, node.Text = Waiting, "merge it to update Git: "+revert.PullRequest.URL
	}
	return []Node{node}
}

// jumpNode returns a jump forward that is not at its end: gates that can't be skipped are in the
// way.
func jumpNode(release *v1alpha1.BatchRelease) []Node {
	status, steps := &release.Status, len(release.Spec.Strategy.Steps)
	jumps := status.Jumps()
	if len(jumps) == 0 || status.Phase != v1alpha1.PhaseRollingUpdate {
		return nil
	}
	jump := jumps[len(jumps)-1]
	if status.CurrentStepIndex >= jump.To {
		return nil
	}
	return []Node{{Name: "jump", State: Waiting, Text: fmt.Sprintf("to batch %d/%d", jump.To+1, steps), Since: jump.Time}}
}

// CommitOf returns the author and the subject of the released commit, if the release still has
// them.
func CommitOf(release *v1alpha1.BatchRelease) (author, subject string) {
	status, annotations := &release.Status, release.Annotations
	if status.Commit != annotations[v1alpha1.CommitAnnotation] {
		return status.CommitAuthor, status.CommitSubject
	}
	return annotations[v1alpha1.AuthorAnnotation], annotations[v1alpha1.SubjectAnnotation]
}

func bySubject(author, subject string) string {
	if author == "" {
		return subject
	}
	return strings.TrimPrefix(subject+", by "+author, ", ")
}

// Controller returns what the Deployment of the controller runs.
func Controller(d *appsv1.Deployment) string {
	return fmt.Sprintf("%s, %d of %d ready, in namespace %s",
		templateImages(&d.Spec.Template), d.Status.ReadyReplicas, replicasOf(d.Spec.Replicas), d.Namespace)
}

// replicasOf returns what the API server makes of a number that is not given.
func replicasOf(replicas *int32) int32 {
	if replicas == nil {
		return 1
	}
	return *replicas
}

func pods(n int32) string { return plain.Count(n, "pod") }

func revisionOf(set *appsv1.ReplicaSet) string {
	return set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}

// role is the part that a version plays in the release. Versions are shown in this order.
type role int

const (
	roleNew role = iota
	roleChanged
	roleStable
	roleLeft
	roleOld
)

// word returns the role for people.
func (r role) word(release *v1alpha1.BatchRelease) string {
	switch r {
	case roleNew:
		if release.Status.Rollback != nil {
			return "restored"
		}
		return "new"
	case roleChanged:
		return "changed out of band"
	case roleStable:
		return "stable"
	case roleLeft:
		return "rolled back"
	default:
		return "old"
	}
}

// role returns what a version is to the release. While the status is about an earlier template, the
// current one, which the held workload has, is the new one.
func (w *Whole) role(revision string, current bool) role {
	release, status := w.Release, &w.Release.Status
	switch back := status.Rollback; {
	case status.ObservedGeneration < release.Generation:
		if current {
			return roleNew
		}
		return roleOld
	case revision == status.UpdateRevision:
		return roleNew
	case current && OutcomeOf(release) == Drifted:
		return roleChanged
	case back != nil && revision == back.From:
		return roleLeft
	case revision == status.StableRevision:
		return roleStable
	default:
		return roleOld
	}
}

// sameTemplate reports whether a ReplicaSet runs the template of its Deployment.
func sameTemplate(of, deployment *corev1.PodTemplateSpec) bool {
	bare := of.DeepCopy()
	delete(bare.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return equality.Semantic.DeepEqual(bare, deployment)
}
