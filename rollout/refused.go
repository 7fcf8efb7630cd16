package rollout

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// refusal reports whether the API server refuses a request because of its content.
func refusal(err error) bool {
	_, refused := kube.OutcomeOf(err).(kube.Refused)
	return refused
}

// refusedFor is why a write is refused, or how it was changed; nil if neither is so.
func refusedFor(err error) *plan.Refusal {
	other, taken := (*rewritten)(nil), (*takenError)(nil)
	switch {
	case errors.As(err, &taken):
		return &plan.Refusal{Why: taken.Error()}
	case errors.As(err, &other):
		return &plan.Refusal{Why: other.Error(), Rewritten: true, Written: other.written}
	case refusal(err):
		return &plan.Refusal{Why: kube.Refusal(err)}
	default:
		return nil
	}
}

// refuse records that an action is refused.
func (p *process) refuse(release *v1alpha1.BatchRelease, action plan.Action, refused plan.Refusal, now time.Time) {
	p.refusals = p.refusals.With(refused.To(action, release.Generation), now, rand.Float64()) //nolint:gosec // when to try again is no secret
}

// tellStatusRefused tells people, once, what the status can't tell them.
func (r *Reconciler) tellStatusRefused(v *view, refused kube.Refused) {
	why := kube.Refusal(refused.Err)
	if v.process.statusRefused != why {
		v.process.statusRefused = why
		r.tell(v.release, []plan.Event{{
			Warning: true, Reason: v1alpha1.ReasonWriteRefused, Message: "the API server refuses to write the status: " + why,
		}})
	}
}
