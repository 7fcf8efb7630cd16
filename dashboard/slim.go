package dashboard

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/dashboard/view"
	"github.com/sluice-dev/sluice/internal/plain"
)

// mostAnnotation bounds each annotation that lists go by, in bytes.
const mostAnnotation = 4 << 10

// What lists read of the metadata of objects, besides their names and times.
var (
	listedAnnotations = []string{
		v1alpha1.FreezeAnnotation, v1alpha1.CommitAnnotation, v1alpha1.AuthorAnnotation, v1alpha1.SubjectAnnotation, v1alpha1.CommitTimeAnnotation,
		v1alpha1.OutcomeAnnotation, v1alpha1.StartedAtAnnotation, v1alpha1.ReleasedAtAnnotation, v1alpha1.ApprovedByAnnotation, v1alpha1.ForcedAnnotation,
	}
	listedLabels = []string{v1alpha1.ReleaseLabel, v1alpha1.RevisionLabel, v1alpha1.SourceLabel}
)

// slim leaves out of an object what is in no list, before it is kept for all viewers. Templates,
// annotations, labels, owners and finalizers can be as large as the API server takes, and a tenant
// makes many objects: of histories also by a StatefulSet, whose labels and annotations its
// revisions have. A cache may give it what it has returned before: that stays as it is.
func slim(object any) (any, error) {
	whole, is := object.(client.Object)
	if !is {
		return object, nil
	}
	owner, images := metav1.GetControllerOf(whole), whole.GetAnnotations()[view.ImagesKey]
	whole.SetManagedFields(nil)
	whole.SetFinalizers(nil)
	whole.SetOwnerReferences(nil)
	whole.SetAnnotations(only(whole.GetAnnotations(), listedAnnotations))
	whole.SetLabels(only(whole.GetLabels(), listedLabels))
	switch of := object.(type) {
	case *appsv1.ControllerRevision:
		slimHistory(of, owner, images)
	case *v1alpha1.BatchRelease:
		of.Spec.Template = nil
		slimStrategy(&of.Spec, int(of.Status.CurrentStepIndex))
	}
	return object, nil
}

// slimStrategy leaves of the steps what lists read: how many there are, and the gates of the
// current one.
func slimStrategy(spec *v1alpha1.BatchReleaseSpec, current int) {
	spec.Strategy.Traffic, spec.Strategy.Order, spec.Strategy.Guards = nil, nil, nil
	all := [][]v1alpha1.Step{spec.Strategy.Steps}
	if spec.Rollback != nil {
		all = append(all, spec.Rollback.Steps)
	}
	for _, steps := range all {
		for i := range steps {
			steps[i].Matches = nil
			if i != current {
				steps[i].Gates = nil
			}
			for j := range steps[i].Gates {
				if gate := &steps[i].Gates[j]; gate.Metrics != nil {
					gate.Metrics = &v1alpha1.MetricsGate{} // its queries are long
				}
			}
		}
	}
}

// slimHistory leaves whose history a revision is, and its images, which are given if it was slimmed
// before; of one that is none, nothing is listed.
func slimHistory(kept *appsv1.ControllerRevision, owner *metav1.OwnerReference, images string) {
	if kept.Data.Raw != nil {
		images = plain.UpTo(show.ImagesOf(kept.Data.Raw), mostAnnotation)
	}
	kept.Data.Raw = nil
	if owner == nil || owner.Name != kept.Labels[v1alpha1.ReleaseLabel] || len(owner.APIVersion) > mostAnnotation {
		kept.Labels, kept.Annotations = nil, nil
		return
	}
	kept.OwnerReferences = []metav1.OwnerReference{{APIVersion: owner.APIVersion, Kind: owner.Kind, Name: owner.Name, UID: owner.UID, Controller: owner.Controller}}
	if v1alpha1.KeptFor(kept) == "" {
		kept.OwnerReferences, kept.Labels, kept.Annotations = nil, nil, nil
		return
	}
	if images != "" {
		metav1.SetMetaDataAnnotation(&kept.ObjectMeta, view.ImagesKey, images)
	}
}

// only returns some of many texts, each of bounded length.
func only(all map[string]string, keys []string) map[string]string {
	var some map[string]string
	for _, key := range keys {
		text, has := all[key]
		if !has {
			continue
		}
		if some == nil {
			some = map[string]string{}
		}
		some[key] = plain.UpTo(text, mostAnnotation)
	}
	return some
}
