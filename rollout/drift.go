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
// remembers the answer, since a workload may keep a user's change for a long time.
func (r *observer) readDrift(ctx context.Context, v *view, t plan.Template) error {
	asked := knownDrift{from: t, given: v.given, present: digestOfWorkload(v.workload)}
	if known := v.process.drift; known.drift != nil && known.from == asked.from &&
		known.given == asked.given && known.present == asked.present {
		v.facts.Drift = known.drift
		return nil
	}
	template, err := r.history.template(ctx, v, t)
	if err != nil {
		return err
	}
	released, _, err := r.history.try(ctx, v, template)
	if err != nil && !refusal(err) {
		return fmt.Errorf("try released template: %w", r.wroteWorkload(ctx, v, kube.OutcomeOf(err)))
	}
	if refusal(err) {
		released = nil
	}
	if err := r.readWorkload(ctx, v); err != nil {
		return err
	}
	if v.workload == nil || digestOfWorkload(v.workload) != asked.present {
		return errOutdated
	}
	if asked.drift, err = compare(released, v.workload); err != nil {
		return err
	}
	v.process.drift, v.facts.Drift = asked, asked.drift
	return nil
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
