package view

import (
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// Rollback is the effect of a rollback now.
type Rollback struct {
	// From is the revision that the rollback leaves, To the one that it goes back to; empty if the
	// release does not name it.
	From, To             string
	FromImages, ToImages string
	// FromName and ToName are the names of the two versions in the simulation: by their images if
	// these differ.
	FromName, ToName string
	Commit, Subject  string
	Author           string
	// Pods says which pods are replaced, and which stay.
	Pods     []string
	Steps    []RollbackStep
	Traffic  string
	Git      []string
	Diff     *Diff
	Simulate *Simulation
}

// RollbackStep is a step of a rollback.
type RollbackStep struct {
	Number int
	// Share is the share in the strategy, Pods the number of pods that it stands for now.
	Share string
	Pods  int
	Gates []string
}

// RollbackOf returns what a rollback to a revision would do to a release now. It leaves out the
// simulation, which takes time.
func RollbackOf(sight *show.Sight, to string, pods Pods) *Rollback {
	release, kept := sight.Release, withReleased(sight)
	preview := &Rollback{From: cell(release.Status.UpdateRevision), To: cell(to)}
	if left := keptOf(kept, release.Status.UpdateRevision); left != nil {
		preview.FromImages = revisionOf(left).Images
	}
	if target := keptOf(kept, to); target != nil {
		shown := revisionOf(target)
		preview.ToImages, preview.Commit, preview.Subject, preview.Author = shown.Images, shown.Commit, shown.Subject, shown.Author
	}
	preview.FromName, preview.ToName = show.VersionOf(preview.FromImages), show.VersionOf(preview.ToImages)
	if preview.FromName == "" || preview.ToName == "" || preview.FromName == preview.ToName {
		preview.FromName, preview.ToName = "v2", "v1"
	}
	preview.Pods = podWords(pods, to)
	preview.Steps = rollbackSteps(release, pods.Wanted)
	preview.Traffic = trafficWords(release, to)
	preview.Git = gitWords(sight)
	if diff, found := DiffOf(release, kept, release.Status.UpdateRevision, to); found && release.Status.UpdateRevision != to {
		preview.Diff = diff
	}
	return preview
}

// withReleased returns the templates in the history, and the one in progress.
func withReleased(sight *show.Sight) []appsv1.ControllerRevision {
	status := &sight.Release.Status
	if status.Held == nil || keptOf(sight.Kept, status.UpdateRevision) != nil {
		return sight.Kept
	}
	template := releasedTemplate(sight)
	if template == nil {
		return sight.Kept
	}
	raw, err := json.Marshal(template)
	if err != nil {
		return sight.Kept
	}
	released := appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: raw}}
	released.Labels = map[string]string{v1alpha1.RevisionLabel: status.UpdateRevision}
	return append(slices.Clip(sight.Kept), released)
}

// releasedTemplate returns the template in progress; nil if nothing shows it. The native
// controllers keep that of each revision. A workload that is held can have another one: a
// StatefulSet its earlier one, and one without pods the stable one.
func releasedTemplate(sight *show.Sight) *corev1.PodTemplateSpec {
	status := &sight.Release.Status
	var template *corev1.PodTemplateSpec
	switch w := sight.Workload.(type) {
	case *appsv1.Deployment:
		if template = templateOfSet(sight.Sets, status.UpdateRevision); template == nil {
			template = &w.Spec.Template
		}
	case *appsv1.DaemonSet:
		if template = recorded(sight.Revisions, w.Name+"-"+status.UpdateRevision); template == nil {
			template = &w.Spec.Template
		}
	case *appsv1.StatefulSet:
		return recorded(sight.Revisions, w.Name+"-"+status.UpdateRevision)
	}
	var stable corev1.PodTemplateSpec
	if before := keptOf(sight.Kept, status.StableRevision); before != nil && len(before.Data.Raw) <= mostChanged && json.Unmarshal(before.Data.Raw, &stable) == nil &&
		equality.Semantic.DeepEqual(template, &stable) {
		return nil
	}
	return template
}

// templateOfSet returns the template of the ReplicaSet of a revision, without the label that its
// Deployment's controller adds; nil if there is none.
func templateOfSet(sets []appsv1.ReplicaSet, revision string) *corev1.PodTemplateSpec {
	for i := range sets {
		if sets[i].Labels[appsv1.DefaultDeploymentUniqueLabelKey] == revision {
			template := sets[i].Spec.Template.DeepCopy()
			delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
			return template
		}
	}
	return nil
}

// recorded returns the template in the revision of a name that a native controller keeps; nil if
// there is none.
func recorded(revisions []appsv1.ControllerRevision, name string) *corev1.PodTemplateSpec {
	for i := range revisions {
		if revisions[i].Name != name {
			continue
		}
		var set appsv1.StatefulSet
		if json.Unmarshal(revisions[i].Data.Raw, &set) != nil {
			return nil
		}
		return &set.Spec.Template
	}
	return nil
}

func keptOf(kept []appsv1.ControllerRevision, revision string) *appsv1.ControllerRevision {
	for i := range kept {
		if revision != "" && kept[i].Labels[v1alpha1.RevisionLabel] == revision {
			return &kept[i]
		}
	}
	return nil
}

// podWords says which pods are replaced, and which stay.
func podWords(pods Pods, to string) []string {
	if !pods.Known {
		return nil
	}
	replaced, words := 0, []string(nil)
	for _, version := range pods.Versions {
		switch {
		case version.Pods == 0:
		case version.Revision == to:
			words = append(words, fmt.Sprintf("%s of revision %s %s (%d available)", plain.Count(version.Pods, "pod"), version.Revision,
				Form(version.Pods, "stays", "stay"), version.Available))
		default:
			replaced += version.Pods
			words = append(words, fmt.Sprintf("%s of revision %s %s replaced (%d available)", plain.Count(version.Pods, "pod"), version.Revision,
				Form(version.Pods, "is", "are"), version.Available))
		}
	}
	if replaced == 0 {
		return append(words, "No pod has to be replaced.")
	}
	return words
}

// rollbackSteps returns the steps of a rollback if the workload keeps its size. A workload of an
// unknown kind is not rolled back.
func rollbackSteps(release *v1alpha1.BatchRelease, replicas int) []RollbackStep {
	if kinds.Named(release.Spec.WorkloadRef.Kind) == nil {
		return nil
	}
	var steps []RollbackStep
	for i, share := range plan.Shares(release, true) {
		step := RollbackStep{Number: i + 1, Share: cell(share), Pods: podsOfShare(&release.Spec.Steps(true)[i].Replicas, replicas)}
		for _, gate := range release.Spec.Gates(true, i) {
			step.Gates = append(step.Gates, string(gate.Type())+": "+line(show.Needs(gate)))
		}
		steps = append(steps, step)
	}
	return steps
}

// podsOfShare returns the number of pods of a share: rounded up, but below 100% at least one other
// pod stays.
func podsOfShare(share *intstr.IntOrString, replicas int) int {
	pods, err := intstr.GetScaledValueFromIntOrPercent(share, replicas, true)
	if err != nil {
		return 0
	}
	if share.Type == intstr.String && share.StrVal != "100%" {
		pods = min(pods, max(replicas-1, 1))
	}
	return min(pods, replicas)
}

func trafficWords(release *v1alpha1.BatchRelease, to string) string {
	status := &release.Status
	switch {
	case release.Spec.Strategy.Traffic == nil:
		return ""
	case status.Traffic != nil && status.Phase != v1alpha1.PhaseCompleted:
		return fmt.Sprintf("All requests go back to the previous version first: the new version gets %d%% of them now. Pods follow.", status.Traffic.Weight)
	default:
		return "Requests are not shared in this rollback: pods of revision " + cell(to) + " get requests as soon as they are ready."
	}
}

// gitWords says what happens to the template in Git.
func gitWords(sight *show.Sight) []string {
	release := sight.Release
	words := []string{"Revision " + cell(release.Status.UpdateRevision) + " is quarantined: it is not released again until Git changes."}
	switch source := sight.Source; {
	case release.Labels[v1alpha1.SourceLabel] == "":
		return append(words, "No ReleaseSource manages the release: no pull request is opened.")
	case source == nil:
		return append(words, "If the repository is on a forge, Sluice opens a pull request that restores the good template in Git.")
	case source.Spec.Forge == nil:
		return append(words, "The source has no forge: restore the good template in Git yourself, or nothing else is released.")
	default:
		return append(words, "Sluice opens a pull request that restores the good template in Git. It never merges it.")
	}
}
