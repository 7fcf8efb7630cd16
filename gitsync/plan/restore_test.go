package plan

import (
	"encoding/json"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestDeletedWorkload: a missing workload is created with the right template in every state of its
// release.
func TestDeletedWorkload(t *testing.T) {
	t.Parallel()
	desired := read(t, false, "second", map[string]string{"a.yaml": releaseText("a", "2", "front", 1, 1)})
	release := desired.Content.Releases[0]
	given, kept := release.TemplateDigest, json.RawMessage(`{}`)
	type status = v1alpha1.BatchReleaseStatus
	resolved := func(given, revision string) *v1alpha1.ResolvedTemplate {
		return &v1alpha1.ResolvedTemplate{Given: given, Digest: "digest", Revision: revision}
	}
	const inGit, asApproved, lost = "as in Git", "as approved", "not at all"
	for name, tt := range map[string]struct {
		stable string
		status status
		want   string
	}{
		"its first one": {"", status{}, inGit},
		"its first one, to which a frozen release was": {"", status{Phase: v1alpha1.PhaseInitial}, inGit},
		"its first one, before all pods are ready":     {"", status{Attempt: 1, Adopted: true, Resolved: resolved(given, "v2")}, inGit},
		"its first one, and Git has gone on":           {"", status{Attempt: 1, Adopted: true, Resolved: resolved("v1", "v1")}, lost},
		"one that ran what Git did not have":           {"", status{Attempt: 1, Resolved: resolved(given, "v2")}, lost},
		"... of a release that was stopped":            {"", status{Queued: &v1alpha1.QueuedTemplate{}}, lost},
		"one of which the version in Git is released":  {"v2", status{Attempt: 1, Phase: v1alpha1.PhaseCompleted, StableRevision: "v2", Resolved: resolved(given, "v2")}, inGit},
		"one in mid-release":                           {"v1", status{Attempt: 2, StableRevision: "v1", Resolved: resolved(given, "v2")}, asApproved},
		"... of which the annotation is lost":          {"", status{Attempt: 2, StableRevision: "v1", Resolved: resolved(given, "v2")}, asApproved},
		"... that has failed":                          {"v1", status{Attempt: 2, Phase: v1alpha1.PhaseFailed, StableRevision: "v1", Resolved: resolved(given, "v2")}, asApproved},
		"one that waits with the version in Git":       {"v1", status{Attempt: 1, Phase: v1alpha1.PhaseCompleted, StableRevision: "v1", Resolved: resolved("v1", "v1"), Queued: &v1alpha1.QueuedTemplate{}}, asApproved},
		"one that is rolled back":                      {"v1", status{Attempt: 3, Rollback: &v1alpha1.RollbackRecord{From: "v2"}, UpdateRevision: "v1", Resolved: resolved(given, "v1"), Quarantined: []string{given}}, asApproved},
		"one that was rolled back":                     {"v1", status{Attempt: 3, Phase: v1alpha1.PhaseCompleted, Rollback: &v1alpha1.RollbackRecord{From: "v2"}, UpdateRevision: "v1", StableRevision: "v1", Resolved: resolved(given, "v1"), Quarantined: []string{given}}, asApproved},
		"one whose status was lost":                    {"v1", status{}, asApproved},
		"one of an older version that was made again":  {"v1", status{Attempt: 3, Quarantined: []string{given}}, asApproved},
	} {
		for _, isKept := range []bool{true, false} {
			live := &v1alpha1.BatchRelease{Status: tt.status}
			live.Annotations = map[string]string{v1alpha1.CurrentStableAnnotation: tt.stable}
			observed, want := Observed{Approved: map[Key]json.RawMessage{}}, tt.want
			if isKept && Approved(live) != "" {
				observed.Approved[named("a")] = kept
			} else if want == asApproved {
				want = lost
			}
			write, problem := restore(observed, release, live)
			got := lost
			if create, is := write.(CreateWorkload); is && create.Approved == nil {
				got = inGit
			} else if is {
				got = asApproved
			}
			if _, is := problem.(NothingApproved); got != want || is != (want == lost) {
				t.Errorf("%s, kept: %t: created %s, problem %v; want %s", name, isKept, got, problem, want)
			}
		}
	}
}

// TestApprovedInARollback: during a rollback its target is approved.
func TestApprovedInARollback(t *testing.T) {
	t.Parallel()
	live := &v1alpha1.BatchRelease{}
	live.Annotations = map[string]string{v1alpha1.CurrentStableAnnotation: "bad"}
	live.Status = v1alpha1.BatchReleaseStatus{Rollback: &v1alpha1.RollbackRecord{From: "bad"}, UpdateRevision: "good", StableRevision: "bad"}
	if got := Approved(live); got != "good" {
		t.Errorf("got revision %s, want the one that the rollback goes to", got)
	}
}
