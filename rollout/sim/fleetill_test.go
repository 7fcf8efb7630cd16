package sim

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestGateNamesIllMember: a member that falls ill while its train waits for a gate is named, and
// holds the train.
func TestGateNamesIllMember(t *testing.T) {
	t.Parallel()
	setup := FleetSetup{Steps: Steps("1 confirm", "100%")}
	for range 2 {
		setup.Members = append(setup.Members, Setup{Replicas: 2, HistoryLimit: 2, Deadline: time.Hour, MaxSurge: intstr.FromInt32(1)})
	}
	w := &fleetWalk{f: NewFleet(setup)}
	w.laws = watchFleet(w.f)
	w.calmDown()
	w.f.Push("v2", []int{0, 1}, []int{0, 1, 2})
	for w.f.Train.Release.Status.State != v1alpha1.StateBlocked && w.calm() {
	}
	member := w.f.State(2)
	fails := member.Workload.kind.podEvents(member.World, PodFails)
	for _, e := range append(fails, Event{Kind: SyncSet, Text: fails[0].Text}, Event{Kind: SyncSet, Text: fails[1].Text}, Event{Kind: SyncWorkload}) {
		w.step(2, e)
	}
	for range 3 {
		for _, e := range []Event{{Kind: Wait}, {Kind: Pass}} {
			w.step(2, e)
			w.step(0, e)
		}
	}
	status := w.f.Train.Release.Status
	if want := "gate: manual, and for " + w.f.Name(2) + " ("; status.State != v1alpha1.StateBlocked || !strings.Contains(status.Message, want) {
		t.Errorf("want the open gate to say %q, got %s: %s", want, status.State, status.Message)
	}
	w.calmDown()
	if left := w.laws.judgeEnd(); w.fault != "" || left != "" {
		t.Errorf("want all members to end, got %s %s\n%s", w.fault, left, w.f)
	}
}
