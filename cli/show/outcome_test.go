package show

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestOutcome(t *testing.T) {
	t.Parallel()
	rollback := func(by v1alpha1.RollbackTrigger) v1alpha1.BatchReleaseStatus {
		return v1alpha1.BatchReleaseStatus{
			Phase: v1alpha1.PhaseCompleted, UpdateRevision: "old", Rollback: &v1alpha1.RollbackRecord{Trigger: by},
		}
	}
	condition := func(name string) []metav1.Condition {
		return []metav1.Condition{{Type: name, Status: metav1.ConditionTrue}}
	}
	cases := map[string]struct {
		reason     string
		generation int64
		status     v1alpha1.BatchReleaseStatus
		want       Outcome
	}{
		"Completed":    {"all pods run it", 0, v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseCompleted}, Completed},
		"NotSeen":      {"the controller speaks of an earlier spec", 2, v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseCompleted, ObservedGeneration: 1}, UnderWay},
		"Nothing":      {"it has just been made", 0, v1alpha1.BatchReleaseStatus{}, UnderWay},
		"Blocking":     {"a gate may pass yet", 0, v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateBlocked}, UnderWay},
		"Failed":       {"no progress in time", 0, v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseFailed}, Failed},
		"Stalled":      {"only a change can help", 0, v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseInitial, Conditions: condition(v1alpha1.ConditionStalled)}, Failed},
		"Rejected":     {"though that is a stall as well", 0, v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateRejected, Conditions: condition(v1alpha1.ConditionStalled)}, Rejected},
		"Replaced":     {"an earlier version kept the rollback of a Deployment that was replaced since", 0, v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseCompleted, Rollback: &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerAnnotation}}, Completed},
		"RollingBack":  {"a rollback has an end of its own", 0, v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingBack, Rollback: &v1alpha1.RollbackRecord{}}, UnderWay},
		"RolledBack":   {"what is given does not run", 0, rollback(v1alpha1.TriggerDeadline), RolledBack},
		"ByAnnotation": {"a person has asked for it, and Git has not", 0, rollback(v1alpha1.TriggerAnnotation), RolledBack},
		"Reverted":     {"Git asked for what runs", 0, rollback(v1alpha1.TriggerGitRevert), Completed},
		"Drift":        {"what is given runs again", 0, rollback(v1alpha1.TriggerDrift), Completed},
		"Quarantined":  {"what is given is not released again", 0, v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseCompleted, Conditions: condition(v1alpha1.ConditionQuarantined)}, RolledBack},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Generation: tc.generation}, Status: tc.status}
			if got := OutcomeOf(&release); got != tc.want {
				t.Errorf("%s: want %d, got %d", tc.reason, tc.want, got)
			}
		})
	}
}

// TestOutcomeAt: of a commit that is not the last one, the history tells how it ended.
func TestOutcomeAt(t *testing.T) {
	t.Parallel()
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.CommitAnnotation: "eeee"}},
		Status: v1alpha1.BatchReleaseStatus{
			Phase: v1alpha1.PhaseRollingUpdate, Commit: "dddd",
			Ended: []v1alpha1.EndedRelease{
				{Commit: "aaaa"},
				{Commit: "bbbb"},
				{Commit: "bbbb", Trigger: v1alpha1.TriggerAnnotation},
				{Commit: "cccc", Trigger: v1alpha1.TriggerGitRevert},
			},
			Superseded: []string{"aaaa", "abab"},
		},
	}
	stalled := release.DeepCopy()
	stalled.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue}}
	cases := map[string]struct {
		reason  string
		release *v1alpha1.BatchRelease
		commit  string
		want    Outcome
	}{
		"Present":    {"it is under way", release, "dd", UnderWay},
		"Before":     {"it was released", release, "aaaa", Completed},
		"RolledBack": {"what came last counts", release, "bbbb", RolledBack},
		"Reverting":  {"Git asked for what runs", release, "cccc", Completed},
		"Superseded": {"another commit took its place", release, "abab", Superseded},
		"NotBegun":   {"the controller has not looked at it", release, "eeee", Unknown},
		"Stalled":    {"it can't be begun", stalled, "eeee", Failed},
		"Unheard":    {"nothing is known of it", release, "ffff", Unknown},
	}
	for name, tc := range cases {
		if got := OutcomeAt(tc.release, tc.commit); got != tc.want {
			t.Errorf("%s: %s: want %d, got %d", name, tc.reason, tc.want, got)
		}
	}
}

// TestHistoryOfSuperseded: a commit that gave way to another is in the history, unless it came
// back.
func TestHistoryOfSuperseded(t *testing.T) {
	t.Parallel()
	release := &v1alpha1.BatchRelease{Status: v1alpha1.BatchReleaseStatus{
		Phase: v1alpha1.PhaseRollingUpdate, UpdateRevision: "v5", Commit: "5555555555", Superseded: []string{"1111111111", "2222222222", "5555555555"},
	}}
	kept := []appsv1.ControllerRevision{{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.CommitAnnotation: "1111111111"}}}}
	var got []any
	for _, row := range History(release, kept, noon).Rows {
		got = append(got, row.Cells[4], row.Cells[7])
	}
	want := []any{none, "1111111", "Superseded", "2222222", "Rolling", "5555555"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcomes and commits (-want +got):\n%s", diff)
	}
}
