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

// judge judges gates, and records the result.
type judge struct {
	cluster
	own *kube.Overlay[*v1alpha1.Gate]
}

// judged returns the facts that a gate is decided by: those that are known, or those of a live read
// of the cluster where the decision would open it.
func (j judge) judged(ctx context.Context, g *v1alpha1.Gate, known gate.Facts) (gate.Facts, error) {
	if gate.Evaluate(g, known, j.clock.Now()).Status.Decision != v1alpha1.DecisionPassed || gate.Decided(g) {
		return known, nil
	}
	return j.reread(ctx, g, known)
}

// reread returns facts of a live read of the cluster, with what the forge has said.
func (j judge) reread(ctx context.Context, g *v1alpha1.Gate, known gate.Facts) (gate.Facts, error) {
	live, err := j.factsOf(ctx, j.live, g)
	live.Forge = known.Forge
	return live, err
}

// record writes a status that differs from the gate's, with the event of a gate that was decided,
// and leaves g as it is then. It reports false if g is no longer what was judged: the watch brings
// what it is now, and it is judged again.
func (j judge) record(ctx context.Context, g *v1alpha1.Gate, release *v1alpha1.BatchRelease, status v1alpha1.GateStatus) (bool, error) {
	wanted := g.DeepCopy()
	wanted.Status = lifecycle.Fit(status)
	outcome := kube.PatchStatus(ctx, j.client, g, wanted)
	done, err := holds(outcome, "write status of gate")
	if err != nil {
		j.tellUnwritten(g, release, outcome)
	}
	if _, is := outcome.(kube.Written); !is {
		return done, err
	}
	before := g.Status.Decision
	j.take(g, wanted)
	if release != nil && before != g.Status.Decision {
		j.announce(g, release)
	}
	return true, nil
}

// tellUnwritten says that a gate can't be written, and who is in the way: else it would seem to
// wait for an approval that has come. The same words again count as one event.
func (j judge) tellUnwritten(g *v1alpha1.Gate, release *v1alpha1.BatchRelease, outcome kube.Outcome) {
	words, err := "the API server refuses to write gate ", kube.Err(outcome)
	if _, refused := outcome.(kube.Refused); !refused {
		if words = "the API server can't decide whether to write gate "; !kube.Unanswered(err) {
			return
		}
	}
	about := runtime.Object(g)
	if release != nil {
		about = release
	}
	j.events.Eventf(about, g, corev1.EventTypeWarning, v1alpha1.ReasonWriteRefused, "WriteGate", "%s",
		plain.UpTo(words+g.Name+", and is asked again every few seconds: "+plain.Line(kube.Refusal(err)), longestNote))
}

// longestNote limits the note of an event.
const longestNote = 1000

// take updates g to what was written. One that is about to go is of no use to anybody.
func (j judge) take(g, written *v1alpha1.Gate) {
	written.DeepCopyInto(g)
	if g.DeletionTimestamp == nil {
		j.own.Saw(g)
	}
}

// announce publishes the event of a decision.
func (j judge) announce(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) {
	const words = "%s gate after batch %d: %s"
	switch {
	case g.Forced() != nil:
		j.events.Eventf(release, g, corev1.EventTypeWarning, "GateForced", "PassGate", words, g.Spec.Type, g.Spec.Step+1, g.Status.Message)
	case g.Status.Decision == v1alpha1.DecisionPassed:
		j.events.Eventf(release, g, corev1.EventTypeNormal, "GatePassed", "PassGate", words, g.Spec.Type, g.Spec.Step+1, g.Status.Message)
	case g.Status.Decision == v1alpha1.DecisionRejected:
		j.events.Eventf(release, g, corev1.EventTypeWarning, "GateRejected", "RejectGate", words, g.Spec.Type, g.Spec.Step+1, g.Status.Message)
	}
}
