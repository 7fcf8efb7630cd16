package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/drift"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// rewritten is a write that admission changes to something else: a mutating webhook or policy,
// which acts in our name, so that no field manager says which.
type rewritten struct {
	// fields that come back otherwise, without values that may be secret.
	fields []string
	// written says that the object has changed; else it was a dry run that showed it.
	written bool
}

func (e *rewritten) Error() string {
	return "a mutating admission webhook or policy changes " + strings.Join(e.fields, ", ") + wayOut
}

// wayOut says what people can do about a write that admission changes.
const wayOut = ". Undo what it does (kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations), and the release " +
	"continues within seconds; or release the result through its gates: change spec.template in Git, where an annotation is enough"

// brings is the template that a write is to leave the workload with.
type brings struct {
	// sent is the template of the write; nil leaves the workload's template.
	sent json.RawMessage
	// given says that it has no defaults yet.
	given bool
	// any says that the write makes no pod, whatever admission makes of the template.
	any bool
	// digest is the digest that the API server is known to make of it, and revision its version; empty
	// if unknown.
	digest, revision string
}

// by reports whether a workload, as the API server leaves it, has the template. Defaults that are
// new give it another digest, and to the native controller it is the same (I15).
func (b brings) by(v *view, before, after workload.Workload, came json.RawMessage) bool {
	has := digestOfWorkload(after)
	switch {
	case b.any:
		return true
	case b.sent == nil:
		return has == digestOfWorkload(before) || b.digest != "" && has == b.digest
	case has == b.digest || !b.given && has == digestOfRaw(b.sent):
		return true
	default:
		return b.revision != "" && v.parts().foretell(v, after, came, has) == b.revision
	}
}

// digestOfRaw returns the digest of a template; empty, which equals no other, if it can't be read.
func digestOfRaw(raw json.RawMessage) string {
	var template corev1.PodTemplateSpec
	if json.Unmarshal(raw, &template) != nil || isStripped(&template) {
		return ""
	}
	return digestOf(&template)
}

// instead names the fields in which a template is not the one that was sent, or that the workload
// had.
func (b brings) instead(v *view, after workload.Workload) []string {
	before := b.sent
	if before == nil {
		before = v.wholeTemplate()
	}
	var template corev1.PodTemplateSpec
	if b.given || json.Unmarshal(before, &template) != nil || isStripped(&template) {
		return []string{"spec.template"}
	}
	if fields, err := drift.Fields(&template, after.PodTemplate()); err == nil && len(fields) > 0 {
		return fields
	}
	return []string{"spec.template"}
}

// tryWrite asks the API server for the result of a write of the workload. A template that admission
// has changed is one without approval, whichever field the write is about.
func (r *workloadWriter) tryWrite(
	ctx context.Context, v *view, patch client.Patch, template brings, differs func(workload.Workload) []string,
) error {
	foreseen, came, err := r.dryRun(ctx, v, patch)
	if err != nil {
		return err
	}
	return changes(append(differs(foreseen), template.others(v, v.workload, foreseen, came)...), false)
}

// others returns the fields of the template that are not as a write asks for; nil if all are.
func (b brings) others(v *view, before, after workload.Workload, came json.RawMessage) []string {
	if b.by(v, before, after, came) {
		return nil
	}
	return b.instead(v, after)
}

// changes returns an error that names the fields that admission changes; nil if there are none.
func changes(fields []string, written bool) error {
	if len(fields) == 0 {
		return nil
	}
	return &rewritten{fields: fields, written: written}
}

// notHeld returns the fields that make a workload one that is taken over and are not as asked for.
func notHeld(w workload.Workload, asked plan.Hold) []string {
	fields := w.Insecure()
	if held := hold.Of(w); held == nil || *held != asked {
		fields = append(fields, "metadata.annotations["+v1alpha1.HoldAnnotation+"]")
	}
	return fields
}

// notHandedBack returns the fields that are not what a workload had before it was taken over.
func notHandedBack(w workload.Workload, asked v1alpha1.HeldWorkload) []string {
	fields := w.Kept(asked)
	if hold.Of(w) != nil {
		fields = append(fields, "metadata.annotations["+v1alpha1.HoldAnnotation+"]")
	}
	return fields
}

// dryRun returns the workload as a patch would leave it, and its template as it came.
func (r *workloadWriter) dryRun(ctx context.Context, v *view, patch client.Patch) (workload.Workload, json.RawMessage, error) {
	answer := v.untypedWorkload()
	tried := kube.OutcomeOf(r.client.Patch(ctx, answer, patch, strict, client.DryRunAll))
	if err := r.wroteWorkload(ctx, v, tried); err != nil {
		return nil, nil, fmt.Errorf("try patch of %s: %w", v.release.Spec.WorkloadRef.Kind, err)
	}
	return whole(answer)
}

// otherSet names what of a ReplicaSet is not as asked for; nil if it all is.
func otherSet(want, have *unstructured.Unstructured, written bool) error {
	asked, answer := &appsv1.ReplicaSet{}, &appsv1.ReplicaSet{}
	if err := errors.Join(typed(want, asked), typed(have, answer)); err != nil {
		return err
	}
	var fields []string
	if digestOfSet(asked) != digestOfSet(answer) {
		differing, err := drift.Fields(&asked.Spec.Template, &answer.Spec.Template)
		if err != nil {
			return err
		}
		fields = append(fields, differing...)
		if len(differing) == 0 {
			fields = append(fields, "spec.template")
		}
	}
	if hash := appsv1.DefaultDeploymentUniqueLabelKey; asked.Labels[hash] != answer.Labels[hash] {
		fields = append(fields, "metadata.labels["+hash+"]")
	}
	if sizeOf(asked) != sizeOf(answer) {
		fields = append(fields, "spec.replicas")
	}
	if len(fields) == 0 {
		return nil
	}
	return &rewritten{fields: fields, written: written}
}

func sizeOf(set *appsv1.ReplicaSet) int32 { return ptr.Deref(set.Spec.Replicas, 1) }

// otherMeta names the annotations of a release, and the finalizer, that are not as asked for.
func otherMeta(a plan.Annotate, answer *v1alpha1.BatchRelease) error {
	var fields []string
	for key, value := range a.Set {
		if answer.Annotations[key] != value {
			fields = append(fields, "metadata.annotations["+key+"]")
		}
	}
	for _, key := range a.Remove {
		if _, found := answer.Annotations[key]; found {
			fields = append(fields, "metadata.annotations["+key+"]")
		}
	}
	if a.Finalizer != nil && *a.Finalizer != slices.Contains(answer.Finalizers, v1alpha1.Finalizer) {
		fields = append(fields, "metadata.finalizers")
	}
	if len(fields) == 0 {
		return nil
	}
	slices.Sort(fields)
	return &rewritten{fields: fields, written: true}
}
