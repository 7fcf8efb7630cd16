package rollout

import (
	"context"
	"fmt"

	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/drift"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// readDrift compares the workload's template with a released one. It asks the API server for that
// template's form of today: defaults, or changes of a webhook, that came later are no drift. It
// remembers the answer, since a workload may keep a user's change for a long time. After a refusal
// it asks again: a policy, a quota or a webhook may accept the template later.
func (r *observer) readDrift(ctx context.Context, v *view, t plan.Template) error {
	asked := driftQuestion{from: t, given: v.given, present: digestOfWorkload(v.workload)}
	known, now := v.process.drift, r.clock.Now()
	if known.drift == nil || known.driftQuestion != asked || known.refused() && !now.Before(known.again) {
		drift, err := r.askDrift(ctx, v, asked)
		if err != nil {
			return err
		}
		known = knownDrift{driftQuestion: asked, drift: drift, again: now.Add(refusalMemory)}
	}
	if known.refused() {
		v.wakes = append(v.wakes, plan.Wake{After: known.again.Sub(now), Why: plan.WakeTemplate})
	}
	v.process.drift, v.facts.Drift = known, known.drift
	return nil
}

// askDrift asks the API server for the answer to a question.
func (r *observer) askDrift(ctx context.Context, v *view, asked driftQuestion) (*plan.Drift, error) {
	template, err := r.history.template(ctx, v, asked.from)
	if err != nil {
		return nil, err
	}
	released, _, err := r.history.try(ctx, v, template)
	if err != nil && !refusal(err) {
		return nil, fmt.Errorf("try released template: %w", r.wroteWorkload(ctx, v, kube.OutcomeOf(err)))
	}
	if refusal(err) {
		released = nil
	}
	if err := r.readWorkload(ctx, v); err != nil {
		return nil, err
	}
	if v.workload == nil || digestOfWorkload(v.workload) != asked.present {
		return nil, errOutdated
	}
	return compare(released, v.workload)
}

// compare names what differs; it says only that something does if the API server no longer accepts
// the released template.
func compare(released, present workload.Workload) (*plan.Drift, error) {
	if released == nil {
		return &plan.Drift{Fields: []string{"spec.template, which the API server would not take as it was released"}}, nil
	}
	fields, err := drift.Fields(released.PodTemplate(), present.PodTemplate())
	if err != nil {
		return nil, err
	}
	return &plan.Drift{Digest: digestOfWorkload(released), Fields: fields}, nil
}
