package sim

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// The release of such a world follows its workload. The policies of config/follow are in effect,
// unless it says otherwise: they hold what others apply to a workload with the label.

// apply gives the workload a template as Helm, Flux or kubectl does: its whole manifest, with the
// strategy.
func apply(w *World, revision string) bool {
	d := &w.Workload
	if d.Absent {
		return false
	}
	before := *d
	w.updateWorkload(func(d *Workload) {
		d.Template = revision
		if d.Hold == nil || !w.guards(d) {
			d.kind.giveBack(d, v1alpha1.HeldWorkload{Strategy: w.ownStrategy, Paused: w.ownPaused})
		}
		w.guard(&before, d)
	})
	return before.Spec != d.Spec || before.Waiting != d.Waiting
}

// guards reports whether the policies act on a workload.
func (w *World) guards(d *Workload) bool { return w.API.Guards && d.Follower != "" }

// guard does to a write of others what the policies do. It is called with the workload as the write
// leaves it.
func (w *World) guard(before, d *Workload) {
	changed := d.Template != before.Template
	switch {
	case !w.guards(before):
	case before.Hold != nil:
		template := d.Template
		d.Spec = before.Spec
		d.Template = template
		d.Hold = before.Hold
		if d.Waiting = changed || before.Waiting; changed {
			d.kind.close(d)
		}
	case changed || before.Waiting:
		own := before.Noted
		if !d.kind.contained(d) || !before.Waiting {
			own = v1alpha1.HeldWorkload{Strategy: strategyText(&d.Spec), Paused: d.Paused}
		}
		d.Waiting, d.Noted = true, own
		d.kind.close(d)
	}
}

// own returns what the workload gets back.
func (d *Workload) own() v1alpha1.HeldWorkload {
	if d.Waiting && d.Hold == nil {
		return d.Noted
	}
	return v1alpha1.HeldWorkload{Strategy: strategyText(&d.Spec), Paused: d.Paused}
}

// followWorkload labels the workload, unless no policy acts on it.
func followWorkload(x *pass, a plan.Follow) {
	x.request()
	if !x.world.API.Guards {
		x.refused = true
		x.report.Refused++
		x.process.refusals = x.process.refusals.With(plan.Refusal{Why: "no policy acts on it", Unguarded: true}.To(a, x.release.Generation), x.world.Now, 0)
		return
	}
	writeWorkload(x, func(d *Workload) { d.Follower = Name })
}

// copyTemplate copies the template of the workload to the release.
func copyTemplate(x *pass, a plan.CopyTemplate) {
	w := x.world
	switch {
	case w.Release.Version != x.release.Version:
		x.rememberRelease()
		x.outdated("the release")
		return
	case Digest(x.workload.Template) != a.Digest:
		x.outdated("the template of the workload")
		return
	}
	w.updateRelease(func(r *Release) {
		r.Template, r.Generation = x.workload.Template, r.Generation+1
		r.Annotations = annotate(r.Annotations, map[string]string{v1alpha1.FollowedAnnotation: a.Digest})
	})
	x.sawRelease()
	w.see(templateCopied{x.release.Template})
}

// follows reports whether the release follows its workload.
func (w *World) follows() bool { return w.Release.Spec.Follow == v1alpha1.FollowWorkload }

// isWritten reports whether others write the workload of a followed world in a way that the
// policies undo.
func (w *World) isWritten(kind Kind) bool {
	return w.guards(&w.Workload) && slices.Contains([]Kind{Unpause, StripHold, Drift, EditTemplate}, kind)
}
