package sim

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Scale sets spec.replicas, as an autoscaler or a user does.
func (w *World) Scale(replicas int32) bool {
	d := &w.Workload
	if d.Absent || d.Replicas == replicas {
		return false
	}
	w.Past.Rescaled = true
	w.Past.Lowered = w.Past.Lowered || replicas < d.Replicas
	d.Replicas, d.Version = replicas, w.next()
	return true
}

// Give puts another template into the release.
func (w *World) Give(revision string) bool {
	if w.Release.Purged || w.Release.Template == revision {
		return false
	}
	w.Past.Bad = ""
	w.updateRelease(func(r *Release) { r.Template, r.Generation = revision, r.Generation+1 })
	return true
}

// SetSteps edits the steps.
func (w *World) SetSteps(steps []v1alpha1.Step) bool {
	w.updateRelease(func(r *Release) {
		spec := *r.Spec
		spec.Strategy.Steps = steps
		r.Spec, r.Generation = &spec, r.Generation+1
	})
	return true
}

// Annotate sets an annotation of the release.
func (w *World) Annotate(key, value string) bool {
	if w.Release.Purged || w.Release.Annotations[key] == value {
		return false
	}
	w.updateRelease(func(r *Release) { r.Annotations = annotate(r.Annotations, map[string]string{key: value}) })
	return true
}

// Confirm patches the state of the current step to Completed, whatever it is.
func (w *World) Confirm() bool {
	status := w.Release.Status
	if w.Release.Purged || status.CurrentStepState == v1alpha1.StepCompleted {
		return false
	}
	for _, gate := range status.Gates {
		w.Past.Confirmed = append(w.Past.Confirmed, gate.Name)
	}
	patched := *status
	patched.CurrentStepState = v1alpha1.StepCompleted
	w.Release.Status, w.Release.Version = &patched, w.next()
	return true
}

// Approve is one turn of the approvals part: it passes manual gates that were confirmed and
// soak gates whose time has come.
func (w *World) Approve() bool {
	for i := range w.Gates {
		gate := &w.Gates[i]
		if gate.Decision != v1alpha1.DecisionPassed && w.passes(gate) {
			w.Past.judge(w, gate)
			gate.Decision = v1alpha1.DecisionPassed
			return true
		}
	}
	return false
}

func (w *World) passes(gate *Gate) bool {
	switch gate.Spec.Type {
	case v1alpha1.GateSoak:
		return !w.Now.Before(gate.Made.Add(gate.Spec.Policy.Soak.Duration.Duration))
	case v1alpha1.GateManual:
		return w.confirmed(gate)
	default:
		return false
	}
}

// confirmed reads the release as the approvals part does.
func (w *World) confirmed(gate *Gate) bool {
	status := w.Release.Status
	named := slices.ContainsFunc(status.Gates, func(g v1alpha1.GateReference) bool { return g.Name == gate.Name })
	return named && status.CurrentStepState == v1alpha1.StepCompleted &&
		status.Attempt == gate.Spec.Attempt && status.UpdateRevision == gate.Spec.Revision &&
		status.CurrentStepIndex == gate.Spec.Step
}

// Reject decides against a gate that waits.
func (w *World) Reject() bool {
	for i := range w.Gates {
		if w.Gates[i].Decision == "" {
			w.Gates[i].Decision = v1alpha1.DecisionRejected
			return true
		}
	}
	return false
}

// Unpause is what kubectl rollout resume does.
func (w *World) Unpause() bool {
	d := &w.Workload
	if d.Absent || !d.Paused {
		return false
	}
	w.Past.Meddled = true
	d.Paused, d.Version = false, w.next()
	return true
}

// EditTemplate changes the template of a workload that is taken over, past the release.
func (w *World) EditTemplate(revision string) bool {
	d := &w.Workload
	if d.Absent || d.Hold == nil || d.Template == revision {
		return false
	}
	w.Past.Meddled = true
	d.Template, d.Version = revision, w.next()
	return true
}

// StripHold removes our annotation from the workload.
func (w *World) StripHold() bool {
	d := &w.Workload
	if d.Absent || d.Hold == nil {
		return false
	}
	w.Past.Meddled = true
	d.Hold, d.Version = nil, w.next()
	return true
}

// DeleteRelease deletes the release; a finalizer holds it back.
func (w *World) DeleteRelease() bool {
	if w.Release.Deleting {
		return false
	}
	w.updateRelease(func(r *Release) { r.Deleting = true })
	return true
}

// DeleteWorkload deletes the Deployment and, at once, all that it owns.
func (w *World) DeleteWorkload() bool {
	if w.Workload.Absent {
		return false
	}
	w.Workload.Absent, w.Workload.Version = true, w.next()
	w.Sets = nil
	w.Past.Meddled = true
	return true
}

// CreateWorkload creates the Deployment anew. The native controller does the rest.
func (w *World) CreateWorkload(revision string) bool {
	d := &w.Workload
	if !d.Absent {
		return false
	}
	version := w.next()
	*d = Workload{
		UID: types.UID(fmt.Sprintf("workload-%d", version)), Version: version,
		Replicas: d.Replicas, Strategy: RollingUpdate, Template: revision,
		MaxSurge: d.MaxSurge, MaxUnavailable: d.MaxUnavailable, HistoryLimit: d.HistoryLimit,
	}
	return true
}

// Touch writes an object without changing what counts: whoever writes it next on what it
// saw before meets a conflict.
func (w *World) Touch(object Object) bool {
	switch {
	case object == ReleaseObject:
		w.Release.Version = w.next()
	case object == WorkloadObject:
		w.Workload.Version = w.next()
	default:
		s := w.Set(string(object))
		if s == nil {
			return false
		}
		s.Version = w.next()
	}
	return true
}
