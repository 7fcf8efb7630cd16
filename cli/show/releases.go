package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Sources are the sources of releases, as far as somebody may see them.
type Sources []v1alpha1.ReleaseSource

// Of returns the source of a release; nil if it is not among them.
func (s Sources) Of(release *v1alpha1.BatchRelease) *v1alpha1.ReleaseSource {
	label := release.Labels[v1alpha1.SourceLabel]
	if label == "" {
		return nil
	}
	i := slices.IndexFunc(s, func(source v1alpha1.ReleaseSource) bool { return source.LabelIn(release.Namespace) == label })
	if i < 0 {
		return nil
	}
	return &s[i]
}

// Releases returns the table of releases, with their namespaces where they are of several.
func Releases(releases []v1alpha1.BatchRelease, sources Sources, now time.Time, namespaces bool) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		column("Name"), column("Status"), column("Batch"), column("Updated"), column("Updated-Available"), column("Waits for"),
		column("Version"), column("Commit"), column("Age"), wide("Traffic"), wide("Workload"), wide("Revision"), wide("Images"), wide("Message"),
	}}
	if namespaces {
		table.ColumnDefinitions = append([]metav1.TableColumnDefinition{column("Namespace")}, table.ColumnDefinitions...)
	}
	for i := range releases {
		cells := releaseCells(&releases[i], sources, now)
		if namespaces {
			cells = append([]string{releases[i].Namespace}, cells...)
		}
		table.Rows = append(table.Rows, row(cells...))
	}
	return table
}

func releaseCells(release *v1alpha1.BatchRelease, sources Sources, now time.Time) []string {
	status := &release.Status
	standing, waitsFor := Standing(release), WaitsFor(release, now)
	if Refused(release, sources.Of(release)) != "" {
		standing, waitsFor = StandingRefused(standing), joined(waitsFor, WaitsForGit)
	}
	return []string{
		release.Name, standing, status.Batch,
		share(status, status.UpdatedReplicas), share(status, status.UpdatedAvailableReplicas),
		waitsFor, ReleasedVersion(release), plain.Commit(status.Commit), since(release.CreationTimestamp, now), trafficCell(release),
		WorkloadName(release),
		status.UpdateRevision, images(release), status.Message,
	}
}

// WorkloadName returns the workload of a release as kubectl names it; for a train, its members.
func WorkloadName(release *v1alpha1.BatchRelease) string {
	if release.IsTrain() {
		return plain.Count(len(release.Spec.MemberTemplates), "member")
	}
	return strings.ToLower(release.Spec.WorkloadRef.Kind) + "/" + release.Spec.WorkloadRef.Name
}

// Rows remembers the rows of releases that were printed.
type Rows map[types.UID]string

// Changed returns the releases whose rows are not as they were, their ages aside.
func (r Rows) Changed(releases []v1alpha1.BatchRelease, sources Sources, now time.Time) []v1alpha1.BatchRelease {
	var changed []v1alpha1.BatchRelease
	for i := range releases {
		release := releases[i]
		release.CreationTimestamp = metav1.NewTime(now)
		cells := strings.Join(releaseCells(&release, sources, now), "\n")
		if r[release.UID] != cells {
			r[release.UID] = cells
			changed = append(changed, releases[i])
		}
	}
	return changed
}

// share returns how many of all pods are counted; empty before a release has begun to count.
func share(status *v1alpha1.BatchReleaseStatus, part int32) string {
	if status.Phase == "" || status.Phase == v1alpha1.PhaseInitial {
		return ""
	}
	return fmt.Sprintf("%d/%d", part, status.Replicas)
}

// WaitsFor returns what a release needs to go on, in a few words; empty if it needs nothing.
func WaitsFor(release *v1alpha1.BatchRelease, now time.Time) string {
	status := &release.Status
	switch {
	case status.Phase == v1alpha1.PhaseFailed:
		return status.Reason
	case release.Frozen(now) != nil:
		return "end of freeze"
	case release.Spec.Suspend:
		return "resume"
	case stalled(status):
		return cmp.Or(string(status.StalledBy), status.Reason)
	case changedPastGit(status):
		return "sync"
	case changedOutOfBand(release):
		return "retry"
	case lacksWorkload(status):
		return "workload"
	case status.PausePoint != nil:
		return "pod/" + status.PausePoint.Pod
	case release.WaitsForTrain():
		return "train/" + release.Spec.Train
	case status.State == v1alpha1.StateApprovalRefused:
		return "another approval"
	case status.CurrentStepState == v1alpha1.StepBlocking:
		return joined(gateTypes(status.Gates), troubled(status))
	}
	return joined(troubled(status), trafficWait(status))
}

// troubled returns what is wrong with updated pods, in a few words; empty if nothing is.
func troubled(status *v1alpha1.BatchReleaseStatus) string {
	if status.PodTrouble == nil {
		return ""
	}
	return string(status.PodTrouble.Reason)
}

// joined returns the words that are not empty.
func joined(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), ",")
}

// changedPastGit reports whether a release waits until spec.template is again what Git has.
func changedPastGit(status *v1alpha1.BatchReleaseStatus) bool {
	return status.State == v1alpha1.StateChangedPastGit || status.Stops() == v1alpha1.StopChangedPastGit
}

// changedOutOfBand reports whether a release stands because somebody has changed the workload that
// it holds.
func changedOutOfBand(release *v1alpha1.BatchRelease) bool {
	return release.Status.StoppedFor(v1alpha1.StopWorkloadChanged)
}

// lacksWorkload reports whether the workload does not exist.
func lacksWorkload(status *v1alpha1.BatchReleaseStatus) bool {
	return status.State == v1alpha1.StateWorkloadNotFound
}

// stalled reports whether only a change can help.
func stalled(status *v1alpha1.BatchReleaseStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionStalled)
}

func gateTypes(gates []v1alpha1.GateReference) string {
	names := make([]string, 0, len(gates))
	for _, gate := range gates {
		names = append(names, string(gate.Type))
	}
	return strings.Join(names, ",")
}
