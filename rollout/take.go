package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// strict makes the API server refuse fields that it does not know, instead of dropping them.
const strict = client.FieldValidation(metav1.FieldValidationStrict)

// takeOver writes template, paused, strategy and hold in one write. In any other order there
// is a moment in which the native controller rolls by itself, or removes every old pod.
func (r *Reconciler) takeOver(ctx context.Context, v *view, a plan.TakeOver) error {
	patch := hold.Set(hold.AsDecided(v.workload), v.workload, a.Hold)
	v.workload.Secure(patch)
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
	if !urgent(v.workload) {
		if err := r.dryRunTakeOver(ctx, v, encoded, a); err != nil {
			return err
		}
	}
	before := v.workload
	if err := r.patchWorkload(ctx, v, encoded); err != nil {
		return err
	}
	if a.PutBack != "" {
		putBacks.WithLabelValues(a.PutBack).Inc()
	}
	if plan.Exposed(v.planned()) {
		v.violated(log.FromContext(ctx), plan.Violation{Invariant: "I8", How: "the native controller may roll the workload, which is held"})
	}
	return takenOver(v, before, a)
}

// urgent reports whether the native controller is about to roll a workload that is taken over.
func urgent(w workload.Workload) bool { return hold.Of(w) != nil && len(w.Insecure()) > 0 }

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
	patch, err := hold.HandBack(v.workload, a.Hold.HeldWorkload, template).Patch()
	if err != nil {
		return err
	}
	if err := r.dryRunHandBack(ctx, v, patch, a); err != nil {
		return err
	}
	if err := r.patchWorkload(ctx, v, patch); err != nil {
		return err
	}
	v.process.ending = ending{since: r.clock.Now()}
	if fields := notHandedBack(v.workload, a.Hold.HeldWorkload); len(fields) > 0 {
		return &rewritten{fields: fields, written: true}
	}
	return nil
}

func (r *Reconciler) patchWorkload(ctx context.Context, v *view, patch client.Patch) error {
	written := v.untypedWorkload()
	if err := r.wroteWorkload(ctx, v, kube.OutcomeOf(r.client.Patch(ctx, written, patch, strict))); err != nil {
		return fmt.Errorf("patch %s: %w", v.workload.Kind(), err)
	}
	return v.sawWhole(written)
}

// template is the JSON of a pod template: the release's own, a kept one, or one
// that the cluster has.
func (r *Reconciler) template(ctx context.Context, v *view, t plan.Template) (json.RawMessage, error) {
	if t.Given {
		return json.RawMessage(v.release.Spec.Template.Raw), nil
	}
	for _, kept := range v.facts.Kept {
		if kept.Revision == t.Revision {
			return r.keptTemplate(ctx, v, kept.Name)
		}
	}
	template, err := v.parts().template(ctx, r, v, t.Revision)
	if err == nil && template == nil {
		err = fmt.Errorf("no template of revision %s is kept", t.Revision)
	}
	return template, err
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
		return fmt.Errorf("try template: %w", r.wroteWorkload(ctx, v, kube.OutcomeOf(err)))
	default:
		resolved.Digest = digestOfWorkload(answer)
		resolved.Revision = v.parts().foretell(v, answer, came, resolved.Digest)
		if resolved.Overlooked, err = r.overlooked(ctx, v, came, resolved.Digest); err != nil {
			return err
		}
	}
	v.facts.Resolved = resolved
	return nil
}

// overlooked is what overlooks says of a template that would count as the present one.
func (r *Reconciler) overlooked(ctx context.Context, v *view, template json.RawMessage, digest string) (string, error) {
	if v.workload == nil || digest != digestOfWorkload(v.workload) {
		return "", nil
	}
	if v.wholeTemplate() == nil {
		if err := r.readWorkload(ctx, v); err != nil || v.workload == nil {
			return "", err
		}
	}
	return overlooks(template, v.wholeTemplate())
}

// try is the workload as it would be with another template, and that template as it came.
func (r *Reconciler) try(ctx context.Context, v *view, template json.RawMessage) (workload.Workload, json.RawMessage, error) {
	patch, err := new(kube.JSONPatch).Set("/spec/template", template).Patch()
	if err != nil {
		return nil, nil, err
	}
	answer := v.untypedWorkload()
	if err := r.client.Patch(ctx, answer, patch, strict, client.DryRunAll); err != nil {
		return nil, nil, err
	}
	return whole(answer)
}
