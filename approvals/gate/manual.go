package gate

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// checkManual decides by the answers to the gate, and passes once a user has set the step's state
// to Completed.
func checkManual(g *v1alpha1.Gate, facts Facts, now time.Time) Decision {
	if answer := answerTo(g, facts.Release); answer != nil {
		return answered(answer, now)
	}
	fact, manager, confirmed := confirmation(facts.Release)
	if !confirmed {
		return waiting(fmt.Sprintf("waits for approval: sluice approve %s -n %s", g.Spec.ReleaseRef.Name, g.Namespace), time.Time{})
	}
	message := "confirmed"
	if manager != "" {
		message = fmt.Sprintf("confirmed through field manager %q", manager)
		fact.Detail += fmt.Sprintf(" through field manager %q", manager)
	}
	return passed(message, fact, now)
}

// answerTo returns the answer to g; nil if there is none. An answer to a gate of the same name
// that was deleted does not count.
func answerTo(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) *v1alpha1.Answer {
	for i := range release.Status.Answers {
		if answer := &release.Status.Answers[i]; answer.Gate == g.UID && g.UID != "" {
			return answer
		}
	}
	return nil
}

func answered(answer *v1alpha1.Answer, now time.Time) Decision {
	decision, words := v1alpha1.DecisionRejected, "rejected by "+answer.By
	if answer.Verdict == v1alpha1.VerdictApprove {
		decision, words = v1alpha1.DecisionPassed, "approved by "+answer.By
	}
	if answer.Message != "" {
		words += ": " + answer.Message
	}
	fact := evidence(EvidenceAnswer, answer.Message, now)
	fact.Actor = answer.By
	return decided(decision, words, now, fact)
}

// confirmation reports whether the step's state was set to Completed by anybody but the rollout
// part, and returns the field manager as far as managedFields name it. Missing managed fields show
// nothing. Managed fields that name the rollout part alone show that it wrote the state itself,
// which confirms nothing. A user chooses the name of the field manager in a patch, so the evidence
// shows it as a field manager and names no actor.
func confirmation(release *v1alpha1.BatchRelease) (fact v1alpha1.Evidence, manager string, confirmed bool) {
	fact = v1alpha1.Evidence{
		Kind:   EvidenceStatusPatch,
		Detail: "status.currentStepState was set to Completed",
	}
	writers := stateWriters(release.ManagedFields)
	for _, writer := range writers {
		if writer.Manager != v1alpha1.OwnerRollout && !earlier(writer.Time, fact.Time) {
			manager, fact.Time = writer.Manager, writer.Time.DeepCopy()
		}
	}
	confirmed = len(writers) == 0 || manager != ""
	return fact, manager, confirmed && release.Status.CurrentStepState == v1alpha1.StepCompleted
}

// stateWriters returns the entries that own status.currentStepState.
func stateWriters(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var writers []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if ownsState(entry.FieldsV1) {
			writers = append(writers, entry)
		}
	}
	return writers
}

func ownsState(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return false
	}
	var owned struct {
		Status struct {
			State json.RawMessage `json:"f:currentStepState"`
		} `json:"f:status"`
	}
	return json.Unmarshal(fields.GetRawBytes(), &owned) == nil && owned.Status.State != nil
}

func earlier(a, b *metav1.Time) bool { return b != nil && (a == nil || a.Before(b)) }
