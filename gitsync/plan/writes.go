package plan

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// Write is one write to the cluster: SetFreeze, CopyConfig, CreateWorkload, ApplyRelease,
// TakeOwnership or DeleteRelease, and nothing else.
//
//sumtype:decl
type Write interface {
	write()
	// Of returns the name of the release.
	Of() Key
	// Sent identifies the write within a pass.
	Sent() Sent
}

type (
	// SetFreeze gives a release the freeze of the repository, or takes it off if Text is empty.
	SetFreeze struct {
		Release *v1alpha1.BatchRelease
		Text    string
	}
	// CopyConfig creates the copies that a release's template names, as far as they are missing.
	CopyConfig struct {
		Release *spec.Release
		// Live is the release in the cluster, nil if there is none.
		Live *v1alpha1.BatchRelease
	}
	// CreateWorkload creates a workload for the first time, or again after somebody deleted it. It is
	// not updated later: its template is released, and the rest is the cluster's.
	CreateWorkload struct {
		Release *spec.Release
		// Approved is the template to create it with; nil for the one in Git.
		Approved json.RawMessage
	}
	// ApplyRelease makes a release what it is in Git.
	ApplyRelease struct {
		Release *spec.Release
		// Live is the release in the cluster, nil if there is none.
		Live *v1alpha1.BatchRelease
		// Origin is the commit that brought its template.
		Origin Origin
		// Label says of which source it is.
		Label string
		// Edited are the fields of the spec that somebody has changed out of band.
		Edited []string
		// Freeze is the annotation of a release that is frozen from the start: without it the template
		// would be released.
		Freeze string
	}
	// TakeOwnership takes the fields of a release in Git from their other owners, such as a kubectl
	// apply from before the release came to Git. The API server keeps a field as long as one owner has
	// it: a field removed in Git later would stay.
	TakeOwnership struct {
		Release *spec.Release
		Shared  Shared
	}
	// DeleteRelease deletes a release that Git does not have any more.
	DeleteRelease struct{ Release *v1alpha1.BatchRelease }
)

func (SetFreeze) write()      {}
func (CopyConfig) write()     {}
func (CreateWorkload) write() {}
func (ApplyRelease) write()   {}
func (TakeOwnership) write()  {}
func (DeleteRelease) write()  {}

// kind of a write.
type kind int

const (
	freezing kind = iota
	copying
	creating
	applying
	owning
	deleting
)

// Sent identifies a write within a pass.
type Sent struct {
	kind kind
	// workload is the kind of a workload that is written, empty for a release.
	workload string
	key      Key
}

// Fate is the result of a sent write.
type Fate int

const (
	// Failed says that the API server did not take it.
	Failed Fate = iota
	// Took says that the API server took it.
	Took
)

// Of returns the name of the release.
func (w SetFreeze) Of() Key { return keyOf(w.Release) }

// Sent identifies the write.
func (w SetFreeze) Sent() Sent { return Sent{kind: freezing, key: keyOf(w.Release)} }

// Of returns the name of the release.
func (w CopyConfig) Of() Key { return KeyOf(w.Release) }

// Sent identifies the write.
func (w CopyConfig) Sent() Sent { return Sent{kind: copying, key: KeyOf(w.Release)} }

// Of returns the name of the release.
func (w CreateWorkload) Of() Key { return KeyOf(w.Release) }

// Sent identifies the write.
func (w CreateWorkload) Sent() Sent {
	workload := WorkloadOf(w.Release)
	return Sent{creating, workload.Kind, workload.Key}
}

// Of returns the name of the release.
func (w ApplyRelease) Of() Key { return KeyOf(w.Release) }

// Sent identifies the write.
func (w ApplyRelease) Sent() Sent { return Sent{kind: applying, key: KeyOf(w.Release)} }

// Of returns the name of the release.
func (w TakeOwnership) Of() Key { return KeyOf(w.Release) }

// Sent identifies the write.
func (w TakeOwnership) Sent() Sent { return Sent{kind: owning, key: KeyOf(w.Release)} }

// Of returns the name of the release.
func (w DeleteRelease) Of() Key { return keyOf(w.Release) }

// Sent identifies the write.
func (w DeleteRelease) Sent() Sent { return Sent{kind: deleting, key: keyOf(w.Release)} }

// Object returns the workload to create.
func (w CreateWorkload) Object() *unstructured.Unstructured {
	if w.Approved == nil {
		return w.Release.WorkloadObject()
	}
	return w.Release.WorkloadWith(w.Approved)
}

// Object returns the BatchRelease to apply.
func (w ApplyRelease) Object() *unstructured.Unstructured {
	object := w.Release.Object()
	leaveSuspend(object)
	annotations := w.annotations()
	if w.Freeze != "" {
		annotations[v1alpha1.FreezeAnnotation] = w.Freeze
	}
	object.SetLabels(with(object.GetLabels(), map[string]string{v1alpha1.SourceLabel: w.Label}))
	object.SetAnnotations(with(object.GetAnnotations(), annotations))
	return object
}

// leaveSuspend leaves the suspension of a release to users unless Git suspends it: suspend: false
// in a manifest is the default, and does not resume a release that a user stopped.
func leaveSuspend(object *unstructured.Unstructured) {
	if asked, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend"); !asked {
		unstructured.RemoveNestedField(object.Object, "spec", "suspend")
	}
}

// annotations returns those that say where the release comes from.
func (w ApplyRelease) annotations() map[string]string {
	annotations := map[string]string{
		v1alpha1.CommitAnnotation:        w.Origin.Commit,
		v1alpha1.AuthorAnnotation:        w.Origin.Author,
		v1alpha1.SubjectAnnotation:       w.Origin.Subject,
		v1alpha1.FileAnnotation:          w.Release.File,
		v1alpha1.AppliedDigestAnnotation: w.Release.Digest,
		v1alpha1.GitTemplateAnnotation:   w.Release.TemplateDigest,
	}
	if w.Origin.Time != "" {
		annotations[v1alpha1.CommitTimeAnnotation] = w.Origin.Time
	}
	if w.Origin.Reference != "" {
		annotations[v1alpha1.ReferenceAnnotation] = w.Origin.Reference
	}
	if w.Release.TemplateFile != "" {
		annotations[v1alpha1.TemplateFileAnnotation] = w.Release.TemplateFile
	}
	if w.Release.Kustomization != "" {
		annotations[v1alpha1.KustomizationAnnotation] = w.Release.Kustomization
	}
	return annotations
}

// with returns the given labels or annotations with some more.
func with(given, more map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, given)
	maps.Copy(all, more)
	return all
}
