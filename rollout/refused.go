package rollout

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// refusal reports whether the API server refuses a request because of its content.
func refusal(err error) bool {
	_, refused := kube.OutcomeOf(err).(kube.Refused)
	return refused
}

// refusedFor returns why a write is refused, or how it was changed; nil if neither is so.
func refusedFor(err error) *plan.Refusal {
	other, taken, open := (*rewritten)(nil), (*takenError)(nil), (*unguarded)(nil)
	switch {
	case errors.As(err, &open):
		return &plan.Refusal{Why: open.Error(), Unguarded: true}
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

// unanswered returns a refusal of a write that the API server could not answer.
func unanswered(err error) plan.Refusal {
	return plan.Refusal{Why: kube.Refusal(err), Unanswered: true}
}

// unasked reports whether the API server fails at a write alone: it fails, and answers what is
// read. Where it fails at everything, nothing is known of the write, and no release is to blame.
func (r *cluster) unasked(ctx context.Context, v *view, err error) bool {
	if err == nil || outdated(err) || !kube.Unanswered(err) && !passedOn(err) {
		return false
	}
	return client.IgnoreNotFound(r.live.Get(ctx, client.ObjectKeyFromObject(v.release), &v1alpha1.BatchRelease{})) == nil
}

// passedOn reports whether an error is an answer about another object than the one written: a
// webhook has read that one and passes the answer on. An answer about the object itself has become
// errOutdated.
func passedOn(err error) bool {
	_, changed := kube.OutcomeOf(err).(kube.Outdated)
	_, gone := kube.OutcomeOf(err).(kube.Gone)
	return changed || gone
}

// refuse records that a write is refused, or not answered.
func (p *process) refuse(refused plan.Refusal, now time.Time) {
	p.refusals = p.refusals.With(refused, now, rand.Float64()) //nolint:gosec // when to try again is no secret
}

// tellStatusRefused tells people, once, what the status can't tell them.
func (r *Reconciler) tellStatusRefused(ctx context.Context, v *view, outcome kube.Outcome) {
	var words string
	switch o := outcome.(type) {
	case kube.Refused:
		words = "the API server refuses to write the status: "
	case kube.Failed:
		if v.process.statusRefused == statusUnanswered || !r.unasked(ctx, v, o.Err) {
			return
		}
		words = statusUnanswered
	case kube.Written:
		v.process.statusRefused = ""
		return
	case kube.Unchanged, kube.Outdated, kube.Gone:
		return
	}
	why, told := kube.Refusal(kube.Err(outcome)), words
	if words != statusUnanswered { // else the reason may be in other words each time
		told += why
	}
	if v.process.statusRefused != told {
		v.process.statusRefused = told
		r.tell(v.release, []plan.Event{{Warning: true, Reason: v1alpha1.ReasonWriteRefused, Message: words + why}})
	}
}

const statusUnanswered = "the API server can't decide whether to write the status, and is asked every few seconds: "
