package sim

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// scaleTo sets spec.replicas, as an autoscaler or a user does; a DaemonSet gets as many nodes.
func scaleTo(w *World, replicas int32) bool {
	d := &w.Workload
	if d.Absent {
		return false
	}
	return d.kind.scale(w, replicas)
}

func (deployments) scale(w *World, replicas int32) bool {
	d := &w.Workload
	if d.Replicas == replicas {
		return false
	}
	w.rescaleWorkload(func(d *Workload) { d.Replicas = replicas })
	return true
}

// give puts another template into the release.
func give(w *World, revision string) bool {
	if w.Release.Purged || w.Release.Template == revision {
		return false
	}
	w.updateRelease(func(r *Release) { r.Template, r.Generation = revision, r.Generation+1 })
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

// suspend sets spec.suspend.
func suspend(w *World, suspend bool) bool {
	if w.Release.Purged || w.Release.Spec.Suspend == suspend {
		return false
	}
	spec := *w.Release.Spec
	spec.Suspend = suspend
	w.updateRelease(func(r *Release) { r.Spec, r.Generation = &spec, r.Generation+1 })
	return true
}

// jump patches status.nextStepIndex.
func jump(w *World, to int32) bool {
	if w.Release.Purged || w.Release.Status.NextStepIndex != nil {
		return false
	}
	patched := *w.Release.Status
	patched.NextStepIndex = &to
	w.Release.Status, w.Release.Version = &patched, w.next()
	return true
}

// releaseTo sets spec.releaseTo, as Git does; less than 0 takes it away.
func releaseTo(w *World, to int32) bool {
	wanted, had := &to, w.Release.Spec.ReleaseTo
	if to < 0 {
		wanted = nil
	}
	if w.Release.Purged || wanted == nil && had == nil || wanted != nil && had != nil && *wanted == *had {
		return false
	}
	spec := *w.Release.Spec
	spec.ReleaseTo = wanted
	w.updateRelease(func(r *Release) { r.Spec, r.Generation = &spec, r.Generation+1 })
	return true
}

// waitsForPerson reports whether the step waits for a person to confirm it.
func waitsForPerson(w *World) bool {
	status := w.Release.Status
	return status.CurrentStepState == v1alpha1.StepBlocking && slices.ContainsFunc(status.Gates, func(g v1alpha1.GateReference) bool {
		gate := findGate(w.Gates, g.Name)
		return g.Type == v1alpha1.GateManual && gate != nil && gate.Decision == ""
	})
}

// confirm patches the state of the current step to Completed, whatever it is.
func confirm(w *World) bool {
	status := w.Release.Status
	if w.Release.Purged || status.CurrentStepState == v1alpha1.StepCompleted {
		return false
	}
	patched := *status
	patched.CurrentStepState = v1alpha1.StepCompleted
	w.Release.Status, w.Release.Version = &patched, w.next()
	return true
}

// approve runs one turn of the approvals part: it passes manual gates that were confirmed and
// soak gates whose time has come.
func approve(w *World) bool {
	for i := range w.Gates {
		gate := &w.Gates[i]
		if gate.Decision != v1alpha1.DecisionPassed && passesNow(w, gate) {
			gate.Decision = v1alpha1.DecisionPassed
			return true
		}
	}
	return false
}

func passesNow(w *World, gate *Gate) bool {
	switch gate.Spec.Type {
	case v1alpha1.GateSoak:
		return !soaking(w, *gate)
	case v1alpha1.GateManual:
		return confirmed(w, gate)
	case v1alpha1.GateMetrics: // a guard that has nothing to say until the end
		return gate.Decision == "" && w.Release.Status.Phase == v1alpha1.PhaseCompleted &&
			slices.ContainsFunc(w.Release.Status.Guards, func(g v1alpha1.GateReference) bool { return g.Name == gate.Name })
	default:
		return false
	}
}

// soaking reports whether the time of a gate that waits for nothing else has not come yet.
func soaking(w *World, gate Gate) bool {
	soak := gate.Spec.Policy.Soak
	return soak != nil && gate.Decision == "" && w.Now.Before(gate.Made.Add(soak.Duration.Duration))
}

// confirmed reads the release as the approvals part does.
func confirmed(w *World, gate *Gate) bool {
	status := w.Release.Status
	named := slices.ContainsFunc(status.Gates, func(g v1alpha1.GateReference) bool { return g.Name == gate.Name })
	return named && status.CurrentStepState == v1alpha1.StepCompleted &&
		status.Attempt == gate.Spec.Attempt && status.UpdateRevision == gate.Spec.Revision &&
		status.CurrentStepIndex == gate.Spec.Step
}

// reject decides against a gate that waits.
func reject(w *World) bool {
	for i := range w.Gates {
		if w.Gates[i].Decision == "" {
			w.Gates[i].Decision = v1alpha1.DecisionRejected
			return true
		}
	}
	return false
}

// unpause resumes the workload as kubectl rollout resume does, or gives one of another kind a
// strategy with which its native controller rolls it. An apply of all that Git does not give gives
// one that is held another template too.
func unpause(w *World, template string) bool {
	d := &w.Workload
	if d.Absent || !d.kind.loosens(w) || template != "" && d.Hold == nil {
		return false
	}
	w.updateWorkload(func(d *Workload) {
		d.kind.loosen(d)
		if template != "" {
			d.Template = template
		}
	})
	return true
}

// editTemplate changes the template of a workload that is taken over, without the release.
func editTemplate(w *World, revision string) bool {
	d := &w.Workload
	if d.Absent || d.Hold == nil || d.Template == revision {
		return false
	}
	w.updateWorkload(func(d *Workload) { d.Template = revision })
	return true
}

// stripHold removes our annotation from the workload, once the status tells of it too. Before that
// nobody would know any more what the workload was like.
func stripHold(w *World) bool {
	d := &w.Workload
	if d.Absent || d.Hold == nil || w.Release.Status.Held == nil {
		return false
	}
	w.updateWorkload(func(d *Workload) { d.Hold = nil })
	return true
}

// drift changes the template of a workload that is not taken over, without the release. The native
// controller rolls it.
func drift(w *World, revision string) bool {
	d := &w.Workload
	if d.Absent || d.Hold != nil || d.Paused || w.Release.Status.Held != nil || d.Template == revision {
		return false
	}
	w.updateWorkload(func(d *Workload) { d.Template = revision })
	return true
}

// unacknowledged reports whether nobody has acknowledged yet what was put back.
func unacknowledged(w *World) bool {
	hold := w.Workload.Hold
	return hold != nil && hold.Change != (plan.ExternalChange{}) && !w.Release.Deleting
}

// deleteRelease deletes the release; a finalizer holds it back.
func deleteRelease(w *World) bool {
	if w.Release.Deleting {
		return false
	}
	w.updateRelease(func(r *Release) { r.Deleting = true })
	return true
}

// deleteWorkload deletes the Deployment and, at once, all that it owns.
func deleteWorkload(w *World) bool {
	if w.Workload.Absent {
		return false
	}
	w.Workload.Absent, w.Workload.Version = true, w.next()
	w.Sets, w.Places = nil, nil
	return true
}

// createWorkload creates the Deployment again. The native controller does the rest.
func createWorkload(w *World, revision string) bool {
	if !w.Workload.Absent {
		return false
	}
	bearWorkload(w, Spec{Replicas: w.Workload.Replicas, Strategy: RollingUpdate, Template: revision})
	return true
}

// loseStatus clears the whole status, as a restore from a backup does.
func loseStatus(w *World) bool {
	if w.Release.Purged {
		return false
	}
	w.Release.Status, w.Release.Version = &v1alpha1.BatchReleaseStatus{}, w.next()
	return true
}

// touchRelease writes the release without changing what counts: a write that rests on an earlier
// version meets a conflict. Writes of the other objects mind only what they rest on.
func touchRelease(w *World) bool {
	w.updateRelease(func(*Release) {})
	return !w.Release.Purged
}

// allowMixedVersions sets spec.strategy.allowMixedVersions. It reports whether it was not set.
func allowMixedVersions(w *World) bool {
	if w.Release.Purged || w.Release.Spec.Strategy.AllowMixedVersions {
		return false
	}
	spec := *w.Release.Spec
	spec.Strategy.AllowMixedVersions = true
	w.updateRelease(func(r *Release) { r.Spec, r.Generation = &spec, r.Generation+1 })
	return true
}
