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
	mostSimulated = 500
	mostRows      = 40
)

// The clock of the simulation: long enough for the release to come to where it is, then for the rollback.
const (
	turnsAt      = 48 * time.Hour
	simulatedFor = 72 * time.Hour
)

// Simulation is how a rollback goes by the rules of the controller, in a world in which pods are ready after ten seconds.
type Simulation struct {
	Rows []Simulated
	// More is how many rows are left out.
	More  int
	Notes []string
	// Missing says why there is no simulation.
	Missing string
}

// Simulated is a moment of it: pods of the revision that is gone back to, of the one that is left, and of both that are available.
type Simulated struct {
	After               string
	To, From, Available int32
	State, What         string
}

// SimulationOf plays a rollback from the numbers of pods that there are. The strategy of the release has the limits of the workload's own, where it
// has none itself: the workload does not have them while it is held.
func SimulationOf(sight *show.Sight, to string, pods Pods) *Simulation {
	release := sight.Release
	switch {
	case sight.Workload == nil:
		return &Simulation{Missing: "You may not see the workload."}
	case pods.Wanted < 1:
		return &Simulation{Missing: "The workload has no pods."}
	case pods.Wanted > mostSimulated:
		return &Simulation{Missing: fmt.Sprintf("It is made for up to %d pods: run sluice simulate for more.", mostSimulated)}
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
		return &Simulation{Missing: "It can't be made: " + line(err.Error())}
	}
	made := simulatedRows(timeline)
	if !midway {
		made.Notes = append(made.Notes, "All pods are taken to run one version before the rollback.")
	}
	return made
}

// standAt gives a release the one step that brings a simulated one to where it stands.
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

// simulatedRows are the rows of a timeline from the rollback on.
func simulatedRows(timeline *simulate.Timeline) *Simulation {
	made, turned, began := &Simulation{Notes: timeline.Notes}, false, false
	for i := range timeline.Rows {
		row := &timeline.Rows[i]
		at, err := time.ParseDuration(row.At)
		if err != nil || at < turnsAt || !began && row.Event == "" {
			continue
		}
		if began = began || strings.HasPrefix(row.Event, "rollback"); !began {
			continue
		}
		turned = turned || row.Phase == string(v1alpha1.PhaseRollingBack)
		shown := Simulated{
			After: duration.HumanDuration(at - turnsAt), To: row.Old, From: row.New, Available: row.Available,
			State: row.Phase, What: line(cmp.Or(row.Event, strings.Join(row.Done, "; "), row.Why)),
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
