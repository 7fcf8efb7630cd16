package show

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Trace is the way from something that runs back to its origin. Unknown parts are nil.
type Trace struct {
	// Pod is the start of the trace; nil if the trace starts further up.
	Pod *corev1.Pod
	// Version is a ReplicaSet, or the ControllerRevision of a StatefulSet or DaemonSet.
	Version Object
	// Workload is a Deployment, StatefulSet or DaemonSet of apps/v1.
	Workload Object
	Release  *v1alpha1.BatchRelease
	// Kept is the record of the template that the version has; nil while it is released for the first
	// time.
	Kept *appsv1.ControllerRevision
	// Gates are the gates of the release.
	Gates  []v1alpha1.Gate
	Source *v1alpha1.ReleaseSource
}

// Lines returns the trace for people, from what runs to who let it.
func (t *Trace) Lines(now time.Time) []string {
	var lines []string
	if t.Pod != nil {
		lines = pairs("Pod", t.Pod.Name+", made "+since(t.Pod.CreationTimestamp, now)+" ago")
	}
	lines = append(lines, pairs(
		t.versionKind(), t.Version.GetName(), "Images", t.images(),
		kindOf(t.Workload), t.Workload.GetName(), "Release", t.releaseName(), "Train", t.train(), "Revision", t.revision(),
	)...)
	if t.Release == nil {
		return lines
	}
	o := t.origin()
	lines = append(lines, pairs(
		"Outcome", strings.TrimSuffix(o.outcome+", "+releasedAgo(o.at, now), ", "),
		"Commit", o.commit, "URL", CommitURL(t.Source, o.commit), "Author", o.author, "Subject", o.subject, "Signed by", t.signer(o.commit),
		"Made from", Reference(o.reference), "Approved by", o.approvers,
	)...)
	return append(lines, t.evidence(o.attempt)...)
}

// signer returns who signed a commit, as the source has recorded it; empty if that is not known.
func (t *Trace) signer(commit string) string {
	if t.Source == nil {
		return ""
	}
	for _, head := range t.Source.Status.Verified {
		switch {
		case head.Commit != commit:
		case head.Key == "":
			return "not checked: taken as it was"
		default:
			return line(head.Signer + ", key " + head.Key)
		}
	}
	return ""
}

// IsOf reports whether a release of a workload is that of the one which is traced.
func (t *Trace) IsOf(ref v1alpha1.WorkloadReference) bool {
	return ref.Kind == kindOf(t.Workload) && ref.Name == t.Workload.GetName()
}

func (t *Trace) releaseName() string {
	if t.Release == nil {
		return "none: the " + kindOf(t.Workload) + " is not released by Sluice"
	}
	return t.Release.Name
}

// train names the train of a member, which has its approvals; empty for none.
func (t *Trace) train() string {
	if t.Release == nil || t.Release.Spec.Train == "" {
		return ""
	}
	return t.Release.Spec.Train + ", which asks for its gates: sluice get " + t.Release.Spec.Train
}

func (t *Trace) versionKind() string {
	if _, is := t.Version.(*appsv1.ReplicaSet); is {
		return "ReplicaSet"
	}
	return "Recorded in" // "ControllerRevision" is wider than the column
}

func (t *Trace) images() string {
	switch v := t.Version.(type) {
	case *appsv1.ReplicaSet:
		return templateImages(&v.Spec.Template)
	case *appsv1.ControllerRevision:
		return recordImages(v)
	default:
		return ""
	}
}

// VersionName returns the name that the native controller gave a version: a ReplicaSet, or a
// ControllerRevision.
func VersionName(version Object) string {
	if set, is := version.(*appsv1.ReplicaSet); is {
		return revisionOf(set)
	}
	return hashOf(version.GetName())
}

func (t *Trace) revision() string {
	revision := VersionName(t.Version)
	if t.Kept != nil {
		revision += ", number " + strconv.FormatInt(t.Kept.Revision, 10)
	}
	return revision
}

// brought is the known origin of a template.
type brought struct {
	outcome, at, commit, author, subject, approvers string
	attempt                                         int64
	// reference is the commit that this one was made from, as it claims.
	reference *v1alpha1.ReferenceCommit
}

// origin returns what the history says, or the status of a template that is not in it yet.
func (t *Trace) origin() brought {
	status := &t.Release.Status
	if t.Kept == nil && VersionName(t.Version) == status.UpdateRevision {
		author, subject := CommitOf(t.Release)
		return brought{outcome: Standing(t.Release), commit: status.Commit, author: author, subject: subject, attempt: status.Attempt,
			reference: status.CommitReference}
	}
	if t.Kept == nil {
		return brought{outcome: "not known: the revision is not in the history"}
	}
	annotations := t.Kept.Annotations
	attempt, err := strconv.ParseInt(annotations[v1alpha1.AttemptAnnotation], 10, 64)
	if err != nil {
		attempt = -1 // that of no gate
	}
	return brought{
		outcome: annotations[v1alpha1.OutcomeAnnotation], at: annotations[v1alpha1.ReleasedAtAnnotation],
		commit: annotations[v1alpha1.CommitAnnotation], author: annotations[v1alpha1.AuthorAnnotation],
		subject: annotations[v1alpha1.SubjectAnnotation], approvers: annotations[v1alpha1.ApprovedByAnnotation], attempt: attempt,
		reference: v1alpha1.ParseReference(annotations[v1alpha1.ReferenceAnnotation]),
	}
}

// Reference returns the commit that another one says it was made from, with the author and subject
// that it claims; empty if there is none.
func Reference(from *v1alpha1.ReferenceCommit) string {
	if from == nil {
		return ""
	}
	return strings.TrimSpace(plain.Commit(from.SHA) + " " + bySubject(from.Author, from.Subject))
}

// CommitURL returns where people look at a commit on the forge of a source; empty if there is no
// such page.
func CommitURL(source *v1alpha1.ReleaseSource, commit string) string {
	if source == nil || source.Spec.Forge == nil || !isHash(commit) || !strings.HasPrefix(source.Spec.URL, "https://") {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(source.Spec.URL, "/"), ".git") + "/commit/" + commit
}

// isHash reports whether a commit is a hash. It comes from an annotation: anything else could lead
// to another page of the forge.
func isHash(commit string) bool {
	return commit != "" && strings.Trim(commit, "0123456789abcdefABCDEF") == ""
}

// Object is one of the cluster.
type Object interface {
	metav1.Object
	runtime.Object
}

// Objects returns what the trace goes through, from what runs to where it came from.
func (t *Trace) Objects() []Object {
	var objects []Object
	if t.Pod != nil {
		objects = append(objects, t.Pod)
	}
	objects = append(objects, t.Version, t.Workload)
	if t.Release == nil {
		return objects
	}
	if t.Kept != nil {
		objects = append(objects, t.Kept)
	}
	objects = append(objects, t.Release)
	gates := t.gates(t.origin().attempt)
	for i := range gates {
		objects = append(objects, &gates[i])
	}
	if t.Source != nil {
		objects = append(objects, t.Source)
	}
	return objects
}

// gates returns those that an attempt went through, in their order.
func (t *Trace) gates(attempt int64) []v1alpha1.Gate {
	var gates []v1alpha1.Gate
	for _, gate := range t.Gates {
		if gate.Spec.Attempt == attempt && gate.Spec.Revision == VersionName(t.Version) && gate.Spec.ReleaseRef.UID == t.Release.UID {
			gates = append(gates, gate)
		}
	}
	slices.SortFunc(gates, func(a, b v1alpha1.Gate) int {
		return cmp.Or(cmp.Compare(a.Spec.Step, b.Spec.Step), cmp.Compare(a.Spec.Index, b.Spec.Index))
	})
	return gates
}

// Passed returns the gates that the version has passed, in their order. Gates of earlier attempts
// may be gone.
func (t *Trace) Passed() []v1alpha1.Gate {
	return slices.DeleteFunc(t.gates(t.origin().attempt), func(g v1alpha1.Gate) bool { return g.Status.Decision != v1alpha1.DecisionPassed })
}

// evidence returns what the gates of an attempt were decided on. Gates of earlier attempts may be
// gone.
func (t *Trace) evidence(attempt int64) []string {
	var lines []string
	gates := t.gates(attempt)
	for i := range gates {
		gate := &gates[i]
		lines = append(lines, fmt.Sprintf("Gate after batch %d, %s: %s", gate.Spec.Step+1, gate.Spec.Type,
			line(cmp.Or(gate.Status.Message, string(gate.Status.Decision), "waits"))))
		for _, evidence := range gate.Status.Evidence {
			lines = append(lines, "  "+evidenceWords(evidence))
		}
	}
	return lines
}

// evidenceWords returns kind, actor, detail, time and address of a fact, as far as there are any.
func evidenceWords(evidence v1alpha1.Evidence) string {
	words := evidence.Kind
	if evidence.Actor != "" {
		words += " by " + evidence.Actor
	}
	if evidence.Detail != "" {
		words += ": " + evidence.Detail
	}
	if evidence.Time != nil {
		words += ", " + evidence.Time.UTC().Format(time.RFC3339)
	}
	if evidence.URL != "" {
		words += " " + evidence.URL
	}
	return line(words)
}

// SetsInUse returns the ReplicaSets of a workload that have pods, by name.
func SetsInUse(sets []appsv1.ReplicaSet, of Object) []appsv1.ReplicaSet {
	var used []appsv1.ReplicaSet
	for _, set := range sets {
		if metav1.IsControlledBy(&set, of) && (set.Status.Replicas > 0 || replicasOf(set.Spec.Replicas) > 0) {
			used = append(used, set)
		}
	}
	slices.SortFunc(used, func(a, b appsv1.ReplicaSet) int { return strings.Compare(a.Name, b.Name) })
	return used
}

// RecordsInUse returns the ControllerRevisions of a StatefulSet or DaemonSet whose templates pods
// have, by name.
func RecordsInUse(w *Whole) []appsv1.ControllerRevision {
	byHash := podsByHash(w)
	used := slices.DeleteFunc(slices.Clone(w.Revisions), func(record appsv1.ControllerRevision) bool {
		return len(byHash[hashOf(record.Name)]) == 0
	})
	slices.SortFunc(used, func(a, b appsv1.ControllerRevision) int { return strings.Compare(a.Name, b.Name) })
	return used
}
