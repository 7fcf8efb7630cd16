package approvals_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestConfirm: the seed's command passes a manual gate, and the gate says through what.
func TestConfirm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startApprovals(t.Name())
	release := w.release("web")
	gate := w.gate(release, manual())
	w.block(release, gate)
	waiting := w.awaitDecision(gate, v1alpha1.DecisionWaiting)
	if !strings.Contains(waiting.Message, "waits for approval: sluice approve ") {
		t.Errorf("want the gate to say what it waits for, got %q", waiting.Message)
	}

	cptest.Kubectl(t, "--namespace", w.namespace, "patch", "batchrelease", "web", "--type=merge",
		"--subresource=status", "-p", `{"status":{"currentStepState":"Completed"}}`)

	status := w.awaitDecision(gate, v1alpha1.DecisionPassed)
	if len(status.Evidence) != 1 || status.Evidence[0].Actor != "" || status.Evidence[0].Time == nil {
		t.Errorf("want one piece of evidence with its time, and no actor: anybody may choose the name of a field manager; got %+v", status.Evidence)
	}
	if status.DecidedAt == nil {
		t.Error("want the time of the decision")
	}
	event := w.awaitEvent("GatePassed")
	if event.Regarding.Name != "web" || event.Related.Name != gate.Name {
		t.Errorf("want the event on the release, related to the gate, got %+v and %+v", event.Regarding, event.Related)
	}
	if want := `manual gate after batch 1: confirmed through field manager "kubectl-patch"`; event.Note != want {
		t.Errorf("event: want %q, got %q", want, event.Note)
	}
}

// awaitEvent waits for the one event of that reason.
func (w *world) awaitEvent(reason string) *eventsv1.Event {
	w.Helper()
	var found []eventsv1.Event
	cptest.Eventually(w, soon, func() error {
		var list eventsv1.EventList
		if err := w.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
			return fmt.Errorf("list events: %w", err)
		}
		found = nil
		for _, event := range list.Items {
			if event.Reason == reason {
				found = append(found, event)
			}
		}
		if len(found) != 1 {
			return fmt.Errorf("want one event %s, got %d", reason, len(found))
		}
		return nil
	})
	return &found[0]
}

// TestLateDuplicate: a confirmation that is sent again, when its gate has passed and the
// next batch is in progress, does not pass the next gate.
func TestLateDuplicate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startApprovals(t.Name())
	release := w.release("web")
	first := w.gate(release, manual())
	w.block(release, first)
	w.confirm(release)
	w.awaitDecision(first, v1alpha1.DecisionPassed)

	w.enterStep(release, 1)
	second := w.gate(release, manual())
	w.confirm(release) // the duplicate: the step upgrades and names no gate
	w.block(release, second)
	w.awaitDecision(second, v1alpha1.DecisionWaiting)
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(release), release); err != nil {
		t.Fatalf("read release: %v", err)
	}
	if release.Status.CurrentStepState != v1alpha1.StepBlocking {
		t.Fatalf("want the step blocking, got %s", release.Status.CurrentStepState)
	}

	w.confirm(release)
	w.awaitDecision(second, v1alpha1.DecisionPassed)
}

// TestCompletedByRollout: a state that the rollout part writes itself confirms nothing, even
// while gates are named.
func TestCompletedByRollout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startApprovals(t.Name())
	release := w.release("web")
	gate := w.gate(release, manual())
	w.asRollout(release, func(status *v1alpha1.BatchReleaseStatus) {
		status.CurrentStepState = v1alpha1.StepCompleted
		status.Gates = []v1alpha1.GateReference{{Name: gate.Name, Type: gate.Spec.Type}}
	})
	w.awaitDecision(gate, v1alpha1.DecisionWaiting)
}

// TestOtherAttempt: a confirmation in one attempt leaves the gate of the attempt before alone.
func TestOtherAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startApprovals(t.Name())
	release := w.release("web")
	old := w.gate(release, manual())
	w.block(release, old)
	w.awaitDecision(old, v1alpha1.DecisionWaiting)

	w.asRollout(release, func(status *v1alpha1.BatchReleaseStatus) {
		status.Attempt, status.CurrentStepState, status.Gates = 2, v1alpha1.StepUpgrade, nil
	})
	current := w.gate(release, manual())
	w.asRollout(release, func(status *v1alpha1.BatchReleaseStatus) { // both named, one bound
		status.CurrentStepState = v1alpha1.StepBlocking
		status.Gates = []v1alpha1.GateReference{
			{Name: old.Name, Type: v1alpha1.GateManual}, {Name: current.Name, Type: v1alpha1.GateManual},
		}
	})
	w.confirm(release)
	w.awaitDecision(current, v1alpha1.DecisionPassed)
	w.awaitDecision(old, v1alpha1.DecisionWaiting)
}

// TestManyAtOnce: 100 gates that are confirmed in the same moment are all answered, each with
// no more requests than it takes.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const count = 100
	w := newWorld(t)
	userAgent := "approvals-of-" + w.namespace
	w.startApprovals(userAgent)
	gates := make([]*v1alpha1.Gate, count)
	releases := make([]*v1alpha1.BatchRelease, count)
	for i := range count {
		releases[i] = w.release(fmt.Sprintf("web-%d", i))
		gates[i] = w.gate(releases[i], manual())
		w.block(releases[i], gates[i])
	}
	for _, gate := range gates {
		w.awaitDecision(gate, v1alpha1.DecisionWaiting)
	}

	began := time.Now()
	var confirmed sync.WaitGroup
	for _, release := range releases {
		confirmed.Go(func() { w.confirm(release) })
	}
	confirmed.Wait()
	asked := time.Since(began)
	for _, gate := range gates {
		w.awaitDecision(gate, v1alpha1.DecisionPassed)
	}
	t.Logf("%d confirmations took %s to send, and all gates had passed after %s", count, asked, time.Since(began))

	want := map[string]int{"patch": 2 * count, "get": count}
	cptest.Eventually(t, soon, func() error { // the log may be behind
		if diff := cmp.Diff(want, w.requests(userAgent, "gates/status", "batchreleases")); diff != "" {
			return fmt.Errorf("two writes of each gate and one live read of its release: -want +got:\n%s", diff)
		}
		return nil
	})
}

// requests counts what userAgent asked of the resources beyond watching them, by verb.
func (w *world) requests(userAgent string, resources ...string) map[string]int {
	w.Helper()
	counts, err := cptest.Access(w).CountRequests(func(r controlplane.Request) bool {
		for _, resource := range resources {
			if r.UserAgent == userAgent && r.Resource == resource && r.Verb != "list" && r.Verb != "watch" {
				return true
			}
		}
		return false
	})
	if err != nil {
		w.Fatalf("count requests: %v", err)
	}
	return counts
}

// TestRestart: gates that are confirmed, or soaked to the end, while no controller runs pass when
// one does, and earlier decisions are not written again.
func TestRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.startApprovals(t.Name())
	decided, confirmed, soaked := w.release("decided"), w.release("confirmed"), w.release("soaked")
	decidedGate, confirmedGate, soakedGate := w.gate(decided, manual()), w.gate(confirmed, manual()), w.gate(soaked, soak(time.Second))
	w.block(decided, decidedGate)
	w.block(confirmed, confirmedGate)
	w.confirm(decided)
	w.awaitDecision(decidedGate, v1alpha1.DecisionPassed)
	w.awaitDecision(confirmedGate, v1alpha1.DecisionWaiting)
	stop()

	w.block(soaked, soakedGate)
	w.confirm(confirmed)
	version := decidedGate.ResourceVersion
	w.startApprovals(t.Name())
	w.awaitDecision(confirmedGate, v1alpha1.DecisionPassed)
	w.awaitDecision(soakedGate, v1alpha1.DecisionPassed)
	w.awaitDecision(decidedGate, v1alpha1.DecisionPassed)
	if decidedGate.ResourceVersion != version {
		t.Errorf("a gate that was decided before the restart was written again: %+v", decidedGate.Status)
	}
}
