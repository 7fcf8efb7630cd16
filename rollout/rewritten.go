package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
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

// rewritten is a write that admission changes to something else: a mutating webhook or policy, which acts in our name,
// so that no field manager says which.
type rewritten struct {
	// fields are what comes back otherwise, without values that may be secret.
	fields []string
	// written says that the object has changed; else it was a dry run that showed it.
	written bool
}

func (e *rewritten) Error() string {
	return "a mutating admission webhook or policy changes " + strings.Join(e.fields, ", ")
}

// dryRunTakeOver asks the API server for the result of a take-over. A workload that was set to Recreate and not
// paused would lose its pods; one whose template is another one each time it is written would never be the one that
// is released. What the API server merely fills in today and did not before is the same each time.
func (r *Reconciler) dryRunTakeOver(ctx context.Context, v *view, patch client.Patch, a plan.TakeOver) error {
	foreseen, err := r.dryRun(ctx, v, patch)
	if err != nil {
		return err
	}
	if fields := notHeld(foreseen, a.Hold); len(fields) > 0 {
		return &rewritten{fields: fields}
	}
	if a.Template == nil || a.Digest == "" || digestOfWorkload(foreseen) == a.Digest {
		return nil
	}
	again, err := r.dryRun(ctx, v, patch)
	if err != nil {
		return err
	}
	return otherTemplate(foreseen, again, false)
}

// takenOver compares the result of a take-over with the request.
func takenOver(v *view, before workload.Workload, a plan.TakeOver) error {
	if fields := notHeld(v.workload, a.Hold); len(fields) > 0 {
		return &rewritten{fields: fields, written: true}
	}
	if a.Template == nil || a.Digest == "" || digestOfWorkload(v.workload) == a.Digest {
		return nil
	}
	if asked := v.release.Generation; v.process.otherDefaults != asked {
		v.process.otherDefaults = asked // the plan takes it for a default that is new, once
		return nil
	}
	if isStripped(before.PodTemplate()) {
		return &rewritten{fields: []string{"spec.template"}, written: true}
	}
	return otherTemplate(before, v.workload, true)
}

// notHeld are the fields that make a workload one that is taken over and are not as asked for.
func notHeld(w workload.Workload, asked plan.Hold) []string {
	fields := w.Insecure()
	if held := hold.Of(w); held == nil || *held != asked {
		fields = append(fields, "metadata.annotations["+v1alpha1.HoldAnnotation+"]")
	}
	return fields
}

// otherTemplate names in which fields two outcomes of one write differ; nil if they don't, in a dry run.
func otherTemplate(a, b workload.Workload, written bool) error {
	if !written && digestOfWorkload(a) == digestOfWorkload(b) {
		return nil
	}
	fields, err := drift.Fields(a.PodTemplate(), b.PodTemplate())
	if err != nil {
		return err
	}
	if len(fields) == 0 {
		fields = []string{"spec.template"}
	}
	return &rewritten{fields: fields, written: written}
}

// dryRunHandBack asks the API server for the result of a hand-back. The native controller rolls a template at
// once that is not the one that the pods have.
func (r *Reconciler) dryRunHandBack(ctx context.Context, v *view, patch client.Patch, a plan.HandBack) error {
	foreseen, err := r.dryRun(ctx, v, patch)
	if err != nil {
		return err
	}
	if fields := notHandedBack(foreseen, a.Hold.HeldWorkload); len(fields) > 0 {
		return &rewritten{fields: fields}
	}
	if a.Template != nil || digestOfWorkload(foreseen) == digestOfWorkload(v.workload) {
		return nil
	}
	if isStripped(v.workload.PodTemplate()) {
		return &rewritten{fields: []string{"spec.template"}}
	}
	return otherTemplate(v.workload, foreseen, false)
}

// notHandedBack are the fields that are not what a workload had before it was taken over.
func notHandedBack(w workload.Workload, asked v1alpha1.HeldWorkload) []string {
	fields := w.Kept(asked)
	if hold.Of(w) != nil {
		fields = append(fields, "metadata.annotations["+v1alpha1.HoldAnnotation+"]")
	}
	return fields
}

// dryRun is the workload as a patch would leave it.
func (r *Reconciler) dryRun(ctx context.Context, v *view, patch client.Patch) (workload.Workload, error) {
	answer := v.untypedWorkload()
	tried := kube.OutcomeOf(r.client.Patch(ctx, answer, patch, strict, client.DryRunAll))
	if err := r.wroteWorkload(ctx, v, tried); err != nil {
		return nil, fmt.Errorf("try patch of %s: %w", v.workload.Kind(), err)
	}
	foreseen, _, err := whole(answer)
	return foreseen, err
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
