package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// keep records a template as a ControllerRevision. The ReplicaSet is no place to keep it: the
// native controller deletes those beyond revisionHistoryLimit.
func (r *historian) keep(ctx context.Context, v *view, a plan.RecordRevision) error {
	template, err := r.templateToKeep(ctx, v, &a)
	if err != nil {
		return err
	}
	if template == nil {
		return nil
	}
	revision := newRevision(v, a, template)
	if err := r.client.Create(ctx, revision); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create ControllerRevision: %w", err)
	} else if err != nil {
		return r.adoptRevision(ctx, v, revision, err)
	}
	v.sawKept(revision.ObjectMeta)
	return nil
}

// templateToKeep returns the template to record, with the defaults of the API server; nil if there
// is none to record.
func (r *historian) templateToKeep(ctx context.Context, v *view, a *plan.RecordRevision) (json.RawMessage, error) {
	if a.Template != nil {
		return r.unwrittenToKeep(ctx, v, a)
	}
	if v.wholeTemplate() == nil {
		if err := r.readWorkload(ctx, v); err != nil {
			return nil, err
		}
	}
	if v.workload == nil || digestOfWorkload(v.workload) != a.Digest {
		return nil, errOutdated
	}
	return v.wholeTemplate(), nil
}

// unwrittenToKeep returns a template to record that the workload never had. It may have other
// defaults by now, and is recorded as it would be. Where it comes to one that is kept, which may be
// the one to go back to, that one's record stands.
func (r *historian) unwrittenToKeep(ctx context.Context, v *view, a *plan.RecordRevision) (json.RawMessage, error) {
	template, err := r.template(ctx, v, *a.Template)
	if err != nil {
		return nil, err
	}
	answer, raw, err := r.tryWithin(ctx, v, template)
	if err != nil {
		return nil, fmt.Errorf("try template: %w", r.wroteWorkload(ctx, v, kube.OutcomeOf(err)))
	}
	a.Digest = digestOfWorkload(answer)
	if slices.ContainsFunc(v.facts.Kept, func(k plan.Kept) bool { return k.Digest == a.Digest }) {
		return nil, nil
	}
	return raw, nil
}

// triedWithin is how long a template is tried for the history's sake: a webhook may take its time,
// or ask to be asked again, and client-go does so.
const triedWithin = 10 * time.Second

func (r *historian) tryWithin(ctx context.Context, v *view, template json.RawMessage) (workload.Workload, json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, triedWithin)
	defer cancel()
	return r.try(ctx, v, template)
}

// sawKept takes over what a read of, or a write to, a ControllerRevision answered, without the
// template.
func (v *view) sawKept(revision metav1.ObjectMeta) {
	revision.ManagedFields = nil
	v.process.kept.Saw(&metav1.PartialObjectMetadata{ObjectMeta: revision})
	v.facts.Kept = append(withoutKept(v.facts.Kept, revision.Name), keptFrom(&revision))
}

// goneKept takes over that a ControllerRevision is deleted.
func (v *view) goneKept(name string) {
	v.process.kept.Deleted(client.ObjectKey{Namespace: v.release.Namespace, Name: name})
	v.facts.Kept = withoutKept(v.facts.Kept, name)
}

// mark rewrites the record of a kept template.
func (r *historian) mark(ctx context.Context, v *view, a plan.UpdateRevision) error {
	annotations := map[string]any{}
	for key, value := range recorded(a.Number, a.Record) {
		if annotations[key] = value; value == "" {
			annotations[key] = nil
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}, "revision": a.Number})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	revision := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: v.release.Namespace, Name: a.Name}}
	revision.SetGroupVersionKind(kindKept)
	if err := r.client.Patch(ctx, revision, client.RawPatch(types.MergePatchType, patch)); apierrors.IsNotFound(err) {
		v.goneKept(a.Name)
		return errOutdated
	} else if err != nil {
		return fmt.Errorf("patch ControllerRevision: %w", err)
	}
	v.sawKept(revision.ObjectMeta)
	return nil
}

// adoptRevision takes a ControllerRevision of the same name as the one wanted if it is ours
// and holds the same template; the name follows from release and hash.
func (r *historian) adoptRevision(ctx context.Context, v *view, wanted *appsv1.ControllerRevision, answer error) error {
	var existing appsv1.ControllerRevision
	if err := r.readTaken(ctx, client.ObjectKeyFromObject(wanted), &existing, answer); err != nil {
		return err
	}
	if v1alpha1.KeptFor(&existing) == v.release.UID && digestOfKept(&existing) == digestOfKept(wanted) {
		v.sawKept(existing.ObjectMeta)
		return nil
	}
	if owner := metav1.GetControllerOf(&existing); owner != nil && (owner.Kind != "BatchRelease" || owner.Name != v.release.Name) {
		return &takenError{"ControllerRevision " + existing.Name, owner.Kind + " " + owner.Name}
	}
	if existing.DeletionTimestamp != nil { // to delete it again, pass after pass, would hold up a rollback
		return &takenError{"ControllerRevision " + existing.Name, "whoever set its finalizers " + strings.Join(existing.Finalizers, ", ")}
	}
	if err := r.client.Delete(ctx, &existing, client.Preconditions{UID: &existing.UID}); err != nil {
		return fmt.Errorf("delete ControllerRevision %s: %w", existing.Name, client.IgnoreNotFound(err))
	}
	return errOutdated
}

// takenError is the refusal to take the name of what belongs to somebody else.
type takenError struct{ object, owner string }

func (e *takenError) Error() string {
	return fmt.Sprintf("%s belongs to %s: delete it, or give the release another name", e.object, e.owner)
}

// keptObject returns the name of the ControllerRevision that keeps a template. The native
// controllers of StatefulSets and DaemonSets call theirs NAME-HASH, and a hash has no dot: no name
// of ours is one of theirs.
func keptObject(release, revision string) string { return release + "-" + revision + ".sluice" }

func newRevision(v *view, a plan.RecordRevision, template json.RawMessage) *appsv1.ControllerRevision {
	annotations := recorded(a.Number, a.Record)
	annotations[v1alpha1.DigestAnnotation] = a.Digest
	maps.DeleteFunc(annotations, func(_, value string) bool { return value == "" })
	owner := metav1.NewControllerRef(v.release, v1alpha1.GroupVersion.WithKind("BatchRelease"))
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: v.release.Namespace,
			Name:      keptObject(v.release.Name, a.Revision),
			Labels: map[string]string{
				v1alpha1.ReleaseLabel:  v.release.Name,
				v1alpha1.RevisionLabel: a.Revision,
			},
			Annotations:     annotations,
			OwnerReferences: []metav1.OwnerReference{*owner},
		},
		Data:     runtime.RawExtension{Raw: template},
		Revision: a.Number,
	}
}

// recorded returns the annotations that describe a kept template; empty where there is nothing to
// record.
func recorded(number int64, record plan.Record) map[string]string {
	return map[string]string{
		v1alpha1.NumberAnnotation:     strconv.FormatInt(number, 10),
		v1alpha1.OutcomeAnnotation:    string(record.Outcome),
		v1alpha1.AttemptAnnotation:    strconv.FormatInt(record.Attempt, 10),
		v1alpha1.CommitAnnotation:     record.Commit,
		v1alpha1.AuthorAnnotation:     record.Author,
		v1alpha1.SubjectAnnotation:    record.Subject,
		v1alpha1.CommitTimeAnnotation: record.CommittedAt,
		v1alpha1.ReferenceAnnotation:  record.Reference,
		v1alpha1.ClaimedAnnotation:    map[bool]string{true: "true"}[record.Claimed],
		v1alpha1.StartedAtAnnotation:  record.StartedAt,
		v1alpha1.ReleasedAtAnnotation: record.ReleasedAt,
		v1alpha1.ApprovedByAnnotation: record.ApprovedBy,
		v1alpha1.ForcedAnnotation:     record.Forced,
	}
}

// keptFrom reads what is kept; the template itself is read when it is written back.
func keptFrom(revision metav1.Object) plan.Kept {
	labels, annotations := revision.GetLabels(), revision.GetAnnotations()
	return plan.Kept{
		Name:     revision.GetName(),
		Revision: labels[v1alpha1.RevisionLabel],
		Digest:   annotations[v1alpha1.DigestAnnotation],
		Number:   number(annotations[v1alpha1.NumberAnnotation]),
		Record: plan.Record{
			Outcome:     v1alpha1.Outcome(annotations[v1alpha1.OutcomeAnnotation]),
			Attempt:     number(annotations[v1alpha1.AttemptAnnotation]),
			Commit:      annotations[v1alpha1.CommitAnnotation],
			Author:      annotations[v1alpha1.AuthorAnnotation],
			Subject:     annotations[v1alpha1.SubjectAnnotation],
			CommittedAt: annotations[v1alpha1.CommitTimeAnnotation],
			Reference:   annotations[v1alpha1.ReferenceAnnotation],
			Claimed:     annotations[v1alpha1.ClaimedAnnotation] != "",
			StartedAt:   annotations[v1alpha1.StartedAtAnnotation],
			ReleasedAt:  annotations[v1alpha1.ReleasedAtAnnotation],
			ApprovedBy:  annotations[v1alpha1.ApprovedByAnnotation],
			Forced:      annotations[v1alpha1.ForcedAnnotation],
		},
	}
}

// digestOfKept returns the digest of a kept template itself. The recorded digest may come from an
// earlier rule.
func digestOfKept(revision *appsv1.ControllerRevision) string {
	var template corev1.PodTemplateSpec
	if json.Unmarshal(revision.Data.Raw, &template) != nil {
		return ""
	}
	return digestOf(&template)
}

// keptTemplate reads a kept template.
func (r *historian) keptTemplate(ctx context.Context, v *view, name string) (json.RawMessage, error) {
	var revision appsv1.ControllerRevision
	key := client.ObjectKey{Namespace: v.release.Namespace, Name: name}
	if err := r.live.Get(ctx, key, &revision); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("read ControllerRevision %s: %w", name, err)
	}
	if v1alpha1.KeptFor(&revision) != v.release.UID { // it is gone, or another one has got its name
		v.goneKept(name)
		return nil, errOutdated
	}
	return revision.Data.Raw, nil
}

// forget deletes a kept template.
func (r *historian) forget(ctx context.Context, v *view, a plan.PruneRevision) error {
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: v.release.Namespace, Name: a.Name}}
	if err := r.client.Delete(ctx, revision); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete ControllerRevision: %w", err)
	}
	v.goneKept(a.Name)
	return nil
}

func withoutKept(kept []plan.Kept, name string) []plan.Kept {
	var rest []plan.Kept
	for _, k := range kept {
		if k.Name != name {
			rest = append(rest, k)
		}
	}
	return rest
}
