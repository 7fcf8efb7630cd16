package journeys

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// rolledBack wants a rollback to be done, and the status to say what began it.
func (name subject) rolledBack(trigger v1alpha1.RollbackTrigger, says string) check {
	return all(name.completed, name.reason(v1alpha1.ReasonRolledBack), func(s *scene) error {
		rollback := s.releases[string(name)].Status.Rollback
		if rollback == nil || rollback.Trigger != trigger || !strings.Contains(rollback.Message, says) {
			return fmt.Errorf("want a rollback by %s that says %q, have %+v", trigger, says, rollback)
		}
		return nil
	})
}

// quarantined wants the condition of a template that was rolled back.
func (name subject) quarantined(s *scene) error {
	condition := meta.FindStatusCondition(s.releases[string(name)].Status.Conditions, v1alpha1.ConditionQuarantined)
	if condition == nil || condition.Status != "True" {
		return fmt.Errorf("want %s quarantined, have %+v", name, condition)
	}
	return nil
}

// TestTurnsRound: F15, a rejected gate, and a version without progress, roll a release back if its
// strategy says so. No more pods are lost than may be.
func TestTurnsRound(t *testing.T) {
	onEachKind(t, func(w *world, p workloadKind) {
		before := p.served(w, 4)
		turning := manual()
		turning.OnReject = v1alpha1.RejectRollback
		r := p.to(w, step("50%", turning), step("100%"))
		r.Spec.Strategy.OnFailure = v1alpha1.FailureRollback
		w.create(r)
		gates := w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2}))).releases["web"].Status.Gates
		w.kubectl("patch", "gate", gates[0].Name, "--type=merge", "--subresource=status", "-p",
			`{"status":{"decision":"Rejected","message":"too slow"}}`)
		w.wantUntouched(before, all(web.rolledBack(v1alpha1.TriggerGateRejected, "too slow"), web.quarantined, web.serves("web:1", 4)))

		w.release(p.template(w, "web:3", behaving(controlplane.CrashLoop)))
		w.await(podShows(crashed))
		w.patchRelease(`{"spec":{"strategy":{"progressDeadlineSeconds":1}}}`)
		w.await(web.status("a rollback", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Attempt > 3 }))
		w.bePatient()
		w.wantUntouched(before, all(web.rolledBack(v1alpha1.TriggerDeadline, "no progress"), web.quarantined, web.serves("web:1", 4)))
		w.awaitEvent(v1alpha1.ReasonRollingBack, "no progress")
		if least := w.findings(web).leastReady; least < 2 {
			t.Errorf("%d pods served at least, want 2 of 4", least)
		}
	})
}
