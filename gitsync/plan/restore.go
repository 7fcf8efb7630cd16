package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// A workload that is missing although its release knows it was deleted. Git's template may wait at
// a gate, be stopped or be rolled back. So the workload is created in the version that was approved
// last, and the release begins again.

// Approved returns the revision that all pods of a workload may run without a gate; empty if there
// is none yet.
func Approved(live *v1alpha1.BatchRelease) string {
	status := &live.Status
	if status.Rollback != nil && status.Phase != v1alpha1.PhaseCompleted {
		return status.UpdateRevision
	}
	if stable := live.Annotations[v1alpha1.CurrentStableAnnotation]; stable != "" {
		return stable
	}
	return status.StableRevision
}

// restore creates a workload that is missing, or says why it can't.
func restore(observed Observed, release *spec.Release, live *v1alpha1.BatchRelease) (Write, Problem) {
	if live == nil || installs(live, release) {
		return CreateWorkload{Release: release}, nil
	}
	if template := observed.Approved[KeyOf(release)]; template != nil {
		return CreateWorkload{release, template}, nil
	}
	return nil, NothingApproved{release, Approved(live)}
}

// installs reports whether a workload may be created with the template in Git: it is the first one
// of its release, or the template was released last.
func installs(live *v1alpha1.BatchRelease, release *spec.Release) bool {
	status, approved := &live.Status, Approved(live)
	given := status.Resolved != nil && status.Resolved.Given == release.TemplateDigest
	switch {
	case status.Rollback != nil || slices.Contains(status.Quarantined, release.TemplateDigest):
		return false // status.resolved then has the target of the rollback, under Git's digest
	case approved != "":
		return given && status.Resolved.Revision == approved
	case status.Attempt == 0 && status.Resolved == nil && status.Queued == nil: // it has seen no workload yet
		return true
	default:
		return given && status.Adopted
	}
}
