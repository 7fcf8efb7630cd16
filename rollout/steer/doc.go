// Package steer turns what a person asks of a release into writes, or says why there is nothing to
// write; pure.
//
//	BatchRelease, Gates, history ──► Approve, Reject, Force, RollBack, ... ──► Changes, or a refusal
//
// The functions are pure. A Change is written by the command that asked for it, as the user, and
// only to the object that it was decided on. The controller says what the release makes of it.
//
// What must hold:
//
//   - an answer names the gates that were looked at, by their UIDs: it counts for no other;
//   - a request without a meaning is refused, with the thing that the release waits for.
package steer

import (
	"fmt"
	"maps"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Change is one write to an object.
type Change struct {
	// Gate is the one to write to; nil for the release.
	Gate *v1alpha1.Gate
	// Decides are the gates that are decided once the write is taken up.
	Decides []v1alpha1.Gate
	// Status tells a patch of the status from one of the object itself.
	Status bool
	// Patch is a JSON merge patch.
	Patch map[string]any
	// Done says in a few words what the write does.
	Done string
}

// RefusedError says why nothing is written. It is an error of the state of things, not of the call.
type RefusedError struct{ why string }

func (r *RefusedError) Error() string { return r.why }

func refuse(format string, arguments ...any) error {
	return &RefusedError{fmt.Sprintf(format, arguments...)}
}

// to returns a patch of one field, by its path.
func to(value any, path ...string) map[string]any {
	for i := len(path) - 1; i > 0; i-- {
		value = map[string]any{path[i]: value}
	}
	return map[string]any{path[0]: value}
}

// annotate returns the change that sets an annotation of a release.
func annotate(key, value, done string) Change {
	return Change{Patch: to(value, "metadata", "annotations", key), Done: done}
}

// By adds the user who requests a change of a release itself, for the release to name them. Answers
// name their user anyway.
func (c Change) By(user string) Change {
	if user == "" || c.Status || c.Gate != nil || len(c.Patch) == 0 {
		return c
	}
	patch := maps.Clone(c.Patch)
	metadata, _ := patch["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
	if metadata == nil {
		metadata = map[string]any{}
	}
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[v1alpha1.RequestedByAnnotation] = user
	metadata["annotations"], patch["metadata"] = annotations, metadata
	c.Patch = patch
	return c
}

// Sync asks for a look at the repository of a source; the request is told from others by its time.
func Sync(at string) Change { return annotate(v1alpha1.RequestedAtAnnotation, at, "to be read") }
