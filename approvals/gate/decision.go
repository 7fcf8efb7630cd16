package gate

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// waiting keeps a gate closed. The message must be the same at each look while the same thing
// is waited for, or the gate would be written over and over.
func waiting(message string, wakeUp time.Time) Decision {
	return Decision{
		Status: v1alpha1.GateStatus{Decision: v1alpha1.DecisionWaiting, Message: message},
		WakeUp: wakeUp,
	}
}

// refused keeps a gate closed whose pull request was answered in a way that the policy does not
// accept.
func refused(message, why string) Decision {
	decision := waiting(message, time.Time{})
	decision.Status.Refusal = &v1alpha1.Refusal{Message: why}
	return decision
}

// passed opens a gate for good.
func passed(message string, fact v1alpha1.Evidence, now time.Time) Decision {
	return decided(v1alpha1.DecisionPassed, message, now, fact)
}

func decided(decision v1alpha1.Decision, message string, now time.Time, facts ...v1alpha1.Evidence) Decision {
	return Decision{Status: v1alpha1.GateStatus{
		Decision:  decision,
		Message:   message,
		Evidence:  facts,
		DecidedAt: new(metav1.NewTime(now)),
	}}
}

// unchanged leaves a gate as it is.
func unchanged(g *v1alpha1.Gate) Decision { return Decision{Status: *g.Status.DeepCopy()} }

// keeping completes the status with what the shell has recorded on the gate, and with the time
// of a decision that was the same before.
func (d Decision) keeping(g *v1alpha1.Gate) Decision {
	before := g.Status.DeepCopy()
	d.Status.PullRequest, d.Status.Job, d.Status.Force = before.PullRequest, before.Job, before.Force
	if d.Status.Metrics == nil {
		d.Status.Metrics, d.Status.Undecided = before.Metrics, before.Undecided
	}
	if d.Status.Record == nil {
		d.Status.Record = before.Record
	}
	if d.Status.Refusal != nil && before.Refusal != nil {
		d.Status.Refusal.ToldDigest = before.Refusal.ToldDigest // who tells it compares the digests
	}
	if d.Status.Decision == before.Decision && before.DecidedAt != nil {
		d.Status.DecidedAt = before.DecidedAt
	}
	return d
}

func evidence(kind, detail string, at time.Time) v1alpha1.Evidence {
	return v1alpha1.Evidence{Kind: kind, Detail: detail, Time: new(metav1.NewTime(at))}
}

// timeOf returns nil for a time that is not known.
func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewTime(t))
}
