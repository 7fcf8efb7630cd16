package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// strict makes the API server refuse fields that it does not know, instead of dropping them.
const strict = client.FieldValidation(metav1.FieldValidationStrict)

// takeOver writes template, paused, strategy and hold in one write. In any other order there
// is a moment in which the native controller rolls by itself, or removes every old pod.
func (r *Reconciler) takeOver(ctx context.Context, v *view, a plan.TakeOver) error {
	patch := hold.Set(hold.AsDecided(v.deployment), v.deployment, a.Hold)
	patch.
		Set("/spec/paused", true).
		Set("/spec/strategy", appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType})
	if a.Template != nil {
		template, err := r.template(ctx, v, *a.Template)
		if err != nil {
			return err
		}
		patch.Set("/spec/template", template)
	}
	encoded, err := patch.Patch()
	if err != nil {
		return err
	}
	if !urgent(v.deployment) {
		if err := r.dryRunTakeOver(ctx, v, encoded, a); err != nil {
			return err
		}
	}
	before := v.deployment
	if err := r.patchDeployment(ctx, v, encoded); err != nil {
		return err
	}
	if a.PutBack != "" {
		putBacks.WithLabelValues(a.PutBack).Inc()
	}
	return takenOver(v, before, a)
}

// urgent reports whether the native controller is about to remove pods of a Deployment that is taken over.
func urgent(d *appsv1.Deployment) bool {
	return hold.Of(d) != nil && !(d.Spec.Paused && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType)
}

// refusalMemory is how long the refusal of a template is reused: a little less than
// the plan waits before it asks again.
const refusalMemory = 4 * time.Minute

// handBack is takeOver's counterpart, in one write for the same reason.
func (r *Reconciler) handBack(ctx context.Context, v *view, a plan.HandBack) error {
	var template json.RawMessage
	if a.Template != nil {
		var err error
		if template, err = r.template(ctx, v, *a.Template); err != nil {
			return err
		}
	}
	patch, err := hold.HandBack(v.deployment, a.Hold.HeldWorkload, template).Patch()
	if err != nil {
		return err
	}
	if err := r.dryRunHandBack(ctx, v, patch, a); err != nil {
		return err
	}
	if err := r.patchDeployment(ctx, v, patch); err != nil {
		return err
	}
	if fields := notHandedBack(v.deployment, a.Hold.HeldWorkload); len(fields) > 0 {
		return &rewritten{fields: fields, written: true}
	}
	return nil
}

func (r *Reconciler) patchDeployment(ctx context.Context, v *view, patch client.Patch) error {
	written := untypedDeployment(v.workloadName())
	if err := r.wroteDeployment(ctx, v, kube.OutcomeOf(r.client.Patch(ctx, written, patch, strict))); err != nil {
		return fmt.Errorf("patch Deployment: %w", err)
	}
	return v.sawWhole(written)
}

// template is the JSON of a pod template: the release's own, a kept one, or that of a
// ReplicaSet of the revision.
func (r *Reconciler) template(ctx context.Context, v *view, t plan.Template) (json.RawMessage, error) {
	if t.Given {
		return json.RawMessage(v.release.Spec.Template.Raw), nil
	}
	for _, kept := range v.facts.Kept {
		if kept.Revision == t.Revision {
			return r.keptTemplate(ctx, v, kept.Name)
		}
	}
	for _, set := range v.sets {
		if set.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == t.Revision {
			return r.setTemplate(ctx, set)
		}
	}
	return nil, fmt.Errorf("no template of revision %s is kept", t.Revision)
}

// setTemplate reads the template of a ReplicaSet.
func (r *Reconciler) setTemplate(ctx context.Context, set *appsv1.ReplicaSet) (json.RawMessage, error) {
	full := untyped("ReplicaSet", client.ObjectKeyFromObject(set))
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(set), full); err != nil {
		return nil, fmt.Errorf("read ReplicaSet %s: %w", set.Name, err)
	}
	template, err := templateIn(full)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(template, "metadata", "labels", appsv1.DefaultDeploymentUniqueLabelKey)
	raw, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encode pod template: %w", err)
	}
	return raw, nil
}

// resolve asks the API server, without changing anything, what it makes of a template: with
// its defaults, or why it refuses it.
func (r *Reconciler) resolve(ctx context.Context, v *view, t plan.Template) error {
	template, err := r.template(ctx, v, t)
	if err != nil {
		return err
	}
	resolved := &plan.Resolved{}
	if t.Given {
		resolved.Given = v.given
		if refused := v.process.refused; refused.text != "" && refused.given == v.given &&
			r.clock.Since(refused.at) < refusalMemory {
			resolved.Refused = refused.text
			v.facts.Resolved = resolved
			return nil
		}
	}
	answer, came, err := r.try(ctx, v, template)
	switch {
	case refusal(err):
		resolved.Refused = kube.Refusal(err)
		v.process.refused = refusedTemplate{given: v.given, text: resolved.Refused, at: r.clock.Now()}
	case err != nil:
		return fmt.Errorf("try template: %w", r.wroteDeployment(ctx, v, kube.OutcomeOf(err)))
	default:
		resolved.Digest = digestOfDeployment(answer)
		resolved.Revision = v.revisionOfTemplate(answer, resolved.Digest)
		if resolved.Overlooked, err = r.overlooked(ctx, v, came, resolved.Digest); err != nil {
			return err
		}
	}
	v.facts.Resolved = resolved
	return nil
}

// overlooked is what overlooks says of a template that would count as the present one.
func (r *Reconciler) overlooked(ctx context.Context, v *view, template json.RawMessage, digest string) (string, error) {
	if v.deployment == nil || digest != digestOfDeployment(v.deployment) {
		return "", nil
	}
	if v.wholeTemplate() == nil {
		if err := r.readDeployment(ctx, v); err != nil || v.deployment == nil {
			return "", err
		}
	}
	return overlooks(template, v.wholeTemplate())
}

// try is the Deployment as it would be with another template, and that template as it came.
func (r *Reconciler) try(ctx context.Context, v *view, template json.RawMessage) (*appsv1.Deployment, json.RawMessage, error) {
	patch, err := new(kube.JSONPatch).Set("/spec/template", template).Patch()
	if err != nil {
		return nil, nil, err
	}
	answer := untypedDeployment(v.workloadName())
	if err := r.client.Patch(ctx, answer, patch, strict, client.DryRunAll); err != nil {
		return nil, nil, err
	}
	return whole(answer)
}

// revisionOfTemplate is the hash of the ReplicaSet that has the template already, or the one
// that it is going to have.
func (v *view) revisionOfTemplate(d *appsv1.Deployment, digest string) string {
	if set := v.setOf(digest); set != nil {
		return set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	}
	return podtemplate.Hash(&d.Spec.Template, d.Status.CollisionCount)
}
