package approvals

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/plain"
)

// judging decides one gate, and records the decision.
type judging struct {
	subject[*v1alpha1.Gate]
	// release is the object of the gate's events; nil before it is read, or if it is gone.
	release *v1alpha1.BatchRelease
}

func newJudging(gates store[*v1alpha1.Gate], g *v1alpha1.Gate) *judging {
	j := &judging{subject: subject[*v1alpha1.Gate]{store: gates, object: g}}
	j.written, j.failed = j.announce, j.reportUnwritten
	return j
}

// factsOf reads the release of the gate and that release's source.
func (j *judging) factsOf(ctx context.Context) (gate.Facts, error) {
	facts, err := j.store.factsOf(ctx, j.store.client, j.object)
	j.release = facts.Release
	return facts, err
}

// decide adds the decision to known facts. A decision that would open the gate rests on a live read
// of the cluster.
func (j *judging) decide(ctx context.Context, known lifecycle.GateFacts) (lifecycle.GateFacts, error) {
	decision := gate.Evaluate(j.object, known.Facts, j.store.clock.Now())
	if decision.Status.Decision == v1alpha1.DecisionPassed && !gate.Decided(j.object) {
		return j.decideLive(ctx, known)
	}
	known.Decision = &decision
	return known, nil
}

// decideLive adds the decision by a live read of the cluster and what is known of the forge.
func (j *judging) decideLive(ctx context.Context, known lifecycle.GateFacts) (lifecycle.GateFacts, error) {
	live, err := j.store.factsOf(ctx, j.store.live, j.object)
	if err != nil {
		return known, err
	}
	live.Forge, live.Job, live.Metrics, j.release = known.Forge, known.Job, known.Metrics, live.Release
	known.Facts, known.Decision = live, new(gate.Evaluate(j.object, live, j.store.clock.Now()))
	return known, nil
}

// record changes the status of the gate, if the gate is still the version that was judged.
func (j *judging) record(ctx context.Context, change func(*v1alpha1.GateStatus)) (bool, error) {
	return j.patchStatus(ctx, "write status of gate", func(g *v1alpha1.Gate) {
		change(&g.Status)
		g.Status = lifecycle.Fit(g.Status)
	})
}

// recordDecision writes a decision, with a signed statement about a gate that passes. The gate's
// pull request stays.
func (j *judging) recordDecision(ctx context.Context, decided v1alpha1.GateStatus) (bool, error) {
	if err := j.attest(ctx, &decided); err != nil {
		return false, err
	}
	return j.record(ctx, func(status *v1alpha1.GateStatus) {
		decided.PullRequest = status.PullRequest
		*status = decided
	})
}

// reportUnwritten publishes an event that names the webhook or policy in the way. Without it the
// gate would seem to wait for an approval that has come. Equal notes count as one event.
func (j *judging) reportUnwritten(outcome kube.Outcome) {
	words, err := "the API server refuses to write gate ", kube.Err(outcome)
	if _, refused := outcome.(kube.Refused); !refused {
		if words = "the API server can't decide whether to write gate "; !kube.Unanswered(err) {
			return
		}
	}
	about := runtime.Object(j.object)
	if j.release != nil {
		about = j.release
	}
	j.store.events.Eventf(about, j.object, corev1.EventTypeWarning, v1alpha1.ReasonWriteRefused, "WriteGate", "%s",
		plain.UpTo(words+j.object.Name+", and is asked again every few seconds: "+plain.Line(kube.Refusal(err)), longestNote))
}

// longestNote limits the note of an event.
const longestNote = 1000

// announce publishes the event of a new decision.
func (j *judging) announce(before *v1alpha1.Gate) {
	g := j.object
	undecided := g.Status.Undecided && !before.Status.Undecided
	if j.release == nil || before.Status.Decision == g.Status.Decision && !undecided {
		return
	}
	publish := func(kind, reason, action string) {
		j.store.events.Eventf(j.release, g, kind, reason, action, "%s gate after batch %d: %s", g.Spec.Type, g.Spec.Step+1, g.Status.Message)
	}
	switch {
	case undecided:
		publish(corev1.EventTypeWarning, "GateUndecided", "AskUser")
	case g.Forced() != nil:
		publish(corev1.EventTypeWarning, "GateForced", "PassGate")
	case g.Status.Decision == v1alpha1.DecisionPassed:
		publish(corev1.EventTypeNormal, "GatePassed", "PassGate")
	case g.Status.Decision == v1alpha1.DecisionRejected:
		publish(corev1.EventTypeWarning, "GateRejected", "RejectGate")
	}
}
