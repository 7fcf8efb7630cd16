package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// History returns the table of a release's templates, the oldest first. It has the history, the
// commits that others superseded before their end, and the template in progress.
func History(release *v1alpha1.BatchRelease, kept []appsv1.ControllerRevision, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		column("Current"), column("Number"), column("Revision"), column("Images"), column("Outcome"), column("When"), column("Took"),
		column("Commit"), column("Author"), column("Approved by"), column("Subject"),
	}}
	kept = slices.SortedFunc(slices.Values(kept), func(a, b appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), strings.Compare(a.Name, b.Name))
	})
	if release.IsTrain() { // the history of templates is that of the members
		for i := range release.Status.Ended {
			table.Rows = append(table.Rows, endedRow(&release.Status.Ended[i]))
		}
	}
	current := release.Annotations[v1alpha1.CurrentStableAnnotation]
	for i := range kept {
		table.Rows = append(table.Rows, keptRow(&kept[i], current, now))
	}
	for i := range release.Status.Log {
		if one := &release.Status.Log[i]; one.Type == v1alpha1.LogSuperseded {
			table.Rows = append(table.Rows, supersededRow(one, now))
		}
	}
	for _, commit := range gaveWay(release, kept) {
		table.Rows = append(table.Rows, marked("", "-", "-", "-", "Superseded", "-", "-", plain.Commit(commit), "-", "-", "-"))
	}
	if underWay(release, kept) {
		table.Rows = append(table.Rows, underWayRow(release))
	}
	return table
}

func keptRow(kept *appsv1.ControllerRevision, current string, now time.Time) metav1.TableRow {
	annotations, revision := kept.Annotations, kept.Labels[v1alpha1.RevisionLabel]
	marker := ""
	if revision == current {
		marker = "*"
	}
	return marked(marker,
		strconv.FormatInt(kept.Revision, 10), revision, ImagesOf(kept.Data.Raw),
		annotations[v1alpha1.OutcomeAnnotation], releasedAgo(annotations[v1alpha1.ReleasedAtAnnotation], now), took(annotations),
		plain.Commit(annotations[v1alpha1.CommitAnnotation]), annotations[v1alpha1.AuthorAnnotation],
		annotations[v1alpha1.ApprovedByAnnotation], annotations[v1alpha1.SubjectAnnotation],
	)
}

// endedRow returns the row of a run that has ended.
func endedRow(ended *v1alpha1.EndedRelease) metav1.TableRow {
	outcome := string(v1alpha1.OutcomeReleased)
	if ended.Trigger != "" {
		outcome = string(v1alpha1.OutcomeRolledBack)
	}
	return marked("", "-", ended.Revision, "-", outcome, "-", "-", plain.Commit(ended.Commit), "-", cmp.Or(ended.ApprovedBy, "-"), "-")
}

// supersededRow returns the row of a release that another one superseded.
func supersededRow(one *v1alpha1.LogEntry, now time.Time) metav1.TableRow {
	outcome := strings.TrimSuffix(string(one.Type)+" when "+string(one.State), " when ")
	return marked("", "-", one.Revision, strings.Join(one.Images, ","), outcome, since(one.Time, now)+" ago", "-",
		plain.Commit(one.Commit), one.Author, "-", "-")
}

// gaveWay returns the superseded commits that are neither in the log, nor in the history for a
// later release of them.
func gaveWay(release *v1alpha1.BatchRelease, kept []appsv1.ControllerRevision) []string {
	return slices.DeleteFunc(slices.Clone(release.Status.Superseded), func(commit string) bool {
		logged := slices.ContainsFunc(release.Status.Log, func(one v1alpha1.LogEntry) bool {
			return one.Type == v1alpha1.LogSuperseded && one.Commit == commit
		})
		return logged || commit == release.Status.Commit || slices.ContainsFunc(kept, func(k appsv1.ControllerRevision) bool {
			return k.Annotations[v1alpha1.CommitAnnotation] == commit
		})
	})
}

// underWay reports whether a template is being released that is not kept yet, or a train has a run.
func underWay(release *v1alpha1.BatchRelease, kept []appsv1.ControllerRevision) bool {
	status := &release.Status
	isIt := func(r appsv1.ControllerRevision) bool {
		return r.Labels[v1alpha1.RevisionLabel] == status.UpdateRevision
	}
	return status.UpdateRevision != "" && (release.IsTrain() || status.Phase != v1alpha1.PhaseCompleted) && !slices.ContainsFunc(kept, isIt)
}

func underWayRow(release *v1alpha1.BatchRelease) metav1.TableRow {
	status := &release.Status
	author, subject := CommitOf(release)
	outcome := Standing(release)
	if told := trafficOf(release); told != nil {
		outcome += ", " + v1alpha1.RequestWords(told.Weight, int(told.Matches))
	}
	approvers := "-"
	if status.Run != nil {
		approvers = cmp.Or(status.Run.ApprovedBy, approvers)
	}
	return marked("", "-", status.UpdateRevision, images(release), outcome, "-", "-", plain.Commit(status.Commit), author, approvers, subject)
}

// releasedAgo returns how long ago a time was that an annotation holds.
func releasedAgo(text string, now time.Time) string {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return ""
	}
	return since(metav1.NewTime(at), now) + " ago"
}

// took returns the time from the beginning of a release or rollback to its end; empty if unknown.
func took(annotations map[string]string) string {
	began, unknown := time.Parse(time.RFC3339, annotations[v1alpha1.StartedAtAnnotation])
	ended, unended := time.Parse(time.RFC3339, annotations[v1alpha1.ReleasedAtAnnotation])
	if unknown != nil || unended != nil {
		return ""
	}
	return duration.HumanDuration(ended.Sub(began))
}

// ImagesOf returns the images of a pod template as JSON, separated by commas.
func ImagesOf(raw []byte) string {
	var template corev1.PodTemplateSpec
	if err := json.Unmarshal(raw, &template); err != nil {
		return "" // what is no template has none; that is said where it matters
	}
	return templateImages(&template)
}

func templateImages(template *corev1.PodTemplateSpec) string {
	names := make([]string, 0, len(template.Spec.Containers))
	for i := range template.Spec.Containers {
		names = append(names, template.Spec.Containers[i].Image)
	}
	return strings.Join(names, ",")
}

// FindKept returns the template that is named by its number, its revision, or the beginning of its
// commit.
func FindKept(kept []appsv1.ControllerRevision, name string) (*appsv1.ControllerRevision, error) {
	var found []*appsv1.ControllerRevision
	for i := range kept {
		if isNamed(&kept[i], name) {
			found = append(found, &kept[i])
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no kept template has number, revision or commit %q", name)
	case 1:
		return found[0], nil
	default:
		return nil, fmt.Errorf("%d kept templates came with commit %q: name one by its number or revision", len(found), name)
	}
}

// leastCommit is how much of a commit names it.
const leastCommit = 7

func isNamed(kept *appsv1.ControllerRevision, name string) bool {
	if name == strconv.FormatInt(kept.Revision, 10) || name == kept.Labels[v1alpha1.RevisionLabel] {
		return true
	}
	return len(name) >= leastCommit && strings.HasPrefix(kept.Annotations[v1alpha1.CommitAnnotation], strings.ToLower(name))
}

// Kept tells all of one template of the history.
func Kept(kept *appsv1.ControllerRevision) []string {
	annotations := kept.Annotations
	return pairs(
		"Number", strconv.FormatInt(kept.Revision, 10),
		"Revision", kept.Labels[v1alpha1.RevisionLabel],
		"Outcome", annotations[v1alpha1.OutcomeAnnotation],
		"Began at", annotations[v1alpha1.StartedAtAnnotation],
		"Released at", annotations[v1alpha1.ReleasedAtAnnotation],
		"Commit", annotations[v1alpha1.CommitAnnotation],
		"Author", annotations[v1alpha1.AuthorAnnotation],
		"Subject", annotations[v1alpha1.SubjectAnnotation],
		"Made from", Reference(v1alpha1.ParseReference(annotations[v1alpha1.ReferenceAnnotation])),
		"Approved by", annotations[v1alpha1.ApprovedByAnnotation],
		"Forced", annotations[v1alpha1.ForcedAnnotation],
		"Images", ImagesOf(kept.Data.Raw),
	)
}

// pairs returns lines of a name and a value each, given in turn. A value that is empty is left out.
func pairs(namesAndValues ...string) []string {
	var lines []string
	for pair := range slices.Chunk(namesAndValues, 2) {
		if pair[1] != "" {
			lines = append(lines, fmt.Sprintf("%-13s %s", pair[0]+":", line(pair[1])))
		}
	}
	return lines
}
