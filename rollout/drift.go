package rollout

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/drift"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// readDrift compares the Deployment's template with a released one. It asks the API server what it
// makes of that today: what it, or a webhook, fills in now and did not then is no drift. The answer is
// remembered, since a Deployment may stay as somebody has made it for a long time.
func (r *Reconciler) readDrift(ctx context.Context, v *view, t plan.Template) error {
	asked := knownDrift{from: t, given: v.given, present: digestOfDeployment(v.deployment)}
	if known := v.process.drift; known.drift != nil && known.from == asked.from &&
		known.given == asked.given && known.present == asked.present {
		v.facts.Drift = known.drift
		return nil
	}
	template, err := r.template(ctx, v, t)
	if err != nil {
		return err
	}
	released, _, err := r.try(ctx, v, template)
	if err != nil && !refusal(err) {
		return fmt.Errorf("try released template: %w", r.wroteDeployment(ctx, v, kube.OutcomeOf(err)))
	}
	if refusal(err) {
		released = nil
	}
	if err := r.readDeployment(ctx, v); err != nil {
		return err
	}
	if v.deployment == nil || digestOfDeployment(v.deployment) != asked.present {
		return errOutdated
	}
	if asked.drift, err = compare(released, v.deployment); err != nil {
		return err
	}
	v.process.drift, v.facts.Drift = asked, asked.drift
	return nil
}

// compare names what differs; it says only that something does if the API server no longer accepts the
// released template.
func compare(released, present *appsv1.Deployment) (*plan.Drift, error) {
	if released == nil {
		return &plan.Drift{Fields: []string{"spec.template, which the API server would not take as it was released"}}, nil
	}
	fields, err := drift.Fields(&released.Spec.Template, &present.Spec.Template)
	if err != nil {
		return nil, err
	}
	return &plan.Drift{Digest: digestOfDeployment(released), Fields: fields}, nil
}
