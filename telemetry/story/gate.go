package story

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// OfGate returns what happened to a gate between two of its versions. Before is nil for a gate that
// was created while the process watched: the facts then say that it was opened, and also that it
// was decided, if it was.
func OfGate(before, after *v1alpha1.Gate, now time.Time) []Fact {
	if after == nil {
		return nil
	}
	var facts []Fact
	if before == nil && after.IsGuard() { // no batch waits for it
		before = &v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{UID: after.UID}}
	}
	if before == nil {
		opened := gateFact(GateOpened, after)
		opened.Time = after.CreationTimestamp.Time
		facts, before = append(facts, opened), &v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{UID: after.UID}}
	}
	if before.UID != after.UID {
		return facts
	}
	if after.Status.Undecided && !before.Status.Undecided {
		undecided := gateFact(GateUndecided, after)
		undecided.Time = now
		facts = append(facts, undecided)
	}
	if before.Status.Decision == after.Status.Decision {
		return facts
	}
	var kind Kind
	switch after.Status.Decision {
	case v1alpha1.DecisionPassed:
		kind = GatePassed
	case v1alpha1.DecisionRejected:
		kind = GateRejected
	default:
		return facts
	}
	fact := gateFact(kind, after)
	fact.Since, fact.Time = after.CreationTimestamp.Time, now
	if after.Status.DecidedAt != nil {
		fact.Time = after.Status.DecidedAt.Time
	}
	return append(facts, fact)
}

func gateFact(kind Kind, gate *v1alpha1.Gate) Fact {
	fact := Fact{
		Kind: kind, Release: types.NamespacedName{Namespace: gate.Namespace, Name: gate.Spec.ReleaseRef.Name}, UID: gate.Spec.ReleaseRef.UID,
		Attempt: gate.Spec.Attempt, Revision: gate.Spec.Revision, Commit: gate.Spec.Commit, Batch: int(gate.Spec.Step) + 1,
		Message: gate.Status.Message, Gate: &Gate{Name: gate.Name, UID: gate.UID, Type: gate.Spec.Type},
	}
	if forced := gate.Forced(); forced != nil {
		fact.Gate.By, fact.Gate.Forced = forced.By, true
	}
	for _, evidence := range gate.Status.Evidence {
		if fact.Gate.By == "" {
			fact.Gate.By = evidence.Actor
		}
		if fact.Gate.URL == "" {
			fact.Gate.URL = evidence.URL
		}
	}
	if pull := gate.Status.PullRequest; pull != nil && fact.Gate.URL == "" {
		fact.Gate.URL = pull.URL
	}
	return fact
}
