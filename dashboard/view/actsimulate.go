package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/cli/simulate"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// The bounds of a simulation on a page.
const (
	mostSimulated = 200
	mostRows      = 40
)

// The times of the simulation: the release has turnsAt to reach its current step, and the rollback
// begins then.
const (
	turnsAt      = 48 * time.Hour
	simulatedFor = 72 * time.Hour
)

// Simulation is the course of a rollback by the rules of the controller, if each pod is ready after
// ten seconds.
type Simulation struct {
	Rows []Simulated
	// More is the number of rows that are left out.
	More  int
	Notes []string
	// Missing says why there is no simulation.
	Missing string
}

// Simulated is a moment of it: the pods of the revision that the rollback goes back to, of the one
// that it leaves, and the available ones of both.
type Simulated struct {
	After               string
	To, From, Available int32
	State, What         string
}

// SimulationOf simulates a rollback from the current numbers of pods. Limits that the strategy of
// the release does not set come from the workload's own strategy, which a held workload does not
// show.
func SimulationOf(sight *show.Sight, to string, pods Pods) *Simulation {
	release := sight.Release
	switch {
	case sight.Workload == nil:
		return &Simulation{Missing: "You may not see the workload."}
	case pods.Wanted < 1:
		return &Simulation{Missing: "The workload has no pods."}
	case pods.Wanted > mostSimulated:
		return &Simulation{Missing: fmt.Sprintf("The dashboard simulates up to %d pods. For more, run: sluice simulate", mostSimulated)}
	}
	played := release.DeepCopy()
	midway := to == plan.Before(release) && release.Status.Phase != v1alpha1.PhaseCompleted && release.Status.Rollback == nil
	updated := pods.NewAvailable + pods.NewPending
	if midway && updated == 0 {
		return &Simulation{Missing: "No pod runs the new version yet: there is nothing to replace."}
	}
	standAt(played, midway, updated, pods.Wanted)
	trace := &simulate.Trace{Until: &metav1.Duration{Duration: simulatedFor}}
	if pods.NewPending > 0 {
		trace.Events = append(trace.Events, simulate.Event{At: metav1.Duration{Duration: turnsAt}, Crash: int32(pods.NewPending)})
	}
	trace.Events = append(trace.Events, simulate.Event{At: metav1.Duration{Duration: turnsAt}, Rollback: true})
	size := int32(pods.Wanted)
	if played.Spec.WorkloadRef.Kind == "DaemonSet" {
		trace.Nodes = []simulate.Nodes{{Count: size}}
	} else {
		trace.Replicas = &size
	}
	timeline, err := simulate.Run(played, sight.Workload, trace)
	if err != nil {
		return &Simulation{Missing: "The simulation failed: " + line(err.Error())}
	}
	made := simulatedRows(timeline)
	if !midway {
		made.Notes = append(made.Notes, "The simulation assumes that all pods run one version before the rollback.")
	}
	return made
}

// standAt gives a release steps of which the first brings the simulation to the current state.
func standAt(release *v1alpha1.BatchRelease, midway bool, updated, wanted int) {
	spec := &release.Spec
	spec.Suspend, spec.ReleaseTo = false, nil
	all := intstr.FromString("100%")
	manual := []v1alpha1.GatePolicy{{Manual: &v1alpha1.ManualGate{}}}
	switch {
	case midway && updated < wanted:
		first := v1alpha1.Step{Replicas: intstr.FromInt32(int32(updated)), Gates: manual}
		if release.Status.Traffic != nil {
			first.Traffic = fmt.Sprintf("%d%%", min(max(release.Status.Traffic.Weight, 0), 100))
		}
		spec.Strategy.Steps = []v1alpha1.Step{first, {Replicas: all}}
	case midway:
		spec.Strategy.Steps = []v1alpha1.Step{{Replicas: all, Gates: manual}}
	default:
		spec.Strategy.Traffic = nil
		spec.Strategy.Steps = []v1alpha1.Step{{Replicas: all}}
	}
}

// simulatedRows returns the rows of a timeline from the rollback on.
func simulatedRows(timeline *simulate.Timeline) *Simulation {
	made, turned, began := &Simulation{Notes: timeline.Notes}, false, false
	var before *Simulated
	for i := range timeline.Rows {
		row := &timeline.Rows[i]
		at, err := time.ParseDuration(row.At)
		if began = began || err == nil && at >= turnsAt && strings.HasPrefix(row.Event, "rollback"); !began {
			before = &Simulated{After: "before", To: row.Old, From: row.New, Available: row.Available, State: row.Status}
			continue
		}
		if before != nil {
			made.Rows, before = append(made.Rows, *before), nil
		}
		turned = turned || row.Phase == string(v1alpha1.PhaseRollingBack)
		shown := Simulated{
			After: duration.HumanDuration(at - turnsAt), To: row.Old, From: row.New, Available: row.Available,
			State: row.Status, What: line(cmp.Or(row.Event, strings.Join(row.Done, "; "), row.Why)),
		}
		if turned {
			shown.To, shown.From = row.New, row.Old
		}
		if len(made.Rows) == mostRows {
			made.More++
			continue
		}
		made.Rows = append(made.Rows, shown)
	}
	return made
}
