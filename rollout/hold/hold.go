// Package hold defines the annotation of a held workload, and the one write that hands it back. The
// controller does that, and the command that does without it.
//
// All of it is in the annotation: who holds the workload, what it gets back, and which revision it
// goes back to if the release is gone.
package hold

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/jsonpatch"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// Of reads the annotation; nil if there is none. One that can't be read counts as none, and so does
// one that names no release: anybody who may write the workload may have written it.
func Of(w metav1.Object) *plan.Hold {
	text, found := w.GetAnnotations()[v1alpha1.HoldAnnotation]
	if !found {
		return nil
	}
	var held plan.Hold
	if err := json.Unmarshal([]byte(text), &held); err != nil || held.Release == "" || len(content.IsPathSegmentName(held.Release)) > 0 {
		return nil
	}
	return &held
}

// Text returns the annotation as it stands there, nil if there is none.
func Text(w metav1.Object) any {
	if text, found := w.GetAnnotations()[v1alpha1.HoldAnnotation]; found {
		return text
	}
	return nil
}

// Limits returns maxSurge and maxUnavailable of the strategy that a workload has, or gets back if
// it is taken over; nil where that has none.
func Limits(w workload.Workload, held *plan.Hold) (surge, unavailable *intstr.IntOrString) {
	strategy := w.Own().Strategy
	if held != nil {
		strategy = held.Strategy
	}
	return w.Limits(strategy)
}

// AsDecided starts a patch of a workload that applies only if spec and hold are unchanged since
// the decision. Its status, which changes with every pod, does not count.
func AsDecided(w metav1.Object) *jsonpatch.Patch {
	patch := new(jsonpatch.Patch).
		Test("/metadata/uid", w.GetUID()).
		Test("/metadata/generation", w.GetGeneration())
	if len(w.GetAnnotations()) == 0 {
		return patch.Test("/metadata/annotations", nil)
	}
	return patch.Test(jsonpatch.AnnotationPath(v1alpha1.HoldAnnotation), Text(w))
}

// SameDecided reports whether a patch that AsDecided began for one reading of a workload still
// holds for another, which is nil if the workload is gone.
func SameDecided(now, decided metav1.Object) bool {
	return now != nil && now.GetUID() == decided.GetUID() && now.GetGeneration() == decided.GetGeneration() &&
		Text(now) == Text(decided) && (len(now.GetAnnotations()) > 0) == (len(decided.GetAnnotations()) > 0)
}

// Set writes the annotation to a workload that may have no annotations yet.
func Set(patch *jsonpatch.Patch, w metav1.Object, held plan.Hold) *jsonpatch.Patch {
	data, _ := json.Marshal(held) // texts alone can't fail to encode
	if len(w.GetAnnotations()) > 0 {
		patch.Set(jsonpatch.AnnotationPath(v1alpha1.HoldAnnotation), string(data))
	} else {
		patch.Set("/metadata/annotations", map[string]string{v1alpha1.HoldAnnotation: string(data)})
	}
	return taken(patch, w)
}

// taken adds to a patch that the template of a followed workload no longer waits. The policies
// answer in the guard annotation.
func taken(patch *jsonpatch.Patch, w metav1.Object) *jsonpatch.Patch {
	if _, waits := w.GetAnnotations()[v1alpha1.WaitingAnnotation]; waits {
		patch.Remove(jsonpatch.AnnotationPath(v1alpha1.WaitingAnnotation))
	}
	if Follower(w) != "" {
		patch.Set(jsonpatch.AnnotationPath(v1alpha1.GuardAnnotation), v1alpha1.Unguarded)
	}
	return patch
}

// Follow returns the patch that labels a workload as followed by a release.
func Follow(w metav1.Object, release string) *jsonpatch.Patch {
	patch := AsDecided(w)
	if len(w.GetLabels()) > 0 {
		patch.Set(jsonpatch.LabelPath(v1alpha1.FollowLabel), release)
	} else {
		patch.Set("/metadata/labels", map[string]string{v1alpha1.FollowLabel: release})
	}
	if len(w.GetAnnotations()) > 0 {
		return patch.Set(jsonpatch.AnnotationPath(v1alpha1.GuardAnnotation), v1alpha1.Unguarded)
	}
	return patch.Set("/metadata/annotations", map[string]string{v1alpha1.GuardAnnotation: v1alpha1.Unguarded})
}

// Follower returns the release that follows a workload, by its label; empty if none does.
func Follower(w metav1.Object) string { return w.GetLabels()[v1alpha1.FollowLabel] }

// Unfollow adds to a patch that no release follows the workload.
func Unfollow(patch *jsonpatch.Patch, w metav1.Object) *jsonpatch.Patch {
	if _, labelled := w.GetLabels()[v1alpha1.FollowLabel]; labelled {
		patch.Remove(jsonpatch.LabelPath(v1alpha1.FollowLabel))
	}
	if _, guarded := w.GetAnnotations()[v1alpha1.GuardAnnotation]; guarded {
		patch.Remove(jsonpatch.AnnotationPath(v1alpha1.GuardAnnotation))
	}
	return patch
}

// HandBack returns the patch that gives a workload back that is held, or whose template waits. It
// restores the fields, removes the annotation and sets the template, unless nil, in one write: in
// any other order the native controller would roll by itself for a moment.
func HandBack(w workload.Workload, held v1alpha1.HeldWorkload, template json.RawMessage) *jsonpatch.Patch {
	patch := AsDecided(w)
	if Text(w) != nil {
		patch.Remove(jsonpatch.AnnotationPath(v1alpha1.HoldAnnotation))
	}
	taken(patch, w)
	w.GiveBack(patch, held)
	if template != nil {
		patch.Set("/spec/template", template)
	}
	return patch
}
