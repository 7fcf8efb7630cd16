package verb

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// SituationOf returns the situation of a release with these gates and this history.
func SituationOf(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, kept []appsv1.ControllerRevision) Situation {
	now := Situation{Release: release, All: gates, Kept: templates(kept)}
	for _, reference := range release.Status.Gates {
		for i := range gates {
			if gates[i].Name == reference.Name && gates[i].Spec.ReleaseRef.UID == release.UID {
				now.Gates = append(now.Gates, gates[i])
			}
		}
	}
	return now
}

// templates returns the templates in a history, with what decides on rollbacks to them.
func templates(kept []appsv1.ControllerRevision) []plan.Kept {
	all := make([]plan.Kept, 0, len(kept))
	for i := range kept {
		labels, annotations := kept[i].Labels, kept[i].Annotations
		all = append(all, plan.Kept{
			Number: kept[i].Revision, Revision: labels[v1alpha1.RevisionLabel],
			Record: plan.Record{Outcome: v1alpha1.Outcome(annotations[v1alpha1.OutcomeAnnotation]), Commit: annotations[v1alpha1.CommitAnnotation]},
		})
	}
	return all
}

// SameGates reports whether a release still waits for the same gates, whatever was decided on them
// meanwhile.
func SameGates(before, now *v1alpha1.BatchRelease) bool {
	return before.Status.Attempt == now.Status.Attempt &&
		slices.EqualFunc(before.Status.Gates, now.Status.Gates, func(a, b v1alpha1.GateReference) bool { return a.Name == b.Name })
}
