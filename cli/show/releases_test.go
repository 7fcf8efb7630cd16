package show

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// noon is when the tests look.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(ago time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-ago)) }

func TestWaitsFor(t *testing.T) {
	t.Parallel()
	manual := []v1alpha1.GateReference{{Name: "web-0", Type: v1alpha1.GateManual}, {Name: "web-1", Type: v1alpha1.GateSoak}}
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.BatchRelease)
		want   string
	}{
		"Nothing": {"a release that moves waits for nobody", func(*v1alpha1.BatchRelease) {}, ""},
		"Gates": {"all gates of the step", func(r *v1alpha1.BatchRelease) {
			r.Status.CurrentStepState, r.Status.Gates = v1alpha1.StepBlocking, manual
		}, "manual,soak"},
		"PodsCrash": {"pods of the new version, before the deadline", func(r *v1alpha1.BatchRelease) {
			r.Status.PodTrouble = &v1alpha1.PodTrouble{Reason: v1alpha1.PodsCrash}
		}, "CrashLoop"},
		"PodsCrashAtGate": {"beside the gate", func(r *v1alpha1.BatchRelease) {
			r.Status.CurrentStepState, r.Status.Gates = v1alpha1.StepBlocking, manual
			r.Status.PodTrouble = &v1alpha1.PodTrouble{Reason: v1alpha1.PodsCrash}
		}, "manual,soak,CrashLoop"},
		"PausePoint": {"the pod that it holds before, by a name to give to kubectl", func(r *v1alpha1.BatchRelease) {
			r.Status.PausePoint = &v1alpha1.PausePoint{Pod: "web-abc"}
		}, "pod/web-abc"},
		"WorkloadNotFound": {"its workload does not exist", func(r *v1alpha1.BatchRelease) {
			r.Status.State = v1alpha1.StateWorkloadNotFound
		}, "workload"},
		"Suspended": {"whatever the gates say, it stands", func(r *v1alpha1.BatchRelease) {
			r.Spec.Suspend, r.Status.CurrentStepState, r.Status.Gates = true, v1alpha1.StepBlocking, manual
		}, "resume"},
		"Frozen": {"a freeze too", func(r *v1alpha1.BatchRelease) {
			r.Annotations = map[string]string{v1alpha1.FreezeAnnotation: `{"reason":"holidays"}`}
		}, "end of freeze"},
		"Thawed": {"until it ends", func(r *v1alpha1.BatchRelease) {
			r.Annotations = map[string]string{v1alpha1.FreezeAnnotation: `{"reason":"holidays","until":"2026-11-21T12:00:00Z"}`}
		}, ""},
		"ChangedPastGit": {"Git's template comes back with a look at the repository", func(r *v1alpha1.BatchRelease) {
			r.Status.State, r.Status.CurrentStepState, r.Status.Gates = v1alpha1.StateChangedPastGit, v1alpha1.StepBlocking, manual
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDrifted, Status: metav1.ConditionTrue}}
		}, "sync"},
		"Failed": {"what failed waits for somebody", func(r *v1alpha1.BatchRelease) {
			r.Status.Phase, r.Status.Reason = v1alpha1.PhaseFailed, v1alpha1.ReasonDeadlineExceeded
		}, v1alpha1.ReasonDeadlineExceeded},
		"Stalled": {"so does what only a change can help", func(r *v1alpha1.BatchRelease) {
			r.Status.Reason = v1alpha1.ReasonInvalidTemplate
			r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue}}
		}, v1alpha1.ReasonInvalidTemplate},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var release v1alpha1.BatchRelease
			tc.change(&release)
			if got := WaitsFor(&release, noon); got != tc.want {
				t.Errorf("%s: want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

// TestReleasesOfAnyText: no text of people can break the table, nor steer the terminal.
func TestReleasesOfAnyText(t *testing.T) {
	t.Parallel()
	release := v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", CreationTimestamp: at(90 * time.Second)}}
	release.Spec.WorkloadRef = v1alpha1.WorkloadReference{Kind: "Deployment", Name: "web"}
	release.Status.Message = "two\nlines\tand \x1b[2J"
	table := Releases([]v1alpha1.BatchRelease{release}, nil, noon, true)
	want := []any{
		"shop", "web", none, none, none, none, none, none, none, "90s", none, "deployment/web", none, none, "two lines and [2J",
	}
	if diff := cmp.Diff(want, table.Rows[0].Cells); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	if len(table.ColumnDefinitions) != len(want) {
		t.Errorf("want a column for each cell, got %d for %d", len(table.ColumnDefinitions), len(want))
	}
}
