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

// turnedRound wants a rollback to have begun.
var turnedRound = web.status("a rollback", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Rollback != nil })

// quarantined wants the condition of a template that was rolled back.
func (name subject) quarantined(s *scene) error {
	condition := meta.FindStatusCondition(s.releases[string(name)].Status.Conditions, v1alpha1.ConditionQuarantined)
	if condition == nil || condition.Status != "True" {
		return fmt.Errorf("want %s quarantined, have %+v", name, condition)
	}
	return nil
}

// F15: new pods never become ready. The release stops in its first batch, loses no more pods than it may, and goes
// back by itself if onFailure says so.
func TestFailedReleaseIsRolledBackByItself(t *testing.T) {
	broken := map[string]string{
		"NeverReady": controlplane.NeverReady, "CrashLoop": controlplane.CrashLoop, "ImagePull": controlplane.ImagePullFailure,
	}
	for name, behaviour := range broken {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.deployed(deployment(4, rolling(1, 0)))
			r := impatient(podTemplate("web:2", behaving(behaviour)))
			r.Spec.Strategy.OnFailure = v1alpha1.FailureRollback
			w.create(r)
			w.await(turnedRound)
			w.bePatient()
			w.await(all(web.rolledBack(v1alpha1.TriggerDeadline, "no progress"), web.quarantined, web.serves("web:1", 4)))
			w.awaitEvent(v1alpha1.ReasonRollingBack, "no progress")
			if least := w.findings(web).leastReady; least < 4 {
				t.Errorf("%d pods served at least, want all 4: none may be unavailable", least)
			}
		})
	}
}

// A rollback that fails itself stops as failed, and goes on when somebody requests a retry.
func TestRollbackThatFails(t *testing.T) {
	w := newWorld(t)
	w.startController()
	d := deployment(4)
	d.Spec.Template = podTemplate("web:1", behaving(controlplane.CrashLoop))
	w.create(d)
	w.await(web.runs(pods{"web:1": 4}))
	r := impatient(podTemplate("web:2", behaving(controlplane.NeverReady)))
	r.Spec.Strategy.OnFailure = v1alpha1.FailureRollback
	w.create(r)
	w.await(all(turnedRound, failed("no progress")))
	w.await(all(web.attempt(2), failed("no progress"))) // and not a third one
	w.annotateRelease(v1alpha1.RetryAnnotation, "true")
	w.awaitEvent(v1alpha1.ReasonRetrying, "a retry was requested")
	w.await(all(web.attempt(2), failed("no progress")))
	w.wantNoAnnotation("retry")
}

// A gate that is rejected turns the release round if it says so; the pods of the good version stay.
func TestRejectedGateRollsBack(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	turning := manual()
	turning.OnReject = v1alpha1.RejectRollback
	w.create(release("web:2", step("50%", turning), step("100%")))
	gates := w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2}))).releases["web"].Status.Gates
	w.kubectl("patch", "gate", gates[0].Name, "--type=merge", "--subresource=status", "-p",
		`{"status":{"decision":"Rejected","message":"too slow"}}`)
	w.await(all(web.rolledBack(v1alpha1.TriggerGateRejected, "too slow"), web.quarantined, web.serves("web:1", 4)))
	w.wantGates()
}
