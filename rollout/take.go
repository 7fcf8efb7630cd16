package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/jsonpatch"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// strict makes the API server refuse fields that it does not know, instead of dropping them.
const strict = client.FieldValidation(metav1.FieldValidationStrict)

// takeOver writes template, paused, strategy and hold in one write. In any other order there
// is a moment in which the native controller rolls by itself, or removes every old pod.
func (r *workloadWriter) takeOver(ctx context.Context, v *view, a plan.TakeOver) error {
	patch := hold.Set(hold.AsDecided(v.workload), v.workload, a.Hold)
	v.workload.Secure(patch)
	template, err := r.bringing(ctx, v, patch, a.Template, a.Digest)
	if err != nil {
		return err
	}
	template.revision = a.Revision
	encoded, err := kube.PatchOf(patch)
	if err != nil {
		return err
	}
	differs := func(w workload.Workload) []string { return notHeld(w, a.Hold) }
	urgent := plan.Exposed(v.planned()) // the native controller is about to roll it
	template.any = a.Template == nil && (urgent || isOpen(v.workload))
	if given := a.Template != nil && a.Template.Given; !urgent && !(given && r.triedTakeOver(v)) {
		if err := r.tryWrite(ctx, v, encoded, template, differs); err != nil {
			return err
		}
	}
	before := v.workload
	if err := r.patchWorkload(ctx, v, encoded); err != nil {
		return err
	}
	if a.PutBack != "" {
		putBacks.WithLabelValues(a.PutBack).Inc()
	}
	if plan.Exposed(v.planned()) {
		v.violated(log.FromContext(ctx), plan.Violation{Invariant: "I8", How: "the native controller may roll the workload, which is held"})
	}
	return changes(append(differs(v.workload), template.others(v, before, v.workload, v.wholeTemplate())...), true)
}

// isOpen reports whether a workload is held, and its native controller updates the pods that Sluice
// lets it.
func isOpen(w workload.Workload) bool {
	held := hold.Of(w)
	return held != nil && held.Window != ""
}

// bringing adds a template to a patch, if it is to bring one.
func (r *workloadWriter) bringing(ctx context.Context, v *view, patch *jsonpatch.Patch, t *plan.Template, digest string) (brings, error) {
	if t == nil {
		return brings{digest: digest}, nil
	}
	template, err := r.history.template(ctx, v, *t)
	if err != nil {
		return brings{}, err
	}
	patch.Set("/spec/template", template)
	return brings{sent: template, given: t.Given, digest: digest, revision: t.Revision}, nil
}

// refusalMemory is how long the refusal of a template is reused: a little less than
// the plan waits before it asks again.
const refusalMemory = 50 * time.Second

// handBack reverses takeOver, in one write for the same reason.
func (r *workloadWriter) handBack(ctx context.Context, v *view, a plan.HandBack) error {
	back := hold.HandBack(v.workload, a.Hold.HeldWorkload, nil)
	if a.Unfollow {
		hold.Unfollow(back, v.workload)
	}
	template, err := r.bringing(ctx, v, back, a.Template, a.Digest)
	if err != nil {
		return err
	}
	patch, err := kube.PatchOf(back)
	if err != nil {
		return err
	}
	differs := func(w workload.Workload) []string { return notHandedBack(w, a.Hold.HeldWorkload) }
	if err := r.tryWrite(ctx, v, patch, template, differs); err != nil {
		return err
	}
	before := v.workload
	if err := r.patchWorkload(ctx, v, patch); err != nil {
		return err
	}
	r.tellDropped(v, before)
	if !template.by(v, before, v.workload, v.wholeTemplate()) {
		fields := template.instead(v, v.workload)
		return errors.Join(&rewritten{fields: fields, written: true}, r.secureAgain(ctx, v, a.Hold))
	}
	v.process.unwritten = unwritten{handedBack: r.clock.Now()}
	if fields := differs(v.workload); len(fields) > 0 {
		return &rewritten{fields: fields, written: true}
	}
	return nil
}

// tellDropped records an event for a native rollback that a hand-back has dropped.
func (r *workloadWriter) tellDropped(v *view, before workload.Workload) {
	to := before.RollbackTo()
	if to == "" {
		return
	}
	r.tell(v.release, []plan.Event{{
		Warning: true, Reason: v1alpha1.ReasonNativeRollbackDropped,
		Message: fmt.Sprintf("removed the annotation %s=%s: the native controller would have undone the release; to roll back, run: sluice rollback %s",
			appsv1.DeprecatedRollbackTo, to, v.release.Name),
	}})
}

// secureAgain holds the workload at once whose template admission has changed with a write: the
// native controller is about to roll it.
func (r *workloadWriter) secureAgain(ctx context.Context, v *view, held plan.Hold) error {
	held.Window = ""
	again := hold.Set(hold.AsDecided(v.workload), v.workload, held)
	v.workload.Secure(again)
	patch, err := kube.PatchOf(again)
	if err != nil {
		return err
	}
	return r.patchWorkload(ctx, v, patch)
}

func (r *workloadWriter) patchWorkload(ctx context.Context, v *view, patch client.Patch) error {
	written := v.untypedWorkload()
	if err := r.wroteWorkload(ctx, v, kube.OutcomeOf(r.client.Patch(ctx, written, patch, strict))); err != nil {
		return fmt.Errorf("patch %s: %w", v.release.Spec.WorkloadRef.Kind, err)
	}
	return v.sawWhole(written)
}

// template returns the JSON of a pod template: the release's own, a kept one, or one
// that the cluster has.
func (r *historian) template(ctx context.Context, v *view, t plan.Template) (json.RawMessage, error) {
	if t.Given {
		return json.RawMessage(v.release.Spec.Template.Raw), nil
	}
	for _, kept := range v.facts.Kept {
		if kept.Revision == t.Revision {
			return r.keptTemplate(ctx, v, kept.Name)
		}
	}
	template, err := v.parts().template(ctx, r.kinds, v, t.Revision)
	if err == nil && template == nil {
		err = fmt.Errorf("no template of revision %s is kept", t.Revision)
	}
	return template, err
}

// resolve asks the API server, without changing anything, what it makes of a template: with
// its defaults, or why it refuses it.
func (r *observer) resolve(ctx context.Context, v *view, t plan.Template) error {
	template, err := r.history.template(ctx, v, t)
	if err != nil {
		return err
	}
	resolved := &plan.Resolved{}
	if t.Given {
		resolved.Given = v.given
		if refused := v.process.refused; refused.text != "" && refused.given == v.given &&
			r.clock.Since(refused.at) < refusalMemory {
			resolved.Refused = refused.text
			v.facts.Resolved = resolved
			return nil
		}
	}
	answer, came, err := r.tryTemplate(ctx, v, t, template)
	switch {
	case refusal(err):
		resolved.Refused = kube.Refusal(err)
		v.process.refused = refusedTemplate{given: v.given, text: resolved.Refused, at: r.clock.Now()}
	case err != nil:
		return fmt.Errorf("try template: %w", r.wroteWorkload(ctx, v, kube.OutcomeOf(err)))
	default:
		if resolved.Dropped, err = droppedOf(t, template, came); err != nil {
			return err
		}
		resolved.Digest = digestOfWorkload(answer)
		resolved.Revision = v.parts().foretell(v, answer, came, resolved.Digest)
		if resolved.Overlooked, err = r.overlooked(ctx, v, came, resolved.Digest); err != nil {
			return err
		}
	}
	v.facts.Resolved = resolved
	return nil
}

// tryTemplate returns the workload as it would be with a template. The dry run of a given one also
// holds a free workload, and then stands for that of the take-over. Where admission does not take
// or keep the hold, the template is tried alone: the take-over says what is wrong.
func (r *observer) tryTemplate(ctx context.Context, v *view, t plan.Template, template json.RawMessage) (workload.Workload, json.RawMessage, error) {
	if !t.Given || v.workload == nil || hold.Of(v.workload) != nil {
		return r.history.try(ctx, v, template)
	}
	held := plan.Hold{Release: v.release.Name, UID: v.release.UID, HeldWorkload: v.workload.Own()}
	both := hold.Set(new(jsonpatch.Patch).Set("/spec/template", template), v.workload, held)
	v.workload.Secure(both)
	answer, came, err := r.history.tryPatch(ctx, v, both)
	if refusal(err) || err == nil && len(notHeld(answer, held)) > 0 {
		return r.history.try(ctx, v, template)
	}
	if err == nil {
		v.process.tried = triedHold{v.workload.GetUID(), v.workload.GetGeneration(), v.given, r.clock.Now()}
	}
	return answer, came, err
}

// triedTakeOver reports whether a dry run a moment ago has held this workload with the given
// template.
func (r *cluster) triedTakeOver(v *view) bool {
	t := v.process.tried
	return t.uid == v.workload.GetUID() && t.generation == v.workload.GetGeneration() && t.given == v.given && r.clock.Since(t.at) < triedMemory
}

// triedMemory limits how long the dry run of a template stands for that of the take-over.
const triedMemory = 10 * time.Second

// mostDropped limits the fields that a status lists, and longestPath their length: a tenant chooses
// keys of maps.
const mostDropped, longestPath = 20, 300

// droppedOf names the fields of a given template that the API server did not keep.
func droppedOf(t plan.Template, template, came json.RawMessage) ([]string, error) {
	if !t.Given {
		return nil, nil
	}
	paths, err := podtemplate.Dropped(template, came)
	paths = paths[:min(len(paths), mostDropped)]
	for i, path := range paths {
		paths[i] = plain.UpTo(plain.Line(path), longestPath)
	}
	return paths, err
}

// overlooked returns what overlooks says of a template that would count as the present one.
func (r *observer) overlooked(ctx context.Context, v *view, template json.RawMessage, digest string) (string, error) {
	if v.workload == nil || digest != digestOfWorkload(v.workload) {
		return "", nil
	}
	if v.wholeTemplate() == nil {
		if err := r.readWorkload(ctx, v); err != nil || v.workload == nil {
			return "", err
		}
	}
	return overlooks(template, v.wholeTemplate())
}

// try returns the workload as it would be with another template, and that template as it came.
func (r *historian) try(ctx context.Context, v *view, template json.RawMessage) (workload.Workload, json.RawMessage, error) {
	return r.tryPatch(ctx, v, new(jsonpatch.Patch).Set("/spec/template", template))
}

func (r *historian) tryPatch(ctx context.Context, v *view, changes *jsonpatch.Patch) (workload.Workload, json.RawMessage, error) {
	patch, err := kube.PatchOf(changes)
	if err != nil {
		return nil, nil, err
	}
	answer := v.untypedWorkload()
	if err := r.client.Patch(ctx, answer, patch, strict, client.DryRunAll); err != nil {
		return nil, nil, err
	}
	return whole(answer)
}
