package act

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/steer"
)

// Mode says how far a Writer goes.
type Mode int

// The modes.
const (
	// Written is the mode in which changes are written.
	Written Mode = iota
	// Checked is a dry run in which the API server checks the changes.
	Checked
	// Decided is a dry run that does not contact the API server.
	Decided
)

// Tries is the number of attempts to write to an object that keeps changing.
const Tries = 10

// Writer writes changes as the person whom its client belongs to.
type Writer struct {
	Client client.Client
	// Owner is the field manager of what is written.
	Owner string
	Mode  Mode
}

// Decide returns the changes to write to a version of a release.
type Decide func(context.Context, *v1alpha1.BatchRelease) ([]steer.Change, error)

// Write decides on changes and writes them to the version of the release that they were decided on.
// It returns the changes and the resulting objects. If the release has changed meanwhile, Write
// reads it again into release and decides again.
func (w Writer) Write(ctx context.Context, release *v1alpha1.BatchRelease, decide Decide) ([]steer.Change, []client.Object, error) {
	for try := 1; ; try++ {
		changes, err := decide(ctx, release)
		if err != nil {
			return nil, nil, err
		}
		written, err := w.apply(ctx, release, changes)
		if !apierrors.IsConflict(err) || try == Tries {
			return changes, written, err
		}
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(release), release); err != nil {
			return nil, nil, fmt.Errorf("read release again: %w", err)
		}
	}
}

// apply writes changes, each to the version that it was decided on.
func (w Writer) apply(ctx context.Context, release *v1alpha1.BatchRelease, changes []steer.Change) ([]client.Object, error) {
	written := make([]client.Object, 0, len(changes))
	for _, change := range changes {
		var object client.Object = release.DeepCopy()
		if change.Gate != nil {
			object = change.Gate.DeepCopy()
		}
		if err := w.Patch(ctx, object, change); err != nil {
			return nil, err
		}
		written = append(written, object)
	}
	return written, nil
}

// Patch writes one change to an object, if it has not changed since it was read.
func (w Writer) Patch(ctx context.Context, object client.Object, change steer.Change) error {
	if w.Mode == Decided {
		return nil
	}
	data, err := json.Marshal(guarded(change.Patch, object))
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	patch := client.RawPatch(types.MergePatchType, data)
	switch {
	case change.Status:
		options := &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{FieldManager: w.Owner}}
		if w.Mode == Checked {
			options.DryRun = []string{metav1.DryRunAll}
		}
		return w.Client.Status().Patch(ctx, object, patch, options)
	case w.Mode == Checked:
		return w.Client.Patch(ctx, object, patch, client.FieldOwner(w.Owner), client.DryRunAll)
	default:
		return w.Client.Patch(ctx, object, patch, client.FieldOwner(w.Owner))
	}
}

// guarded returns a patch that applies only to one version of one object.
func guarded(patch map[string]any, object client.Object) map[string]any {
	metadata, _ := patch["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["uid"], metadata["resourceVersion"] = object.GetUID(), object.GetResourceVersion()
	whole := maps.Clone(patch)
	whole["metadata"] = metadata
	return whole
}
