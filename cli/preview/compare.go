package preview

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/drift"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// comparison is of two states of a repository.
type comparison struct {
	before, after *State
	earlier       []*State
	// freeze is that after the change, thawed the one before it.
	freeze, thawed *spec.Freeze
}

// change compares a release with what it was; nil if it is new.
func (c *comparison) change(was, is *spec.Release) (*Change, error) {
	object, err := decodeRelease(is)
	if err != nil {
		return nil, err
	}
	change := changeOf(is, Unchanged)
	change.release, change.object = is, object
	switch {
	case was == nil:
		change.Kind = Added
		if is.IsTrain() {
			break
		}
		change.note("A " + is.WorkloadKind + " that the cluster lacks is created with the template; one that runs another template is released.")
	case was.WorkloadRef() != is.WorkloadRef():
		change.Kind = Kept
		return change, nil
	case was.TemplateDigest != is.TemplateDigest:
		change.Kind = Released
		if change.Before = c.last(is); change.Before != nil {
			change.Kind = RolledBack
		}
		if is.IsTrain() {
			break
		}
		if change.Fields, err = fields(was, is); err != nil {
			return nil, err
		}
		if moved, err := movesNodes(was, is); err != nil {
			return nil, err
		} else if moved {
			change.note("T" + preflight.OtherNodes[1:] + ".")
		}
		change.Config = changedConfig(was, is)
		if len(change.Fields) == 0 {
			change.note("The templates differ in how they are written only: if they come to the same, no pod is replaced.")
		}
	case !sameRules(was, is) || len(changedClaims(was, is))+len(changedFixed(was, is)) > 0:
		change.Kind = Changed
	}
	c.compareFreeze(change, was)
	if is.IsTrain() && change.Kind != Unchanged {
		c.detailTrain(change, was)
		return change, nil
	}
	if err := c.detail(change, was); err != nil {
		return nil, err
	}
	return change, nil
}

// compareFreeze notes a freeze that begins or ends with the change. That alone makes a release
// worth showing, as a waiting template then goes on.
func (c *comparison) compareFreeze(change *Change, was *spec.Release) {
	if was == nil {
		return
	}
	before, after := c.thawed.Covers(was.Namespace, was.Object().GetLabels()), c.freeze.Covers(change.Namespace, change.object.Labels)
	switch {
	case before == after:
	case after && change.Kind == Unchanged:
		change.Kind = Changed
	case before && change.Kind == Unchanged:
		change.Kind = Unfrozen
	case before:
		change.note("The freeze of " + spec.FreezeFile + " ends for it.")
	}
}

func changeOf(release *spec.Release, kind Kind) *Change {
	change := &Change{
		Train: release.Train, Namespace: release.Namespace, Name: release.Name, File: release.File, Kind: kind,
		WorkloadKind: release.WorkloadKind, Workload: release.Workload,
	}
	if release.WorkloadKind == kinds.Deployment {
		change.Deployment = release.Workload
	}
	return change
}

// changedClaims names the volume claim templates that differ from those before, if both are in the
// repository.
func changedClaims(was, is *spec.Release) []string {
	before, known := was.Claims()
	after, still := is.Claims()
	if !known || !still || was.Workload != is.Workload {
		return nil
	}
	return spec.ChangedClaims(after, before)
}

// changedFixed names the other fields that never change, and differ from those before.
func changedFixed(was, is *spec.Release) []string {
	if was == nil || was.Workload != is.Workload || was.WorkloadKind != is.WorkloadKind {
		return nil
	}
	before, known := was.Fixed()
	if !known {
		return nil
	}
	return is.ChangedFixed(before)
}

// detail adds what the release comes to.
func (c *comparison) detail(change *Change, was *spec.Release) error {
	if change.Kind == Unchanged {
		return nil
	}
	change.foresee()
	change.Frozen = frozen(c.freeze, change.object)
	if change.object.Spec.Suspend {
		change.note("spec.suspend is set: nothing happens until it is not.")
	}
	if err := change.compareTraffic(was); err != nil || was == nil {
		return err
	}
	if (change.Kind == Released || change.Kind == RolledBack) && !sameButTemplate(was, change.release) {
		change.note("Its rules change as well: batches and gates are those after the change.")
	}
	if names := changedClaims(was, change.release); len(names) > 0 {
		at := change.release.ClaimsPlace()
		change.Claims = &Claims{File: at.File, Line: at.Line, Names: names}
	}
	if fields := changedFixed(was, change.release); len(fields) > 0 {
		at := change.release.WorkloadPlace()
		change.fixedNote = place(at.File, at.Line) + ": " + change.release.FixedRefused(fields)
		change.note(change.fixedNote)
	}
	return nil
}

func (c *Change) note(text string) { c.Notes = append(c.Notes, text) }

func (c *Change) dropNote(text string) {
	c.Notes = slices.DeleteFunc(c.Notes, func(note string) bool { return note == text })
}

// gone returns a release that was there before and is not any more.
func (c *comparison) gone(was *spec.Release) Change {
	change := *changeOf(was, Removed)
	if c.mayBeThere(was) {
		change.Kind = Kept
		change.note(c.whyKept(was))
		return change
	}
	if _, is := c.after.Read.Missing(was.Name, was.File, was.Kustomization); is {
		change.Kind = Kept
		return change
	}
	if was.IsTrain() {
		change.note("A ReleaseSource that prunes deletes it; any other leaves it as it is.")
		return change
	}
	change.note("A ReleaseSource that prunes deletes it, and its " + was.WorkloadKind + " is handed back; any other leaves it as it is.")
	return change
}

// whyKept says what is wrong, so that a release stays as it is.
func (c *comparison) whyKept(was *spec.Release) string {
	switch {
	case c.hasErrors(was):
		return "Its file has errors: the release stays as it is."
	case was.Train != "":
		return "Train " + was.Train + " or another file has errors: the release stays as it is."
	default:
		return "A file that may hold it has errors: the release stays as it is."
	}
}

// hasErrors reports whether the file of a release is wrong.
func (c *comparison) hasErrors(was *spec.Release) bool {
	return slices.ContainsFunc(c.after.Read.Errors, func(e spec.Error) bool {
		return e.File != "" && (e.File == was.File || e.File == was.Kustomization)
	})
}

// mayBeThere reports whether files that are wrong may hold a release.
func (c *comparison) mayBeThere(was *spec.Release) bool {
	wrong := func(file string) bool { return file != "" && (file == was.File || file == was.Kustomization) }
	return slices.ContainsFunc(c.after.Read.Errors, func(e spec.Error) bool { return wrong(e.File) }) ||
		slices.ContainsFunc(c.after.Read.Doubts, func(d spec.Doubt) bool { return wrong(d.File) || d.MayHold(was.Name) })
}

// last returns the newest of the earlier commits at which the release had the same template.
func (c *comparison) last(is *spec.Release) *Commit {
	for _, state := range c.earlier {
		if old := byKey(state)[keyOf(is)]; old != nil && old.TemplateDigest == is.TemplateDigest {
			return &state.Commit
		}
	}
	return nil
}

// sameRules reports whether two releases of the same template say the same.
func sameRules(was, is *spec.Release) bool {
	return equality.Semantic.DeepEqual(was.Object().Object["spec"], is.Object().Object["spec"])
}

// sameButTemplate compares releases like sameRules, without their templates and copies.
func sameButTemplate(was, is *spec.Release) bool {
	before, after := was.Object().Object, is.Object().Object
	for _, object := range []map[string]any{before, after} {
		unstructured.RemoveNestedField(object, "spec", "template")
		config, _, _ := unstructured.NestedSlice(object, "spec", "config")
		for i := range config {
			entry, _ := config[i].(map[string]any)
			delete(entry, "copy") // it goes with the template
		}
		if config != nil {
			_ = unstructured.SetNestedSlice(object, config, "spec", "config") // where it was found
		}
	}
	return equality.Semantic.DeepEqual(before["spec"], after["spec"])
}

// fields returns the fields of the template that differ.
func fields(was, is *spec.Release) ([]string, error) {
	before, err := templateOf(was)
	if err != nil {
		return nil, err
	}
	after, err := templateOf(is)
	if err != nil {
		return nil, err
	}
	found, err := drift.All(before, after)
	if err != nil {
		return nil, fmt.Errorf("compare templates of BatchRelease %s/%s: %w", is.Namespace, is.Name, err)
	}
	return found, nil
}

// movesNodes reports whether the templates of a kind that follows nodes are for others (D11 in
// docs/develop/architecture.md).
func movesNodes(was, is *spec.Release) (bool, error) {
	if !preflight.FollowsNodes(is.WorkloadKind) || was.WorkloadKind != is.WorkloadKind {
		return false, nil
	}
	before, err := templateOf(was)
	if err != nil {
		return false, err
	}
	after, err := templateOf(is)
	if err != nil {
		return false, err
	}
	return preflight.NamesOtherNodes(is.WorkloadKind, &before.Spec, &after.Spec), nil
}

func templateOf(release *spec.Release) (*corev1.PodTemplateSpec, error) {
	object, err := decodeRelease(release)
	if err != nil {
		return nil, err
	}
	var template corev1.PodTemplateSpec
	if err := json.Unmarshal(object.Spec.Template.Raw, &template); err != nil {
		return nil, fmt.Errorf("decode template of BatchRelease %s/%s: %w", release.Namespace, release.Name, err)
	}
	return &template, nil
}

func batchOf(foreseen *plan.Batch, share string, known bool) Batch {
	batch := Batch{Share: share}
	if known {
		batch.Pods, batch.New = &foreseen.Pods, &foreseen.New
	}
	for i := range foreseen.Gates {
		batch.Gates = append(batch.Gates, gate.Words(&foreseen.Gates[i]))
	}
	return batch
}

func decodeRelease(release *spec.Release) (*v1alpha1.BatchRelease, error) {
	object := &v1alpha1.BatchRelease{}
	return object, decode(release.Object(), object)
}

func decode(object *unstructured.Unstructured, into any) error {
	data, err := object.MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("decode %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}
